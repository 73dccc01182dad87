// What storage/FORMAT.md says is what lies on disk: a real collector is filled, and a decoder that
// was written from the page alone (tests/format) finds in its store what was sent and what the
// collector answered; what the page does not describe, it refuses.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "proto/codec.h"
#include "storage/store.h"
#include "telltale/v1/query.grpc.pb.h"
#include "tests/support/collector_process.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/raw_agent.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kHour = 3600 * kSecond;
constexpr uint64_t kDay = 24 * kHour;
constexpr uint64_t kOffset = 90 * kSecond;
constexpr std::array<uint64_t, 5> kHours = {0, 1, 22, 23, 24};  // across midnight, with a gap
constexpr uint64_t kEpochs = kHours.size() * 60;
constexpr uint64_t kInFlight = 16;

struct Made {
  uint64_t start_ns = 0;  // on the collector's clock
  v1::SummaryBody body;
  v1::Summary summary;
};

// Clocks as nodes have them: the first's epochs begin some milliseconds before the boundary, the
// second's clock is behind by a known offset, the third's offset is not known and is not applied.
Made Make(const SyntheticNode& node, uint32_t index, uint64_t sequence, uint64_t first_ns) {
  const uint64_t place = sequence - 1;
  Made made;
  made.start_ns = first_ns + kHours[place / 60] * kHour + place % 60 * 60 * kSecond;
  if (index == 0) made.start_ns -= sequence % 5 * 1'000'000;
  const uint64_t own_ns = index == 1 ? made.start_ns - kOffset : made.start_ns;
  const auto set_clock = [&](v1::SummaryBody& body) {
    if (index == 0) return;
    body.mutable_epoch()->set_clock_offset_ns(kOffset);
    body.mutable_epoch()->set_clock_error_ns(index == 1 ? 1'000'000 : 0);
  };
  MadeSummary sealed = node.MakeWith(sequence, own_ns, 60, set_clock);
  made.body = std::move(sealed.body);
  made.summary = std::move(sealed.summary);
  return made;
}

uint64_t WeightOf(const v1::Vital& vital) {
  uint64_t weight = 0;
  for (const v1::SubSeries& sub : vital.subs()) weight += sub.weight();
  return weight;
}

using NodeVital = std::pair<std::string, uint32_t>;

// What the decoder printed: "weight NODE VITAL raw W series W ..." and everything else as it came.
struct Decoded {
  int exit_code = -1;
  std::string output;
  std::map<NodeVital, std::map<std::string, uint64_t>> weights;
};

