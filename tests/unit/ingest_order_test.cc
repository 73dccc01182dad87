// Whatever order epochs come in, however often, through however many streams: what is stored in the
// end is, byte for byte, what it would be had all come once and in order; and what was odd about a
// stream is said of its node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "collector/ingest/store_adapter.h"
#include "sketch/vital_ids.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "storage/verify.h"
#include "telltale/v1/store.pb.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

using storage::Family;
using storage::kHourNs;
using ::testing::HasSubstr;
using v1::Verdict;

struct Sent {
  AgentIdentity agent;  // whose stream it comes over
  uint64_t sequence = 0;
  v1::SummaryBody body;
  v1::SketchCells cells = {};
  std::string named_for = {};  // the node it says it is of, where that is another
  bool cut_off = false;        // its bytes are no body

  bool Refused() const { return !named_for.empty() || cut_off; }
};

using Rows = std::map<std::string, std::string>;

constexpr int kNodes = 10;

int NumberOf(const AgentIdentity& agent) { return std::stoi(agent.node.substr(4)); }

// Where code of a SyntheticNode lies: all nodes have the same files.
constexpr int kFiles = 4;
std::string BuildId(int file) { return std::string(20, static_cast<char>(file + 1)); }
std::vector<uint64_t> OffsetsIn(int file) {
  std::vector<uint64_t> offsets;
  for (int i = file; i < 64; i += kFiles) {
    offsets.push_back(0x1000 + 0x40 * static_cast<uint64_t>(i));
  }
  return offsets;
}

// What a node calls them. Of the first file all say the same, of the second two say the same each
// time, of the third some say nothing, of the fourth nobody says anything.
v1::Names NamesIn(int file, int node) {
  v1::Names names;
  names.set_build_id(BuildId(file));
  names.set_kind(file == 0 ? v1::MAPPING_KIND_KERNEL : v1::MAPPING_KIND_FILE);
  if (file == 3 || (file == 2 && node % 3 == 0)) return names;
  for (const uint64_t offset : OffsetsIn(file)) {
    names.add_offset(offset);
    names.add_name("function_" + std::to_string(offset) +
                   (file == 1 ? "_of_" + std::to_string(node / 2) : ""));
  }
  return names;
}

// Everything but the epoch: vitals with labels, stacks and exemplars, processes, histograms. Other
// numbers for each epoch of each agent; some labels, stacks and processes are in all of a node's.
void Fill(Sent& sent) {
  const SyntheticNode node(sent.agent.node, static_cast<uint64_t>(NumberOf(sent.agent)));
  const uint64_t number = sent.sequence + (sent.agent.incarnation == 'a' ? 0 : 1000);
  const v1::Epoch epoch = sent.body.epoch();
  sent.body =
      node.Body(number, epoch.start_unix_ns(),
                static_cast<uint32_t>((epoch.end_unix_ns() - epoch.start_unix_ns()) / kSecond));
  *sent.body.mutable_epoch() = epoch;
  sent.cells.set_seed_id(number);
  v1::SketchCells::One& one = *sent.cells.add_vitals();
  one.set_vital(TELLTALE_CPU);
  one.add_cells(number);
}

std::string HexId(const AgentIdentity& agent) {
  return absl::BytesToHexString(std::string(16, agent.incarnation));
}

// A node's counters but for how much it told of names: only those nobody had told before count, and
// it is written with its next epoch.
std::string WithoutNames(std::string_view counters) {
  auto record = storage::DecodeValue<v1::CountersRecord>(counters, "counters");
  EXPECT_TRUE(record.ok()) << record.status();
  if (!record.ok()) return std::string(counters);
  record->clear_name_bytes();
  record->clear_name_bucket();
  return storage::EncodeValue(*record);
}

// A collector's ingest and store, on a clock that is turned.
class World {
 public:
  World() {
    storage::StoreOptions options;
    options.path = dir_.path() + "/store";
    options.now_ns = [this] { return clock_.UnixNs(); };
    options.min_free_bytes = 0;
    options.memory_bytes = 32 << 20;
    store_ = *storage::Store::Open(options);
    adapter_ = std::make_unique<ingest::StoreAdapter>(store_.get());
    core_ = std::make_unique<ingest::IngestCore>(ingest::IngestOptions{.shards = 1},
                                                 ingest::IngestSettings{}, adapter_.get(), &clock_);
    // Numbers are given in the order nodes are first heard of; it is not what is compared.
    for (int i = 1; i <= kNodes; ++i) EXPECT_TRUE(store_->nodes().NumberOf(Name(i)).ok());
  }
  static std::string Name(int i) { return "web-" + std::to_string(i); }

