// Reads a store as storage/FORMAT.md and the messages in proto/ describe it, and adds it up again.
// It shares no code with the store on purpose: where the two disagree, one of them or the page is
// wrong. Reading summaries back alone would take a hundred lines; this is longer because it decodes
// every family and every table, so that no row is there that the page does not describe, and adds
// up each coarser tier, line, coverage and counter from the epochs they stand for.
//
// Usage: store_decoder DIRECTORY, of a store that nobody has open; changes nothing. Prints what
// each node's counted epochs weigh by vital, and what the complete windows of the other tiers say
// instead. Exit code 1: a row that the page does not describe, or sums that differ.
#include <rocksdb/db.h>
#include <xxhash.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "google/protobuf/wrappers.pb.h"
#include "telltale/v1/access.pb.h"
#include "telltale/v1/enroll.pb.h"
#include "telltale/v1/filter.pb.h"
#include "telltale/v1/store.pb.h"
#include "tests/format/columns.h"
#include "tests/format/grammar.h"

namespace telltale::format {
namespace {

// By tier. 1 is raw, and here the series: hours. 0 is all time as one window.
constexpr uint64_t kHour = 3600ull * 1'000'000'000;
constexpr uint64_t kDay = 24 * kHour;
constexpr std::array<const char*, 5> kTier = {"raw", "series", "5min", "1h", "1d"};
constexpr std::array<uint64_t, 5> kWindow = {UINT64_MAX, kHour, kHour / 12, kHour, kDay};
constexpr std::array<uint64_t, 5> kRollupBucket = {1, 1, kDay, 10 * kDay, 100 * kDay};
constexpr std::array<uint64_t, 5> kLineBucket = {1, 1, kHour, kDay, 30 * kDay};

struct Sum {
  uint64_t events = 0, weight = 0;
  bool operator==(const Sum&) const = default;
};
using Subs = std::map<uint64_t, Sum>;  // by vital << 8 | sub-series
struct Part {
  uint64_t epochs = 0, length_ns = 0;
  std::multiset<uint64_t> starts_ms;
  Subs subs;
};
using Place = std::pair<uint64_t, uint64_t>;  // node, number of the window
struct Epochs {
  uint64_t counted = 0, apart = 0, unlisted = 0;
};

void Add(uint64_t vital, int sub, uint64_t events, uint64_t weight, Subs& subs) {
  Sum& sum = subs[vital << 8 | static_cast<uint64_t>(sub)];
  sum.events += events;
  sum.weight += weight;
}

// A series has zeros where a vital was unavailable, a window has no sub-series there.
Subs WithoutZeros(Subs subs) {
  std::erase_if(subs, [](const auto& entry) { return entry.second == Sum(); });
  return subs;
}

uint64_t Tier(Bytes& key, uint64_t finest) {
  const uint64_t tier = key.Int(1);
  Require(tier >= finest && tier <= 4, "tier " + std::to_string(tier));
  return tier;
}

void Check(const rocksdb::Status& status) { Require(status.ok(), status.ToString()); }

class Decoder {
 public:
  explicit Decoder(const std::string& directory) {
    std::stringstream version;
    version << std::ifstream(directory + "/VERSION").rdbuf();
    Require(version.str() == "telltale-store 3\n", "VERSION says '" + version.str() + "'");
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const std::string name = entry.path().filename();
      Require(name == "VERSION" || name == "rocks", "unknown file " + name);
    }
    const std::string rocks = directory + "/rocks";
    std::vector<std::string> names;
    Check(rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), rocks, &names));
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) families.push_back({name, {}});
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    Check(rocksdb::DB::OpenForReadOnly(rocksdb::DBOptions(), rocks, families, &handles, &db));
    db_.reset(db);
    for (size_t i = 0; i < names.size(); ++i) families_[names[i]] = handles[i];
  }
  ~Decoder() {
    for (const auto& [name, family] : families_) db_->DestroyColumnFamilyHandle(family);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void Decode() {
    const std::vector<std::pair<std::string, Row>> rows = {
        {"default", &Decoder::Catalog}, {"raw", &Decoder::Raw},       {"cells", &Decoder::Cells},
        {"series", &Decoder::Series},   {"rollup", &Decoder::Rollup}, {"line", &Decoder::Line},
        {"derived", &Decoder::Derived}, {"dict", &Decoder::Dict}};
    Require(families_.size() == rows.size(), std::to_string(families_.size()) + " families");
    for (const auto& [family, row] : rows) Scan(family, row);
  }

  void Compare() {
    CompareBlobs();
    for (uint64_t tier = 1; tier <= 4; ++tier) {
      std::set<Place> places;
      for (const auto& [place, part] : computed_[tier]) places.insert(place);
      for (const auto& [place, part] : stored_[tier]) places.insert(place);
      std::erase_if(places, [&](const Place& place) { return Expired(tier, place.second); });
      const size_t all = places.size();
      std::erase_if(places, [&](const Place& place) { return dirty_[tier].contains(place); });
      for (const Place& place : places) CompareWindow(tier, place);
      std::cout << "windows " << kTier[tier] << " complete " << places.size() << " of " << all
                << "\n";
    }
    for (const auto& [place, part] : computed_[4]) {
      Require(coverage_[place] == part.epochs, At(4, place) + " differs from its coverage");
    }
    for (const auto& [node, record] : counters_) {
      const Part& all = computed_[0][{node, 0}];
      if (record.epochs() != all.epochs) continue;  // some have expired
      Subs subs;
      for (int i = 0; i < record.sub_size(); ++i)
        subs[record.sub(i)] = {record.events(i), record.weight(i)};
      Require(WithoutZeros(subs) == WithoutZeros(all.subs), nodes_[node] + "'s counters differ");
    }
  }

  void Print() const {
    for (const auto& [family, rows] : rows_) std::cout << "rows " << family << " " << rows << "\n";
    for (const auto& [node, epochs] : epochs_) {
      std::cout << "epochs " << nodes_.at(node) << " counted " << epochs.counted << " apart "
                << epochs.apart << " unlisted " << epochs.unlisted << "\n";
    }
    for (const auto& [at, weights] : weights_) {
      std::cout << "weight " << nodes_.at(at.first) << " " << at.second;
      for (size_t tier = 0; tier <= 4; ++tier)
        std::cout << " " << kTier[tier] << " " << weights[tier];
      std::cout << "\n";
    }
  }

 private:
  void CompareBlobs() {
    for (const auto& [id, blob] : blobs_) {
      const std::string& content = contents_[id];
      Require(blob.unfinished() || (content.size() == blob.bytes() &&
                                    XXH3_64bits(content.data(), content.size()) == blob.digest()),
              "content of another digest than its blob's");
    }
    Require(contents_.size() == blobs_.size(), "content of no blob");
    std::cout << "blobs " << blobs_.size() << "\n";
  }

  using Row = void (Decoder::*)(std::string_view key, std::string_view value);

  void Scan(const std::string& family, Row row) {
    const std::unique_ptr<rocksdb::Iterator> at(
        db_->NewIterator(rocksdb::ReadOptions(), families_.at(family)));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      try {
        (this->*row)(at->key().ToStringView(), at->value().ToStringView());
      } catch (const std::exception& error) {
        throw std::runtime_error("family " + family + ", key " + at->key().ToString(/*hex=*/true) +
                                 ": " + error.what());
      }
      ++rows_[family];
    }
    Check(at->status());
  }

  void Catalog(std::string_view key_bytes, std::string_view value) {
    Bytes key(key_bytes), plain(value);
    const uint64_t table = key.Int(1);
    // Of these the node comes first.
    const uint64_t node = table >= 0x02 && table <= 0x06 ? key.Int(4) : 0;
    if (table == 0x01) {
      store_ = Versioned<v1::StoreRecord>(value);
    } else if (table == 0x02) {
      const auto record = Versioned<v1::NodeRecord>(value);
      Require(record.number() == node, "record of node " + std::to_string(record.number()));
      nodes_[node] = record.name();
    } else if (table == 0x03) {
      ledgers_[{node, key.Take(16)}] = Versioned<v1::LedgerRecord>(value);
    } else if (table == 0x04) {
      uint64_t& epochs = coverage_[{node, key.Int(2)}];
      const auto record = Versioned<v1::CoverageRecord>(value);
      for (const uint32_t some : record.epochs()) epochs += some;
    } else if (table == 0x05) {
      counters_[node] = Versioned<v1::CountersRecord>(value);
    } else if (table == 0x06) {
      const uint64_t tier = Tier(key, 1), window = key.Int(4);
      dirty_[tier].insert({node, window});
      for (uint64_t coarser = tier + 1; tier > 1 && coarser <= 4; ++coarser)
        dirty_[coarser].insert({node, window * kWindow[tier] / kWindow[coarser]});
      Require(plain.Int(8) < store_.ingest_number(), "an ingest number that was never given");
      plain.End();
    } else if (table == 0x07) {
      Require(Versioned<v1::Schema>(value).id() == key.Int(8), "schema of another id");
    } else if (table == 0x08) {
      key.Int(4);
      key.Rest();
      filters_.insert(plain.Int(8));
      plain.End();
    } else if (table == 0x09) {
      FilterState(key.Rest(), plain);
    } else if (table == 0x0a) {
      const uint64_t tier = Tier(key, 2), bucket = key.Int(4), group = key.Int(4);
      dirty_lines_.insert({tier, bucket, group});
      Require(plain.Int(8) < store_.ingest_number(), "an ingest number that was never given");
      plain.End();
    } else if (table == 0x0b) {
      const auto blob = Versioned<v1::StoredBlob>(value);
      Require(blob.id() == key.Take(16), "blob of another id");
      blobs_[blob.id()] = blob;
    } else if (table == 0x0c) {
      Require(Versioned<v1::StoredBlobAudit>(value).time_ns() == key.Int(8), "of another time");
      key.Int(4);
    } else if (table == 0x0d) {
      Require(Parse<v1::StoredToken>(plain.Rest()).id() == key.Take(8), "token of another id");
    } else if (table == 0x0e) {
      const uint64_t kind = key.Int(1);
      key.Int(8);
      Require(Parse<v1::StoredAuditEntry>(plain.Rest()).refused() == (kind == 1),
              "of another kind");
    } else if (table == 0x0f) {
      const auto mark = Parse<v1::StoredMark>(plain.Rest());
      Require(mark.time_ns() == key.Int(8), "note of another time");
      Require(mark.id() == key.Take(8), "note of another id");
      Require(mark.elsewhere().empty() || mark.by().starts_with("filter "),
              "a note of an operator has one node at most");
    } else if (table == 0x10) {
      std::string& content = contents_[key.Take(16)];
      Require(content.size() == key.Int(4) << 20, "a piece before it is missing");
      content += Versioned(value);
    } else if (table == 0x14) {
      Enrolment(key.Int(1), std::string(key.Rest()), std::string(plain.Rest()));
    } else {
      throw std::runtime_error("unknown table");
    }
    key.End();
  }

  static void FilterState(const std::string& name, Bytes& value) {
    const auto slot = [&](const std::string& ring, uint64_t number, uint64_t kept) {
      Require(name == ring + std::to_string(number % kept), "state named " + name);
    };
    if (name == "anomaly-log/head") {
      Parse<v1::AnomalyLogHead>(value.Rest());
    } else if (name.starts_with("anomaly-log/")) {
      slot("anomaly-log/", Parse<v1::LoggedAnomaly>(value.Rest()).number(), 65'536);
    } else if (name == "incidents/head") {
      Parse<v1::IncidentHead>(value.Rest());
    } else if (name == "incidents/silences") {
      Parse<v1::StoredSilences>(value.Rest());
    } else if (name.starts_with("incidents/")) {
      const uint64_t place = std::stoul(name.substr(std::string("incidents/").size()));
      Require(place < 4'096 && name == "incidents/" + std::to_string(place), "state named " + name);
      Require(Parse<v1::StoredIncident>(value.Rest()).number() > 0, "incident without a number");
    } else {
      Require(name == "fleet/silence" || name == "fleet/peers", "state named " + name);
      Require(value.Int(1) == (name == "fleet/silence" ? 3 : 2), "unknown layout");
      value.Rest();
    }
  }

  static void Enrolment(uint64_t kind, const std::string& name, const std::string& value) {
    Require(kind <= 2, "unknown kind of enrolment");
    const std::string own = kind == 0   ? Parse<v1::StoredEnrollToken>(value).id()
                            : kind == 1 ? Parse<v1::StoredWaiting>(value).id()
                                        : Parse<v1::StoredNodeCertificate>(value).node();
    Require(own == name, "enrolment of another name");
  }

  void Raw(std::string_view key_bytes, std::string_view value_bytes) {
    Bytes key(key_bytes);
    const uint64_t day = key.Int(2), node = key.Int(4), start_ns = key.Int(8);
    const std::string incarnation = key.Take(16);
    const uint64_t sequence = key.Int(8);
    const bool apart = !key.AtEnd();
    const uint64_t apart_digest = apart ? key.Int(8) : 0;
    key.End();
    const std::string unversioned = Versioned(value_bytes);
    Bytes value(unversioned);
    const uint64_t digest = value.Int(8), length_ns = value.Int(8);
    auto summary = Parse<v1::Summary>(value.Rest());
    Require(!apart || apart_digest == digest, "another digest in the key");
    CheckIdentity(node, incarnation, sequence, summary.identity());

    const bool columns = summary.format() == 2;
    const auto body = Parse<v1::SummaryBody>(
        columns ? FromColumns(UnpackWhole(summary.body()), summary.body_bytes())
                : Unpack(summary.body(), summary.body_bytes()));
    const v1::Epoch& epoch = body.epoch();
    const int64_t offset_ns = epoch.clock_error_ns() != 0 ? epoch.clock_offset_ns() : 0;
    const uint64_t middle_ns = start_ns + length_ns / 2;
    Require(epoch.start_unix_ns() + static_cast<uint64_t>(offset_ns) == start_ns &&
                epoch.end_mono_ns() - epoch.start_mono_ns() == length_ns && middle_ns / kDay == day,
            "its epoch lies elsewhere");

    std::string cells;
    const bool has_cells =
        db_->Get(rocksdb::ReadOptions(), families_.at("cells"), key_bytes, &cells).ok();
    if (has_cells) {
      ++raw_with_cells_;
      summary.set_cells(Versioned(cells));
      Parse<v1::SketchCells>(Unpack(summary.cells(), summary.cells_bytes()));
    }
    Require(!columns || (!apart && summary.cells_bytes() == 0), "columns of what stays as it came");
    if (!columns && (has_cells || summary.cells_bytes() == 0)) {
      const std::string envelope = summary.SerializeAsString();
      Require(XXH3_64bits(envelope.data(), envelope.size()) == digest, "digest of other bytes");
    }

    if (day < store_.raw_floor_day()) return;
    if (apart) {
      ++epochs_[node].apart;
    } else if (!Received(ledgers_[{node, incarnation}], sequence)) {
      ++epochs_[node].unlisted;
    } else {
      ++epochs_[node].counted;
      for (size_t tier = 0; tier <= 4; ++tier)
        Count(start_ns, length_ns, body, computed_[tier][{node, middle_ns / kWindow[tier]}]);
      for (const v1::Vital& vital : body.vitals())
        for (const v1::SubSeries& sub : vital.subs())
          weights_[{node, vital.id()}][0] += sub.weight();
    }
  }

  void CheckIdentity(uint64_t node, const std::string& incarnation, uint64_t sequence,
                     const v1::Identity& identity) const {
    const auto record = nodes_.find(node);
    Require(record != nodes_.end() && identity.node() == record->second &&
                identity.incarnation() == incarnation && identity.sequence() == sequence,
            "its summary is another's");
  }

  static bool Received(const v1::LedgerRecord& ledger, uint64_t sequence) {
    if (sequence <= ledger.settled_through()) return true;
    for (int i = 0; i < ledger.received_first_size(); ++i) {
      const uint64_t first = ledger.received_first(i);
      if (sequence >= first && sequence - first < ledger.received_length(i)) return true;
    }
    return false;
  }

  static void Count(uint64_t start_ns, uint64_t length_ns, const v1::SummaryBody& body,
                    Part& part) {
    ++part.epochs;
    part.starts_ms.insert((start_ns + 500'000) / 1'000'000);
    part.length_ns += length_ns;
    for (const v1::Vital& vital : body.vitals())
      for (int i = 0; i < vital.subs_size(); ++i)
        Add(vital.id(), i, vital.subs(i).events(), vital.subs(i).weight(), part.subs);
  }

  // The rows of raw have opened theirs.
  void Cells(std::string_view, std::string_view) {
    Require(rows_["cells"] < raw_with_cells_, "more rows than belong to rows of raw");
  }

  void Series(std::string_view key_bytes, std::string_view value) {
    Bytes key(key_bytes);
    const uint64_t day = key.Int(2), node = key.Int(4), hour = key.Int(1);
    key.End();
    Require(hour < 24, "hour " + std::to_string(hour));
    const auto block = Versioned<v1::SeriesBlock>(value);
    const int epochs = block.start_ms_size(), places = epochs * block.sub_size();
    Require(block.length_ms_size() == epochs && block.events_size() == places &&
                block.weight_size() == places,
            "columns of other lengths");
    Part& part = stored_[1][{node, day * 24 + hour}];
    part.epochs = static_cast<uint64_t>(epochs);
    uint64_t start_ms = (day * 24 + hour) * (kHour / 1'000'000);
    for (const int32_t after_ms : block.start_ms())
      part.starts_ms.insert(start_ms += static_cast<uint64_t>(int64_t{after_ms}));
    for (int i = 0; i < places; ++i) {
      const uint32_t sub = block.sub(i / epochs);
      Add(sub >> 8, sub & 0xff, block.events(i), block.weight(i), part.subs);
    }
  }

  void Rollup(std::string_view key_bytes, std::string_view value) {
    Bytes key(key_bytes);
    const uint64_t tier = Tier(key, 2), bucket = key.Int(2), node = key.Int(4), window = key.Int(4);
    const uint64_t vital = key.Int(1);
    key.End();
    Require(window * kWindow[tier] / kRollupBucket[tier] == bucket, "in a wrong bucket");
    if (vital != 0) {
      Require(stored_[tier].contains({node, window}), "its window has no row");
      Versioned<v1::RollupVital>(value);
      return;
    }
    const auto row = Versioned<v1::RollupWindow>(value);
    Part& part = stored_[tier][{node, window}];
    part.epochs = row.epochs();
    part.length_ns = row.covered_ns();
    for (const v1::VitalTotals& totals : row.vitals())
      for (int i = 0; i < totals.subs_size(); ++i)
        Add(totals.id(), i, totals.subs(i).events(), totals.subs(i).weight(), part.subs);
  }

  void Line(std::string_view key_bytes, std::string_view value) {
    Bytes key(key_bytes);
    const uint64_t tier = Tier(key, 2), vital = key.Int(1), bucket = key.Int(4), group = key.Int(4);
    key.End();
    const auto block = Versioned<v1::LineBlock>(value);
    const int entries = block.window_size(), subs = static_cast<int>(block.subs());
    Require(block.node_size() == block.windows_size() && block.watched_ms_size() == entries &&
                block.events_size() == entries * subs && block.weight_size() == entries * subs,
            "columns of other lengths");
    const uint64_t first = bucket * (kLineBucket[tier] / kWindow[tier]);
    int entry = 0;
    for (int i = 0; i < block.node_size(); ++i) {
      for (uint32_t left = block.windows(i); left > 0; --left, ++entry) {
        Require(entry < entries, "fewer entries than its nodes have windows");
        Subs& into = lines_[tier][{group * 256 + block.node(i), first + block.window(entry)}];
        for (int sub = 0; sub < subs; ++sub) {
          const int at = sub * entries + entry;
          Add(vital, sub, block.events(at), block.weight(at), into);
        }
      }
    }
    Require(entry == entries, "more entries than its nodes have windows");
  }

  void Derived(std::string_view key_bytes, std::string_view value) {
    Bytes key(key_bytes);
    const uint64_t filter = key.Int(4);
    key.Int(2);
    const uint64_t node = key.Int(4), hour = key.Int(1);
    key.End();
    Require(filters_.contains(filter) && nodes_.contains(node) && hour < 24,
            "of an unknown filter, node or hour");
    Versioned<v1::FilterHour>(value);
  }

  void Dict(std::string_view key_bytes, std::string_view value) {
    Bytes key(key_bytes);
    Require(key.Int(1) == 4, "not 04");
    Tier(key, 1);
    key.Int(2);
    key.Take(key.Int(1));
    key.Int(8);
    const uint64_t source = key.Int(4);
    key.End();
    Require(source == 0 || nodes_.contains(source), "told by an unknown node");
    google::protobuf::StringValue name;
    name.set_value(Versioned(value));
    Parse<google::protobuf::StringValue>(name.SerializeAsString());  // refuses what is not UTF-8
  }

  bool Expired(uint64_t tier, uint64_t window) const {
    return window * kWindow[tier] / kDay < store_.raw_floor_day();
  }

  void CompareWindow(uint64_t tier, const Place& place) {
    const Part& epochs = computed_[tier][place];
    const Part& row = stored_[tier][place];
    Require(epochs.epochs == row.epochs, At(tier, place) + " has " + std::to_string(row.epochs) +
                                             " epochs, counted are " +
                                             std::to_string(epochs.epochs));
    Require((tier == 1 ? epochs.starts_ms == row.starts_ms : epochs.length_ns == row.length_ns) &&
                WithoutZeros(epochs.subs) == WithoutZeros(row.subs),
            At(tier, place) + " is not the sum of its epochs");
    for (const auto& [sub, sum] : row.subs) weights_[{place.first, sub >> 8}][tier] += sum.weight;
    const uint64_t bucket = place.second * kWindow[tier] / kLineBucket[tier];
    if (tier == 1 || dirty_lines_.contains({tier, bucket, place.first / 256})) return;
    Require(WithoutZeros(lines_[tier][place]) == WithoutZeros(row.subs),
            At(tier, place) + " differs from its line");
  }

  std::string At(uint64_t tier, const Place& place) const {
    return std::string(kTier[tier]) + " of node " + std::to_string(place.first) + " at " +
           std::to_string(place.second * (kWindow[tier] / 1'000'000'000)) + " s";
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::map<std::string, rocksdb::ColumnFamilyHandle*> families_;  // of db_
  std::map<std::string, uint64_t> rows_;                          // decoded, by family
  uint64_t raw_with_cells_ = 0;
  v1::StoreRecord store_;
  std::map<uint64_t, std::string> nodes_;
  std::map<std::pair<uint64_t, std::string>, v1::LedgerRecord> ledgers_;  // by node, incarnation
  std::map<Place, uint64_t> coverage_;                                    // epochs by node and day
  std::map<uint64_t, v1::CountersRecord> counters_;
  std::set<uint64_t> filters_;
  std::map<std::string, v1::StoredBlob> blobs_;  // by id
  std::map<std::string, std::string> contents_;  // by id of the blob
  std::array<std::set<Place>, 5> dirty_;         // windows with a mark, or with a finer one in them
  std::set<std::array<uint64_t, 3>> dirty_lines_;  // tier, bucket, group
  std::array<std::map<Place, Part>, 5> computed_;  // from counted epochs
  std::array<std::map<Place, Part>, 5> stored_;    // as the tier's rows say
  std::array<std::map<Place, Subs>, 5> lines_;
  std::map<uint64_t, Epochs> epochs_;                 // by node
  std::map<Place, std::array<uint64_t, 5>> weights_;  // by node and vital, then tier
};

}  // namespace
}  // namespace telltale::format

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: store_decoder DIRECTORY\n";
    return 2;
  }
  try {
    telltale::format::Decoder decoder(argv[1]);
    decoder.Decode();
    decoder.Compare();
    decoder.Print();
  } catch (const std::exception& error) {
    std::cerr << "store_decoder: read " << argv[1] << ": " << error.what() << "\n";
    return 1;
  }
}
