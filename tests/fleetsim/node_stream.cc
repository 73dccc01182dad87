#include "tests/fleetsim/node_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <deque>
#include <mutex>
#include <utility>

#include "agent/clock_ns.h"
#include "telltale/v1/ingest.grpc.pb.h"

namespace telltale::fleetsim {

uint64_t MonoNowNs() { return agent::ClockNs(CLOCK_MONOTONIC); }
uint64_t WallNowNs() { return agent::ClockNs(CLOCK_REALTIME); }

// gRPC allows one write at a time, hence the queue; the hold keeps OnDone away while reads and
// writes may still be begun from outside.
class NodeStream::Call : public grpc::ClientBidiReactor<v1::AgentMessage, v1::CollectorMessage> {
 public:
  Call(const std::shared_ptr<grpc::Channel>& channel, std::function<void()> wake)
      : stub_(v1::Ingest::NewStub(channel)), wake_(std::move(wake)) {}

  // `self` keeps the object until gRPC has done with it.
  void Start(std::shared_ptr<Call> self) {
    self_ = std::move(self);
    stub_->async()->Connect(&context_, this);
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }

  void Send(v1::AgentMessage message) {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    outgoing_.push_back(std::move(message));
    WriteNext();
  }

  void Finish() {
    const std::lock_guard lock(mutex_);
    finish_ = true;
    if (!over_) WriteNext();
  }

  void Cancel() {
    context_.TryCancel();
    SetReading(true);  // only a read finds out that the call is over
  }

  void SetReading(bool reading) {
    const std::lock_guard lock(mutex_);
    reading_ = reading;
    if (reading_ && read_waits_ && !over_) {
      read_waits_ = false;
      StartRead(&incoming_);
    }
  }

  std::vector<Event> TakeEvents() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (!ok) {
      outgoing_.clear();
    } else if (!over_) {
      WriteNext();
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      {
        const std::lock_guard lock(mutex_);
        over_ = true;
      }
      RemoveHold();
      return;
    }
    const std::lock_guard lock(mutex_);
    events_.push_back({std::move(incoming_), absl::OkStatus(), MonoNowNs()});
    incoming_.Clear();
    wake_();
    if (reading_) {
      StartRead(&incoming_);
    } else {
      read_waits_ = true;
    }
  }

  void OnDone(const grpc::Status& status) override {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(
          {std::nullopt,
           absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
           MonoNowNs()});
    }
    wake_();
    const std::shared_ptr<Call> last = std::move(self_);
  }

 private:
  void WriteNext() {
    if (writing_ || finished_) return;
    if (!outgoing_.empty()) {
      writing_ = true;
      StartWrite(&outgoing_.front());
    } else if (finish_) {
      finished_ = true;
      StartWritesDone();
    }
  }

  const std::unique_ptr<v1::Ingest::Stub> stub_;
  const std::function<void()> wake_;
  grpc::ClientContext context_;
  v1::CollectorMessage incoming_;
  std::shared_ptr<Call> self_;
  std::mutex mutex_;
  std::deque<v1::AgentMessage> outgoing_;  // front: being written while writing_
  std::vector<Event> events_;
  bool writing_ = false, finish_ = false, finished_ = false;
  bool reading_ = true, read_waits_ = false;
  bool over_ = false;  // the collector's side has ended: nothing may be begun any more
};

NodeStream::NodeStream(std::string collector, const agent::TlsTexts* tls,
                       std::function<void()> wake)
    : collector_(std::move(collector)), tls_(tls), wake_(std::move(wake)) {}

NodeStream::~NodeStream() { Abort(); }

void NodeStream::Open() {
  Abort();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto channel =
      grpc::CreateCustomChannel(collector_, agent::MakeChannelCredentials(*tls_), arguments);
  channels_.Keep(channel);
  call_ = std::make_shared<Call>(channel, wake_);
  call_->Start(call_);
}

void NodeStream::Send(v1::AgentMessage message) {
  if (call_ != nullptr) call_->Send(std::move(message));
}

void NodeStream::Finish() {
  if (call_ != nullptr) call_->Finish();
}

void NodeStream::Abort() {
  if (call_ != nullptr) call_->Cancel();
  call_ = nullptr;
}

std::vector<NodeStream::Event> NodeStream::TakeEvents() {
  channels_.LetGo();
  return call_ == nullptr ? std::vector<Event>() : call_->TakeEvents();
}

void NodeStream::SetReading(bool reading) {
  if (call_ != nullptr) call_->SetReading(reading);
}

}  // namespace telltale::fleetsim