  // Over the agent's own stream, which is opened if there is none.
  Verdict Send(const Sent& sent) {
    AgentIdentity identity = sent.agent;
    if (!sent.named_for.empty()) identity.node = sent.named_for;
    v1::AgentMessage message = Summary(identity, sent.sequence, sent.body, sent.cells);
    if (sent.cut_off) message.mutable_summary()->mutable_body()->resize(20);
    return SendMessage(sent.agent, sent.sequence, std::move(message));
  }
  Verdict SendMessage(const AgentIdentity& agent, uint64_t sequence, v1::AgentMessage message) {
    Stream& stream = Of(agent);
    core_->Deliver(stream.session, std::move(message));
    core_->RunPending();
    return stream.stream.VerdictOn(sequence);
  }
  void TellNames(const AgentIdentity& agent) {
    for (int file = 0; file < kFiles; ++file) {
      v1::AgentMessage message;
      *message.mutable_names() = NamesIn(file, NumberOf(agent));
      if (message.names().name_size() > 0) SendMessage(agent, 0, std::move(message));
    }
  }
  void Disconnect(const AgentIdentity& agent) {
    streams_.erase({agent.node, agent.incarnation});
    core_->RunPending();
  }
  void Connect(const AgentIdentity& agent) { Of(agent); }
  bool Knows(const AgentIdentity& agent) const {
    return streams_.contains({agent.node, agent.incarnation});
  }
  void Wait(uint64_t ns) {
    clock_.Advance(ns);
    core_->RunPending();
  }
  // An operator decides for this one of the agents of its node.
  absl::Status Keep(const AgentIdentity& agent) {
    absl::Status status = absl::UnknownError("never answered");
    core_->Keep({.node = agent.node, .agent = HexId(agent), .by = "alice"},
                [&](const auto& answer) { status = answer.status(); });
    core_->RunPending();
    return status;
  }
  void RollUp(uint64_t now_ns, uint32_t most) {
    std::vector<uint32_t> nodes;
    for (const storage::NodeRecord& node : store_->nodes().List()) nodes.push_back(node.number());
    EXPECT_TRUE(adapter_->RollUp(nodes, now_ns, most, nullptr).ok());
    EXPECT_TRUE(store_->roller().RunLines(now_ns, most).ok());
  }

  // Everything that answers rest on; `what`: names of what differs first are made of it.
  Rows Everything() {
    RollUp(clock_.UnixNs() + 48 * kHourNs, 1'000'000);
    Rows all;
    for (const Family family : {Family::kRaw, Family::kCells, Family::kSeries, Family::kRollup,
                                Family::kLine, Family::kDerived}) {
      EXPECT_TRUE(
          store_->history()
              .Scan(family, "", "",
                    [&](std::string_view key, std::string_view value) {
                      all[std::string(storage::FamilyName(family)) + " " + std::string(key)] =
                          std::string(value);
                      return true;
                    })
              .ok());
    }
    // Of two nodes that call a location the same the first to say so has a row of its own, and what
    // is not told yet has one until it is: not the rows of kDict are the same, but what they say.
    for (int node = 1; node <= kNodes; ++node) {
      for (int file = 0; file < kFiles; ++file) {
        for (const uint64_t offset : OffsetsIn(file)) {
          const auto called =
              store_->reader().SymbolName(BuildId(file), offset, static_cast<uint32_t>(node));
          all["name " + Name(node) + " " + std::to_string(file) + " " + std::to_string(offset)] =
              called.value_or("(none)");
        }
      }
    }
    for (const storage::CatalogTable table :
         {storage::CatalogTable::kLedger, storage::CatalogTable::kCoverage,
          storage::CatalogTable::kCounters, storage::CatalogTable::kDirty}) {
      const std::string prefix = storage::TablePrefix(table);
      EXPECT_TRUE(store_->catalog()
                      .Begin()
                      ->Scan(prefix, storage::PrefixEnd(prefix),
                             [&](std::string_view key, std::string_view value) {
                               all["catalog " + std::string(key)] =
                                   table == storage::CatalogTable::kCounters ? WithoutNames(value)
                                                                             : std::string(value);
                               return true;
                             })
                      .ok());
    }
    return all;
  }
  std::string Faults() {
    const auto report = storage::Verify(*store_, {});
    if (!report.ok() || report->fault_count == 0) return std::string(report.status().message());
    return report->faults[0].place + ": " + report->faults[0].what;
  }
  storage::NodeRecord Node(const std::string& name) const { return *store_->nodes().Find(name); }
  std::string Remarks(const std::string& name) const {
    std::string all;
    const storage::NodeRecord node = Node(name);
    for (const v1::Remark& remark : node.remarks()) all += remark.text() + "\n";
    return all;
  }
  storage::NodeCounters Counters(const std::string& name) const {
    return store_->summaries().Counters(Node(name).number());
  }
  uint64_t Epochs(const std::string& name) const { return Counters(name).epochs; }
  storage::Store& store() { return *store_; }
  TurnedClock& clock() { return clock_; }

