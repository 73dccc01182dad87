#include "collector/filter/query_anomalies.h"

#include <algorithm>
#include <map>

namespace telltale::filter {
namespace {

constexpr size_t kDefaultLimit = 100;
constexpr size_t kMaxLimit = 10'000;

}  // namespace

absl::StatusOr<v1::AnomaliesAnswer> QueryAnomalies::List(const v1::AnomaliesRequest& request,
                                                         const query::Selection& selection) const {
  std::map<uint32_t, std::string> names;
  for (const storage::NodeRecord& node : selection.nodes) names[node.number()] = node.name();
  AnomalyQuery asked;
  asked.from_ns = selection.start_ns;
  asked.to_ns = selection.end_ns;
  asked.node_name = [&](uint32_t node) -> std::optional<std::string> {
    const auto found = names.find(node);
    if (found == names.end()) return std::nullopt;
    return found->second;
  };
  asked.vital = request.vital();
  asked.filter = request.filter();
  asked.min_severity = request.min_severity();
  asked.limit = request.limit() == 0 ? kDefaultLimit : std::min<size_t>(request.limit(), kMaxLimit);
  asked.page = request.page();
  auto page = ListAnomalies(store_, filters_, asked);
  if (!page.ok()) return page.status();
  v1::AnomaliesAnswer answer;
  for (v1::Anomaly& anomaly : page->anomalies) *answer.add_anomalies() = std::move(anomaly);
  answer.set_next_page(page->next_page);
  return answer;
}

}  // namespace telltale::filter
