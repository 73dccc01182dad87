// One batch of summaries on its way into the store: what it would change is decided item by item on
// copies, then written in two steps, then published. Belongs to one thread, lives for one PutBatch.

#ifndef TELLTALE_STORAGE_BATCH_WRITER_H_
#define TELLTALE_STORAGE_BATCH_WRITER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/dirty_windows.h"
#include "storage/ingest_stamps.h"
#include "storage/node_book.h"
#include "storage/placement.h"
#include "storage/raw_value.h"
#include "storage/summary_store.h"

namespace telltale::storage {

// 16 bytes as an incarnation; InvalidArgument otherwise.
absl::StatusOr<Incarnation> IncarnationFrom(std::string_view bytes);

class BatchWriter {
 public:
  BatchWriter(const SummaryStoreOptions& options, uint16_t raw_floor,
              std::function<std::shared_ptr<const NodeBook>(uint32_t)> book_of)
      : options_(options),
        raw_floor_(raw_floor),
        book_of_(std::move(book_of)),
        transaction_(options.catalog->Begin()) {}

  absl::StatusOr<Outcome> Add(const Incoming& item);

  // A summary that is stored apart already, by its row's key and header; item.summary with its
  // cells if they are still there. kStored: it counts from now on; else it stays as it is.
  absl::StatusOr<Outcome> Adopt(RawKey apart, const RawHeader& header, const Incoming& item);

  // History first, durably; then the catalog in one commit.
  absl::Status Write(uint64_t ingest_number);

  bool empty() const { return staged_.empty(); }
  void Publish(const std::function<void(uint32_t, NodeBook)>& publish_book, DirtyWindows* dirty,
               IngestStamps* stamps);

 private:
  struct Apart {
    uint64_t epochs = 0;
    uint64_t from_ns = UINT64_MAX, to_ns = 0;
  };
  struct Staged {
    NodeBook book;
    std::set<Incarnation> ledgers;         // changed
    std::map<uint16_t, CoverageDay> days;  // changed
    std::set<DirtyKey> dirty;
    uint64_t first_start_ns = UINT64_MAX;  // of the counted epochs in the batch
    const v1::Epoch* latest = nullptr;
    uint64_t latest_end_ns = 0;
    bool counted = false;
    bool arrived = false;  // not only counted by a decision about what had come before
    std::map<std::string, Apart> apart;  // by incarnation
  };

  Staged& StagedOf(uint32_t node) {
    auto [it, fresh] = staged_.try_emplace(node);
    if (fresh) it->second.book = *book_of_(node);
    return it->second;
  }
  // Digest of a raw row in this batch or in the history; NotFound.
  absl::StatusOr<uint64_t> StoredDigest(const std::string& key) const;
  absl::StatusOr<Outcome> AddApart(RawKey key, const Incoming& item, const RawHeader& header,
                                   Outcome outcome);
  static void NoteSchema(const Incoming& item, uint16_t day, Staged& staged);
  static void NoteInRecord(const Staged& staged, uint64_t now_ns, NodeRecord& record);
  absl::Status AddCounted(const RawKey& key, const EpochSpan& span, const Incoming& item,
                          const RawHeader& header);
  void AppendRows(const RawKey& key, const Incoming& item, const RawHeader& header);

  const SummaryStoreOptions& options_;
  const uint16_t raw_floor_;
  const std::function<std::shared_ptr<const NodeBook>(uint32_t)> book_of_;
  std::unique_ptr<Transaction> transaction_;
  std::map<uint32_t, Staged> staged_;
  std::vector<Row> rows_;
  std::map<std::string, uint64_t> digests_;  // of rows_, by raw key
  std::vector<NodeRecord> records_;
  uint64_t ingest_number_ = 0;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_BATCH_WRITER_H_
