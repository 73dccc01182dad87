#include "collector/filter/ewma.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "collector/filter/detect/rates.h"

namespace {

using telltale::filter::FloorOf;
using telltale::filter::IsUsual;
using telltale::filter::Rate;
using telltale::filter::RatesOf;
using telltale::filter::RateText;

struct Options {
  double alpha = 1.0 / 32;
  double learn = 30;
  double k = 6;
  double floor = 1;
};

// What is known of one sub-series. Saved and loaded as it is; the first field tells the layout.
struct Track {
  uint32_t layout = 1;
  uint8_t vital = 0, sub = 0;
  uint8_t open = 0, reserved = 0;
  uint64_t learned = 0;  // epochs
  double mean = 0, variance = 0;
  uint64_t open_start_ns = 0, open_learned = 0;
  double peak = 0, peak_expected = 0, peak_deviation = 0;
};
static_assert(sizeof(Track) == 72);

struct Instance {
  telltale_filter_host host;
  Options options;
  std::map<std::pair<uint8_t, uint8_t>, Track> tracks;
};

void Emit(const Instance& self, const telltale_filter_vital& vital, const telltale_filter_sub& sub,
          const Track& track, uint64_t end_ns) {
  char text[256];
  std::snprintf(
      text, sizeof text, "%s/%s %s at %s; usual is %s, give or take %s (learned from %llu epochs)",
      vital.name, sub.name, track.peak < track.peak_expected ? "low" : "high",
      RateText(track.peak, vital.unit).c_str(), RateText(track.peak_expected, vital.unit).c_str(),
      RateText(track.peak_deviation, vital.unit).c_str(),
      static_cast<unsigned long long>(track.open_learned));
  const double severity = (track.peak - track.peak_expected) / track.peak_deviation;
  char evidence[128];
  std::snprintf(evidence, sizeof evidence,
                "%.1f deviations from the moving average of its epochs; %g are too many",
                std::abs(severity), self.options.k);
  telltale_filter_anomaly anomaly = {};
  anomaly.struct_size = sizeof anomaly;
  anomaly.open = track.open;
  anomaly.vital = vital.name;
  anomaly.sub = sub.name;
  anomaly.start_ns = track.open_start_ns;
  anomaly.end_ns = end_ns;
  anomaly.value = track.peak;
  anomaly.expected = track.peak_expected;
  anomaly.deviation = track.peak_deviation;
  anomaly.severity = severity;
  anomaly.learned_epochs = track.open_learned;
  anomaly.text = text;
  anomaly.evidence = evidence;
  anomaly.against = "a load that is meant to be there, and is new or rare, does the same";
  self.host.anomaly(self.host.context, &anomaly);
}

void Judge(const Instance& self, const telltale_filter_epoch& epoch,
           const telltale_filter_vital& vital, const telltale_filter_sub& sub, double rate,
           Track& track) {
  const Options& options = self.options;
  // A series that hardly ever moves would make an anomaly of every breath: the deviation counts as
  // at least the unit's floor and a twentieth of the mean.
  const double deviation = std::max(
      {std::sqrt(track.variance), FloorOf(vital.unit) * options.floor, std::abs(track.mean) / 20});
  const double distance = std::abs(rate - track.mean) / deviation;
  const bool may_speak = static_cast<double>(track.learned) >= options.learn;
  if (track.open == 0 && may_speak && distance > options.k) {
    track.open = 1;
    track.open_start_ns = epoch.start_ns;
    track.open_learned = track.learned;
    track.peak = rate;
    track.peak_expected = track.mean;
    track.peak_deviation = deviation;
    Emit(self, vital, sub, track, epoch.end_ns);
  } else if (track.open != 0 && distance < options.k / 2) {
    // Half way back: not at the first wobble, so that one long spike stays one anomaly.
    track.open = 0;
    Emit(self, vital, sub, track, epoch.start_ns);
  } else if (track.open != 0 &&
             std::abs(rate - track.peak_expected) > std::abs(track.peak - track.peak_expected)) {
    track.peak = rate;
  }
  // What was called unusual is learned from only as far as the border of the usual: a spike hardly
  // moves the mean, a new level is accepted in time.
  const double reach = options.k / 2 * deviation;
  const double seen = may_speak ? std::clamp(rate, track.mean - reach, track.mean + reach) : rate;
  const double weight = std::max(options.alpha, 1 / static_cast<double>(track.learned + 1));
  const double step = weight * (seen - track.mean);
  track.variance = (1 - weight) * (track.variance + step * (seen - track.mean));
  track.mean += step;
  ++track.learned;
}

void* Create(const telltale_filter_host* host, const telltale_filter_option* options,
             uint32_t option_count) {
  auto* self = new Instance{*host, {}, {}};
  for (uint32_t i = 0; i < option_count; ++i) {
    const std::string_view name = options[i].name;
    if (name == "alpha") self->options.alpha = std::clamp(options[i].value, 1e-6, 1.0);
    if (name == "learn") self->options.learn = options[i].value;
    if (name == "k") self->options.k = std::max(options[i].value, 0.1);
    if (name == "floor") self->options.floor = std::max(options[i].value, 1e-9);
  }
  return self;
}

int Epoch(void* instance, const telltale_filter_epoch* epoch) {
  Instance& self = *static_cast<Instance*>(instance);
  if (!IsUsual(*epoch)) return 0;
  for (const Rate& rate : RatesOf(*epoch)) {
    const auto key =
        std::pair(static_cast<uint8_t>(rate.vital->id), static_cast<uint8_t>(rate.sub->index));
    Track& track = self.tracks[key];
    track.vital = key.first;
    track.sub = key.second;
    Judge(self, *epoch, *rate.vital, *rate.sub, rate.per_second, track);
  }
  return 0;
}

void Destroy(void* instance) { delete static_cast<Instance*>(instance); }

size_t Save(void* instance, void* bytes, size_t capacity) {
  const Instance& self = *static_cast<Instance*>(instance);
  const size_t size = self.tracks.size() * sizeof(Track);
  if (size > capacity) return size;
  char* out = static_cast<char*>(bytes);
  for (const auto& [key, track] : self.tracks) {
    std::memcpy(out, &track, sizeof track);
    out += sizeof track;
  }
  return size;
}

int Load(void* instance, const void* bytes, size_t size) {
  Instance& self = *static_cast<Instance*>(instance);
  if (size % sizeof(Track) != 0) return 1;
  for (size_t at = 0; at < size; at += sizeof(Track)) {
    Track track;
    std::memcpy(&track, static_cast<const char*>(bytes) + at, sizeof track);
    if (track.layout != 1 || !std::isfinite(track.mean) || !std::isfinite(track.variance)) {
      self.tracks.clear();
      return 1;
    }
    self.tracks[{track.vital, track.sub}] = track;
  }
  return 0;
}

// By the sub-series that was there longest: others may have come later.
void Learning(const void* instance, telltale_filter_learning* learning) {
  const Instance& self = *static_cast<const Instance*>(instance);
  learning->learned_epochs = 0;
  for (const auto& [key, track] : self.tracks) {
    learning->learned_epochs = std::max(learning->learned_epochs, track.learned);
  }
  learning->needed_epochs = static_cast<uint64_t>(std::ceil(std::max(0.0, self.options.learn)));
}

}  // namespace

const telltale_filter* telltale_ewma_filter(void) {
  static const telltale_filter filter = {sizeof(telltale_filter),
                                         TELLTALE_FILTER_ABI,
                                         "ewma",
                                         2,
                                         TELLTALE_NEEDS_TOTALS,
                                         "moving average and deviation of every sub-series' rate",
                                         nullptr,
                                         Create,
                                         Epoch,
                                         Destroy,
                                         Save,
                                         Load,
                                         Learning,
                                         30,
                                         0};
  return &filter;
}
