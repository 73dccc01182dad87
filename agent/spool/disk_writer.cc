#include "agent/spool/disk_writer.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxRequests = 8'192;
constexpr uint64_t kMaxCrashedEpochs = 256;  // a journal that claims more is not believed

TimeRange TimeOf(const v1::SummaryBody& body) {
  return {body.epoch().start_unix_ns(), body.epoch().end_unix_ns()};
}

FinishedEpoch Marked(const FinishedEpoch& epoch) {
  FinishedEpoch marked = epoch;
  marked.body.mutable_epoch()->set_unspooled(true);
  return marked;
}

absl::StatusOr<Record> MakeRecord(const FinishedEpoch& epoch, const v1::Schema& schema,
                                  const std::string& node, const std::string& incarnation,
                                  uint64_t sequence) {
  v1::Identity identity;
  identity.set_node(node);
  identity.set_incarnation(incarnation);
  identity.set_sequence(sequence);
  auto summary = proto::EncodeSummary(identity, schema.id(), epoch.body, epoch.cells);
  if (!summary.ok()) return summary.status();
  return Record{schema, epoch.names, *std::move(summary)};
}

}  // namespace

DiskWriter::DiskWriter(Options options, std::unique_ptr<Spool> spool, Journal journal,
                       SpoolObserver& observer)
    : options_(std::move(options)),
      spool_(std::move(spool)),
      journal_(std::move(journal)),
      observer_(observer) {}

DiskWriter::~DiskWriter() { Stop(); }

void DiskWriter::Start() {
  RecoverJournal();
  Publish();
  thread_ = std::thread([this] { Run(); });
}

void DiskWriter::Announce() {
  {
    const std::lock_guard lock(mutex_);
    announce_ = true;
  }
  wake_.notify_all();
}

void DiskWriter::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DiskWriter::RunPosted() {
  std::deque<Request> requests;
  {
    const std::lock_guard lock(mutex_);
    requests = std::exchange(requests_, {});
  }
  for (const Request& request : requests) Report(request());
  Publish();
}

void DiskWriter::RecoverJournal() {
  std::optional<JournalEntry> entry = journal_.Load();
  const uint64_t next = spool_->next_sequence();
  if (entry && entry->sequence >= next && entry->sequence - next <= kMaxCrashedEpochs) {
    Report(spool_->DeclareLost(entry->sequence - next, v1::Lost::CRASHED,
                               "cut, but the agent ended before it was written", {}));
    FinishedEpoch epoch;
    epoch.body = std::move(entry->body);
    MarkPartial(&epoch.body);
    auto record =
        MakeRecord(epoch, entry->schema, options_.node, spool_->incarnation(), entry->sequence);
    const absl::Status status = record.ok() ? spool_->Append(*record) : record.status();
    if (status.ok()) {
      spdlog::warn(
          "spool: the agent ended unplanned; what its journal held of the running epoch is "
          "kept as partial epoch {}",
          entry->sequence);
    } else {
      Report(status);
      // A full disk may take it at the next start; an unreadable body never will be taken.
      if (record.ok()) return;
    }
  }
  Report(journal_.Remove());
}

void DiskWriter::Submit(FinishedEpoch epoch) {
  const uint64_t names_left_out = LeaveOutOversizeNames(&epoch.names);
  if (names_left_out != 0) {
    spdlog::error(
        "spool: take epoch: left out {} of its names, a record has at most {} bytes of them and "
        "{} in a message; that code shows as addresses",
        names_left_out, kMaxNamesBytes, kMaxChunkBytes);
  }
  {
    const std::lock_guard lock(mutex_);
    stats_.names_left_out += names_left_out;
    if (waiting_.size() >= options_.max_waiting) {
      CountMemoryLoss(TimeOf(waiting_.front().epoch->body));
      waiting_.pop_front();
    }
    waiting_.push_back(
        {std::make_shared<const FinishedEpoch>(std::move(epoch)), options_.mono_ns()});
    stats_.waiting = waiting_.size();
    journal_body_.reset();
  }
  wake_.notify_all();
  SayHang();
}

void DiskWriter::SubmitJournal(v1::SummaryBody body) {
  {
    const std::lock_guard lock(mutex_);
    journal_body_ = std::move(body);
  }
  wake_.notify_all();
  SayHang();
}

void DiskWriter::Post(Request request) {
  {
    const std::lock_guard lock(mutex_);
    // Past the bound the disk hangs; what is left out here is offered again after a restart.
    if (requests_.size() >= kMaxRequests) return;
    requests_.push_back(std::move(request));
  }
  wake_.notify_all();
}

void DiskWriter::Settle(uint64_t sequence) {
  Post([this, sequence] {
    held_.erase(sequence);
    return spool_->Settle(sequence);
  });
}

void DiskWriter::SetAside(uint64_t sequence, std::string reason) {
  Post([this, sequence, reason = std::move(reason)] {
    held_.erase(sequence);
    return spool_->SetAside(sequence, reason);
  });
}