class StoreFormatTest : public ::testing::Test {
 protected:
  StoreFormatTest()
      : pki_(scratch_.path(), "ca"),
        viewer_(pki_.Issue("viewer", "URI:telltale://viewer/grafana")),
        collector_(scratch_.path() + "/data", pki_,
                   pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")),
        first_ns_(LastMinute() / kDay * kDay - 2 * kDay) {
    for (uint32_t i = 0; i < 3; ++i) nodes_.emplace_back("node-" + std::to_string(i), i + 1);
  }

  std::string StoreDirectory() const { return scratch_.path() + "/data/store"; }

  // Everything of one node, and of the first one an epoch twice, with two bodies.
  void Send(uint32_t index) {
    const SyntheticNode& node = nodes_[index];
    RawAgent agent(collector_.address(), pki_.ca(),
                   pki_.Issue(node.name(), "URI:telltale://node/" + node.name()));
    const auto id = node.incarnation();
    v1::AgentMessage hello = Hello({.node = node.name()});
    hello.mutable_hello()->set_incarnation(std::string(id.begin(), id.end()));
    ASSERT_TRUE(agent.Write(hello) && agent.Write(SchemaMessage()) && agent.Write(NamesMessage()));
    uint64_t settled = 0;
    const auto await_stored = [&] {
      const auto verdict = agent.ReadVerdict();
      ASSERT_TRUE(verdict.has_value()) << agent.Finish().error_message();
      ASSERT_EQ(verdict->kind(), v1::Verdict::STORED) << verdict->ShortDebugString();
      ASSERT_FALSE(verdict->apart()) << verdict->ShortDebugString();
      ++settled;
    };
    for (uint64_t sequence = 1; sequence <= kEpochs; ++sequence) {
      const Made made = Make(node, index, sequence, first_ns_);
      for (const v1::Vital& vital : made.body.vitals())
        sent_[{node.name(), vital.id()}] += WeightOf(vital);
      v1::AgentMessage message;
      *message.mutable_summary() = made.summary;
      ASSERT_TRUE(agent.Write(message));
      if (sequence - settled == kInFlight) {
        ASSERT_NO_FATAL_FAILURE(await_stored());
      }
    }
    while (settled < kEpochs) {
      ASSERT_NO_FATAL_FAILURE(await_stored());
    }
    if (index == 0) {
      v1::AgentMessage again;
      *again.mutable_summary() = node.MakeWith(7, Make(node, 0, 7, first_ns_).start_ns, 60,
                                               [](v1::SummaryBody& body) {
                                                 body.mutable_gauges()->set_load1_centi(12'345);
                                               })
                                     .summary;
      ASSERT_TRUE(agent.Write(again));
      const auto verdict = agent.ReadVerdict();
      ASSERT_TRUE(verdict.has_value());
      EXPECT_EQ(verdict->kind(), v1::Verdict::REFUSED);
      EXPECT_THAT(verdict->reason(), HasSubstr("both are kept apart"));
    }
    agent.WritesDone();
  }

  static v1::AgentMessage NamesMessage() {
    v1::AgentMessage message;
    v1::Names& names = *message.mutable_names();
    names.set_build_id(std::string(20, '\2'));
    names.set_kind(v1::MAPPING_KIND_FILE);
    names.set_path("/usr/bin/program-1");
    for (uint64_t i = 1; i < 64; i += 4) {
      names.add_offset(0x1000 + 0x40 * i);
      names.add_name("function_" + std::to_string(i));
    }
    return message;
  }

  std::unique_ptr<v1::Query::Stub> Query() const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadAll(pki_.ca());
    options.pem_cert_chain = ReadAll(viewer_.cert);
    options.pem_private_key = ReadAll(viewer_.key);
    return v1::Query::NewStub(
        grpc::CreateChannel(collector_.address(), grpc::SslCredentials(options)));
  }

  // Every window of every tier is over and computed.
  static bool RolledUp(v1::Query::Stub& query) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::StatusAnswer answer;
    return query.GetStatus(&context, v1::StatusRequest(), &answer).ok() &&
           answer.dirty_windows() == 0;
  }

  // By node and vital, what the collector answers from a tier, in base units.
  std::map<NodeVital, double> Answered(v1::Query::Stub& query, v1::Tier tier) const {
    const v1::Schema schema = proto::BuiltinSchema();
    std::map<std::string, uint32_t> ids;
    v1::SeriesRequest request;
    request.mutable_selection()->set_start_s(static_cast<double>(first_ns_) * 1e-9);
    request.mutable_selection()->set_end_s(static_cast<double>(first_ns_ + 2 * kDay) * 1e-9);
    request.mutable_selection()->set_tier(tier);
    request.set_per_node(true);
    for (const v1::VitalDescriptor& vital : schema.vitals()) {
      ids[vital.name()] = vital.id();
      for (const v1::SubDescriptor& sub : vital.subs())
        request.add_vitals(vital.name() + "/" + sub.name());
    }
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::SeriesAnswer answer;
    const grpc::Status status = query.GetSeries(&context, request, &answer);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::map<NodeVital, double> sums;
    for (const v1::Series& series : answer.series()) {
      double& sum = sums[{series.node(), ids[series.vital()]}];
      for (int i = 0; i < series.rate_size(); ++i) {
        if (series.watched(i) > 0) sum += series.rate(i) * series.watched(i) * series.length_s(i);
      }
    }
    return sums;
  }

  // The collector makes the lines once a minute; here, at once.
  void MakeLines() const {
    const auto store = storage::Store::Open({.path = StoreDirectory()});
    ASSERT_TRUE(store.ok()) << store.status();
    for (uint32_t done = 1; done > 0;) {
      const auto blocks = (*store)->roller().RunLines(LastMinute(), 1000);
      ASSERT_TRUE(blocks.ok()) << blocks.status();
      done = *blocks;
    }
  }

  // No collector takes one yet. One of several pieces, one of none.
  void PutBlobs() const {
    const auto store = storage::Store::Open({.path = StoreDirectory()});
    ASSERT_TRUE(store.ok()) << store.status();
    for (const size_t bytes : {size_t{2'500'000}, size_t{0}}) {
      storage::BlobInfo info;
      info.id.fill(bytes == 0 ? 1 : 2);
      info.owner = "node/node-0";
      info.kind = "recording";
      info.expires_ns = UINT64_MAX;
      const absl::Status put = (*store)->blobs().Put(info, std::string(bytes, 'b'), "node/node-0");
      ASSERT_TRUE(put.ok()) << put;
    }
  }