 private:
  struct Stream {
    FakeStream stream;
    std::shared_ptr<ingest::Session> session;
  };
  Stream& Of(const AgentIdentity& agent) {
    std::unique_ptr<Stream>& stream = streams_[{agent.node, agent.incarnation}];
    if (stream == nullptr) {
      stream = std::make_unique<Stream>();
      stream->session = stream->stream.Open(*core_, agent.node);
      core_->Deliver(stream->session, Hello(agent));
      core_->Deliver(stream->session, SchemaMessage());
      core_->RunPending();
    }
    return *stream;
  }

  TempDir dir_;
  TurnedClock clock_;
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<ingest::StoreAdapter> adapter_;
  std::unique_ptr<ingest::IngestCore> core_;
  std::map<std::pair<std::string, char>, std::unique_ptr<Stream>> streams_;
};

// The epoch of a minute that ended this many minutes before kStart by the collector's clock, as a
// node says it whose clock is `ahead_s` ahead and knows it.
v1::SummaryBody Epoch(int minutes_ago, uint64_t cpu_ns, int64_t ahead_s = 0) {
  v1::SummaryBody body = Body(-minutes_ago, cpu_ns);
  v1::Epoch& epoch = *body.mutable_epoch();
  const int64_t ahead_ns = ahead_s * static_cast<int64_t>(kSecond);
  epoch.set_start_unix_ns(epoch.start_unix_ns() + static_cast<uint64_t>(ahead_ns));
  epoch.set_end_unix_ns(epoch.end_unix_ns() + static_cast<uint64_t>(ahead_ns));
  epoch.set_clock_offset_ns(-ahead_ns);
  return body;
}

// Of the names that Everything gives: a row of raw or of cells that carries the digest of what is
// kept apart behind its identity, and a node's counters, which say how much that was.
bool IsApart(const std::string& key) {
  constexpr size_t kIdentity = 2 + 4 + 8 + 16 + 8;
  for (const Family family : {Family::kRaw, Family::kCells}) {
    const std::string prefix = std::string(storage::FamilyName(family)) + " ";
    if (key.starts_with(prefix)) return key.size() > prefix.size() + kIdentity;
  }
  return false;
}
bool IsCounters(const std::string& key) {
  return key.starts_with("catalog " + storage::TablePrefix(storage::CatalogTable::kCounters));
}

constexpr int64_t kIn1970 = 3 * 3600 - static_cast<int64_t>(kStart / kSecond);
constexpr int64_t kIn2038 = 2'147'483'647 - static_cast<int64_t>(kStart / kSecond);

