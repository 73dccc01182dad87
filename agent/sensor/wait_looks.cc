#include "agent/sensor/wait_looks.h"

#include "agent/clock_ns.h"
#include "sketch/time_units.h"

namespace telltale::agent {
namespace {

constexpr double kShare = 0.03;  // of the budget, at most
// Seconds from one to the next, on average. That of the cut comes in any case.
constexpr double kOftenS = 0.1, kSeldomS = 60;

}  // namespace

WaitLooks::WaitLooks(CutSteps* steps, telltale_control* control, double budget)
    : steps_(steps),
      control_(control),
      pace_(kShare * budget, kOftenS, kSeldomS),
      random_(std::random_device{}()) {}

absl::Status WaitLooks::Look() { return Pass(TELLTALE_PASS_LOOK); }
absl::Status WaitLooks::LookAtCut() { return Pass(TELLTALE_PASS_LOOK_AT_CUT); }

absl::Status WaitLooks::LookIfDue(uint64_t mono_ns) {
  return mono_ns >= due_ns_ ? Look() : absl::OkStatus();
}

absl::Status WaitLooks::Follow() {
  if (absl::Status status = Look(); !status.ok()) return status;
  return steps_->Pass(TELLTALE_PASS_RESUME, *control_, nullptr);
}

absl::Status WaitLooks::Pass(telltale_pass pass) {
  const uint64_t began = ClockNs(CLOCK_MONOTONIC), before = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  absl::Status status = steps_->Pass(pass, *control_, nullptr);
  pace_.Took(static_cast<double>(ClockNs(CLOCK_THREAD_CPUTIME_ID) - before));
  const double pause_s =
      pace_.interval_s() * std::uniform_real_distribution<double>(0.5, 1.5)(random_);
  due_ns_ = began + static_cast<uint64_t>(pause_s * kNsPerS);
  return status;
}

}  // namespace telltale::agent
