#include "collector/filter/detect/disk_latency.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/robust.h"
#include "sketch/time_units.h"

namespace telltale::filter {
namespace {

constexpr size_t kEpochs = 60;    // that the median is of
constexpr size_t kLearned = 10;   // with fewer it is not known
constexpr double kSlow = 2;       // times the usual
constexpr uint32_t kFewSlow = 5;  // epochs in a row that count for the usual
constexpr size_t kSeries = 64;    // disks and kinds that are followed
constexpr uint64_t kHourNs = 3'600 * kNsPerS;
constexpr uint64_t kDayNs = 24 * kHourNs;
constexpr const char* kKinds[TELLTALE_REQUEST_KINDS] = {"read", "write", "flush"};

const telltale_filter_disk* DiskAt(const RuleEpoch& epoch, uint64_t device) {
  const telltale_filter_epoch& of = epoch.epoch();
  for (uint32_t i = 0; i < of.disk_count; ++i) {
    const auto* disk = TELLTALE_FILTER_AT(telltale_filter_disk, of.disks, i);
    if (disk->device == device) return disk;
  }
  return nullptr;
}

bool IsSampled(const telltale_filter_disk& disk, uint32_t kind) {
  return (disk.sampled >> kind & 1) != 0;
}

// What all requests of a kind took on average, and what one did, are not held against each other.
uint32_t SeriesOf(const telltale_filter_disk& disk, uint32_t kind) {
  return kind + (IsSampled(disk, kind) ? TELLTALE_REQUEST_KINDS : 0);
}

// "4 ms", "1.9 s".
std::string LatencyText(double ns) {
  if (ns < 1e6) return absl::StrFormat("%.3g us", ns / 1e3);
  if (ns < 1e9) return absl::StrFormat("%.3g ms", ns / 1e6);
  return absl::StrFormat("%.3g s", ns / 1e9);
}

}  // namespace

DiskLatency::Told DiskLatency::Of(const RuleEpoch& epoch, uint64_t device) const {
  const telltale_filter_disk* disk = DiskAt(epoch, device);
  if (disk == nullptr) return {};
  uint32_t kind = 0;
  double longest = 0;
  for (uint32_t k = 0; k < TELLTALE_REQUEST_KINDS; ++k) {
    const double waited =
        static_cast<double>(disk->requests[k]) * static_cast<double>(disk->await_ns[k]);
    if (waited > longest) kind = k;
    longest = std::max(longest, waited);
  }
  if (longest <= 0) return {};
  const auto now = static_cast<double>(disk->await_ns[kind]);
  std::string text = absl::StrCat("await ", LatencyText(now),
                                  IsSampled(*disk, kind) ? ", one sampled " : " a ", kKinds[kind]);
  const auto past = past_.find({device, SeriesOf(*disk, kind)});
  const std::string name = DiskText(epoch, device);
  if (past == past_.end() || past->second.await_ns.size() < kLearned) {
    return {absl::StrCat(name, ": ", text), "", now / 1e9};
  }
  const double usual = Median(past->second.await_ns);
  absl::StrAppend(&text, ", usual ", LatencyText(usual));
  if (now >= kSlow * usual) return {absl::StrCat(name, ": ", text), "", now / 1e9, usual / 1e9};
  // One request that was fast is no evidence for the disk.
  if (IsSampled(*disk, kind)) return {};
  return {"", absl::StrCat(name, " answers as fast as usual, ", text), now / 1e9, usual / 1e9};
}

void DiskLatency::Note(const RuleEpoch& epoch) {
  const telltale_filter_epoch& of = epoch.epoch();
  for (uint32_t i = 0; i < of.disk_count; ++i) {
    const auto& disk = *TELLTALE_FILTER_AT(telltale_filter_disk, of.disks, i);
    for (uint32_t kind = 0; kind < TELLTALE_REQUEST_KINDS; ++kind) {
      if (disk.await_ns[kind] == 0) continue;
      const std::pair key(disk.device, SeriesOf(disk, kind));
      if (past_.size() >= kSeries && !past_.contains(key) && !ForgetOne(of.end_ns)) continue;
      past_[key].Take(static_cast<double>(disk.await_ns[kind]), of.start_ns, of.end_ns);
    }
  }
  std::erase_if(past_,
                [&](const auto& entry) { return entry.second.last_ns + kDayNs < of.end_ns; });
}

// A fault must not become the usual while it lasts; what lasts for a day is no passing fault. A few
// slow epochs are taken in, or the usual of a disk that is now fast, now slow would sink.
void DiskLatency::Past::Take(double now_ns, uint64_t start_ns, uint64_t end_ns) {
  last_ns = end_ns;
  if (await_ns.size() >= kLearned && now_ns >= kSlow * Median(await_ns)) {
    if (slow == 0) slow_since_ns = start_ns;
    if (++slow > kFewSlow) {
      if (end_ns - slow_since_ns < kDayNs) return;
      await_ns.clear();
    }
  } else {
    slow = 0;
  }
  if (await_ns.size() == kEpochs) await_ns.erase(await_ns.begin());
  await_ns.push_back(now_ns);
}

// That which has been away for longest. False: all answered within the hour.
bool DiskLatency::ForgetOne(uint64_t now_ns) {
  const auto longest =
      std::ranges::min_element(past_, {}, [](const auto& entry) { return entry.second.last_ns; });
  if (longest == past_.end() || longest->second.last_ns + kHourNs >= now_ns) return false;
  past_.erase(longest);
  return true;
}

void DiskLatency::Save(StateWriter& to) const {
  to.Map(past_, [&](const Past& past) {
    to.List(past.await_ns);
    to.Put(past.last_ns);
    to.Put(past.slow_since_ns);
    to.Put(past.slow);
  });
}

void DiskLatency::Load(StateReader& from) {
  from.Map(past_, [&](Past& past) {
    past.await_ns = from.List<double>();
    past.last_ns = from.Get<uint64_t>();
    past.slow_since_ns = from.Get<uint64_t>();
    past.slow = from.Get<uint32_t>();
  });
}

}  // namespace telltale::filter
