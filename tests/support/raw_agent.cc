#include "tests/support/raw_agent.h"

#include <chrono>

#include "tests/support/program.h"

namespace telltale::testing {

RawAgent::RawAgent(const std::string& address, const std::string& ca_file,
                   const std::optional<IssuedFiles>& own) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = ReadAll(ca_file);
  if (own.has_value()) {
    options.pem_cert_chain = ReadAll(own->cert);
    options.pem_private_key = ReadAll(own->key);
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  stub_ = v1::Ingest::NewStub(
      grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments));
  // Only so that a broken collector ends the test.
  context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  stream_ = stub_->Connect(&context_);
}

RawAgent::~RawAgent() {
  if (finished_) return;
  context_.TryCancel();
  Finish();
}

std::optional<v1::CollectorMessage> RawAgent::Read() {
  v1::CollectorMessage message;
  if (!stream_->Read(&message)) return std::nullopt;
  return message;
}

std::optional<v1::Verdict> RawAgent::ReadVerdict() {
  while (auto message = Read()) {
    if (message->has_verdict()) return message->verdict();
  }
  return std::nullopt;
}

grpc::Status RawAgent::Finish() {
  finished_ = true;
  v1::CollectorMessage rest;
  while (stream_->Read(&rest)) {
  }
  return stream_->Finish();
}

}  // namespace telltale::testing
