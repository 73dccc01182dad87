#include "agent/spool/spool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr size_t kIncarnationBytes = 16;
constexpr const char* kIncarnationFile = "incarnation";
constexpr const char* kRefusedDirectory = "refused";

std::string SlotName(uint64_t generation) { return absl::StrCat("state.", generation % 2); }

v1::Lost MakeLost(uint64_t first, uint64_t last, v1::Lost::Reason reason, const std::string& detail,
                  TimeRange time) {
  v1::Lost lost;
  lost.set_first_sequence(first);
  lost.set_last_sequence(last);
  lost.set_reason(reason);
  lost.set_detail(detail);
  lost.set_start_unix_ns(time.start_unix_ns);
  lost.set_end_unix_ns(time.end_unix_ns);
  return lost;
}

TimeRange TimeOf(const v1::Summary& summary) {
  return {summary.start_unix_ns(), summary.end_unix_ns()};
}

absl::Status CheckSize(const char* step, uint64_t sequence, size_t bytes) {
  if (bytes <= kMaxRecordBytes) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("spool: ", step, " sequence ", sequence, ": ", bytes,
                                            " bytes, limit ", kMaxRecordBytes));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(const Options& options, FileSystem& files) {
  std::unique_ptr<Spool> spool(new Spool(options, files));
  absl::Status status = files.MakeDirectory(options.directory);
  if (!status.ok()) return status;
  const auto entries = files.List(options.directory);
  if (!entries.ok()) return entries.status();
  const bool has_records = std::any_of(entries->begin(), entries->end(), [](const auto& entry) {
    return SequenceOfFileName(entry.name) != 0;
  });
  status = spool->LoadIdentity(has_records);
  if (status.ok()) status = spool->LoadRecords(*entries);
  if (status.ok()) status = spool->FinishHalfDone();
  if (!status.ok()) return status;
  return spool;
}

absl::Status Spool::Create() {
  incarnation_ = options_.random_bytes(kIncarnationBytes);
  if (absl::Status status = SaveState(); !status.ok()) return status;
  // Last: its presence says that the directory is complete.
  return WriteDurably(files_, options_.directory, kIncarnationFile,
                      absl::BytesToHexString(incarnation_) + "\n");
}

absl::Status Spool::LoadIdentity(bool has_records) {
  const auto text = files_.Read(Path(kIncarnationFile), 64);
  if (absl::IsNotFound(text.status()) && !has_records) return Create();
  if (text.ok()) {
    const std::string hex(absl::StripAsciiWhitespace(*text));
    const bool digits = std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit);
    if (digits && hex.size() == 2 * kIncarnationBytes) incarnation_ = absl::HexStringToBytes(hex);
  }
  bool has_state = false;
  for (uint64_t slot = 0; slot < 2; ++slot) {
    const auto bytes = files_.Read(Path(SlotName(slot)), SpoolState::kSlotBytes);
    if (!bytes.ok()) continue;
    auto state = SpoolState::Decode(*bytes);
    if (!state.ok() || (has_state && state->generation < state_.generation)) continue;
    state_ = *std::move(state);
    has_state = true;
  }
  if (incarnation_.empty() || !has_state) {
    return absl::FailedPreconditionError(absl::StrCat(
        "spool: open ", options_.directory, ": ", incarnation_.empty() ? "incarnation" : "state",
        " is damaged, so used sequence numbers are unknown; move the directory away and the agent "
        "begins a new one"));
  }
  persisted_next_ = state_.next;
  return absl::OkStatus();
}

