// What the vitals say of themselves while they are watched less, to stay within the budget.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/sensor/budget_keeper.h"
#include "agent/vitals/vitals.h"

namespace telltale::agent {

std::string StacksLeft(uint8_t level) {
  if (level < kUnwindShort) return "";
  if (level >= kUnwindNone) return "without user stacks";
  return absl::StrCat("at most ", kShortStack / 1024, " KB of a user stack");
}

void BudgetKeeper::AddTo(std::vector<VitalStatus>& status) const {
  const auto degrade = [&](uint8_t vital, const std::string& reason) {
    VitalStatus& of = status[PlaceOf(vital)];
    if (of.hook.empty()) return;
    of.state = VitalState::kDegraded;
    absl::StrAppend(&of.reason, of.reason.empty() ? "" : "; ", reason);
  };
  const std::string budget =
      absl::StrFormat("to stay within %g %% of the host", 100 * options_.governor.budget);
  if (governor_->detached()) {
    for (const VitalStatus& of : status) {
      degrade(of.id, absl::StrCat("not watched for now, ", budget));
    }
    return;
  }
  for (const Unit& unit : units_) {
    const uint8_t level = governor_->level(unit.part);
    if (level != 0) {
      degrade(VitalOfPart(unit.part),
              absl::StrCat("watched 1/", 1 << level, " of the time, at random, ", budget));
    }
    if (const std::string problem = cycler_->Problem(unit.index); !problem.empty()) {
      degrade(VitalOfPart(unit.part), problem);
    }
  }
  if (const uint8_t level = governor_->level(Part::kSamples); level != 0) {
    for (const VitalStatus& of : status) {
      degrade(of.id, absl::StrCat("1/", 1 << std::min(level, kTokenLevels), " of the usual samples",
                                  level > kTokenLevels
                                      ? absl::StrCat(", taken at powers of ", 1 << least_t_log2())
                                      : "",
                                  ", ", budget));
    }
  }
  if (const std::string stacks = StacksLeft(governor_->level(Part::kUnwinding)); !stacks.empty()) {
    for (const VitalStatus& of : status) degrade(of.id, absl::StrCat(stacks, ", ", budget));
  }
  const uint8_t level = governor_->level(Part::kSwitch);
  for (const uint8_t vital : {TELLTALE_SCHED_DELAY, TELLTALE_BLOCKING}) {
    if (level == kSwitchNoStacks) degrade(vital, absl::StrCat("without stacks, ", budget));
    if (level == kSwitchCount) {
      degrade(vital,
              absl::StrCat("switches are only counted and tasks looked at for what they wait "
                           "some times a second, ",
                           budget));
    }
  }
  if (governor_->level(Part::kTasks) != 0) {
    for (const uint8_t vital :
         {TELLTALE_SCHED_DELAY, TELLTALE_BLOCKING, TELLTALE_LOCK, TELLTALE_RECLAIM}) {
      degrade(vital, absl::StrCat("not of tasks that have run for less than ",
                                  kLeastRunNs / 1'000'000, " ms, ", budget));
    }
  }
}

}  // namespace telltale::agent
