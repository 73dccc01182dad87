#include "tests/support/kept_store.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/query/engine.h"
#include "collector/query/store_source.h"
#include "proto/codec.h"
#include "tests/support/synthetic_node.h"

namespace telltale::testing {
namespace {

using storage::kHourNs;
using storage::kSecondNs;

constexpr uint64_t kStart = 20'500 * storage::kDayNs + 50 * 60 * kSecondNs;
constexpr uint64_t kMinuteNs = 60 * kSecondNs;
constexpr uint64_t kEpochs = 14;  // of the first node

uint64_t StartOf(uint64_t sequence) { return kStart + (sequence - 1) * 2 * kMinuteNs; }

void AddTop(const query::Engine& engine, v1::Tier tier, v1::Dimension by, const char* vital,
            std::string* out) {
  v1::TopRequest request;
  request.mutable_selection()->set_start_s(static_cast<double>(kStart / kHourNs * kHourNs) * 1e-9);
  request.mutable_selection()->set_end_s(static_cast<double>(KeptStoreNow()) * 1e-9);
  request.mutable_selection()->set_tier(tier);
  request.set_vital(vital);
  request.set_by(by);
  request.set_limit(3);
  const auto answer = engine.Top(request, {});
  absl::StrAppend(out, v1::Tier_Name(tier), " ", vital, " ", v1::Dimension_Name(by), ":");
  if (!answer.ok() || answer->tables().empty()) {
    absl::StrAppend(out, " ", std::string(answer.status().message()), "\n");
    return;
  }
  const v1::TopTable& table = answer->tables(0);
  absl::StrAppendFormat(out, " total %.9g, %.9g events, %u epochs, %u lost\n", table.total(),
                        table.events(), answer->coverage().epochs_received(),
                        answer->coverage().epochs_lost());
  for (const v1::TopRow& row : table.rows()) {
    absl::StrAppendFormat(out, "  %s %.6g [%.6g, %.6g]\n", row.name(), row.value(), row.low(),
                          row.high());
  }
}

}  // namespace

uint64_t KeptStoreNow() { return StartOf(kEpochs) + 2 * kHourNs; }

absl::StatusOr<std::unique_ptr<storage::Store>> OpenKeptStore(const std::string& data) {
  storage::StoreOptions options;
  options.path = data + "/store";
  options.now_ns = KeptStoreNow;
  options.min_free_bytes = 0;
  options.memory_bytes = 32 << 20;
  return storage::Store::Open(options);
}

absl::Status FillKeptStore(storage::Store& store) {
  std::vector<uint32_t> nodes;
  for (uint64_t seed : {1, 2}) {
    const SyntheticNode maker(absl::StrCat("web-", seed), seed);
    const auto node = store.nodes().NumberOf(maker.name());
    if (!node.ok()) return node.status();
    nodes.push_back(*node);
    if (auto put = store.summaries().PutSchema(*node, proto::BuiltinSchema()); !put.ok())
      return put;
    v1::Names names;
    names.set_build_id(std::string(20, '\x02'));
    names.add_offset(0x1040);
    names.add_name("do_the_work");
    if (auto told = store.summaries().PutNames(*node, names); !told.ok()) return told;
    for (uint64_t sequence = 1; sequence <= kEpochs / seed; ++sequence) {
      if (sequence == 4) continue;  // never came
      const MadeSummary made = maker.Make(sequence, StartOf(sequence));
      const storage::Incoming item{*node, &made.summary, &made.body, /*counted=*/sequence != 6};
      if (auto put = store.summaries().PutBatch({&item, 1}); !put.ok()) return put.status();
    }
    auto lost = store.summaries().DeclareLost(*node, maker.incarnation(),
                                              {.first = 20,
                                               .last = 22,
                                               .reason = v1::Lost::SPOOL_FULL,
                                               .detail = "kept",
                                               .start_ns = StartOf(20),
                                               .end_ns = StartOf(23)});
    if (!lost.ok()) return lost;
  }
  const uint64_t over_ns = KeptStoreNow() + 2 * storage::kDayNs;
  for (absl::StatusOr<uint32_t> done = 1; *done > 0;) {
    done = store.roller().RunDue(nodes, over_ns, 1000);
    if (!done.ok()) return done.status();
  }
  for (absl::StatusOr<uint32_t> done = 1; *done > 0;) {
    done = store.roller().RunLines(over_ns, 1000);
    if (!done.ok()) return done.status();
  }
  // One that no window has yet.
  const MadeSummary last = SyntheticNode("web-1", 1).Make(kEpochs + 1, StartOf(kEpochs + 1));
  const storage::Incoming item{nodes[0], &last.summary, &last.body, true};
  return store.summaries().PutBatch({&item, 1}).status();
}

std::string KeptAnswers(storage::Store& store) {
  const query::StoreSource source(&store.reader());
  query::EngineOptions options;
  options.source = &source;
  options.now_ns = KeptStoreNow;
  const query::Engine engine(std::move(options));
  std::string out;
  for (const v1::Tier tier : {v1::TIER_RAW, v1::TIER_5MIN, v1::TIER_1H, v1::TIER_1D}) {
    AddTop(engine, tier, v1::DIMENSION_EXE, "cpu", &out);
    AddTop(engine, tier, v1::DIMENSION_SITE, "blocking", &out);
  }
  for (const storage::NodeRecord& node : store.reader().Nodes()) {
    for (const auto& [incarnation, ledger] : store.reader().Ledgers(node.number())) {
      absl::StrAppend(&out, node.name(), ": ", ledger.received_count(), " received, ",
                      ledger.lost_count(), " lost, ", ledger.missing_count(), " missing\n");
    }
    uint64_t apart = 0;
    const absl::Status read = store.reader().ForEachApart(
        node.number(), 0, UINT64_MAX, [&apart](const storage::RawRow&) { return ++apart > 0; });
    const auto name = store.reader().SymbolName(std::string(20, '\x02'), 0x1040, node.number());
    absl::StrAppend(&out, node.name(), ": ", apart, " apart ", read.ok() ? "" : "unreadable",
                    ", called ", name.value_or("nothing"), "\n");
  }
  return out;
}

}  // namespace telltale::testing