  // Writes into the closed store as anybody with RocksDB can.
  using Families = std::map<std::string, rocksdb::ColumnFamilyHandle*>;
  void Change(const std::function<void(rocksdb::DB&, Families&)>& change) const {
    const std::string rocks = StoreDirectory() + "/rocks";
    std::vector<std::string> names;
    ASSERT_TRUE(rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), rocks, &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) families.push_back({name, {}});
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    const auto status = rocksdb::DB::Open(rocksdb::DBOptions(), rocks, families, &handles, &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    Families by_name;
    for (size_t i = 0; i < names.size(); ++i) by_name[names[i]] = handles[i];
    change(*db, by_name);
    for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
    delete db;
  }

  Decoded Decode() {
    Decoded decoded;
    Program program(scratch_.path() + "/decoder-" + std::to_string(++decodings_));
    program.Start(TELLTALE_STORE_DECODER, {StoreDirectory()});
    decoded.exit_code = program.AwaitEnd();
    decoded.output = program.log();
    std::istringstream lines(decoded.output);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string what, node, tier;
      uint32_t vital = 0;
      if (!(words >> what >> node >> vital) || what != "weight") continue;
      for (uint64_t weight = 0; words >> tier >> weight;)
        decoded.weights[{node, vital}][tier] = weight;
    }
    return decoded;
  }

  const TempDir scratch_;
  Pki pki_;
  const IssuedFiles viewer_;
  CollectorProcess collector_;
  const uint64_t first_ns_;
  std::vector<SyntheticNode> nodes_;
  std::map<NodeVital, uint64_t> sent_;
  int decodings_ = 0;
};

std::string BigEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