// What all agents have to send, each in its order.
std::vector<Sent> Everybody() {
  std::vector<Sent> all;
  uint64_t cpu = 1'000'000'000;
  // 1: offline for a day, comes back with all of it.
  for (uint64_t i = 0; i < 75; ++i) {
    all.push_back({{.node = "web-1"}, i + 1, Epoch(1500 - static_cast<int>(i) * 20, ++cpu)});
  }
  // 2: reports each minute; its machine reboots inside one: the epoch before ends early, the next
  // begins in the same minute.
  for (uint64_t i = 0; i < 60; ++i) {
    v1::SummaryBody body = Epoch(60 - static_cast<int>(i), ++cpu);
    v1::Epoch& epoch = *body.mutable_epoch();
    if (i == 30) {
      epoch.set_kind(v1::EPOCH_KIND_PARTIAL);
      epoch.set_end_unix_ns(epoch.start_unix_ns() + 20 * kSecond);
      epoch.set_end_mono_ns(epoch.start_mono_ns() + 20 * kSecond);
      epoch.set_watched_ns(20 * kSecond);
    }
    if (i == 31) {
      epoch.set_start_unix_ns(epoch.start_unix_ns() - 25 * kSecond);
      epoch.set_start_mono_ns(5 * kSecond);
      epoch.set_end_mono_ns(90 * kSecond);
      epoch.set_watched_ns(85 * kSecond);
    }
    if (i > 30) epoch.set_boot_id(std::string(16, 'c'));
    all.push_back({{.node = "web-2"}, i + 1, body});
  }
  // 3: reinstalled: a second agent begins with number 1 again.
  for (uint64_t i = 0; i < 20; ++i) {
    all.push_back({{.node = "web-3"}, i + 1, Epoch(60 - static_cast<int>(i), ++cpu)});
  }
  for (uint64_t i = 0; i < 20; ++i) {
    all.push_back(
        {{.node = "web-3", .incarnation = 'b'}, i + 1, Epoch(39 - static_cast<int>(i), ++cpu)});
  }
  // 4 to 7: clocks an hour off, stepping in the middle, in 1970 and in 2038, and known to be.
  for (uint64_t i = 0; i < 30; ++i) {
    const int ago = 60 - static_cast<int>(i);
    all.push_back({{.node = "web-4"}, i + 1, Epoch(ago, ++cpu, 3600)});
    all.push_back({{.node = "web-5"}, i + 1, Epoch(ago, ++cpu, i < 15 ? 0 : -1800)});
    all.push_back({{.node = "web-6"}, i + 1, Epoch(ago, ++cpu, kIn1970)});
    all.push_back({{.node = "web-7"}, i + 1, Epoch(ago, ++cpu, kIn2038)});
  }
  // 8: epochs overlap: its clock was set back by 30 s and it does not know.
  for (uint64_t i = 0; i < 30; ++i) {
    v1::SummaryBody body = Epoch(60 - static_cast<int>(i), ++cpu);
    if (i >= 15) {
      body.mutable_epoch()->set_start_unix_ns(body.epoch().start_unix_ns() - 30 * kSecond);
      body.mutable_epoch()->set_end_unix_ns(body.epoch().end_unix_ns() - 30 * kSecond);
    }
    all.push_back({{.node = "web-8"}, i + 1, body});
  }
  // 9 and 10: renamed from one to the other: of what its spool held then, named as it was, nothing
  // is taken. And some of what 9 spooled was cut off on its disk.
  for (uint64_t i = 0; i < 30; ++i) {
    Sent sent{{.node = i < 15 ? "web-9" : "web-10"}, i + 1, Epoch(60 - static_cast<int>(i), ++cpu)};
    if (i >= 15 && i < 20) sent.named_for = "web-9";
    sent.cut_off = i % 5 == 3 && i < 15;
    all.push_back(std::move(sent));
  }
  for (Sent& sent : all) Fill(sent);
  return all;
}

// What differs first; nothing if all is the same.
std::string Difference(const Rows& expected, const Rows& found) {
  for (const auto& [key, value] : expected) {
    const auto there = found.find(key);
    if (there == found.end()) return "not there: " + ::testing::PrintToString(key);
    if (there->second != value) return "other: " + ::testing::PrintToString(key);
  }
  for (const auto& [key, value] : found) {
    if (!expected.contains(key)) return "not expected: " + ::testing::PrintToString(key);
  }
  return "";
}

// All days that nodes have sent of pass, and what is kept of them are their windows, and the names
// in these.
void LetRawExpire(World& world) {
  constexpr int kDays = 40;
  world.Wait(kDays * storage::kDayNs);
  Sent sent{{.node = "web-2"}, 1000, Epoch(1 - kDays * 24 * 60, 1)};
  Fill(sent);
  world.Disconnect(sent.agent);
  ASSERT_EQ(world.Send(sent).kind(), Verdict::STORED);
  ASSERT_TRUE(world.store().Maintain().ok());
}