void DiskWriter::Check(uint64_t sequence) {
  Post([this, sequence] { return spool_->Check(sequence); });
}

void DiskWriter::LostRecorded(uint64_t first, uint64_t last) {
  Post([this, first, last] { return spool_->LostRecorded(first, last); });
}

void DiskWriter::Run() {
  std::unique_lock lock(mutex_);
  bool blocked = false;  // the disk refused the oldest waiting epoch
  while (true) {
    const bool woken = wake_.wait_for(lock, std::chrono::milliseconds(options_.retry_ms), [&] {
      return stopping_ || announce_ || !requests_.empty() ||
             (!blocked && (journal_body_ || !waiting_.empty()));
    });
    std::deque<Request> requests = std::exchange(requests_, {});
    std::optional<Waiting> next;
    if (!waiting_.empty()) {
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    in_hand_ = next.has_value();
    std::optional<v1::SummaryBody> journal_body;
    if (waiting_.empty()) journal_body = std::exchange(journal_body_, std::nullopt);
    const bool stopping = stopping_, announce = std::exchange(announce_, false);
    lock.unlock();

    // First: what is new now is named by itself.
    if (announce) AnnounceAll();

    for (const Request& request : requests) Report(OnDisk(request));
    if (!woken) RetryHeld();
    if (next) DeclareMemoryLoss();
    blocked = next && !Store(*next);
    // Only now is the sequence of the running epoch known.
    if (journal_body && !blocked) {
      Report(OnDisk([&] {
        return journal_.Append(options_.schema, spool_->next_sequence(), *journal_body);
      }));
    }
    AnnounceLost();
    Publish();

    lock.lock();
    in_hand_ = false;
    if (blocked && waiting_.size() < options_.max_waiting) {
      waiting_.push_front(*std::move(next));
    } else if (blocked) {
      CountMemoryLoss(TimeOf(next->epoch->body));
    }
    stats_.waiting = waiting_.size();
    if (stopping && (waiting_.empty() || blocked) && requests_.empty()) return;
  }
}

void DiskWriter::CountMemoryLoss(TimeRange time) {
  if (memory_lost_++ == 0) memory_lost_time_ = time;
  memory_lost_time_.start_unix_ns = std::min(memory_lost_time_.start_unix_ns, time.start_unix_ns);
  memory_lost_time_.end_unix_ns = std::max(memory_lost_time_.end_unix_ns, time.end_unix_ns);
  ++stats_.lost_in_memory;
}

void DiskWriter::DeclareMemoryLoss() {
  uint64_t count = 0;
  TimeRange time;
  {
    const std::lock_guard lock(mutex_);
    count = std::exchange(memory_lost_, 0);
    time = memory_lost_time_;
  }
  Report(OnDisk([&] {
    return spool_->DeclareLost(count, v1::Lost::MEMORY_FULL,
                               absl::StrCat("disk hung, ", options_.max_waiting, " waited"), time);
  }));
}

bool DiskWriter::Store(const Waiting& waiting) {
  const FinishedEpoch& epoch = *waiting.epoch;
  const uint64_t sequence = spool_->next_sequence();
  const auto make = [&](const FinishedEpoch& of) {
    return MakeRecord(of, options_.schema, options_.node, spool_->incarnation(), sequence);
  };
  const auto waited_long = [&] { return TooLong(options_.mono_ns() - waiting.since_ns); };
  const bool marked = waited_long();
  auto record = marked ? make(Marked(epoch)) : make(epoch);
  if (!record.ok()) {
    spdlog::error("spool: encode epoch {}: {}", sequence, std::string(record.status().message()));
    Report(OnDisk([&] {
      return spool_->DeclareLost(1, v1::Lost::SPOOL_CORRUPT, "body could not be encoded",
                                 TimeOf(epoch.body));
    }));
    return true;
  }
  const TimeRange time = TimeOf(epoch.body);
  const v1::EpochKind kind = epoch.body.epoch().kind();
  const absl::Status status = OnDisk([&] { return spool_->Append(*record); });
  Report(status);
  if (!status.ok()) return Keep(epoch, sequence);
  if (!marked && waited_long()) {
    // It was this write that hung. Nobody was told of the record yet, so it may still change.
    record = make(Marked(epoch));
    Report(record.ok() ? OnDisk([&] { return spool_->Replace(*record); }) : record.status());
  }
  Report(OnDisk([&] { return journal_.Remove(); }));
  observer_.OnSpooled(sequence, time, spool_->records().at(sequence).bytes, kind);
  if (held_.empty()) Recovered();
  return true;
}

void DiskWriter::Recovered() {
  if (problem_.empty()) return;
  problem_.clear();
  spdlog::info("spool: writing works again");
}

bool DiskWriter::Keep(const FinishedEpoch& epoch, uint64_t sequence) {
  if (held_.size() >= SpoolState::kMaxHeld) {
    const uint64_t oldest = held_.begin()->first;
    Report(OnDisk([&] {
      return spool_->DropHeld(oldest, v1::Lost::MEMORY_FULL, "disk full, 64 held in memory");
    }));
    held_.erase(oldest);
    const std::lock_guard lock(mutex_);
    ++stats_.lost_in_memory;
  }
  // The mark is part of what is sent and, should the disk take it yet, of what is spooled.
  auto record =
      MakeRecord(Marked(epoch), options_.schema, options_.node, spool_->incarnation(), sequence);
  const TimeRange time = TimeOf(epoch.body);
  if (!record.ok() || !OnDisk([&] { return spool_->Hold(sequence, time); }).ok()) return false;
  observer_.OnHeld(sequence, time, EncodeRecord(*record), epoch.body.epoch().kind());
  held_.emplace(sequence, *std::move(record));
  return true;
}

void DiskWriter::RetryHeld() {
  while (!held_.empty()) {
    const auto oldest = held_.begin();
    const absl::Status status = OnDisk([&] { return spool_->Append(oldest->second); });
    Report(status);
    if (!status.ok()) return;
    held_.erase(oldest);
    if (held_.empty()) Recovered();
  }
}

void DiskWriter::AnnounceAll() {
  for (const auto& [sequence, item] : spool_->records()) {
    observer_.OnSpooled(sequence, item.time, item.bytes, v1::EPOCH_KIND_UNSPECIFIED);
  }
  for (const auto& [sequence, record] : held_) {
    const TimeRange time = {record.summary.start_unix_ns(), record.summary.end_unix_ns()};
    observer_.OnHeld(sequence, time, EncodeRecord(record), v1::EPOCH_KIND_UNSPECIFIED);
  }
  announced_lost_.clear();
  AnnounceLost();
  observer_.OnAnnounced();
}

void DiskWriter::AnnounceLost() {
  std::set<std::pair<uint64_t, uint64_t>> present;
  for (const v1::Lost& lost : spool_->lost()) {
    const auto range = std::pair(lost.first_sequence(), lost.last_sequence());
    present.insert(range);
    if (!announced_lost_.contains(range)) observer_.OnLost(lost);
  }
  announced_lost_ = std::move(present);
}

// Says a problem when it begins or changes, and when it is over; not at every attempt.
void DiskWriter::Report(const absl::Status& status) {
  const std::string problem(status.message());
  if (status.ok() || problem == problem_) return;
  problem_ = problem;
  spdlog::error("{}; epochs stay in memory until it works again (at most {})", problem,
                SpoolState::kMaxHeld);
}

void DiskWriter::Publish() {
  const std::lock_guard lock(mutex_);
  stats_.next_sequence = spool_->next_sequence();
  stats_.oldest_sequence = spool_->records().empty() ? 0 : spool_->records().begin()->first;
  stats_.records = spool_->records().size();
  stats_.bytes = spool_->bytes();
  stats_.held = held_.size();
  stats_.lost_ranges = spool_->lost().size();
  stats_.counts = spool_->counts();
  stats_.problem = problem_;
}

absl::Status DiskWriter::OnDisk(const Request& step) {
  const uint64_t began_ns = options_.mono_ns();
  {
    const std::lock_guard lock(mutex_);
    step_since_ns_ = began_ns;
    hang_said_ = false;
  }
  absl::Status status = step();
  const uint64_t took_ns = options_.mono_ns() - began_ns;
  {
    const std::lock_guard lock(mutex_);
    step_since_ns_ = 0;
  }
  if (TooLong(took_ns)) {
    spdlog::warn("spool: the disk of {} answers again after {} s", spool_->directory(),
                 took_ns / 1'000'000'000);
  }
  return status;
}

uint64_t DiskWriter::HungS() const {
  if (step_since_ns_ == 0) return 0;
  const uint64_t ns = options_.mono_ns() - step_since_ns_;
  return TooLong(ns) ? std::max<uint64_t>(ns / 1'000'000'000, 1) : 0;
}

std::string DiskWriter::HangText() const {
  const size_t epochs = waiting_.size() + (in_hand_ ? 1 : 0);
  return absl::StrCat("spool: write in ", spool_->directory(), ": under way for ", HungS(),
                      " s, the disk hangs; ", epochs, epochs == 1 ? " epoch waits" : " epochs wait",
                      " in memory (at most ", options_.max_waiting,
                      ") and cannot be sent until it answers, a kill would lose them; look at that "
                      "disk or its file server, or point spool.dir elsewhere");
}

// By whoever brings something: the disk thread itself cannot while it hangs.
void DiskWriter::SayHang() {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    if (HungS() == 0 || std::exchange(hang_said_, true)) return;
    text = HangText();
  }
  spdlog::error("{}", text);
}

DiskWriter::Stats DiskWriter::GetStats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.hung_s = HungS();
  if (stats.hung_s > 0) {
    stats.problem = HangText();
    if (in_hand_) ++stats.waiting;
  }
  return stats;
}

}  // namespace telltale::agent
