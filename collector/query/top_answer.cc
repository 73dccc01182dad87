#include "collector/query/top_answer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "collector/query/answer_page.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/tier_scan.h"
#include "collector/query/top_process.h"
#include "collector/query/top_sample.h"
#include "collector/query/top_table.h"
#include "collector/query/top_windows.h"

namespace telltale::query {
namespace {

constexpr uint32_t kUsualRows = 10, kMaxRows = 1000, kWholeRows = 5000;

bool ByCode(v1::Dimension by) { return by == v1::DIMENSION_SITE || by == v1::DIMENSION_STACK; }

bool ManyTogether(v1::Dimension by) {
  return by == v1::DIMENSION_USER || by == v1::DIMENSION_CGROUP || by == v1::DIMENSION_NODE;
}

// Which of the rows by weight an answer shows, of each table.
struct Rows {
  uint32_t first = 0, most = 0;
};

// One table under construction: rows from accounts and rows from samples are kept apart until all
// epochs were seen, because either could stop being there in the middle of the selection.
struct Draft {
  TopTable accounts, samples;
  RowBounds bounds = {};  // of the samples
  GroupSum by_exe = {};   // accounts, where rows are code
  uint32_t exact_epochs = 0, estimated_epochs = 0;
};

class TopScan {
 public:
  TopScan(const v1::TopRequest& request, const Selection& selection, const Context& context)
      : request_(request), filter_(request.process()), cache_(context.source) {
    for (const storage::NodeRecord& node : selection.nodes)
      node_names_[node.number()] = node.name();
  }

  void AddTable(const VitalChoice& choice, v1::Dimension by) {
    Draft& draft = drafts_.emplace_back(Draft{TopTable(choice, by), TopTable(choice, by)});
    if (!request_.hide_self()) return;
    draft.accounts.HideSelf();
    draft.samples.HideSelf();
  }

  void Visit(const StoredEpoch& epoch) {
    StackNames names(&epoch.body->tables(), epoch.node, &cache_);
    const std::string& node_name = node_names_[epoch.node];
    LookForProcess(epoch, names, filter_);
    const v1::Vital* vital = nullptr;
    std::optional<Entries> entries;
    for (Draft& draft : drafts_) {
      const VitalChoice& choice = draft.accounts.choice();
      if (vital == nullptr || vital->id() != choice.vital.id()) {
        vital = FindVital(epoch, choice.vital.id());
        entries.reset();
      }
      if (vital == nullptr) continue;
      AddTotals(*vital, draft);
      const v1::Dimension by = draft.accounts.by();
      if (by == v1::DIMENSION_NODE) {
        AddNode(*vital, node_name, draft);
        continue;
      }
      if (!ByCode(by)) {
        const Accounts accounts = AccountsFor(epoch, choice);
        AddProcesses(epoch, node_name, names, filter_, draft.accounts);
        draft.exact_epochs += accounts == Accounts::kExact;
        draft.estimated_epochs += accounts == Accounts::kEstimated;
      }
      if (ByCode(by)) {
        AddExeAccounts(epoch, choice, choice.WeightOf(*vital), names, draft.by_exe);
      }
      if (!entries) entries = EntriesOf(epoch, *vital);
      AddSamples(epoch, *vital, *entries, node_name, names, filter_, draft.samples, draft.bounds);
    }
  }

  void Finish(const std::map<uint32_t, std::string>& reasons, const Rows& rows,
              CoverageBuilder& coverage, v1::TopAnswer& answer) {
    bool merged_early = false;
    for (Draft& draft : drafts_) {
      const bool by_accounts = draft.exact_epochs + draft.estimated_epochs > 0 ||
                               draft.accounts.by() == v1::DIMENSION_NODE;
      if (draft.estimated_epochs > 0) draft.accounts.SetEstimated();
      const bool exact = by_accounts && !draft.accounts.estimated() && draft.accounts.slack() == 0;
      const TopTable& chosen = by_accounts ? draft.accounts : draft.samples;
      if (!chosen.seen() && request_.vital().empty()) continue;
      if (!by_accounts) {
        for (const auto& [row, bounds] : draft.bounds.Sum()) {
          draft.samples.Bound(row, bounds.low, bounds.high);
        }
        if (ByCode(draft.samples.by())) draft.samples.Fit(ExeLimits(draft.by_exe));
        draft.samples.Unlisted(draft.bounds.unlisted(), 0);
        merged_early = merged_early || draft.bounds.merged_early();
      }
      v1::TopTable& table = *answer.add_tables();
      table = chosen.Finish(rows.first, rows.most, exact);
      const auto reason = reasons.find(chosen.choice().vital.id());
      if (table.state() != v1::VITAL_STATE_ACTIVE && reason != reasons.end()) {
        table.set_reason(reason->second);
      }
    }
    if (merged_early) coverage.Note(std::string(kMergedEarlyNote));
  }

  absl::Status FoundProcess() const { return filter_.Found("top"); }
  bool found() const {
    return std::any_of(drafts_.begin(), drafts_.end(),
                       [](const Draft& draft) { return draft.accounts.seen(); });
  }

