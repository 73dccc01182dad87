#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "collector/formats/quantity.h"
#include "collector/query/base_unit.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/label_estimate.h"
#include "collector/query/own_process.h"
#include "collector/query/process_filter.h"
#include "collector/query/row_bounds.h"
#include "collector/query/samples_answer.h"
#include "collector/query/stack_names.h"
#include "collector/query/tier_scan.h"
#include "collector/query/top_process.h"
#include "collector/query/top_sample.h"
#include "collector/query/top_windows.h"
#include "collector/query/vital_choice.h"
#include "sketch/saturating.h"
#include "storage/rollup/portable.h"

namespace telltale::query {
namespace {

constexpr uint32_t kUsualStacks = 1000, kMaxStacks = 10'000;

std::string EndText(v1::StackEnd kernel, v1::StackEnd user) {
  if (user > v1::STACK_END_COMPLETE) return StackEndText(user);
  return kernel > v1::STACK_END_COMPLETE ? StackEndText(kernel) : "";
}

// One line of the answer, in stored units.
struct Sum {
  v1::StackWeight stack;
  double value = 0;
};

void AddTo(Sum& sum, double value, double low, double high, uint64_t samples) {
  sum.value += value;
  sum.stack.set_low(sum.stack.low() + low);
  sum.stack.set_high(sum.stack.high() + high);
  sum.stack.set_samples(sum.stack.samples() + static_cast<uint32_t>(samples));
}

// Adds an epoch's stacks; returns the weight of the choice in it.
double AddEpochStacks(const StoredEpoch& epoch, const VitalChoice& choice, ProcessFilter& filter,
                      SymbolCache& cache, std::map<std::string, Sum>& sums, RowBounds& bounds,
                      GroupSum& accounts) {
  uint64_t total = 0;
  const StackNames names(&epoch.body->tables(), epoch.node, &cache);
  LookForProcess(epoch, names, filter);
  for (const v1::Vital& vital : epoch.body->vitals()) {
    if (vital.id() != choice.vital.id()) continue;
    for (int sub = 0; sub < vital.subs_size(); ++sub) {
      if (choice.Counts(sub)) total = sketch::SaturatingAdd(total, vital.subs(sub).weight());
    }
    AddExeAccounts(epoch, choice, total, names, accounts);
    const std::vector<EntryEstimate> estimates = EstimateStacks(vital, EstimateEntries(vital));
    const v1::VitalDescriptor* descriptor = storage::DescriptorOf(*epoch.schema, vital.id());
    const std::vector<uint64_t> labels = LabelIds(vital, descriptor, epoch.body->tables());
    std::vector<RowBounds::Part> parts;
    for (int i = 0; i < vital.samples_size(); ++i) {
      const v1::FoldedSample& sample = vital.samples(i);
      if (!choice.Counts(static_cast<int>(sample.sub()))) continue;
      const std::string exe = sample.irq() ? "[irq]" : names.String(sample.exe());
      const std::string comm = names.String(sample.exemplar().comm());
      if (!filter.Matches(sample.exemplar().pid(), exe, comm)) continue;
      const std::string shown = exe.empty() ? absl::StrCat("[", comm, "]") : exe;
      // Without a stack what the label knows is a stack of one frame.
      const bool walked = names.HasFrames(sample.stack());
      const std::optional<v1::Frame> site =
          walked || descriptor == nullptr ? std::nullopt : SampledSite(sample, *descriptor, names);
      auto [it, fresh] = sums.try_emplace(
          absl::StrCat(names.StackId(sample.stack()), "\n", shown, site ? FrameText(*site) : ""));
      v1::StackWeight& stack = it->second.stack;
      if (fresh) {
        stack.set_exe(shown);
        if (site) *stack.add_frames() = *site;
        for (v1::Frame& frame : names.Kernel(sample.stack()))
          *stack.add_frames() = std::move(frame);
        for (v1::Frame& frame : names.User(sample.stack())) *stack.add_frames() = std::move(frame);
        stack.set_stack_id(names.StackId(sample.stack()));
        if (const v1::Stack* ends = names.Stack(sample.stack()))
          stack.set_end(EndText(ends->kernel_end(), ends->user_end()));
        if (site) {
          stack.set_end(absl::StrCat("no stack, only what was sampled",
                                     stack.end().empty() ? "" : ": ", stack.end()));
        }
      }
      const EntryEstimate& estimate = estimates[static_cast<size_t>(i)];
      parts.push_back({it->first, labels[static_cast<size_t>(i)], estimate});
      AddTo(it->second, estimate.value, 0, 0, sample.samples());
    }
    bounds.AddEpoch(vital, choice, estimates, parts);
  }
  return static_cast<double>(total);
}

// Fits the stacks into their executables' accounts and the total.
void Fit(double total, const ExeLimits& limits, std::map<std::string, Sum>& sums) {
  std::vector<RowWeight> weights;
  for (const auto& [key, sum] : sums) {
    weights.push_back({sum.stack.exe(), sum.stack.low(), sum.value, sum.stack.high()});
  }
  FitRows(total, limits, weights);
  auto weight = weights.begin();
  for (auto& [key, sum] : sums) {
    sum.stack.set_low(weight->low);
    sum.stack.set_high(weight->high);
    sum.value = weight->value;
    ++weight;
  }
}

// The same of windows: each label at the one stack that was kept of it, else at its code location.
double AddWindowStacks(VitalSum& windows, const VitalChoice& choice, ProcessFilter& filter,
                       SymbolCache& cache, std::map<std::string, Sum>& sums) {
  double total = 0;
  for (size_t sub = 0; sub < windows.weight.size(); ++sub) {
    if (choice.Counts(static_cast<int>(sub))) total += windows.weight[sub];
  }
  for (const LabelWeightOf& weight : LabelsOf(windows, choice)) {
    const auto& exemplar = weight.label->facts.exemplar;
    const std::string who = WhoOf(*weight.label), id = StackIdOf(*weight.label);
    if (!filter.Matches(0, who, exemplar.has_value() ? exemplar->comm : "")) continue;
    const v1::Frame site = SiteOfLabel(*weight.label, windows.descriptor, cache);
    auto [it, fresh] = sums.try_emplace(absl::StrCat(id.empty() ? FrameText(site) : id, "\n", who));
    v1::StackWeight& stack = it->second.stack;
    if (fresh) {
      stack.set_exe(who);
      stack.set_stack_id(id);
      for (v1::Frame& frame : StackOf(*weight.label, cache)) *stack.add_frames() = std::move(frame);
      if (stack.frames().empty()) *stack.add_frames() = site;
      if (id.empty()) {
        stack.set_end("windows keep stacks of the heaviest labels only");
      } else {
        stack.set_end(EndText(exemplar->stack.kernel_end, exemplar->stack.user_end));
      }
    }
    AddTo(it->second, weight.value, weight.at_stack, weight.high, weight.samples);
  }
  return total;
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
  absl::StatusOr<std::vector<VitalChoice>> choices = book.Choose(request.vital(), request.idle());
  if (!choices.ok()) return choices.status();
  const VitalChoice& choice = choices->front();
  const double factor = BaseFactor(choice.vital.unit());
  ProcessFilter filter(request.process());
  SymbolCache cache(context.source);
  CoverageBuilder coverage(*selection, context);
  const std::vector<uint32_t> vitals = {choice.vital.id()};
  absl::StatusOr<TierChoice> tier = ChooseTier(*selection, context, [&](v1::Tier asked) {
    return LabelsAffordable(asked, *selection, 1, filter.one_pid());
  });
  if (!tier.ok()) return tier.status();
  std::map<std::string, Sum> sums;
  double total = 0;
  if (tier->coarsest == v1::TIER_RAW) {
    RowBounds bounds;
    GroupSum accounts;  // by executable
    TierScan scan(*selection, context, {v1::TIER_RAW, true}, {},
                  {[&](const StoredEpoch& epoch) {
                     coverage.AddEpoch(epoch, book, vitals);
                     total += AddEpochStacks(epoch, choice, filter, cache, sums, bounds, accounts);
                   },
                   nullptr,
                   {proto::BodyParts::Depth::kLabels, vitals}});
    if (absl::Status status = scan.All(); !status.ok()) return status;
    NoteDefects(scan.defects(), coverage);
    for (const auto& [row, between] : bounds.Sum()) {
      Sum& sum = sums[row];
      sum.stack.set_low(between.low);
      sum.stack.set_high(between.high);
    }
    Fit(total, ExeLimits(accounts), sums);
    if (bounds.merged_early()) coverage.Note(std::string(kMergedEarlyNote));
  } else {
    absl::StatusOr<std::unique_ptr<WindowSums>> windows =
        SumWindows(*selection, context, *tier, book,
                   {.vitals = vitals, .run_time = !filter.everything()}, coverage);
    if (!windows.ok()) return windows.status();
    coverage.Note(KeptLabelsNote());
    if (VitalSum* sum = (*windows)->Find(choice.vital.id())) {
      LookForExe(*sum, filter);
      total = AddWindowStacks(*sum, choice, filter, cache, sums);
      Fit(total, ExeLimitsOf(*sum, choice), sums);
    }
  }
  // Windows keep no process numbers.
  if (tier->coarsest == v1::TIER_RAW || !filter.one_pid()) {
    if (absl::Status status = filter.Found("stacks"); !status.ok()) return status;
  }
  std::vector<Sum> ordered;
  double hidden = 0;
  for (auto& [key, sum] : sums) {
    if (request.hide_self() && OwnProcess(sum.stack.exe())) {
      hidden += sum.value;
    } else {
      ordered.push_back(std::move(sum));
    }
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Sum& a, const Sum& b) { return a.value > b.value; });
  const size_t limit = request.limit() == 0 ? kUsualStacks : request.limit();
  v1::StacksAnswer answer;
  for (size_t i = 0; i < std::min(limit, ordered.size()); ++i) {
    v1::StackWeight& stack = ordered[i].stack;
    stack.set_value(ordered[i].value * factor);
    stack.set_low(stack.low() * factor);
    stack.set_high(stack.high() * factor);
    *answer.add_stacks() = std::move(stack);
  }
  if (ordered.size() > limit) {
    coverage.Note(
        absl::StrCat(formats::Plural(static_cast<double>(ordered.size() - limit), "lighter stack"),
                     ordered.size() - limit == 1 ? " is" : " are", " not shown; raise the limit"));
  }
  answer.set_process(request.process());
  answer.set_vital(choice.vital.name());
  answer.set_sub(choice.SubName());
  answer.set_unit(std::string(BaseUnitName(choice.vital.unit())));
  answer.set_total((total - hidden) * factor);
  answer.set_hidden(hidden * factor);
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(tier->coarsest, answer.stacks_size() > 0);
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

absl::StatusOr<v1::StacksAnswer> AnswerStacksWhole(const v1::StacksRequest& request,
                                                   const Context& context) {
  v1::StacksRequest whole = request;
  whole.set_limit(kMaxStacks);
  return AnswerStacks(whole, context);
}

}  // namespace telltale::query
