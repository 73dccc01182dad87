#include "agent/spool/journal.h"

#include <utility>

namespace telltale::agent {

absl::Status Journal::Append(const v1::Schema& schema, uint64_t sequence,
                             const v1::SummaryBody& body) {
  const std::string entry = EncodeJournalEntry(sequence, body);
  if (entry.size() > kMaxChunkBytes) {
    return absl::OutOfRangeError("spool: journal entry over the limit of 4 MiB, left out");
  }
  if (sequence == sequence_) {
    absl::Status appended = files_.Append(path_, entry);
    // Behind half an entry nothing can be read: the next one begins the file anew.
    if (!appended.ok()) sequence_ = 0;
    return appended;
  }
  // Written beside the old one, which stays whole until the rename.
  absl::Status status = files_.Write(path_ + ".tmp", EncodeJournalHead(schema) + entry);
  if (status.ok()) status = files_.Rename(path_ + ".tmp", path_);
  sequence_ = status.ok() ? sequence : 0;
  return status;
}

absl::Status Journal::Remove() {
  sequence_ = 0;
  return files_.Remove(path_);
}

std::optional<JournalEntry> Journal::Load() {
  const auto bytes = files_.Read(path_, 16 * kMaxChunkBytes);
  if (!bytes.ok()) return std::nullopt;
  auto entry = DecodeJournal(*bytes);
  if (!entry.ok()) return std::nullopt;
  return *std::move(entry);
}

void MarkPartial(v1::SummaryBody* body) {
  body->mutable_epoch()->set_kind(v1::EPOCH_KIND_PARTIAL);
  for (const v1::Loss& loss : body->losses()) {
    if (loss.reason() == v1::LOSS_REASON_NOT_JOURNALLED) return;
  }
  body->add_losses()->set_reason(v1::LOSS_REASON_NOT_JOURNALLED);
}

}  // namespace telltale::agent