TEST(OrderTest, AnyOrderGivesTheBytesOfOneOrder) {
  const std::vector<Sent> all = Everybody();
  World in_order;
  for (const Sent& sent : all) {
    // Only one of two agents of a node speaks at a time.
    if (sent.agent.incarnation == 'b' && sent.sequence == 1) {
      in_order.Disconnect({.node = sent.agent.node});
    }
    if (sent.agent.incarnation == 'a' && !in_order.Knows(sent.agent)) {
      in_order.TellNames(sent.agent);
    }
    ASSERT_EQ(in_order.Send(sent).kind(), sent.Refused() ? Verdict::REFUSED : Verdict::STORED)
        << sent.agent.node << " " << sent.sequence << ": " << in_order.Send(sent).reason();
  }
  EXPECT_EQ(in_order.Epochs("web-9"), 12u);
  EXPECT_EQ(in_order.Epochs("web-10"), 10u);
  const Rows expected = in_order.Everything();
  EXPECT_EQ(in_order.Faults(), "");
  EXPECT_GT(expected.size(), all.size());
  LetRawExpire(in_order);
  const Rows expected_later = in_order.Everything();
  EXPECT_EQ(in_order.Faults(), "");
  EXPECT_LT(expected_later.size(), expected.size());

  for (const uint32_t seed : {1u, 2u}) {
    std::mt19937 random(seed);
    std::vector<Sent> scrambled = all;
    for (size_t i = 0; i < all.size() / 4; ++i) scrambled.push_back(all[random() % all.size()]);
    std::shuffle(scrambled.begin(), scrambled.end(), random);
    // Two agents of one node at once would be a clone conflict: the second comes after the first.
    std::stable_partition(scrambled.begin(), scrambled.end(),
                          [](const Sent& sent) { return sent.agent.incarnation == 'a'; });
    World world;
    std::set<std::pair<char, std::pair<std::string, uint64_t>>> seen;
    // Half of the nodes tell their names amid their epochs, half when all windows that want them
    // are written.
    std::map<std::string, uint64_t> until_names;
    for (int i = 1; i <= kNodes; i += 2) until_names[World::Name(i)] = random() % 15;
    for (const Sent& sent : scrambled) {
      if (sent.agent.incarnation == 'b') world.Disconnect({.node = sent.agent.node});
      if (random() % 20 == 0) world.Disconnect(sent.agent);
      if (random() % 20 == 0) world.RollUp(world.clock().UnixNs() + kHourNs, 20);
      if (const auto names = until_names.find(sent.agent.node);
          names != until_names.end() && names->second-- == 0) {
        world.TellNames(sent.agent);
      }
      const bool fresh =
          seen.insert({sent.agent.incarnation, {sent.agent.node, sent.sequence}}).second;
      const Verdict::Kind due = fresh ? Verdict::STORED : Verdict::REPEAT;
      ASSERT_EQ(world.Send(sent).kind(), sent.Refused() ? Verdict::REFUSED : due)
          << sent.agent.node << " " << sent.sequence;
    }
    world.RollUp(world.clock().UnixNs() + 48 * kHourNs, 1'000'000);
    for (int i = 2; i <= kNodes; i += 2) world.TellNames({.node = World::Name(i)});
    ASSERT_EQ(Difference(expected, world.Everything()), "") << "seed " << seed;
    EXPECT_EQ(world.Faults(), "");
    LetRawExpire(world);
    ASSERT_EQ(Difference(expected_later, world.Everything()), "") << "seed " << seed;
  }
}