absl::Status Spool::LoadRecords(const std::vector<FileSystem::Entry>& entries) {
  std::map<uint64_t, std::string> damaged;
  for (const FileSystem::Entry& entry : entries) {
    const uint64_t sequence = SequenceOfFileName(entry.name);
    if (sequence == 0) {
      if (entry.name.ends_with(".tmp")) {
        files_.Remove(Path(entry.name)).IgnoreError();
      }
      continue;
    }
    state_.next = std::max(state_.next, sequence + 1);
    const auto bytes = files_.Read(Path(entry.name), kMaxRecordBytes);
    const auto record = bytes.ok() ? DecodeRecord(*bytes) : bytes.status();
    records_[sequence] = {entry.bytes, record.ok() ? TimeOf(record->summary) : TimeRange{}};
    bytes_ += entry.bytes;
    if (!record.ok()) {
      damaged[sequence] = std::string(record.status().message());
    } else if (record->summary.identity().sequence() != sequence ||
               record->summary.identity().incarnation() != incarnation_) {
      damaged[sequence] = "record of another spool or sequence";
    }
  }
  for (const auto& [sequence, how] : damaged) {
    const absl::Status status = DropRecord(sequence, v1::Lost::SPOOL_CORRUPT, how);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Spool::FinishHalfDone() {
  std::vector<uint64_t> half_done;
  for (const auto& [sequence, item] : records_) {
    if (state_.LostRangeOf(sequence) != nullptr) half_done.push_back(sequence);
  }
  for (const uint64_t sequence : half_done) {
    const bool refused = state_.LostRangeOf(sequence)->reason() == v1::Lost::REFUSED;
    const absl::Status status =
        refused ? MoveToRefused(sequence) : files_.Remove(Path(RecordFileName(sequence)));
    if (!status.ok()) return status;
    Forget(sequence);
  }
  const auto held = std::exchange(state_.held, {});
  for (const auto& [sequence, time] : held) {
    state_.next = std::max(state_.next, sequence + 1);
    if (records_.contains(sequence)) continue;
    state_.AddLost(MakeLost(sequence, sequence, v1::Lost::CRASHED,
                            "held in memory when the agent ended", time));
  }
  for (const v1::Lost& range : state_.lost) {
    state_.next = std::max(state_.next, range.last_sequence() + 1);
  }
  return held.empty() ? absl::OkStatus() : SaveState();
}

// Both slots, one after the other: a torn write leaves the other one as it was, and afterwards
// either of them is enough, should the disk damage one.
absl::Status Spool::SaveState() {
  for (int slot = 0; slot < 2; ++slot) {
    ++state_.generation;
    const absl::Status status =
        files_.Overwrite(Path(SlotName(state_.generation)), state_.Encode());
    if (!status.ok()) {
      --state_.generation;
      return status;
    }
  }
  persisted_next_ = state_.next;
  return absl::OkStatus();
}

absl::Status Spool::Append(const Record& record) {
  const uint64_t sequence = record.summary.identity().sequence();
  if (sequence == 0 || (sequence != state_.next && !state_.held.contains(sequence))) {
    return absl::InternalError(
        absl::StrCat("spool: append sequence ", sequence, ": the next is ", state_.next));
  }
  const std::string bytes = EncodeRecord(record);
  if (absl::Status status = CheckSize("append", sequence, bytes.size()); !status.ok())
    return status;
  if (absl::Status status = MakeRoom(bytes.size()); !status.ok()) return status;
  absl::Status status = WriteDurably(files_, options_.directory, RecordFileName(sequence), bytes);
  if (!status.ok()) return status;
  records_[sequence] = {bytes.size(), TimeOf(record.summary)};
  bytes_ += bytes.size();
  state_.next = std::max(state_.next, sequence + 1);
  // A held line that stays behind is harmless: the record outranks it at the next start.
  if (state_.held.erase(sequence) > 0) SaveState().IgnoreError();
  return absl::OkStatus();
}

absl::Status Spool::Replace(const Record& record) {
  const uint64_t sequence = record.summary.identity().sequence();
  const auto it = records_.find(sequence);
  if (it == records_.end() || sequence + 1 != state_.next) {
    return absl::InternalError(absl::StrCat("spool: replace sequence ", sequence,
                                            ": not the newest record, the next is ", state_.next));
  }
  const std::string bytes = EncodeRecord(record);
  absl::Status status = CheckSize("replace", sequence, bytes.size());
  if (status.ok()) {
    status = WriteDurably(files_, options_.directory, RecordFileName(sequence), bytes);
  }
  if (!status.ok()) return status;
  bytes_ += bytes.size() - it->second.bytes;
  it->second.bytes = bytes.size();
  return absl::OkStatus();
}

absl::Status Spool::MakeRoom(uint64_t bytes) {
  while (!records_.empty() && bytes_ + bytes > options_.max_bytes) {
    const absl::Status status =
        DropRecord(records_.begin()->first, v1::Lost::SPOOL_FULL,
                   absl::StrCat("spool limit ", options_.max_bytes, " bytes"));
    if (!status.ok()) return status;
    ++counts_.dropped_full;
  }
  return absl::OkStatus();
}

absl::Status Spool::DropRecord(uint64_t sequence, v1::Lost::Reason reason,
                               const std::string& detail) {
  state_.AddLost(MakeLost(sequence, sequence, reason, detail, records_[sequence].time));
  if (absl::Status status = SaveState(); !status.ok()) return status;
  if (reason == v1::Lost::SPOOL_CORRUPT) ++counts_.dropped_corrupt;
  const absl::Status status = files_.Remove(Path(RecordFileName(sequence)));
  Forget(sequence);
  return status;
}

void Spool::Forget(uint64_t sequence) {
  const auto it = records_.find(sequence);
  if (it == records_.end()) return;
  bytes_ -= it->second.bytes;
  records_.erase(it);
}

absl::Status Spool::Hold(uint64_t sequence, TimeRange time) {
  if (sequence != state_.next) {
    return absl::InternalError(
        absl::StrCat("spool: hold sequence ", sequence, ": the next is ", state_.next));
  }
  if (state_.held.size() >= SpoolState::kMaxHeld) {
    return absl::ResourceExhaustedError(absl::StrCat("spool: hold sequence ", sequence, ": ",
                                                     SpoolState::kMaxHeld,
                                                     " summaries are in memory only already"));
  }
  SpoolState before = state_;
  state_.held[sequence] = time;
  state_.next = sequence + 1;
  absl::Status status = SaveState();
  if (!status.ok()) state_ = std::move(before);
  return status;
}

absl::Status Spool::DeclareLost(uint64_t count, v1::Lost::Reason reason, const std::string& detail,
                                TimeRange time) {
  if (count == 0) return absl::OkStatus();
  const uint64_t first = state_.next;
  state_.next += count;
  state_.AddLost(MakeLost(first, first + count - 1, reason, detail, time));
  if (reason == v1::Lost::SPOOL_CORRUPT) counts_.dropped_corrupt += count;
  return SaveState();
}

absl::Status Spool::DropHeld(uint64_t sequence, v1::Lost::Reason reason,
                             const std::string& detail) {
  const auto it = state_.held.find(sequence);
  if (it == state_.held.end()) return absl::OkStatus();
  state_.AddLost(MakeLost(sequence, sequence, reason, detail, it->second));
  state_.held.erase(it);
  return SaveState();
}

absl::Status Spool::Settle(uint64_t sequence) {
  const bool was_held = state_.held.erase(sequence) > 0;
  const bool known = records_.contains(sequence);
  if (!was_held && !known) return absl::OkStatus();
  ++counts_.settled;
  // The file of the newest sequence may be all that shows the sequence was used.
  if (was_held || persisted_next_ <= sequence) {
    if (absl::Status status = SaveState(); !status.ok()) return status;
  }
  if (!known) return absl::OkStatus();
  const absl::Status status = files_.Remove(Path(RecordFileName(sequence)));
  if (status.ok()) Forget(sequence);
  return status;
}

absl::Status Spool::SetAside(uint64_t sequence, const std::string& reason) {
  if (state_.held.contains(sequence)) return DropHeld(sequence, v1::Lost::REFUSED, reason);
  const auto it = records_.find(sequence);
  if (it == records_.end()) return absl::OkStatus();
  state_.AddLost(MakeLost(sequence, sequence, v1::Lost::REFUSED, reason, it->second.time));
  ++counts_.refused;
  if (absl::Status status = SaveState(); !status.ok()) return status;
  const absl::Status status = MoveToRefused(sequence);
  Forget(sequence);
  return status;
}

absl::Status Spool::MoveToRefused(uint64_t sequence) {
  const std::string name = RecordFileName(sequence);
  const std::string aside = Path(kRefusedDirectory);
  absl::Status status = files_.MakeDirectory(aside);
  if (status.ok()) status = files_.Rename(Path(name), absl::StrCat(aside, "/", name));
  if (!status.ok()) return status;
  const auto entries = files_.List(aside);
  if (!entries.ok()) return entries.status();
  std::vector<std::string> names;
  for (const FileSystem::Entry& entry : *entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  for (size_t i = 0; i + options_.keep_refused < names.size(); ++i) {
    status = files_.Remove(absl::StrCat(aside, "/", names[i]));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Spool::Check(uint64_t sequence) {
  if (!records_.contains(sequence)) return absl::OkStatus();
  const auto bytes = files_.Read(Path(RecordFileName(sequence)), kMaxRecordBytes);
  const auto record = bytes.ok() ? DecodeRecord(*bytes) : bytes.status();
  if (record.ok()) return absl::OkStatus();
  return DropRecord(sequence, v1::Lost::SPOOL_CORRUPT, std::string(record.status().message()));
}

absl::Status Spool::LostRecorded(uint64_t first, uint64_t last) {
  if (first == 0 || last < first) {
    return absl::InvalidArgumentError(absl::StrCat("spool: lost range ", first, "..", last,
                                                   " recorded by the collector is empty"));
  }
  state_.RemoveLost(first, last);
  return SaveState();
}

}  // namespace telltale::agent
