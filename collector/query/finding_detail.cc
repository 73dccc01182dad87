#include "collector/query/finding_detail.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::query {
namespace {

constexpr int kRows = 3;
constexpr double kLeastOfFirst = 0.02;  // what changed by less is not worth a line
constexpr uint32_t kRowsAsked = 50;     // some of them changed the other way
constexpr uint32_t kSamplesAsked = 500;

v1::Selection WhileOf(const v1::Finding& finding) {
  v1::Selection selection;
  selection.add_nodes(finding.node());
  selection.set_start_s(finding.start_s());
  selection.set_end_s(finding.end_s());
  return selection;
}

std::string VitalOf(const v1::Finding& finding) {
  return finding.sub().empty() ? finding.vital()
                               : absl::StrCat(finding.vital(), "/", finding.sub());
}

// The rows that changed as the finding did, by how much.
void KeepAlike(bool rise, v1::DiffTable& table) {
  std::stable_sort(table.mutable_rows()->begin(), table.mutable_rows()->end(),
                   [&](const v1::DiffRow& a, const v1::DiffRow& b) {
                     return rise ? a.difference() > b.difference()
                                 : a.difference() < b.difference();
                   });
  const double first = table.rows().empty() ? 0 : std::abs(table.rows(0).difference());
  int kept = 0;
  while (kept < std::min(kRows, table.rows_size()) &&
         std::abs(table.rows(kept).difference()) > kLeastOfFirst * first &&
         (table.rows(kept).difference() > 0) == rise) {
    ++kept;
  }
  table.mutable_rows()->DeleteSubrange(kept, table.rows_size() - kept);
}

}  // namespace

absl::StatusOr<v1::DiffTable> FindingDetail::Compared(const v1::Finding& finding,
                                                      v1::Dimension by) const {
  v1::DiffRequest request;
  *request.mutable_top()->mutable_selection() = WhileOf(finding);
  request.mutable_top()->set_vital(VitalOf(finding));
  request.mutable_top()->set_by(by);
  request.mutable_top()->set_limit(kRowsAsked);
  request.mutable_top()->set_hide_self(hide_self_);
  request.mutable_against()->add_nodes(finding.node());
  request.mutable_against()->set_start_s(against_.start_s);
  request.mutable_against()->set_end_s(against_.end_s);
  absl::StatusOr<v1::DiffAnswer> answer = engine_.Diff(request, context_.cancelled);
  if (!answer.ok()) return answer.status();
  if (answer->tables().empty()) {
    v1::DiffTable none;
    none.set_reason("no data to compare with");
    return none;
  }
  v1::DiffTable table = std::move(*answer->mutable_tables(0));
  KeepAlike(finding.severity() > 0, table);
  return table;
}

absl::Status FindingDetail::AddExample(v1::Finding& finding) const {
  if (finding.processes().rows().empty()) return absl::OkStatus();
  const v1::TopRow& row = finding.processes().rows(0).row();
  v1::SamplesRequest request;
  *request.mutable_selection() = WhileOf(finding);
  request.set_vital(VitalOf(finding));
  request.set_limit(kSamplesAsked);
  absl::StatusOr<v1::SamplesAnswer> samples = engine_.Samples(request, context_.cancelled);
  if (!samples.ok()) return samples.status();
  const v1::SampleAnswer* heaviest = nullptr;
  for (const v1::SampleAnswer& sample : samples->samples()) {
    const bool same = row.pid() != 0 ? sample.pid() == row.pid() : sample.exe() == row.exe();
    if (same && (heaviest == nullptr || sample.weight() > heaviest->weight())) heaviest = &sample;
  }
  if (heaviest != nullptr) *finding.mutable_example() = *heaviest;
  return absl::OkStatus();
}

absl::StatusOr<bool> FindingDetail::Add(v1::Finding& finding) const {
  absl::StatusOr<v1::DiffTable> processes = Compared(finding, v1::DIMENSION_PROCESS);
  if (!processes.ok()) return processes.status();
  const double others = std::abs(processes->total() - processes->against_total());
  const double own = std::abs(processes->hidden() - processes->against_hidden());
  if (hide_self_ && own > others) return false;
  *finding.mutable_processes() = *std::move(processes);
  absl::StatusOr<v1::DiffTable> sites = Compared(finding, v1::DIMENSION_SITE);
  if (!sites.ok()) return sites.status();
  *finding.mutable_sites() = *std::move(sites);
  if (absl::Status status = AddExample(finding); !status.ok()) return status;
  return true;
}

}  // namespace telltale::query
