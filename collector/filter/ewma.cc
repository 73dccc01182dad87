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

using telltale::filter::ColumnOf;
using telltale::filter::FloorOf;
using telltale::filter::IsUsual;
using telltale::filter::PercentText;
using telltale::filter::ProcessText;
using telltale::filter::Rate;
using telltale::filter::RatesOf;
using telltale::filter::RateText;

// Epochs without its vital after which an anomaly is over: who took the vital away, or a counter
// that the node came back without, says nothing more of it.
constexpr uint8_t kAway = 15;

constexpr uint32_t kLayout = 3;

// Of what is high: below the first share nobody is named, from the second on it is most of it.
constexpr double kNamedShare = 0.1, kMostShare = 0.5;

struct Options {
  double alpha = 1.0 / 32;
  double learn = 30;
  double k = 6;
  double floor = 1;
};

// What is known of one sub-series. Saved and loaded as it is; the first field tells the layout.
struct Track {
  uint32_t layout = kLayout;
  uint8_t vital = 0, sub = 0;
  uint8_t open = 0;
  uint8_t away = 0;      // epochs in a row without it, while open
  uint64_t learned = 0;  // epochs
  double mean = 0, variance = 0;
  uint64_t open_start_ns = 0, open_learned = 0;
  double peak = 0, peak_expected = 0, peak_deviation = 0;
  uint64_t last_end_ns = 0;  // of the last epoch that had it
};
static_assert(sizeof(Track) == 80);

// What a sub-series is called: of one that is open its end may have to be told without an epoch
// that has it. Saved behind its track.
struct Series {
  std::string vital, sub, unit;
  std::string who;  // had most of it at the peak; "": nobody much, or it is not known
};

using Key = std::pair<uint8_t, uint8_t>;  // vital's id and sub-series

struct Instance {
  telltale_filter_host host;
  Options options;
  std::map<Key, Track> tracks;
  std::map<Key, Series> open;
};

// Where the process table has the sub-series; of CPU time it has the kernel's own account instead.
uint32_t ColumnOfSub(const Rate& of) {
  const std::string_view vital = of.vital->name, sub = of.sub->name;
  if (vital == "cpu" && sub == "user") return TELLTALE_PROCESS_USER_NS;
  if (vital == "cpu" && sub == "kernel") return TELLTALE_PROCESS_SYSTEM_NS;
  return TELLTALE_PROCESS_SHARE(of.vital->id, of.sub->index, 1);
}

// "; most of it is app (pid 812, user root), 83 %". Only of a rate that is high: of a low one it
// would be those who still do it.
std::string WhoText(const telltale_filter_epoch& epoch, const Rate& of, bool high) {
  const auto column = ColumnOf(epoch, ColumnOfSub(of));
  if (!high || !column.has_value() || epoch.other_value == nullptr) return "";
  const telltale_filter_process* most = nullptr;
  uint64_t largest = 0;
  double all = static_cast<double>(epoch.other_value[*column]);
  for (uint32_t i = 0; i < epoch.process_count; ++i) {
    const auto& process = *TELLTALE_FILTER_AT(telltale_filter_process, epoch.processes, i);
    const uint64_t value = process.value[*column];
    all += static_cast<double>(value);
    if (value > largest) most = &process;
    largest = std::max(largest, value);
  }
  const double share = most == nullptr ? 0 : static_cast<double>(largest) / all;
  if (share < kNamedShare) return "";
  const bool in_interrupts = std::string_view(most->comm) == "[irq]" && most->exe[0] == '\0';
  return std::string(share >= kMostShare ? "; most of it is " : "; the largest part of it is ") +
         (in_interrupts ? "in interrupts" : ProcessText(*most)) + ", " + PercentText(share);
}

void Emit(const Instance& self, const Series& series, const Track& track, uint64_t end_ns) {
  char text[256];
  std::snprintf(
      text, sizeof text, "%s/%s %s at %s; usual is %s, give or take %s (learned from %llu epochs)",
      series.vital.c_str(), series.sub.c_str(), track.peak < track.peak_expected ? "low" : "high",
      RateText(track.peak, series.unit).c_str(), RateText(track.peak_expected, series.unit).c_str(),
      RateText(track.peak_deviation, series.unit).c_str(),
      static_cast<unsigned long long>(track.open_learned));
  const double severity = (track.peak - track.peak_expected) / track.peak_deviation;
  char evidence[128];
  std::snprintf(evidence, sizeof evidence,
                "%.1f deviations from the moving average of its epochs; %g are too many",
                std::abs(severity), self.options.k);
  telltale_filter_anomaly anomaly = {};
  anomaly.struct_size = sizeof anomaly;
  anomaly.open = track.open;
  anomaly.vital = series.vital.c_str();
  anomaly.sub = series.sub.c_str();
  anomaly.start_ns = track.open_start_ns;
  anomaly.end_ns = end_ns;
  anomaly.value = track.peak;
  anomaly.expected = track.peak_expected;
  anomaly.deviation = track.peak_deviation;
  anomaly.severity = severity;
  anomaly.learned_epochs = track.open_learned;
  const std::string sentence = text + series.who;
  anomaly.text = sentence.c_str();
  anomaly.evidence = evidence;
  anomaly.against = "a load that is meant to be there, and is new or rare, does the same";
  self.host.anomaly(self.host.context, &anomaly);
}