TEST_F(StoreFormatTest, DecoderFindsWhatWasSentAndAnswered) {
  const std::vector<std::string> keep_cells = {"--retention-cells", "10d"};
  ASSERT_TRUE(collector_.Start(keep_cells)) << collector_.log();
  for (uint32_t i = 0; i < nodes_.size(); ++i) ASSERT_NO_FATAL_FAILURE(Send(i));

  // As kill -9 leaves it: everything acknowledged is there, and what was computed so far is right.
  collector_.Kill();
  Decoded killed = Decode();
  ASSERT_EQ(killed.exit_code, 0) << killed.output;
  for (const auto& [node_vital, weight] : sent_) {
    if (weight == 0) continue;
    EXPECT_EQ(killed.weights[node_vital]["raw"], weight) << node_vital.first;
  }

  ASSERT_TRUE(collector_.Start(keep_cells)) << collector_.log();
  const auto query = Query();
  ASSERT_TRUE(Await([&] { return RolledUp(*query); })) << collector_.log();
  const std::map<std::string, v1::Tier> tiers = {
      {"raw", v1::TIER_RAW}, {"5min", v1::TIER_5MIN}, {"1h", v1::TIER_1H}, {"1d", v1::TIER_1D}};
  std::map<std::string, std::map<NodeVital, double>> answers;
  for (const auto& [name, tier] : tiers) answers[name] = Answered(*query, tier);
  EXPECT_EQ(collector_.Stop(), 0) << collector_.log();
  ASSERT_NO_FATAL_FAILURE(MakeLines());
  ASSERT_NO_FATAL_FAILURE(PutBlobs());

  // As a process leaves it that died before its commit.
  const Made dead = Make(nodes_[2], 2, kEpochs, first_ns_);
  ASSERT_NO_FATAL_FAILURE(Change([&](rocksdb::DB& db, Families& families) {
    v1::Summary summary = nodes_[2].MakeWith(kEpochs + 1, dead.start_ns, 60, [](auto&) {}).summary;
    const std::string digest = BigEndian(proto::Digest(summary), 8);
    std::string cells = "\1";
    cells += summary.cells();
    summary.clear_cells();
    std::string node;  // the number of the third one, as the first row of its incarnation has it
    const auto id = nodes_[2].incarnation();
    const std::string incarnation(id.begin(), id.end());
    const std::unique_ptr<rocksdb::Iterator> at(
        db.NewIterator(rocksdb::ReadOptions(), families["raw"]));
    for (at->SeekToFirst(); at->Valid() && node.empty(); at->Next()) {
      if (at->key().ToString().substr(14, 16) == incarnation)
        node = at->key().ToString().substr(2, 4);
    }
    const std::string key = BigEndian((dead.start_ns + 30 * kSecond) / kDay, 2) + node +
                            BigEndian(dead.start_ns, 8) + incarnation + BigEndian(kEpochs + 1, 8);
    const std::string value =
        "\1" + digest + BigEndian(60 * kSecond, 8) + proto::Canonical(summary);
    ASSERT_TRUE(db.Put(rocksdb::WriteOptions(), families["raw"], key, value).ok());
    ASSERT_TRUE(db.Put(rocksdb::WriteOptions(), families["cells"], key, cells).ok());
  }));

  const Decoded decoded = Decode();
  ASSERT_EQ(decoded.exit_code, 0) << decoded.output;
  const std::string all = " counted " + std::to_string(kEpochs);
  EXPECT_THAT(decoded.output, AllOf(HasSubstr("epochs node-0" + all + " apart 1 unlisted 0\n"),
                                    HasSubstr("epochs node-1" + all + " apart 0 unlisted 0\n"),
                                    HasSubstr("epochs node-2" + all + " apart 0 unlisted 1\n")));
  // Hours 0, 1 and 22 to 24: nothing is left to compute, so nothing is left out.
  EXPECT_THAT(decoded.output, AllOf(HasSubstr("windows series complete 15 of 15\n"),
                                    HasSubstr("windows 5min complete 180 of 180\n"),
                                    HasSubstr("windows 1h complete 15 of 15\n"),
                                    HasSubstr("windows 1d complete 6 of 6\n")));
  EXPECT_THAT(decoded.output, HasSubstr("blobs 2\n"));
  for (const char* family : {"cells", "dict", "line", "rollup", "series"})
    EXPECT_THAT(decoded.output, HasSubstr("rows " + std::string(family) + " "));
  std::map<uint32_t, double> base_units;
  const v1::Schema schema = proto::BuiltinSchema();
  for (const v1::VitalDescriptor& vital : schema.vitals())
    base_units[vital.id()] = vital.unit() == v1::UNIT_NANOSECONDS ? 1e9 : 1;
  size_t compared = 0;
  for (const auto& [node_vital, weight] : sent_) {
    if (weight == 0) continue;
    SCOPED_TRACE(node_vital.first + " vital " + std::to_string(node_vital.second));
    const auto found = decoded.weights.find(node_vital);
    ASSERT_NE(found, decoded.weights.end()) << decoded.output;
    for (const auto& [tier, decoded_weight] : found->second)
      EXPECT_EQ(decoded_weight, weight) << tier;
    for (const auto& [tier, sums] : answers) {
      ASSERT_TRUE(sums.contains(node_vital)) << tier;
      const double answered = sums.at(node_vital) * base_units[node_vital.second];
      EXPECT_NEAR(answered, static_cast<double>(weight), 1e-9 * static_cast<double>(weight))
          << tier;
      ++compared;
    }
  }
  EXPECT_EQ(compared, nodes_.size() * 13 * tiers.size());  // all vitals but the unavailable one

  // One byte too many anywhere is none of the page's rows.
  for (const char* family : {"default", "raw", "cells", "series", "rollup", "line", "dict"}) {
    SCOPED_TRACE(family);
    std::string key, value;
    const auto put = [&](const std::string& new_key, const std::string& new_value) {
      Change([&](rocksdb::DB& db, Families& families) {
        ASSERT_TRUE(db.Put(rocksdb::WriteOptions(), families[family], new_key, new_value).ok());
      });
    };
    Change([&](rocksdb::DB& db, Families& families) {
      const std::unique_ptr<rocksdb::Iterator> at(
          db.NewIterator(rocksdb::ReadOptions(), families[family]));
      at->SeekToFirst();
      ASSERT_TRUE(at->Valid());
      key = at->key().ToString();
      value = at->value().ToString();
    });
    put(key, value + '\xff');
    Decoded refused = Decode();
    EXPECT_EQ(refused.exit_code, 1) << refused.output;
    put(key, value);
    put(key + '\xff', value);
    refused = Decode();
    EXPECT_EQ(refused.exit_code, 1) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("family " + std::string(family)));
    Change([&](rocksdb::DB& db, Families& families) {
      ASSERT_TRUE(db.Delete(rocksdb::WriteOptions(), families[family], key + '\xff').ok());
    });
  }
  EXPECT_EQ(Decode().exit_code, 0);

  const std::string piece = "\x10" + std::string(16, '\2') + BigEndian(1, 4);
  ASSERT_NO_FATAL_FAILURE(Change([&](rocksdb::DB& db, Families& families) {
    ASSERT_TRUE(db.Delete(rocksdb::WriteOptions(), families["default"], piece).ok());
  }));
  const Decoded refused = Decode();
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("a piece before it is missing"));
}

}  // namespace
}  // namespace telltale::testing
