#include "deploy/grafana/promql.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace telltale::grafana {

Query::Query(const metrics::MetricRow& row, std::string_view suffix)
    : row_(&row),
      name_(absl::StrCat(row.name, std::string(suffix))),
      histogram_(suffix == "_bucket") {}

void Query::CheckLabel(std::string_view label) const {
  if (std::ranges::find(row_->labels, label) != row_->labels.end()) return;
  if (histogram_ && label == "le") return;
  std::fprintf(stderr, "dashboards: %s has no label %s\n", row_->name.c_str(),
               std::string(label).c_str());
  std::abort();
}

Query Query::With(std::string_view label, std::string_view relation, std::string_view value) const {
  CheckLabel(label);
  Query query = *this;
  query.selectors_.push_back(
      absl::StrCat(std::string(label), std::string(relation), "\"", std::string(value), "\""));
  return query;
}

Query Query::Around(const std::string& before, const std::string& behind) const {
  Query query = *this;
  query.before_ = before + before_;
  query.behind_ = behind_ + behind;
  return query;
}

Query Query::Rate() const { return Around("rate(", "[$__rate_interval])"); }

Query Query::SumBy(const std::vector<std::string>& labels) const {
  for (const std::string& label : labels) CheckLabel(label);
  return Around(absl::StrCat("sum by (", absl::StrJoin(labels, ", "), ") ("), ")");
}

Query Query::MaxBy(const std::vector<std::string>& labels) const {
  for (const std::string& label : labels) CheckLabel(label);
  return Around(absl::StrCat("max by (", absl::StrJoin(labels, ", "), ") ("), ")");
}

std::string Query::text() const {
  const std::string chosen =
      selectors_.empty() ? "" : absl::StrCat("{", absl::StrJoin(selectors_, ","), "}");
  return absl::StrCat(before_, name_, chosen, behind_);
}

}  // namespace telltale::grafana
