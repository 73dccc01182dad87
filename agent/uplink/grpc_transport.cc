#include "agent/uplink/grpc_transport.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <ctime>
#include <deque>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/uplink/grpc_trouble.h"
#include "telltale/v1/ingest.grpc.pb.h"

namespace telltale::agent {
namespace {

constexpr int kMaxReceiveBytes = 1 << 20;

}  // namespace

// One stream. gRPC aborts the process if a write begins before the last one is done, hence the
// queue; the hold keeps OnDone away while writes may still be begun from outside.
class GrpcTransport::Stream
    : public grpc::ClientBidiReactor<v1::AgentMessage, v1::CollectorMessage> {
 public:
  Stream(std::shared_ptr<grpc::Channel> channel, std::function<void()> wake)
      : stub_(v1::Ingest::NewStub(std::move(channel))), wake_(std::move(wake)) {}

  // `self` keeps the object until gRPC has done with it.
  void Start(std::shared_ptr<Stream> self) {
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

  void Abort() { context_.TryCancel(); }

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
    if (ok) {
      {
        const std::lock_guard lock(mutex_);
        events_.push_back({std::move(incoming_), absl::OkStatus()});
      }
      incoming_.Clear();
      wake_();
      StartRead(&incoming_);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    RemoveHold();
  }

  void OnDone(const grpc::Status& status) override {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back({std::nullopt, FromGrpc(status)});
    }
    wake_();
    const std::shared_ptr<Stream> last = std::move(self_);
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
  std::shared_ptr<Stream> self_;
  std::mutex mutex_;
  std::deque<v1::AgentMessage> outgoing_;  // front: being written while writing_
  std::vector<Event> events_;
  bool writing_ = false, finish_ = false, finished_ = false;
  bool over_ = false;  // the collector's side has ended: nothing may be begun any more
};

GrpcTransport::GrpcTransport(Options options, std::function<void()> wake)
    : options_(std::move(options)), wake_(std::move(wake)) {}

GrpcTransport::~GrpcTransport() { Abort(); }

void GrpcTransport::Open() {
  Abort();
  auto tls = ReadTlsFiles(options_.tls, time(nullptr));
  if (tls.ok() && tls->node != options_.node) {
    tls = absl::InvalidArgumentError(absl::StrCat(
        "tls: tls.cert ", options_.tls.cert, ": is node ", tls->node, "'s, this agent is ",
        options_.node, "; put the right one there, or restart the agent to become that node"));
  }
  if (!tls.ok()) {
    failed_ = tls.status();
    wake_();
    return;
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // What comes are acknowledgements: how many of them could be on their way at once needs no pings.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  if (!options_.name_check.empty()) arguments.SetSslTargetNameOverride(options_.name_check);
  auto channel =
      grpc::CreateCustomChannel(options_.collector, MakeChannelCredentials(*tls), arguments);
  channels_.Keep(channel);
  stream_ = std::make_shared<Stream>(std::move(channel), wake_);
  stream_->Start(stream_);
}

void GrpcTransport::Send(v1::AgentMessage message) {
  if (stream_ != nullptr) stream_->Send(std::move(message));
}

void GrpcTransport::Finish() {
  if (stream_ != nullptr) stream_->Finish();
}

void GrpcTransport::Abort() {
  if (stream_ != nullptr) stream_->Abort();
  stream_ = nullptr;
  failed_.reset();
}

std::vector<GrpcTransport::Event> GrpcTransport::TakeEvents() {
  channels_.LetGo();
  if (failed_) {
    return {{std::nullopt, *std::exchange(failed_, std::nullopt)}};
  }
  return stream_ == nullptr ? std::vector<Event>() : stream_->TakeEvents();
}

}  // namespace telltale::agent
