#include "collector/filter/detect/longest.h"

#include <algorithm>

#include "sketch/time_units.h"

namespace telltale::filter {
namespace {

constexpr uint64_t kWeekNs = 7 * 24 * 3'600 * kNsPerS;

}  // namespace

void Longest::Pass(uint64_t now_ns) {
  const uint64_t week = now_ns / kWeekNs;
  if (week == week_) return;
  const bool next = week == week_ + 1;
  for (auto& [program, weeks] : programs_) weeks = {0, next ? weeks.now : 0};
  std::erase_if(programs_, [](const auto& entry) { return entry.second.before == 0; });
  week_ = week;
}

void Longest::Note(const std::string& program, uint32_t epochs) {
  if (programs_.size() >= kPrograms && !programs_.contains(program)) return;
  uint32_t& longest = programs_[program].now;
  longest = std::max(longest, epochs);
}

uint32_t Longest::Of(const std::string& program) const {
  const auto known = programs_.find(program);
  return known == programs_.end() ? 0 : std::max(known->second.now, known->second.before);
}

void Longest::Save(StateWriter& to) const {
  to.Put(week_);
  to.Map(programs_, [&](const Weeks& weeks) {
    to.Put(weeks.now);
    to.Put(weeks.before);
  });
}

void Longest::Load(StateReader& from) {
  week_ = from.Get<uint64_t>();
  from.Map(programs_, [&](Weeks& weeks) {
    weeks.now = from.Get<uint32_t>();
    weeks.before = from.Get<uint32_t>();
  });
}

}  // namespace telltale::filter
