#include "collector/ingest/live_renewal.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"

namespace telltale::ingest {
namespace {

constexpr uint32_t kWatchSeconds = 60;
constexpr uint64_t kTimeoutNs = 5'000'000'000;
constexpr size_t kReasonBytes = 200;

std::string WhyNot(const absl::StatusOr<v1::Result>& result) {
  if (absl::IsUnavailable(result.status())) return "the agent is not connected";
  return absl::StrCat("the agent tells no seconds: ",
                      result.ok() ? proto::SanitizeText(result->message(), kReasonBytes)
                                  : std::string(result.status().message()));
}

}  // namespace

void LiveRenewal::Tick(uint64_t mono_ns) {
  const std::set<std::string> followed = core_->live().Followed();
  std::erase_if(asked_ns_, [&](const auto& asked) { return !followed.contains(asked.first); });
  for (const std::string& node : followed) {
    const auto [asked, first] = asked_ns_.try_emplace(node, mono_ns);
    if (!first && mono_ns - asked->second < kEveryNs) continue;
    asked->second = mono_ns;
    Ask(node);
  }
}

void LiveRenewal::Ask(const std::string& node) {
  v1::Subscribe wanted;
  wanted.set_seconds(kWatchSeconds);
  core_->SendCommand(node, v1::COMMAND_KIND_SUBSCRIBE, wanted.SerializeAsString(), kTimeoutNs,
                     [core = core_, node](const absl::StatusOr<v1::Result>& result) {
                       if (result.ok() && result->code() == 0) return;
                       core->live().PublishTrouble(node, WhyNot(result));
                     });
}

}  // namespace telltale::ingest
