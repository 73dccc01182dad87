#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/label_estimate.h"
#include "collector/query/process_filter.h"
#include "collector/query/samples_answer.h"
#include "collector/query/stack_names.h"
#include "collector/query/vital_choice.h"

namespace telltale::query {
namespace {

constexpr uint32_t kUsualStacks = 1000, kMaxStacks = 10'000;

std::string EndText(const v1::Stack& stack) {
  const bool kernel = stack.kernel_end() > v1::STACK_END_COMPLETE;
  const bool user = stack.user_end() > v1::STACK_END_COMPLETE;
  if (user) return StackEndText(stack.user_end());
  return kernel ? StackEndText(stack.kernel_end()) : "";
}

}  // namespace

absl::StatusOr<v1::StacksAnswer> AnswerStacks(const v1::StacksRequest& request,
                                              const Context& context) {
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  if (request.vital().empty()) {
    return absl::InvalidArgumentError(
        "stacks: no vital given; stacks of different units cannot be added, name one");
  }
  if (request.limit() > kMaxStacks) {
    return absl::InvalidArgumentError(absl::StrCat("stacks: limit ", request.limit(), " is above ",
                                                   kMaxStacks, "; ask for fewer"));
  }
  const VitalBook book(*selection, context);
  absl::StatusOr<std::vector<VitalChoice>> choices = book.Choose(request.vital(), false);
  if (!choices.ok()) return choices.status();
  const VitalChoice& choice = choices->front();
  const double factor = BaseFactor(choice.vital.unit());
  const ProcessFilter filter(request.process());
  SymbolCache cache(context.source);
  CoverageBuilder coverage(*selection, context);
  struct Sum {
    v1::StackWeight stack;
    double value = 0;
  };
  std::map<std::string, Sum> sums;
  double total = 0;
  uint32_t damaged = 0;
  absl::Status status = ForEachEpoch(
      *selection, context,
      [&](const StoredEpoch& epoch) {
        coverage.AddEpoch(epoch, book, {choice.vital.id()});
        const StackNames names(&epoch.body->tables(), epoch.node, &cache);
        for (const v1::Vital& vital : epoch.body->vitals()) {
          if (vital.id() != choice.vital.id()) continue;
          for (int sub = 0; sub < vital.subs_size(); ++sub) {
            if (choice.Counts(sub)) total += static_cast<double>(vital.subs(sub).weight());
          }
          const std::vector<EntryEstimate> estimates = EstimateEntries(vital);
          for (int i = 0; i < vital.samples_size(); ++i) {
            const v1::FoldedSample& sample = vital.samples(i);
            if (!choice.Counts(static_cast<int>(sample.sub()))) continue;
            const std::string exe = sample.irq() ? "[irq]" : names.String(sample.exe());
            const std::string comm = names.String(sample.exemplar().comm());
            if (!filter.Matches(sample.exemplar().pid(), exe, comm)) continue;
            const std::string shown = exe.empty() ? absl::StrCat("[", comm, "]") : exe;
            Sum& sum = sums[absl::StrCat(names.StackId(sample.stack()), "\n", shown)];
            if (sum.stack.samples() == 0) {
              sum.stack.set_exe(shown);
              for (v1::Frame& frame : names.Kernel(sample.stack()))
                *sum.stack.add_frames() = std::move(frame);
              for (v1::Frame& frame : names.User(sample.stack()))
                *sum.stack.add_frames() = std::move(frame);
              sum.stack.set_stack_id(names.StackId(sample.stack()));
              if (const v1::Stack* stack = names.Stack(sample.stack()))
                sum.stack.set_end(EndText(*stack));
            }
            const EntryEstimate& estimate = estimates[static_cast<size_t>(i)];
            sum.value += estimate.value * factor;
            sum.stack.set_low(sum.stack.low() + estimate.low * factor);
            sum.stack.set_high(sum.stack.high() + estimate.high * factor);
            sum.stack.set_samples(sum.stack.samples() + static_cast<uint32_t>(sample.samples()));
          }
        }
      },
      &damaged);
  if (!status.ok()) return status;
  coverage.AddDamaged(damaged);
  std::vector<Sum> ordered;
  for (auto& [key, sum] : sums) ordered.push_back(std::move(sum));
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Sum& a, const Sum& b) { return a.value > b.value; });
  const size_t limit = request.limit() == 0 ? kUsualStacks : request.limit();
  v1::StacksAnswer answer;
  for (size_t i = 0; i < std::min(limit, ordered.size()); ++i) {
    ordered[i].stack.set_value(ordered[i].value);
    *answer.add_stacks() = std::move(ordered[i].stack);
  }
  if (ordered.size() > limit) {
    coverage.Note(
        absl::StrCat(ordered.size() - limit, " lighter stacks are not shown; raise the limit"));
  }
  answer.set_unit(std::string(BaseUnitName(choice.vital.unit())));
  answer.set_total(total * factor);
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(v1::TIER_RAW, answer.stacks_size() > 0);
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

}  // namespace telltale::query
