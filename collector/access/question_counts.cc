#include "collector/access/question_counts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace telltale::access {

QuestionCounts::Question& QuestionCounts::Count(const v1::StoredAuditEntry& asked,
                                                const Visit& over) {
  const auto known = askers_.find(asked.who());
  if (known == askers_.end()) {
    MakeRoom(over);
  } else if (asked.time_ns() >= known->second.since_ns + kHourNs) {
    for (auto& [what, question] : known->second.questions) over(question);
    askers_.erase(known);
  }
  const auto [asker, begins] = askers_.try_emplace(asked.who());
  if (begins) asker->second.since_ns = asked.time_ns();
  auto& questions = asker->second.questions;
  std::string what = absl::StrCat(asked.action(), " ", asked.detail());
  const bool apart = questions.contains(what) || questions.size() < kToldApart;
  if (!apart) what.clear();
  Question& question = questions[what];
  if (question.entry.count() == 0) {
    question.entry = asked;
    if (!apart) question.entry.set_detail("more nodes, or more kinds");
  }
  question.entry.set_count(question.entry.count() + 1);
  return question;
}

void QuestionCounts::ForEach(const Visit& visit) {
  for (auto& [who, asker] : askers_) {
    for (auto& [what, question] : asker.questions) visit(question);
  }
}

void QuestionCounts::MakeRoom(const Visit& over) {
  if (askers_.size() < kAskers) return;
  const auto first = std::ranges::min_element(
      askers_, {}, [](const auto& asker) { return asker.second.since_ns; });
  for (auto& [what, question] : first->second.questions) over(question);
  askers_.erase(first);
}

}  // namespace telltale::access