TEST(OrderTest, WhatIsOddAboutAStreamIsSaidOfItsNode) {
  World world;
  for (const Sent& sent : Everybody()) {
    if (sent.agent.incarnation == 'b' && sent.sequence == 1) {
      world.Disconnect({.node = sent.agent.node});
    }
    world.Send(sent);
  }
  EXPECT_EQ(world.Remarks("web-1"), "") << "a backlog is nothing odd";
  EXPECT_EQ(world.Remarks("web-2"), "") << "nor is a reboot";
  EXPECT_EQ(world.Epochs("web-2"), 60u);
  EXPECT_NE(world.Remarks("web-3"), "");
  EXPECT_EQ(world.Node("web-3").remarks(0).kind(), v1::REMARK_KIND_REINSTALLED);
  EXPECT_EQ(world.Epochs("web-3"), 40u);
  EXPECT_THAT(world.Remarks("web-4"), HasSubstr("3600.0 s ahead of"));
  EXPECT_THAT(world.Remarks("web-5"), HasSubstr("1800.0 s behind"));
  EXPECT_THAT(world.Remarks("web-5"), HasSubstr("by 1800.0 s back against the collector's between "
                                                "epochs 15 and 16, at 2026-11-18 16:14:00 UTC"));
  EXPECT_THAT(world.Remarks("web-6"), HasSubstr("s behind the collector's"));
  EXPECT_THAT(world.Remarks("web-7"), HasSubstr("s ahead of the collector's"));
  EXPECT_THAT(world.Remarks("web-8"), HasSubstr("epoch 16 begins 30.0 s before epoch 15 ended at "
                                                "2026-11-18 16:14:00 UTC"));
}

// The one remark of a kind on a node; none: without text.
v1::Remark Only(const storage::NodeRecord& node, v1::RemarkKind kind) {
  v1::Remark only;
  for (const v1::Remark& remark : node.remarks()) {
    if (remark.kind() != kind) continue;
    EXPECT_EQ(only.text(), "");
    only = remark;
  }
  return only;
}

TEST(OrderTest, StepsAndOverlapsAreFoundOnceEachWhicheverEpochsComeFirst) {
  std::map<std::string, std::vector<Sent>> of_node;
  for (const Sent& sent : Everybody()) of_node[sent.agent.node].push_back(sent);
  // As after an outage: live epochs in their order, between them those of before it downwards.
  for (const size_t outage : {0, 10, 15, 20, 30}) {
    std::vector<Sent> order;
    for (const char* node : {"web-5", "web-8"}) {
      const std::vector<Sent>& all = of_node[node];
      for (size_t i = 0; i < all.size(); ++i) {
        if (outage + i < all.size()) order.push_back(all[outage + i]);
        if (i < outage) order.push_back(all[outage - 1 - i]);
      }
    }
    World world;
    for (const Sent& sent : order) {
      world.Send(sent);
      world.Send(sent);  // a repeat is no second finding
    }
    EXPECT_EQ(Only(world.Node("web-5"), v1::REMARK_KIND_CLOCK_STEP).count(), 1u);
    EXPECT_EQ(Only(world.Node("web-5"), v1::REMARK_KIND_OVERLAP).count(), 0u)
        << "the offset is known: its epochs stand where they belong";
    EXPECT_EQ(Only(world.Node("web-8"), v1::REMARK_KIND_OVERLAP).count(), 1u);
    EXPECT_EQ(Only(world.Node("web-8"), v1::REMARK_KIND_CLOCK_STEP).count(), 0u);
  }
}

