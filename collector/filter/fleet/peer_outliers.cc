#include "collector/filter/fleet/peer_outliers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/rates.h"
#include "collector/filter/detect/robust.h"
#include "collector/filter/detect/state_bytes.h"
#include "collector/filter/epoch_view.h"
#include "proto/compress.h"
#include "storage/keys.h"
#include "storage/placement.h"

namespace telltale::filter {
namespace {

constexpr char kPeersState[] = "fleet/peers";
constexpr uint8_t kPeersLayout = 3;
// Of a third of ten thousand nodes with eight series each; the texts are nearly the same.
constexpr size_t kMostBytes = 64 << 20;
constexpr uint64_t kMinuteNs = 60'000'000'000;
constexpr uint64_t kWaitNs = 3 * kMinuteNs;
constexpr uint64_t kMostBehind = 10;  // minutes; those before are passed over
constexpr double kDeviations = 6;
constexpr double kShareOfUsual = 0.1;  // a deviation is at least so much of what is usual
constexpr uint32_t kHeld = 5, kMissed = 5;
constexpr uint32_t kAlone = 15;       // minutes: agents come back within a few
constexpr double kMemory = 1.0 / 60;  // of the program that runs most
constexpr size_t kPrograms = 32;

// What an epoch is read for.
telltale_filter Wanted() {
  telltale_filter filter = {};
  filter.struct_size = sizeof filter;
  filter.needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_PROCESSES;
  return filter;
}

}  // namespace

PeerOutliers::PeerOutliers(const EpochSource* source, storage::DerivedStore* store,
                           FleetOutputs* outputs)
    : source_(source), store_(store), outputs_(outputs) {
  Load();
}

absl::Status PeerOutliers::Look(const std::vector<NodeHead>& nodes, uint64_t now_ns) {
  if (auto status = Settle(now_ns); !status.ok()) return status;
  const uint64_t newest = storage::FloorTo(now_ns - std::min(now_ns, kWaitNs), kMinuteNs);
  const uint64_t oldest = newest - std::min(newest, kMostBehind * kMinuteNs);
  next_minute_ns_ = std::max(next_minute_ns_, next_minute_ns_ == 0 ? newest : oldest);
  are_many_ = nodes.size() > kPeers;
  while (next_minute_ns_ < newest) {
    if (auto status = ReadWhatWasNotNoted(nodes, next_minute_ns_); !status.ok()) return status;
    LookAt(nodes, next_minute_ns_);
    next_minute_ns_ += kMinuteNs;
    if (auto status = Settle(now_ns); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status PeerOutliers::Settle(uint64_t now_ns) {
  for (; !untold_.empty(); untold_.pop_front()) {
    const Untold& first = untold_.front();
    auto put = outputs_->Put(kName, kVersion, first.node, first.name, first.anomaly, now_ns);
    if (!put.ok()) return put;
  }
  for (auto it = tracks_.begin(); to_carry_ && it != tracks_.end(); ++it) {
    const auto& [key, track] = *it;
    if (!track.told) continue;
    auto carried = outputs_->Carry(kName, kVersion, key.first, track.start_ns, now_ns);
    if (!carried.ok()) return carried;
  }
  to_carry_ = false;
  if (!to_save_) return absl::OkStatus();
  auto saved = Save();
  // What there is no room for is told of, and tried again with the next minute.
  to_save_ = absl::IsUnavailable(saved);
  return saved;
}

bool PeerOutliers::Counts(const NodeHead& node, uint64_t minute_ns) const {
  return are_many_ && node.last_epoch_ns > minute_ns;
}

absl::Status PeerOutliers::ReadWhatWasNotNoted(const std::vector<NodeHead>& nodes,
                                               uint64_t minute_ns) {
  for (const NodeHead& node : nodes) {
    if (!Counts(node, minute_ns)) continue;
    const auto noted = noted_.find(node.number);
    const bool there =
        noted != noted_.end() &&
        std::ranges::count(noted->second.accounts, minute_ns, &Account::minute_ns) > 0;
    if (there) continue;
    if (auto status = Read(node.number, minute_ns); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::optional<PeerOutliers::Account> PeerOutliers::TakeNoted(uint32_t node, uint64_t minute_ns) {
  const auto noted = noted_.find(node);
  if (noted == noted_.end()) return std::nullopt;
  auto& accounts = noted->second.accounts;
  std::erase_if(accounts, [&](const Account& one) { return one.minute_ns < minute_ns; });
  if (accounts.empty() || accounts.front().minute_ns != minute_ns) return std::nullopt;
  Account taken = std::move(accounts.front());
  accounts.erase(accounts.begin());
  return taken;
}

void PeerOutliers::LookAt(const std::vector<NodeHead>& nodes, uint64_t minute_ns) {
  std::vector<Minute> minutes;
  minutes.reserve(nodes.size());
  for (const NodeHead& node : nodes) {
    const std::optional<Account> account = TakeNoted(node.number, minute_ns);
    if (!account || account->sums.empty() || !Counts(node, minute_ns)) continue;
    Minute& minute = minutes.emplace_back();
    minute.node = &node;
    minute.cpus = account->cpus;
    minute.rates.reserve(account->sums.size());
    for (const Sum& sum : account->sums) {
      minute.rates.push_back({sum.series, sum.unit, sum.weight / (sum.seconds * minute.cpus)});
    }
  }
  std::map<std::string, std::vector<const Minute*>> groups;
  for (const Minute& minute : minutes) groups[GroupOf(minute)].push_back(&minute);
  few_peers_.clear();
  for (const auto& [group, peers] : groups) {
    if (peers.size() > kPeers) {
      Judge(group, peers, minute_ns);
      continue;
    }
    for (const Minute* minute : peers) {
      few_peers_[minute->node->number] = static_cast<uint32_t>(peers.size()) - 1;
    }
  }
  EndWhatIsGone(minute_ns);
  to_carry_ = to_carry_ || minute_ns % storage::kHourNs == 0;
  to_save_ = true;
  looked_ = std::min(looked_ + 1, kHeld);
  std::erase_if(tracks_, [&](const auto& entry) {
    const Track& track = entry.second;
    return !track.told && track.last_ns + kMostBehind * kMinuteNs < minute_ns;
  });
}

void PeerOutliers::Note(uint32_t node, const SourceEpoch& epoch) {
  const uint64_t minute_ns = storage::FloorTo(epoch.span.middle_ns(), kMinuteNs);
  // Before the first look it is not known which minute is the next.
  if (!are_many_ || next_minute_ns_ == 0 || minute_ns < next_minute_ns_) return;
  Noted& noted = noted_[node];
  if (epoch.span.start_ns <= noted.last_start_ns) return;
  noted.last_start_ns = epoch.span.start_ns;
  if (noted.accounts.empty() || noted.accounts.back().minute_ns != minute_ns) {
    if (noted.accounts.size() >= kMostBehind) noted.accounts.erase(noted.accounts.begin());
    noted.accounts.emplace_back().minute_ns = minute_ns;
  }
  AddTo(noted.accounts.back(), node, epoch);
}

absl::Status PeerOutliers::Read(uint32_t node, uint64_t minute_ns) {
  Account account;
  account.minute_ns = minute_ns;
  uint64_t last_start_ns = 0;
  const auto visit = [&](const SourceEpoch& epoch) {
    // An epoch belongs to the minute its middle lies in.
    if (storage::FloorTo(epoch.span.middle_ns(), kMinuteNs) == minute_ns) {
      AddTo(account, node, epoch);
      last_start_ns = std::max(last_start_ns, epoch.span.start_ns);
    }
    return true;
  };
  const auto read = source_->ForEachAccount(node, minute_ns, minute_ns + kMinuteNs, visit);
  if (!read.ok()) return read;
  Noted& noted = noted_[node];
  noted.last_start_ns = std::max(noted.last_start_ns, last_start_ns);
  noted.accounts.insert(
      std::ranges::lower_bound(noted.accounts, minute_ns, {}, &Account::minute_ns),
      std::move(account));
  return absl::OkStatus();
}

void PeerOutliers::AddTo(Account& account, uint32_t node, const SourceEpoch& epoch) {
  static const telltale_filter wanted = Wanted();
  const EpochView view(epoch, wanted);
  if (!IsUsual(*view.get())) return;
  account.cpus = std::max(1U, view.get()->cpus);
  for (const filter::Rate& rate : RatesOf(*view.get())) {
    const auto series = series_.Of(Series(rate.vital->name, rate.sub->name));
    const auto unit = units_.Of(rate.vital->unit);
    if (!series || !unit) continue;
    auto sum = std::ranges::lower_bound(account.sums, *series, {}, &Sum::series);
    if (sum == account.sums.end() || sum->series != *series) {
      sum = account.sums.insert(sum, Sum{.series = static_cast<uint16_t>(*series)});
    }
    const double watched = static_cast<double>(rate.vital->watched_ns) / 1e9;
    sum->unit = static_cast<uint16_t>(*unit);
    sum->weight += static_cast<float>(rate.per_second * watched);
    sum->seconds += static_cast<float>(watched);
  }
  auto& programs = programs_[node];
  for (auto& [program, share] : programs) share *= static_cast<float>(1 - kMemory);
  const auto column = ColumnOf(*view.get(), TELLTALE_PROCESS_RUN_NS);
  for (uint32_t i = 0; column.has_value() && i < view.get()->process_count; ++i) {
    const auto& process = *TELLTALE_FILTER_AT(telltale_filter_process, view.get()->processes, i);
    NoteProgram(node, process.exe, static_cast<double>(process.value[*column]));
  }
  std::erase_if(programs, [](const auto& entry) { return entry.second < 1; });
}

void PeerOutliers::NoteProgram(uint32_t node, const char* program, double run_ns) {
  if (program[0] == '\0') return;
  // Over the years a fleet has had more than there is room for: it learns them anew.
  if (program_numbers_.full()) {
    program_numbers_.clear();
    for (auto& [of, programs] : programs_) programs.clear();
  }
  const uint32_t number = *program_numbers_.Of(program);
  auto& programs = programs_[node];
  auto known = std::ranges::find(programs, number, &std::pair<uint32_t, float>::first);
  if (known == programs.end()) {
    if (programs.size() >= kPrograms) return;
    known = programs.insert(known, std::pair(number, 0.0f));
  }
  known->second += static_cast<float>(kMemory * run_ns);
}

std::string PeerOutliers::GroupOf(const Minute& minute) {
  const NodeHead& node = *minute.node;
  const char* of = node.scope.empty() ? "" : "cgroups, ";
  if (!node.role.empty()) return absl::StrCat(of, "role ", node.role);
  const auto& programs = programs_[node.number];
  const auto most = std::ranges::max_element(programs, {}, &std::pair<uint32_t, float>::second);
  return absl::StrCat(of, "kernel ", node.kernel_release, ", ", minute.cpus, " CPUs, ",
                      most == programs.end() ? "" : BaseOf(program_numbers_[most->first]));
}

void PeerOutliers::Judge(const std::string& group, const std::vector<const Minute*>& peers,
                         uint64_t minute_ns) {
  std::vector<std::vector<std::pair<const Minute*, const Rate*>>> by_series(series_.all().size());
  for (const Minute* minute : peers) {
    for (const Rate& rate : minute->rates) by_series[rate.series].emplace_back(minute, &rate);
  }
  for (const auto& [series, number] : series_.all()) {
    const auto& all = by_series[number];
    if (all.size() <= kPeers) continue;
    // Of all of them: one among six or more moves neither median.
    std::vector<double> values;
    for (const auto& [minute, rate] : all) values.push_back(rate->per_cpu);
    const double usual = Median(values), spread = MadScale(values);
    for (const auto& [minute, rate] : all) {
      const Rate& own = *rate;
      const std::string& unit = units_[own.unit];
      const double scale =
          std::max({spread, FloorOf(unit) / minute->cpus, kShareOfUsual * std::abs(usual)});
      const bool outlier = std::abs(own.per_cpu - usual) > kDeviations * scale;
      const Key key{minute->node->number, series};
      const auto known = tracks_.find(key);
      if (known == tracks_.end() && !outlier) continue;
      Track& track = known == tracks_.end() ? tracks_[key] : known->second;
      ++track.compared;
      track.compared_ns = minute_ns;
      if (!track.told) {
        track.node = minute->node->name;
        track.unit = unit;
        track.value = own.per_cpu;
        track.usual = usual;
        track.deviation = scale;
        track.text =
            absl::StrCat(series.first, "/", series.second, " is ", RateText(own.per_cpu, unit),
                         " a CPU, its ", all.size() - 1, " peers have ", RateText(usual, unit));
        track.evidence =
            absl::StrCat(absl::StrFormat("%.1f", std::abs(own.per_cpu - usual) / scale),
                         " deviations from the median of its peers (", group, "), in ", kHeld,
                         " minutes in a row");
      }
      Advance(key, track, outlier, minute_ns);
    }
  }
}

void PeerOutliers::Advance(const Key& key, Track& track, bool outlier, uint64_t minute_ns) {
  if (outlier) {
    // In a row: over minutes in which it was not compared it is not.
    if (!track.told && track.last_ns != minute_ns) track.held = 0;
    if (track.held == 0 && !track.told) track.start_ns = minute_ns;
    ++track.held;
    track.missed = 0;
    track.last_ns = minute_ns + kMinuteNs;
    if (track.told || track.held < kHeld) return;
    track.told = true;
    Tell(key, track, true);
    return;
  }
  track.held = 0;
  ++track.missed;
  if (!track.told || track.missed < kMissed) return;
  track.told = false;
  Tell(key, track, false);
}

// Minutes that were looked at count, and not time: in the collector's own absence nothing is gone.
void PeerOutliers::EndWhatIsGone(uint64_t minute_ns) {
  for (auto& [key, track] : tracks_) {
    track.alone = track.compared_ns == minute_ns ? 0 : track.alone + 1;
    if (!track.told || track.alone < kAlone) continue;
    track.told = false;
    Tell(key, track, false);
  }
}

void PeerOutliers::Tell(const Key& key, const Track& track, bool goes_on) {
  const auto micro = [](double value) {
    return std::llround(std::clamp(value, -9e12, 9e12) * 1e6);
  };
  v1::FilterAnomaly anomaly;
  anomaly.set_vital(key.second.first);
  anomaly.set_sub(key.second.second);
  anomaly.set_start_ns(track.start_ns);
  anomaly.set_end_ns(track.last_ns);
  anomaly.set_open(goes_on);
  anomaly.set_value_micro(micro(track.value));
  anomaly.set_expected_micro(micro(track.usual));
  anomaly.set_deviation_micro(micro(track.deviation));
  anomaly.set_severity_milli(
      std::llround(std::clamp((track.value - track.usual) / track.deviation, -1e9, 1e9) * 1e3));
  anomaly.set_learned_epochs(track.compared);
  anomaly.set_text(track.text);
  anomaly.set_evidence(track.evidence);
  anomaly.set_against("its share of the load may be meant to be another one");
  anomaly.set_next(absl::StrCat("telltale top --vital ", key.second.first, "/", key.second.second,
                                " --node ", track.node));
  untold_.push_back({key.first, track.node, std::move(anomaly)});
}

std::optional<uint32_t> PeerOutliers::FewPeers(const NodeHead& node, size_t nodes) const {
  // Of so few, whose minutes are not looked at, no node has more peers than there are others.
  if (nodes <= kPeers) return static_cast<uint32_t>(nodes) - 1;
  const auto few = few_peers_.find(node.number);
  return few == few_peers_.end() ? std::nullopt : std::optional(few->second);
}

std::vector<v1::FilterLearning> PeerOutliers::Learning(const std::vector<NodeHead>& nodes) const {
  std::vector<v1::FilterLearning> all;
  for (const NodeHead& node : nodes) {
    const std::optional<uint32_t> few = FewPeers(node, nodes.size());
    if (!few.has_value() && looked_ >= kHeld) continue;
    v1::FilterLearning& learning = all.emplace_back();
    learning.set_filter(kName);
    learning.set_node(node.name);
    learning.set_learned_epochs(few.value_or(looked_));
    learning.set_needed_epochs(few.has_value() ? kPeers : kHeld);
    learning.set_unit(few.has_value() ? "peers" : "minutes");
  }
  return all;
}

bool PeerOutliers::IsOpen(const NodeNames& nodes, const std::string& vital,
                          const std::string& sub) const {
  const Series series(vital, sub);
  return std::ranges::any_of(tracks_, [&](const auto& entry) {
    return entry.second.told && entry.first.second == series &&
           (nodes.empty() || nodes.contains(entry.second.node));
  });
}

absl::Status PeerOutliers::Save() {
  std::map<Key, const Track*> open;
  for (const auto& [key, track] : tracks_) {
    if (track.told) open[key] = &track;
  }
  StateWriter to;
  to.Map(open, [&](const Track* track) {
    to.Put(track->missed);
    to.Put(track->start_ns);
    to.Put(track->last_ns);
    to.Put(track->compared);
    to.Put(track->value);
    to.Put(track->usual);
    to.Put(track->deviation);
    for (const std::string* text : {&track->node, &track->unit, &track->text, &track->evidence}) {
      to.Text(*text);
    }
  });
  const auto packed = proto::Compress(to.bytes());
  if (!packed.ok()) return packed.status();
  StateWriter state;
  state.Put(kPeersLayout);
  state.Text(*packed);
  return store_->PutState(kPeersState, state.bytes(), storage::Durability::kBuffered);
}

void PeerOutliers::Load() {
  const auto bytes = store_->GetState(kPeersState);
  if (!bytes.ok()) return;
  StateReader state(*bytes);
  if (state.Get<uint8_t>() != kPeersLayout) return;
  const std::string packed = state.Text();
  const auto opened = proto::DecompressWhole("open outliers", packed, kMostBytes);
  if (!opened.ok() || !state.at_end()) return;
  StateReader from(*opened);
  from.Map(tracks_, [&](Track& track) {
    track.told = true;
    track.missed = from.Get<uint32_t>();
    track.start_ns = from.Get<uint64_t>();
    track.last_ns = from.Get<uint64_t>();
    track.compared = from.Get<uint64_t>();
    track.value = from.Get<double>();
    track.usual = from.Get<double>();
    track.deviation = from.Get<double>();
    for (std::string* text : {&track.node, &track.unit, &track.text, &track.evidence}) {
      *text = from.Text();
    }
  });
  // What cannot be read is found again.
  if (!from.at_end()) tracks_.clear();
}

}  // namespace telltale::filter
