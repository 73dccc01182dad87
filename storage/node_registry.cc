#include "storage/node_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/catalog_damage.h"
#include "storage/stored_value.h"

namespace telltale::storage {

NodeRegistry::NodeRegistry(Catalog* catalog, size_t max_nodes)
    : catalog_(catalog), max_nodes_(max_nodes) {}

absl::StatusOr<std::unique_ptr<NodeRegistry>> NodeRegistry::Open(Catalog* catalog,
                                                                 size_t max_nodes) {
  std::unique_ptr<NodeRegistry> registry(new NodeRegistry(catalog, max_nodes));
  const absl::Status read = ReadWhole(
      *catalog, TablePrefix(CatalogTable::kNodes), "a node's number could be given to another",
      [&](std::string_view, std::string_view value) {
        absl::StatusOr<NodeRecord> record = DecodeValue<NodeRecord>(value, "node record");
        if (!record.ok()) return record.status();
        // Numbers are given in order, so the table has no holes.
        if (record->number() != registry->records_.size() + 1) {
          return absl::DataLossError(absl::StrCat("read node record: number ", record->number(),
                                                  " follows ", registry->records_.size()));
        }
        registry->numbers_.emplace(record->name(), record->number());
        registry->records_.push_back(std::make_shared<const NodeRecord>(*std::move(record)));
        return absl::OkStatus();
      });
  if (!read.ok()) return read;
  return registry;
}

absl::StatusOr<uint32_t> NodeRegistry::NumberOf(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = numbers_.find(name);
  if (it != numbers_.end()) return it->second;
  if (!proto::ValidNodeName(std::string(name))) {
    return absl::InvalidArgumentError(
        absl::StrCat("register node: \"", proto::SanitizeText(name, 64),
                     "\" is not a node name, want 1..128 of [a-zA-Z0-9._-]"));
  }
  if (records_.size() >= max_nodes_) {
    return absl::ResourceExhaustedError(absl::StrCat("register node ", std::string(name), ": ",
                                                     records_.size(), " nodes known, limit ",
                                                     max_nodes_, "; raise storage.max_nodes"));
  }
  auto record = std::make_shared<NodeRecord>();
  record->set_number(static_cast<uint32_t>(records_.size() + 1));
  record->set_name(std::string(name));
  record->set_state(v1::NODE_STATE_NEVER);
  std::unique_ptr<Transaction> transaction = catalog_->Begin();
  transaction->Put(NodeRecordKey(record->number()), EncodeValue(*record));
  // Whatever refers to the number is committed later. A fleet of new nodes would wait for the disk,
  // one after the other, and all that look up a node with it.
  absl::Status committed = transaction->Commit(Durability::kBuffered);
  if (!committed.ok()) return committed;
  numbers_.emplace(record->name(), record->number());
  records_.push_back(record);
  return record->number();
}

std::optional<NodeRecord> NodeRegistry::Find(std::string_view name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = numbers_.find(name);
  if (it == numbers_.end()) return std::nullopt;
  return *records_[it->second - 1];
}

std::optional<NodeRecord> NodeRegistry::Find(uint32_t number) const {
  const SharedNode record = Get(number);
  if (record == nullptr) return std::nullopt;
  return *record;
}

SharedNode NodeRegistry::Get(uint32_t number) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (number == 0 || number > records_.size()) return nullptr;
  return records_[number - 1];
}

NodeList NodeRegistry::List() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return NodeList(records_);
}

size_t NodeRegistry::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return records_.size();
}

absl::Status NodeRegistry::Update(uint32_t number, Durability durability,
                                  const std::function<void(NodeRecord&)>& change) {
  std::unique_ptr<Transaction> transaction = catalog_->Begin();
  absl::StatusOr<NodeRecord> record = Stage(number, transaction.get(), change);
  if (!record.ok()) return record.status();
  absl::Status committed = transaction->Commit(durability);
  if (!committed.ok()) return committed;
  Publish(*std::move(record));
  return absl::OkStatus();
}

absl::StatusOr<NodeRecord> NodeRegistry::Stage(
    uint32_t number, Transaction* transaction,
    const std::function<void(NodeRecord&)>& change) const {
  std::optional<NodeRecord> record = Find(number);
  if (!record.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("update node record: no node has number ", number, " of ", size()));
  }
  const std::string name = record->name();
  change(*record);
  record->set_number(number);  // identity is not up for change
  record->set_name(name);
  transaction->Put(NodeRecordKey(number), EncodeValue(*record));
  return *std::move(record);
}

void NodeRegistry::Publish(NodeRecord record) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t number = record.number();
  if (number == 0 || number > records_.size()) return;
  records_[number - 1] = std::make_shared<const NodeRecord>(std::move(record));
}

void NodeRegistry::AddRemark(NodeRecord& record, v1::RemarkKind kind, std::string_view text,
                             uint64_t now_ns) {
  const std::string line = proto::SanitizeText(text, 200);
  const bool latest_only = kind == v1::REMARK_KIND_OVERLAP || kind == v1::REMARK_KIND_CLOCK_STEP;
  for (v1::Remark& remark : *record.mutable_remarks()) {
    if (remark.kind() == kind && (latest_only || remark.text() == line)) {
      remark.set_text(line);
      remark.set_last_ns(now_ns);
      remark.set_count(remark.count() + 1);
      return;
    }
  }
  if (static_cast<size_t>(record.remarks_size()) >= kMaxRemarks) {
    auto* remarks = record.mutable_remarks();
    const auto oldest = std::min_element(
        remarks->begin(), remarks->end(),
        [](const v1::Remark& a, const v1::Remark& b) { return a.last_ns() < b.last_ns(); });
    remarks->erase(oldest);
    record.set_remarks_dropped(record.remarks_dropped() + 1);
  }
  v1::Remark* remark = record.add_remarks();
  remark->set_kind(kind);
  remark->set_text(line);
  remark->set_first_ns(now_ns);
  remark->set_last_ns(now_ns);
  remark->set_count(1);
}

v1::KnownIncarnation& NodeRegistry::IncarnationOf(NodeRecord& record,
                                                  const Incarnation& incarnation,
                                                  v1::IncarnationStatus status_if_new,
                                                  uint64_t now_ns) {
  const std::string id(incarnation.begin(), incarnation.end());
  for (v1::KnownIncarnation& known : *record.mutable_incarnations()) {
    if (known.id() == id) {
      known.set_last_seen_ns(std::max(known.last_seen_ns(), now_ns));
      return known;
    }
  }
  if (static_cast<size_t>(record.incarnations_size()) >= kMaxIncarnations) {
    auto* known = record.mutable_incarnations();
    // Those an operator decided about, or has to, go last.
    const auto longest_unseen = std::min_element(
        known->begin(), known->end(),
        [](const v1::KnownIncarnation& a, const v1::KnownIncarnation& b) {
          const auto rank = [](const v1::KnownIncarnation& one) {
            return std::pair(one.kept() || one.status() != v1::INCARNATION_STATUS_COUNTED,
                             one.last_seen_ns());
          };
          return rank(a) < rank(b);
        });
    known->erase(longest_unseen);
    record.set_incarnations_forgotten(record.incarnations_forgotten() + 1);
  }
  v1::KnownIncarnation* known = record.add_incarnations();
  known->set_id(id);
  known->set_status(status_if_new);
  known->set_first_seen_ns(now_ns);
  known->set_last_seen_ns(now_ns);
  return *known;
}

}  // namespace telltale::storage
