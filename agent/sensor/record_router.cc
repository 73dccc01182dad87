#include "agent/sensor/record_router.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "agent/clock_ns.h"
#include "agent/sensor/record_decoder.h"

namespace telltale::agent {
namespace {

constexpr int kTries = 100;

}  // namespace

RecordRouter::RecordRouter(std::shared_ptr<UserUnwinder> unwinder)
    : unwinder_(std::move(unwinder)) {}

RecordRouter::~RecordRouter() {
  if (wakeups_ >= 0) close(wakeups_);
}

absl::Status RecordRouter::Open(int ring_fd) {
  if (absl::Status status = ring_.Open(ring_fd, TELLTALE_RING_BYTES, "of records"); !status.ok()) {
    return status;
  }
  wakeups_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event = {.events = EPOLLIN, .data = {}};
  if (wakeups_ < 0 || epoll_ctl(wakeups_, EPOLL_CTL_ADD, ring_fd, &event) != 0) {
    return absl::InternalError(absl::StrCat("sensor: hearing the ring buffer: ", strerror(errno)));
  }
  std::ifstream symbols("/proc/kallsyms");
  trimmer_.Load(symbols);
  return absl::OkStatus();
}

absl::Status RecordRouter::OpenDepartures(int ring_fd) {
  return departures_.Open(ring_fd, TELLTALE_DEPARTURES_BYTES, "of departures");
}

DrainUse RecordRouter::TakeUse() {
  DrainUse use = std::exchange(use_, {});
  if (unwinder_ != nullptr) use.table_ns = unwinder_->TakeTableNs();
  return use;
}

// One that cannot be read leaves processes gone, as where the kernel cannot tell.
void RecordRouter::HearDepartures() {
  if (!departures_.open()) return;
  const auto take = [this](const void* data, size_t size) {
    if (size < sizeof(telltale_departure)) return;
    unwinder_->OnDeparture(DecodeDeparture(*static_cast<const telltale_departure*>(data)));
  };
  departures_.Consume(take).IgnoreError();
}

void RecordRouter::RouteSample(const telltale_sample& record) {
  RawSample sample = DecodeSample(record);
  if (record.copy != 0 && unwinder_ != nullptr) {
    awaiting_.push_back({record.copy, record.half, std::move(sample)});
    return;
  }
  Finish(std::move(sample), record.half);
}

void RecordRouter::RouteCopy(const telltale_copy& record, size_t size) {
  const auto it = std::ranges::find(awaiting_, record.number, &Awaiting::copy);
  if (it == awaiting_.end()) return;
  RawSample sample = std::move(it->sample);
  const uint32_t half = it->half;
  awaiting_.erase(it);
  const uint64_t before = ClockNs(CLOCK_MONOTONIC);
  HearDepartures();
  unwinder_->Unwind(DecodeCopy(record, size), sample);
  use_.unwind_ns += ClockNs(CLOCK_MONOTONIC) - before;
  ++use_.unwound;
  Finish(std::move(sample), half);
}

void RecordRouter::FinishAwaiting() {
  for (Awaiting& waiting : awaiting_) {
    waiting.sample.stack.user_end = UserEnd::kUnreadable;
    Finish(std::move(waiting.sample), waiting.half);
  }
  awaiting_.clear();
}

void RecordRouter::Finish(RawSample sample, uint32_t half) {
  const bool kernel_lost = sample.stack.kernel_wanted && sample.stack.kernel.empty();
  const bool user_lost = sample.stack.user_wanted && sample.stack.user.empty();
  if (kernel_lost || user_lost) {
    telltale_total& lost = unreadable_.at(sample.vital);
    lost.events += 1;
    lost.weight += sample.weight;
  }
  trimmer_.Trim(sample);
  ++count_;
  if (!sample.of_pass) ++use_.samples;
  if (half == half_) {
    sink_->OnSample(sample);
  } else {
    early_samples_.push_back(std::move(sample));
  }
}

void RecordRouter::RouteEvent(const telltale_event& record) {
  ++count_;
  const bool unfollowed = record.kind == TELLTALE_RECORD_EXIT && record.unfollowed != 0;
  if (record.half == half_) {
    sink_->OnEvent(DecodeEvent(record));
    if (unfollowed) table_->AddUnfollowed(record);
  } else {
    early_events_.push_back(DecodeEvent(record));
    if (unfollowed) early_unfollowed_.push_back(record);
  }
}

void RecordRouter::Route(const void* data, size_t size) {
  ++use_.records;
  switch (RecordKind(data, size)) {
    case TELLTALE_RECORD_SAMPLE:
      RouteSample(*static_cast<const telltale_sample*>(data));
      break;
    case TELLTALE_RECORD_COPY:
      RouteCopy(*static_cast<const telltale_copy*>(data), size);
      break;
    case TELLTALE_RECORD_EXEC:
      ++use_.execs;
      [[fallthrough]];
    case TELLTALE_RECORD_EXIT:
    case TELLTALE_RECORD_OOM: {
      const auto& event = *static_cast<const telltale_event*>(data);
      const bool brief = event.kind == TELLTALE_RECORD_EXIT && event.unfollowed != 0;
      (brief ? use_.brief_lives : use_.process_records) += brief ? event.unfollowed : 1;
      RouteEvent(event);
      break;
    }
    case TELLTALE_RECORD_ROW: {
      ++use_.rows;
      const auto& row = *static_cast<const telltale_row*>(data);
      if (row.half == half_) {
        table_->Add(row);
      } else {
        early_rows_.push_back(row);
      }
      break;
    }
    default:
      break;
  }
}

absl::StatusOr<uint64_t> RecordRouter::Drain(SampleSink& sink, ProcessTable& table, uint32_t half) {
  sink_ = &sink;
  table_ = &table;
  half_ = half;
  count_ = 0;
  for (const RawSample& sample : early_samples_) sink.OnSample(sample);
  for (const RawEvent& event : early_events_) sink.OnEvent(event);
  for (const telltale_row& row : early_rows_) table.Add(row);
  for (const telltale_event& exit : early_unfollowed_) table.AddUnfollowed(exit);
  early_samples_.clear();
  early_events_.clear();
  early_rows_.clear();
  early_unfollowed_.clear();
  // A record that another CPU has not finished yet holds up those behind it, for a moment.
  for (int tries = 0; tries == 0 || (!awaiting_.empty() && tries < kTries); ++tries) {
    const auto take = [this](const void* data, size_t size) { Route(data, size); };
    if (absl::Status status = ring_.Consume(take); !status.ok()) return status;
  }
  FinishAwaiting();
  return count_;
}

void RecordRouter::TakeLosses(std::vector<RawLoss>& losses) {
  for (size_t vital = 0; vital < unreadable_.size(); ++vital) {
    if (unreadable_[vital].events == 0) continue;
    losses.push_back({LossKind::kStackUnreadable, static_cast<uint8_t>(vital),
                      unreadable_[vital].events, unreadable_[vital].weight});
  }
  unreadable_ = {};
}

}  // namespace telltale::agent
