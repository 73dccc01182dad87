#include "tests/support/spool_witness.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/spool/spool.h"
#include "proto/codec.h"

namespace telltale::testing {
namespace {

// Reads one node's rows and adds them up.
class NodeRows {
 public:
  NodeRows(const std::string& name, SpoolWitness::Stored& stored) : name_(name), stored_(stored) {}

  // Adds a line to what is wrong.
  template <typename... Parts>
  void Expect(bool right, const Parts&... what) {
    if (!right) absl::StrAppend(&stored_.wrong, name_, ": ", what..., "\n");
  }

  void Read(const storage::Store& store, uint32_t node) {
    const v1::Schema schema = proto::BuiltinSchema();
    std::map<uint64_t, v1::SummaryBody> bodies;
    const absl::Status read =
        store.reader().ForEachRaw(node, 0, UINT64_MAX, [&](const storage::RawRow& row) {
          const uint64_t sequence = row.key.sequence;
          Expect(sequences_.insert(sequence).second, "epoch ", sequence, " stands twice");
          auto decoded = proto::DecodeSummary(row.summary, schema);
          Expect(decoded.ok(), "epoch ", sequence, ": ", decoded.status().ToString());
          if (decoded.ok()) bodies[sequence] = std::move(*decoded->body);
          stored_.first_ns = std::min(stored_.first_ns, row.key.start_ns);
          stored_.last_ns = std::max(stored_.last_ns, row.end_ns);
          return true;
        });
    Expect(read.ok(), read.ToString());
    stored_.epochs = sequences_.size();
    for (const auto& [sequence, body] : bodies) Add(sequence, body);
  }

  bool Has(uint64_t sequence) const { return sequences_.contains(sequence); }

  void ExpectCounted(const storage::NodeCounters& counters) {
    Expect(counters.epochs == stored_.epochs, "counts ", counters.epochs, " epochs, has ",
           stored_.epochs);
    Expect(counters.partial_epochs == stored_.partial, "counts ", counters.partial_epochs,
           " partial epochs, has ", stored_.partial);
    Expect(counters.apart == 0, counters.apart, " epochs are stored apart");
    Expect(counters.subs.size() == sums_.size(), "counts ", counters.subs.size(), " series, has ",
           sums_.size());
    for (const auto& [key, sum] : counters.subs) {
      const Sum& own = sums_[key];
      Expect(sum.weight == own.weight && sum.events == own.events, "vital ", int{key.first},
             " counts ", sum.events, " events of weight ", sum.weight, ", has ", own.events, " of ",
             own.weight);
    }
  }

 private:
  struct Sum {
    uint64_t weight = 0, events = 0;
  };

  void Add(uint64_t sequence, const v1::SummaryBody& body) {
    // Time is seen once, and in the order of the sequence numbers.
    const v1::Epoch& epoch = body.epoch();
    Expect(epoch.start_mono_ns() >= last_mono_ns_, "epoch ", sequence,
           " begins before the one before it ends");
    if (last_mono_ns_ != 0 && epoch.start_mono_ns() > last_mono_ns_) {
      stored_.longest_gap_ns =
          std::max(stored_.longest_gap_ns, epoch.start_mono_ns() - last_mono_ns_);
    }
    last_mono_ns_ = epoch.end_mono_ns();
    const bool says_so = std::any_of(
        body.losses().begin(), body.losses().end(),
        [](const v1::Loss& loss) { return loss.reason() == v1::LOSS_REASON_NOT_JOURNALLED; });
    const bool partial = epoch.kind() == v1::EPOCH_KIND_PARTIAL;
    Expect(partial == says_so, "epoch ", sequence, partial ? " is partial and" : " is whole, but",
           " its losses do not say so");
    stored_.partial += partial ? 1 : 0;
    for (const v1::Vital& vital : body.vitals()) {
      for (int sub = 0; sub < vital.subs_size(); ++sub) {
        Sum& sum = sums_[{static_cast<uint8_t>(vital.id()), static_cast<uint8_t>(sub)}];
        sum.weight += vital.subs(sub).weight();
        sum.events += vital.subs(sub).events();
      }
    }
  }

  const std::string& name_;
  SpoolWitness::Stored& stored_;
  std::set<uint64_t> sequences_;
  std::map<std::pair<uint8_t, uint8_t>, Sum> sums_;
  uint64_t last_mono_ns_ = 0;
};

}  // namespace

void SpoolWitness::Look() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(agent_->spool(), ignored)) {
    const uint64_t sequence = agent::SequenceOfFileName(entry.path().filename().string());
    if (sequence == 0 || seen_.contains(sequence)) continue;
    auto record = agent::DecodeRecord(ReadAll(entry.path()));
    if (record.ok()) seen_[sequence] = *std::move(record);
  }
}

SpoolWitness::Stored SpoolWitness::HoldAgainst(storage::Store& store) const {
  Stored stored;
  NodeRows rows(agent_->name(), stored);
  agent::PosixFileSystem files;
  const auto spool = agent::Spool::Open({.directory = agent_->spool(), .random_bytes = {}}, files);
  rows.Expect(spool.ok(), spool.status().ToString());
  const auto node = store.reader().Node(agent_->name());
  rows.Expect(node.has_value(), "the store does not know it");
  if (!spool.ok() || !node.has_value()) return stored;
  rows.Expect((*spool)->records().empty(), (*spool)->records().size(), " records were not sent");
  rows.Expect((*spool)->lost().empty(), (*spool)->lost().size(), " losses were not declared");
  const uint64_t newest = (*spool)->next_sequence() - 1;
  stored.cut = newest;

  rows.Read(store, node->number());
  const auto ledgers = store.reader().Ledgers(node->number());
  rows.Expect(ledgers.size() == 1, ledgers.size(), " ledgers, but an agent keeps its incarnation");
  if (ledgers.empty()) return stored;
  const storage::SequenceLedger& ledger = ledgers.front().second;
  stored.lost = ledger.lost_count();
  rows.Expect(ledger.highest() == newest, "the ledger ends with epoch ", ledger.highest(),
              ", the agent with ", newest);
  rows.Expect(ledger.received_through() == newest && ledger.missing_count() == 0,
              ledger.missing_count(), " epochs are missing, all are here through ",
              ledger.received_through(), " of ", newest);
  rows.Expect(ledger.received_count() + ledger.lost_count() == newest, ledger.received_count(),
              " received and ", ledger.lost_count(), " lost of ", newest);
  rows.Expect(ledger.received_count() == stored.epochs, ledger.received_count(), " received, but ",
              stored.epochs, " can be read");
  for (const storage::LostRange& lost : ledger.lost()) {
    rows.Expect(lost.reason != v1::Lost::REASON_UNSPECIFIED, "no reason for the loss of epoch ",
                lost.first);
  }
  for (const auto& [sequence, record] : seen_) {
    rows.Expect(rows.Has(sequence), "epoch ", sequence, " stood in the spool and is lost");
    stored.found += rows.Has(sequence) ? 1 : 0;
  }
  const storage::NodeCounters counters = store.summaries().Counters(node->number());
  stored.counted = counters.epochs;
  rows.ExpectCounted(counters);
  return stored;
}

}  // namespace telltale::testing
