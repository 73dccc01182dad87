// The agent's side of the stream over real gRPC and TLS, without any of the agent's own logic. One
// thread.

#ifndef TELLTALE_TESTS_SUPPORT_RAW_AGENT_H_
#define TELLTALE_TESTS_SUPPORT_RAW_AGENT_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "telltale/v1/ingest.grpc.pb.h"
#include "tests/support/pki.h"

namespace telltale::testing {

class RawAgent {
 public:
  // No `own`: no client certificate.
  RawAgent(const std::string& address, const std::string& ca_file,
           const std::optional<IssuedFiles>& own);
  ~RawAgent();

  bool Write(const v1::AgentMessage& message) { return stream_->Write(message); }
  // Nothing when the stream has ended.
  std::optional<v1::CollectorMessage> Read();
  // The next message that is a verdict.
  std::optional<v1::Verdict> ReadVerdict();
  void WritesDone() { stream_->WritesDone(); }
  grpc::Status Finish();

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::Ingest::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CollectorMessage>> stream_;
  bool finished_ = false;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_RAW_AGENT_H_