void Close(Instance& self, const Key& key, Track& track, uint64_t end_ns) {
  track.open = 0;
  track.away = 0;
  Emit(self, self.open.at(key), track, end_ns);
  self.open.erase(key);
}

void Judge(Instance& self, const telltale_filter_epoch& epoch, const Rate& of, Track& track) {
  const double rate = of.per_second;
  const Key key(track.vital, track.sub);
  track.away = 0;
  track.last_end_ns = epoch.end_ns;
  const Options& options = self.options;
  // A series that hardly ever moves would make an anomaly of every breath: the deviation counts as
  // at least the unit's floor and a twentieth of the mean.
  const double deviation =
      std::max({std::sqrt(track.variance), FloorOf(of.vital->unit) * options.floor,
                std::abs(track.mean) / 20});
  const double distance = std::abs(rate - track.mean) / deviation;
  const bool may_speak = static_cast<double>(track.learned) >= options.learn;
  if (track.open == 0 && may_speak && distance > options.k) {
    track.open = 1;
    track.open_start_ns = epoch.start_ns;
    track.open_learned = track.learned;
    track.peak = rate;
    track.peak_expected = track.mean;
    track.peak_deviation = deviation;
    const Series& series =
        self.open
            .insert_or_assign(key, Series{of.vital->name, of.sub->name, of.vital->unit,
                                          WhoText(epoch, of, rate > track.mean)})
            .first->second;
    Emit(self, series, track, epoch.end_ns);
  } else if (track.open != 0 && distance < options.k / 2) {
    // Half way back: not at the first wobble, so that one long spike stays one anomaly.
    Close(self, key, track, epoch.start_ns);
  } else if (track.open != 0 &&
             std::abs(rate - track.peak_expected) > std::abs(track.peak - track.peak_expected)) {
    track.peak = rate;
    self.open.at(key).who = WhoText(epoch, of, rate > track.peak_expected);
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
  auto* self = new Instance{*host, {}, {}, {}};
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
    const Key key(static_cast<uint8_t>(rate.vital->id), static_cast<uint8_t>(rate.sub->index));
    Track& track = self.tracks[key];
    track.vital = key.first;
    track.sub = key.second;
    Judge(self, *epoch, rate, track);
  }
  for (auto& [key, track] : self.tracks) {
    const bool missing = track.open != 0 && track.last_end_ns != epoch->end_ns;
    if (missing && ++track.away >= kAway) Close(self, key, track, track.last_end_ns);
  }
  return 0;
}

void Destroy(void* instance) { delete static_cast<Instance*>(instance); }

size_t Save(void* instance, void* bytes, size_t capacity) {
  const Instance& self = *static_cast<Instance*>(instance);
  std::string state;
  for (const auto& [key, track] : self.tracks) {
    state.append(reinterpret_cast<const char*>(&track), sizeof track);
    if (track.open == 0) continue;
    const Series& series = self.open.at(key);
    for (const std::string* text : {&series.vital, &series.sub, &series.unit, &series.who}) {
      state.append(text->c_str(), text->size() + 1);
    }
  }
  if (!state.empty() && state.size() <= capacity) {
    std::memcpy(bytes, state.data(), state.size());
  }
  return state.size();
}

// False: the bytes end before the text does.
bool ReadText(std::string_view& from, std::string& text) {
  const size_t end = from.find('\0');
  if (end == std::string_view::npos) return false;
  text = from.substr(0, end);
  from.remove_prefix(end + 1);
  return true;
}

bool ReadTrack(std::string_view& from, Instance& self) {
  Track track;
  if (from.size() < sizeof track) return false;
  std::memcpy(&track, from.data(), sizeof track);
  from.remove_prefix(sizeof track);
  if (track.layout != kLayout || !std::isfinite(track.mean) || !std::isfinite(track.variance)) {
    return false;
  }
  const Key key(track.vital, track.sub);
  self.tracks[key] = track;
  if (track.open == 0) return true;
  Series& series = self.open[key];
  return ReadText(from, series.vital) && ReadText(from, series.sub) &&
         ReadText(from, series.unit) && ReadText(from, series.who);
}

int Load(void* instance, const void* bytes, size_t size) {
  Instance& self = *static_cast<Instance*>(instance);
  std::string_view from(static_cast<const char*>(bytes), size);
  while (!from.empty()) {
    if (ReadTrack(from, self)) continue;
    self.tracks.clear();
    self.open.clear();
    return 1;
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
                                         4,
                                         TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_PROCESSES,
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
