#include "tests/unit/agentrt_support.h"

#include <fstream>
#include <sstream>

#include "proto/codec.h"

namespace telltale::agent {

v1::SummaryBody MakeTestBody(uint64_t n) {
  v1::SummaryBody body;
  v1::Epoch& epoch = *body.mutable_epoch();
  epoch.set_start_unix_ns(kTestStartNs + n * kTestEpochNs);
  epoch.set_end_unix_ns(kTestStartNs + (n + 1) * kTestEpochNs);
  epoch.set_start_mono_ns(1'000'000'000 + n * kTestEpochNs);
  epoch.set_end_mono_ns(1'000'000'000 + (n + 1) * kTestEpochNs);
  epoch.set_kind(v1::EPOCH_KIND_FULL);
  epoch.set_length_s(60);
  epoch.set_watched_ns(kTestEpochNs);
  epoch.set_boot_id(std::string(16, 'b'));
  epoch.set_agent_start_unix_ns(kTestStartNs);
  return body;
}

Record MakeTestRecord(uint64_t n) {
  v1::Identity identity;
  identity.set_node(kTestNode);
  identity.set_incarnation(std::string(16, '\x5a'));
  identity.set_sequence(n);
  Record record;
  record.schema = proto::BuiltinSchema();
  v1::Names& names = record.names.emplace_back();
  names.set_build_id("build-id");
  names.add_offset(n);
  names.add_name("main");
  record.summary = proto::EncodeSummary(identity, record.schema.id(), MakeTestBody(n), {}).value();
  return record;
}

std::string Slurp(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void Spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void FlipByte(const std::string& path, size_t at) {
  std::string bytes = Slurp(path);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x10);
  Spill(path, bytes);
}

}  // namespace telltale::agent