TEST(OrderTest, AClockThatStepsAgainAndAgainHasOneLineThatCounts) {
  World world;
  const AgentIdentity agent{.node = "web-1"};
  for (int i = 0; i < 40; ++i) {
    const int64_t ahead_s = i % 2 == 0 ? 0 : 100 + i;
    world.Send({agent, static_cast<uint64_t>(i) + 1, Epoch(60 - i, 1'000'000'000, ahead_s)});
    if (i % 7 == 0) world.Disconnect(agent);  // a step may be what ended the stream
  }
  const v1::Remark step = Only(world.Node("web-1"), v1::REMARK_KIND_CLOCK_STEP);
  EXPECT_EQ(step.count(), 39u);
  EXPECT_THAT(step.text(), HasSubstr("by 139.0 s forward against the collector's between epochs 39 "
                                     "and 40"));
}

TEST(OrderTest, WhatMeasuringAClockLeavesOpenIsNoOddity) {
  World world;
  const AgentIdentity agent{.node = "web-1"};
  for (int i = 0; i < 10; ++i) {
    v1::SummaryBody body = Epoch(60 - i, 1'000'000'000);
    v1::Epoch& epoch = *body.mutable_epoch();
    // Known to +- 1.2 s only, so it is found now 1.5 s ahead, now 1.5 s behind.
    epoch.set_clock_error_ns(1'200'000'000);
    epoch.set_clock_offset_ns(i % 2 == 0 ? 1'500'000'000 : -1'500'000'000);
    world.Send({agent, static_cast<uint64_t>(i) + 1, body});
  }
  EXPECT_EQ(world.Remarks("web-1"), "");
}

TEST(OrderTest, AClockInAnotherCenturyThatIsNotKnownToBeIsHarmlessAndSaid) {
  World world;
  const AgentIdentity agent{.node = "web-1"};
  v1::SummaryBody in_1970 = Epoch(1, 1'000'000'000, kIn1970);
  in_1970.mutable_epoch()->set_clock_offset_ns(0);
  in_1970.mutable_epoch()->set_clock_error_ns(0);
  v1::SummaryBody in_2038 = Epoch(1, 1'000'000'000, kIn2038);
  in_2038.mutable_epoch()->set_clock_offset_ns(0);
  in_2038.mutable_epoch()->set_clock_error_ns(0);
  EXPECT_EQ(world.Send({agent, 1, in_1970}).kind(), Verdict::TOO_LATE);
  EXPECT_EQ(world.Send({agent, 2, in_2038}).kind(), Verdict::RETRY_AFTER);
  EXPECT_THAT(world.Remarks("web-1"), HasSubstr("already expired here"));
  EXPECT_THAT(world.Remarks("web-1"), HasSubstr("in the collector's future"));
  EXPECT_EQ(world.Send({agent, 3, Epoch(1, 1'000'000'000)}).kind(), Verdict::STORED);
  EXPECT_EQ(world.Epochs("web-1"), 1u);
  EXPECT_EQ(world.Faults(), "");
}

TEST(OrderTest, AnAgentBackAfterRetentionIsToldAndTheNodeSaysSo) {
  constexpr int kDays = 40;
  const AgentIdentity agent{.node = "web-1"}, other{.node = "web-2"};
  const auto epoch = [](const AgentIdentity& of, uint64_t sequence, int minutes_ago) {
    Sent sent{of, sequence, Epoch(minutes_ago, 1)};
    Fill(sent);
    return sent;
  };
  World never, late;
  for (World* world : {&never, &late}) {
    EXPECT_EQ(world->Send(epoch(agent, 1, 3)).kind(), Verdict::STORED);
    world->Disconnect(agent);
    world->clock().Advance(kDays * storage::kDayNs);
    // Another node reports at that time, so the collector's clock is believed.
    EXPECT_EQ(world->Send(epoch(other, 1, 1 - kDays * 24 * 60)).kind(), Verdict::STORED);
    ASSERT_TRUE(world->store().Maintain().ok());
    // Two epochs of before its silence, then one of now.
    if (world == &late) {
      EXPECT_EQ(world->Send(epoch(agent, 2, 2)).kind(), Verdict::TOO_LATE);
      EXPECT_EQ(world->Send(epoch(agent, 3, 1)).kind(), Verdict::TOO_LATE);
    }
    EXPECT_EQ(world->Send(epoch(agent, 4, 1 - kDays * 24 * 60)).kind(), Verdict::STORED);
  }
  const storage::NodeRecord node = late.Node("web-1");
  ASSERT_EQ(node.remarks_size(), 1);
  EXPECT_EQ(node.remarks(0).kind(), v1::REMARK_KIND_LATE);
  EXPECT_EQ(node.remarks(0).count(), 2u);
  EXPECT_EQ(late.Epochs("web-1"), 2u);
  EXPECT_EQ(late.Counters("web-1").too_late, 2u);
  const auto counted = [](World& world) {
    Rows rows = world.Everything();
    std::erase_if(rows, [](const auto& row) { return IsCounters(row.first); });
    return rows;
  };
  EXPECT_EQ(Difference(counted(never), counted(late)), "") << "what came too late left something";
  EXPECT_EQ(late.Faults(), "");
}

TEST(OrderTest, APoisonedSummaryIsSetAsideAndTheStreamGoesOn) {
  World world;
  const AgentIdentity agent{.node = "web-1"};
  EXPECT_EQ(world.Send({agent, 1, Epoch(3, 1'000'000'000)}).kind(), Verdict::STORED);
  v1::AgentMessage poison = Summary(agent, 2, Epoch(2, 1'000'000'000));
  poison.mutable_summary()->mutable_body()->resize(20);
  for (int again = 0; again < 3; ++again) {
    const Verdict verdict = world.SendMessage(agent, 2, poison);
    EXPECT_EQ(verdict.kind(), Verdict::REFUSED);
    EXPECT_TRUE(verdict.permanent());
  }
  EXPECT_EQ(world.Send({agent, 3, Epoch(1, 1'000'000'000)}).kind(), Verdict::STORED);
  ASSERT_EQ(world.Node("web-1").remarks_size(), 1);
  EXPECT_EQ(world.Node("web-1").remarks(0).kind(), v1::REMARK_KIND_REFUSED);
  EXPECT_EQ(world.Epochs("web-1"), 2u);
}

// Of what two agents of one name sent at the same time nothing counts, until an operator says which
// one to keep: then all of that one's does, and nothing of the other's.
TEST(OrderTest, WhatAnOperatorKeepsOfAClonedNodeIsCountedAsIfThereHadBeenNoClone) {
  const AgentIdentity kept{.node = "web-1"}, clone{.node = "web-1", .incarnation = 'b'};
  const auto epoch = [](const AgentIdentity& agent, uint64_t i) {
    Sent sent{agent, i, Epoch(60 - static_cast<int>(i), 1)};
    Fill(sent);
    return sent;
  };
  World alone, cloned;
  for (World* world : {&alone, &cloned}) {
    for (uint64_t i = 1; i <= 10; ++i) world->Send(epoch(kept, i));
    if (world == &cloned) world->Connect(clone);
    world->Wait(26 * kSecond);  // longer than a stream may be dead without being known to be
  }
  // As from two spools, newest and oldest mixed.
  std::vector<uint64_t> disputed(20);
  std::iota(disputed.begin(), disputed.end(), uint64_t{11});
  std::shuffle(disputed.begin(), disputed.end(), std::mt19937(1));
  for (const uint64_t i : disputed) {
    ASSERT_TRUE(cloned.Send(epoch(kept, i)).apart()) << i;
    ASSERT_TRUE(cloned.Send(epoch(clone, 41 - i)).apart()) << i;
  }
  ASSERT_TRUE(cloned.Keep(kept).ok());
  for (uint64_t i = 31; i <= 40; ++i) ASSERT_FALSE(cloned.Send(epoch(kept, i)).apart()) << i;
  for (uint64_t i = 11; i <= 40; ++i) alone.Send(epoch(kept, i));

  const auto counted = [](World& world) {
    Rows rows = world.Everything();
    std::erase_if(rows,
                  [](const auto& row) { return IsApart(row.first) || IsCounters(row.first); });
    return rows;
  };
  ASSERT_EQ(Difference(counted(alone), counted(cloned)), "");
  EXPECT_EQ(cloned.Epochs("web-1"), 40u);
  EXPECT_EQ(cloned.Counters("web-1").apart, 40u);
  EXPECT_EQ(cloned.Counters("web-1").adopted, 20u);
  for (const auto& [sub, sum] : alone.Counters("web-1").subs) {
    EXPECT_EQ(cloned.Counters("web-1").subs[sub].weight, sum.weight);
  }
  EXPECT_EQ(cloned.Faults(), "");
}

// The certificate says another name than before; the spool still holds epochs of the old one.
TEST(OrderTest, ARenamedNodeGoesOnUnderItsNewNameAndItsOldEpochsAreRefusedInWords) {
  World world;
  const AgentIdentity before{.node = "web-1"}, after{.node = "web-9"};
  EXPECT_EQ(world.Send({before, 1, Epoch(4, 1'000'000'000)}).kind(), Verdict::STORED);
  world.Disconnect(before);
  const Verdict old = world.SendMessage(after, 2, Summary(before, 2, Epoch(3, 1'000'000'000)));
  EXPECT_EQ(old.kind(), Verdict::REFUSED);
  EXPECT_TRUE(old.permanent());
  EXPECT_EQ(world.Send({after, 3, Epoch(2, 1'000'000'000)}).kind(), Verdict::STORED);
  EXPECT_THAT(world.Remarks("web-9"), HasSubstr("identity: node web-1, but the certificate is"));
  EXPECT_EQ(world.Epochs("web-1"), 1u);
  EXPECT_EQ(world.Epochs("web-9"), 1u);
}

}  // namespace
}  // namespace telltale::testing
