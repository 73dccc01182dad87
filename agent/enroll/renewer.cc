#include "agent/enroll/renewer.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/enroll/identity_files.h"
#include "agent/enroll/node_key.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

constexpr int64_t kLookEveryS = 60;  // somebody may put other files there
constexpr int64_t kFirstPauseS = 2, kLongestPauseS = 3600;

}  // namespace

int64_t RenewAt(int64_t begin_s, int64_t end_s, double share) {
  const int64_t whole = std::max<int64_t>(end_s - begin_s, 0);
  return end_s - whole / 3 - static_cast<int64_t>(share * static_cast<double>(whole) / 10);
}

void Renewer::Start() {
  std::random_device random;
  share_ = std::uniform_real_distribution<double>(0, 1)(random);
  thread_ = std::thread([this] { Run(); });
}

void Renewer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Renewer::Sleep(int64_t seconds) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, std::chrono::seconds(seconds), [this] { return stopping_; });
}

void Renewer::Run() {
  while (Sleep(Step())) {
  }
}

int64_t Renewer::Step() {
  const int64_t now = time(nullptr);
  const auto own = ReadTlsFiles(options_.files, now);
  // The uplink says what is wrong with the files; one that ended can no longer renew itself.
  if (!own.ok() || own->node != options_.node) return kLookEveryS;
  const auto validity = ValidityOf(own->cert);
  if (!validity.ok()) return kLookEveryS;
  const int64_t due = RenewAt(validity->begin_s, validity->end_s, share_);
  if (now < due) return std::min(due - now, kLookEveryS);
  const absl::Status status = Renew(*own);
  if (status.ok()) {
    pause_s_ = 0;
    told_.clear();
    return 1;
  }
  const std::string until = absl::FormatTime(
      "%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(validity->end_s), absl::UTCTimeZone());
  if (told_ != status.message()) {
    told_ = std::string(status.message());
    spdlog::warn("renewal: the certificate ends at {}: {}; trying again", until, told_);
  }
  // A collector that issues none is asked again as rarely as possible.
  const bool never = absl::IsUnimplemented(status) || absl::IsFailedPrecondition(status);
  pause_s_ = never ? kLongestPauseS : std::clamp(2 * pause_s_, kFirstPauseS, kLongestPauseS);
  return std::min(pause_s_, std::max<int64_t>((validity->end_s - now) / 4, kFirstPauseS));
}

absl::Status Renewer::Renew(const TlsTexts& own) const {
  const auto fresh = MakeNodeKey();
  if (!fresh.ok()) return fresh.status();
  const auto issued = AskToRenew(options_.collector, own, fresh->signing_request);
  if (!issued.ok()) return issued.status();
  const absl::Status installed =
      InstallIdentity(options_.files, fresh->key_pem, issued->certificate_pem(),
                      issued->authorities_pem(), std::nullopt);
  if (!installed.ok()) return installed;
  const auto validity = ValidityOf(issued->certificate_pem());
  spdlog::info("renewal: {} has a certificate until {}", options_.node,
               absl::FormatTime("%Y-%m-%d %H:%M UTC",
                                absl::FromUnixSeconds(validity.value_or(Validity()).end_s),
                                absl::UTCTimeZone()));
  return absl::OkStatus();
}

}  // namespace telltale::agent