 private:
  static const v1::Vital* FindVital(const StoredEpoch& epoch, uint32_t id) {
    for (const v1::Vital& vital : epoch.body->vitals()) {
      if (vital.id() == id) return &vital;
    }
    return nullptr;
  }
  static void AddTotals(const v1::Vital& vital, Draft& draft) {
    const auto weight = static_cast<double>(draft.accounts.choice().WeightOf(vital));
    double events = 0;
    for (int sub = 0; sub < vital.subs_size(); ++sub) {
      if (!draft.accounts.choice().Counts(sub)) continue;
      events += static_cast<double>(vital.subs(sub).events());
    }
    for (TopTable* table : {&draft.accounts, &draft.samples}) {
      table->AddTotal(weight, events);
      table->SetState(vital.state());
      if (vital.estimated()) table->SetEstimated();
    }
  }

  static void AddNode(const v1::Vital& vital, const std::string& name, Draft& draft) {
    const auto weight = static_cast<double>(draft.accounts.choice().WeightOf(vital));
    draft.accounts.Add(name, weight, weight, weight, [&](v1::TopRow& row) {
      row.set_name(name);
      row.set_node(name);
    });
  }

  const v1::TopRequest& request_;
  ProcessFilter filter_;
  SymbolCache cache_;
  std::map<uint32_t, std::string> node_names_;
  std::vector<Draft> drafts_;
};

// Why a vital is not active, by id: what the nodes of the selection say; the first reason, and how
// many more have one.
std::map<uint32_t, std::string> Reasons(const Selection& selection) {
  std::map<uint32_t, std::string> reasons;
  for (const storage::NodeRecord& node : selection.nodes) {
    for (const v1::VitalStatus& vital : node.info().vitals()) {
      if (vital.state() != v1::VITAL_STATE_ACTIVE) reasons.try_emplace(vital.id(), vital.reason());
    }
  }
  return reasons;
}

struct TopQuestion {
  const Selection& selection;
  const Context& context;
  const VitalBook& book;
  const std::vector<VitalChoice>& choices;
  const std::vector<v1::Dimension>& dimensions;
  const std::vector<uint32_t>& vitals;
};

// Whether anything was found.
absl::StatusOr<bool> TopOfEpochs(const v1::TopRequest& request, const TopQuestion& asked,
                                 const Rows& rows, CoverageBuilder& coverage,
                                 v1::TopAnswer& answer) {
  TopScan top(request, asked.selection, asked.context);
  for (const VitalChoice& choice : asked.choices) {
    for (const v1::Dimension by : asked.dimensions) top.AddTable(choice, by);
  }
  TierScan scan(asked.selection, asked.context, {v1::TIER_RAW, true}, {},
                {[&](const StoredEpoch& epoch) {
                   coverage.AddEpoch(epoch, asked.book, asked.vitals);
                   top.Visit(epoch);
                 },
                 nullptr,
                 {proto::BodyParts::Depth::kLabels, asked.vitals}});
  if (absl::Status status = scan.All(); !status.ok()) return status;
  if (absl::Status status = top.FoundProcess(); !status.ok()) return status;
  NoteDefects(scan.defects(), coverage);
  top.Finish(Reasons(asked.selection), rows, coverage, answer);
  return top.found();
}

std::vector<storage::GroupIndex> GroupingsOf(const std::vector<v1::Dimension>& dimensions) {
  std::vector<storage::GroupIndex> groupings;
  for (const v1::Dimension by : dimensions) {
    if (by == v1::DIMENSION_USER) groupings.push_back(storage::kByUid);
    if (by == v1::DIMENSION_CGROUP) groupings.push_back(storage::kByCgroup);
  }
  return groupings;
}

absl::StatusOr<bool> TopOfWindows(const v1::TopRequest& request, const TopQuestion& asked,
                                  TierChoice tier, const Rows& rows, CoverageBuilder& coverage,
                                  v1::TopAnswer& answer) {
  // Who is asked for by name is looked for among all that ran.
  absl::StatusOr<std::unique_ptr<WindowSums>> sums =
      SumWindows(asked.selection, asked.context, tier, asked.book,
                 {.vitals = asked.vitals,
                  .run_time = !request.process().empty(),
                  .groupings = GroupingsOf(asked.dimensions)},
                 coverage);
  if (!sums.ok()) return sums.status();
  std::map<uint32_t, std::string> node_names;
  for (const storage::NodeRecord& node : asked.selection.nodes) {
    node_names[node.number()] = node.name();
  }
  const std::map<uint32_t, std::string> reasons = Reasons(asked.selection);
  ProcessFilter filter(request.process());
  SymbolCache cache(asked.context.source);
  bool found = false, by_labels = false;
  for (const VitalChoice& choice : asked.choices) {
    VitalSum* sum = (*sums)->Find(choice.vital.id());
    if (sum == nullptr && request.vital().empty()) continue;
    found = found || sum != nullptr;
    if (sum != nullptr) LookForExe(*sum, filter);
    for (v1::Dimension by : asked.dimensions) {
      if (by == v1::DIMENSION_PROCESS) {
        by = v1::DIMENSION_EXE;
        coverage.Note(
            "windows keep no single processes, so executables are shown; raw epochs have them "
            "(--tier raw)");
      }
      TopTable drawn(choice, by);
      if (request.hide_self()) drawn.HideSelf();
      const bool exact = sum != nullptr && AddWindows(*sum, node_names, filter, cache, drawn);
      by_labels = by_labels || (sum != nullptr && !exact);
      v1::TopTable& table = *answer.add_tables();
      table = drawn.Finish(rows.first, rows.most, exact);
      const auto reason = reasons.find(choice.vital.id());
      if (table.state() != v1::VITAL_STATE_ACTIVE && reason != reasons.end()) {
        table.set_reason(reason->second);
      }
    }
  }
  if (by_labels) coverage.Note(KeptLabelsNote());
  if (!filter.one_pid()) {
    if (absl::Status status = filter.Found("top"); !status.ok()) return status;
  } else {
    coverage.Note(
        "windows keep no process numbers, so nothing matches one; raw epochs have them "
        "(--tier raw)");
  }
  return found;
}

absl::StatusOr<v1::TopAnswer> AnswerRows(const v1::TopRequest& request, const Context& context,
                                         v1::Dimension usual, const Rows& rows) {
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  if (request.hide_self() && ManyTogether(request.by())) {
    return absl::InvalidArgumentError(
        "top: rows by user, cgroup or node hold Telltale's processes together with others', so "
        "they "
        "cannot be hidden there; ask by process, exe, site or stack");
  }
  const VitalBook book(*selection, context);
  absl::StatusOr<std::vector<VitalChoice>> choices = book.Choose(request.vital(), request.idle());
  if (!choices.ok()) return choices.status();

  std::vector<v1::Dimension> dimensions = {request.by()};
  if (request.by() == v1::DIMENSION_UNSPECIFIED) dimensions = {usual, v1::DIMENSION_SITE};
  std::vector<uint32_t> vitals;
  for (const VitalChoice& choice : *choices) vitals.push_back(choice.vital.id());
  const bool single =
      request.by() == v1::DIMENSION_PROCESS || ProcessFilter(request.process()).one_pid();
  absl::StatusOr<TierChoice> tier = ChooseTier(*selection, context, [&](v1::Tier asked) {
    return LabelsAffordable(asked, *selection, vitals.size(), single);
  });
  if (!tier.ok()) return tier.status();

  CoverageBuilder coverage(*selection, context);
  v1::TopAnswer answer;
  answer.set_process(request.process());
  absl::StatusOr<bool> found =
      tier->coarsest == v1::TIER_RAW
          ? TopOfEpochs(request, {*selection, context, book, *choices, dimensions, vitals}, rows,
                        coverage, answer)
          : TopOfWindows(request, {*selection, context, book, *choices, dimensions, vitals}, *tier,
                         rows, coverage, answer);
  if (!found.ok()) return found.status();
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(tier->coarsest, *found);
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

}  // namespace

absl::Status CheckTopLimit(uint32_t limit) {
  if (limit <= kMaxRows) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("top: limit ", limit, " is above ", kMaxRows, "; ask for fewer rows"));
}

absl::StatusOr<v1::TopAnswer> AnswerTop(const v1::TopRequest& request, const Context& context) {
  if (absl::Status status = CheckTopLimit(request.limit()); !status.ok()) return status;
  const absl::StatusOr<RankPage> page = ParseRankPage(request);
  if (!page.ok()) return page.status();
  v1::TopRequest question = request;
  if (page->end_s > 0) {
    question.mutable_selection()->set_start_s(page->start_s);
    question.mutable_selection()->set_end_s(page->end_s);
  }
  const Rows rows{page->first, request.limit() == 0 ? kUsualRows : request.limit()};
  absl::StatusOr<v1::TopAnswer> answer = AnswerRows(question, context, v1::DIMENSION_PROCESS, rows);
  if (!answer.ok()) return answer;
  v1::Coverage& coverage = *answer->mutable_coverage();
  if (page->end_s > 0 && page->epochs != coverage.epochs_received()) {
    coverage.add_notes(absl::StrCat(
        "epochs came since the page before was made (", page->epochs, " then, ",
        coverage.epochs_received(),
        " now): rows may have changed places, so some may be missing or stand there too"));
  }
  const bool more = std::any_of(answer->tables().begin(), answer->tables().end(),
                                [](const v1::TopTable& table) { return table.rows_after() > 0; });
  if (more) {
    answer->set_next_page(PageText({rows.first + rows.most, coverage.asked_start_s(),
                                    coverage.asked_end_s(), coverage.epochs_received()},
                                   request));
  }
  return answer;
}

absl::StatusOr<v1::TopAnswer> AnswerTopWhole(const v1::TopRequest& request,
                                             const Context& context) {
  return AnswerRows(request, context, v1::DIMENSION_EXE, {0, kWholeRows});
}

}  // namespace telltale::query
