// What a node with a good certificate may send: forged, impossible, too much, or broken in every
// field.

#include <grpcpp/grpcpp.h>

#include "proto/codec.h"
#include "proto/compress.h"
#include "sketch/vital_ids.h"
#include "tests/integration/hostile_rig.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/mutations.h"
#include "tests/support/program.h"

namespace telltale::testing {
namespace {

using v1::Verdict;

constexpr uint64_t kMiB = 1 << 20;
constexpr char kStored[] = "telltale_ingest_ack_seconds_count";

class HostileSummaryTest : public HostileTest {
 protected:
  void ExpectRefused(const v1::Summary& summary) {
    const auto stream = Stream();
    const auto verdict = VerdictOn(*stream, summary);
    ASSERT_TRUE(verdict.has_value());
    EXPECT_EQ(verdict->kind(), Verdict::REFUSED) << verdict->reason();
  }
  // By how much what ingest refused for reasons that begin with `prefix` grew since `before`.
  uint64_t Grown(const std::map<std::string, uint64_t>& before, const std::string& prefix) {
    uint64_t grown = 0;
    for (const auto& [reason, count] : Refusals()) {
      const auto was = before.find(reason);
      if (reason.starts_with(prefix)) grown += count - (was == before.end() ? 0 : was->second);
    }
    return grown;
  }
  // Verdicts by kind, of which each was counted as what it said.
  void ExpectCounted(const std::map<Verdict::Kind, uint64_t>& told,
                     const std::map<std::string, uint64_t>& refused_before,
                     uint64_t stored_before) {
    const auto of = [&told](Verdict::Kind kind) {
      const auto found = told.find(kind);
      return found == told.end() ? 0 : found->second;
    };
    EXPECT_EQ(Grown(refused_before, "refused_"), of(Verdict::REFUSED));
    EXPECT_EQ(Grown(refused_before, "retry_"), of(Verdict::RETRY_AFTER));
    EXPECT_EQ(Grown(refused_before, "too_late"), of(Verdict::TOO_LATE));
    EXPECT_EQ(of(Verdict::KIND_UNSPECIFIED), 0u);
    // This one is counted once the verdict is on its way.
    EXPECT_TRUE(Await([&] { return Counted(kStored) == stored_before + of(Verdict::STORED); }, 10))
        << Counted(kStored) - stored_before << " counted, " << of(Verdict::STORED) << " told";
  }
  uint64_t MemoryOfCollector() { return Counted("process_resident_memory_bytes"); }
  // Whether the collector has handled all of the stream and still takes from it.
  static bool StillServed(RawAgent& stream) {
    v1::AgentMessage probe;
    probe.mutable_probe()->set_sent_unix_ns(1);
    if (!stream.Write(probe)) return false;
    while (auto message = stream.Read()) {
      if (message->has_probe_reply()) return true;
    }
    return false;
  }
};

TEST_F(HostileSummaryTest, ForgedReferences) {
  Attack("a stack that was not declared", [&] {
    ExpectRefused(NextSummary([](v1::SummaryBody& body) {
      body.mutable_vitals(0)->mutable_samples(0)->set_stack(4000);
    }));
  });
  Attack("a frame that was not declared", [&] {
    ExpectRefused(NextSummary([](v1::SummaryBody& body) {
      body.mutable_tables()->mutable_stacks(0)->set_user(0, 60'000);
    }));
  });
  Attack("a name that was not declared", [&] {
    ExpectRefused(NextSummary([](v1::SummaryBody& body) {
      body.mutable_processes()->mutable_rows(0)->set_exe(4'000'000'000);
    }));
  });
  Attack("a reason of losses that nobody has", [&] {
    ExpectRefused(NextSummary([](v1::SummaryBody& body) {
      body.add_losses()->set_reason(static_cast<v1::LossReason>(123'456));
    }));
  });
  Attack("control characters in a name", [&] {
    ExpectRefused(NextSummary(
        [](v1::SummaryBody& body) { body.mutable_tables()->set_strings(0, "/bin/\x1b[2Jsh"); }));
  });
}

TEST_F(HostileSummaryTest, ForgedNames) {
  const auto names = [](int first, uint64_t step, const std::string& build_id) {
    v1::AgentMessage message;
    message.mutable_names()->set_build_id(build_id);
    message.mutable_names()->set_kind(v1::MAPPING_KIND_FILE);
    message.mutable_names()->set_path("/bin/evil");
    for (uint64_t i = 0; i < 500; ++i) {
      message.mutable_names()->add_offset(0x1000 + step * i);
      message.mutable_names()->add_name("evil_" + std::to_string(first) + std::to_string(i) +
                                        std::string(400, 'e'));
    }
    return message;
  };
  Attack("names for another's code", [&] {
    const auto stream = Stream();
    for (int mapping = 1; mapping <= 4; ++mapping) {
      stream->Write(names(0, 0x40, std::string(20, static_cast<char>(mapping))));
    }
    EXPECT_TRUE(StillServed(*stream));
  });
  Attack("a flood of names", [&] {
    const auto stream = Stream();
    for (int i = 0; i < 100; ++i) stream->Write(names(i, 8, "build-" + std::to_string(i)));
    EXPECT_TRUE(StillServed(*stream));
  });
  Attack("names that are no text", [&] {
    const auto stream = Stream();
    v1::AgentMessage message = names(1, 8, "build");
    message.mutable_names()->set_name(0, "\x1b]0;evil\x07");
    stream->Write(message);
    EXPECT_TRUE(StillServed(*stream));
  });
}

TEST_F(HostileSummaryTest, ImpossibleTotals) {
  Attack("more than its CPUs can do", [&] {
    ExpectRefused(NextSummary([](v1::SummaryBody& body) {
      v1::SubSeries& sub = *body.mutable_vitals(0)->mutable_subs(0);
      sub.clear_second_weight();
      sub.set_events(1ull << 57);
    }));
  });
  Attack("more CPU time than its CPUs have", [&] {
    const auto stream = Stream();
    v1::Summary summary;
    {
      ++sequence_;
      v1::SummaryBody body = BodyEnding(LastMinute() - 2 * 3600 * kSecond, 4000 * kSecond);
      summary = Sealed(body);
    }
    // Believed to be wrong, not impossible: kept, and said with the node.
    EXPECT_EQ(VerdictOn(*stream, summary)->kind(), Verdict::STORED);
  });
  Attack("more time in soft interrupts than its CPUs have", [&] {
    const auto verdict = VerdictOn(*Stream(), NextSummary([](v1::SummaryBody& body) {
      v1::Vital& vital = *body.mutable_vitals(TELLTALE_SOFTIRQ - 1);
      ASSERT_EQ(vital.id(), static_cast<uint32_t>(TELLTALE_SOFTIRQ));
      vital.mutable_subs(0)->clear_second_weight();
      vital.mutable_subs(0)->set_weight(1'000'000 * kSecond);
    }));
    EXPECT_EQ(verdict->kind(), Verdict::STORED) << verdict->reason();
  });
  const auto processes_ran = [&](uint64_t ns) {
    return VerdictOn(*Stream(), NextSummary([ns](v1::SummaryBody& body) {
      v1::ProcessTable& table = *body.mutable_processes();
      ASSERT_EQ(table.columns(0), static_cast<uint32_t>(v1::PROCESS_COLUMN_RUN_NS));
      table.mutable_rows(0)->set_values(0, ns);
    }));
  };
  Attack("processes that ran for longer than its CPUs could", [&] {
    const auto verdict = processes_ran(1'000'000 * kSecond);
    EXPECT_EQ(verdict->kind(), Verdict::STORED) << verdict->reason();
  });
  Attack("processes that ran for longer than anything could", [&] {
    const auto verdict = processes_ran(280'000'000 * kSecond);
    EXPECT_EQ(verdict->kind(), Verdict::REFUSED);
  });
  Attack("an epoch of tomorrow", [&] {
    const auto stream = Stream();
    ++sequence_;
    const auto verdict =
        VerdictOn(*stream, Sealed(attacking_.Body(1, LastMinute() + 86400 * kSecond, 60)));
    EXPECT_EQ(verdict->kind(), Verdict::RETRY_AFTER);
  });
  Attack("an epoch of an hour", [&] {
    ExpectRefused(NextSummary([](v1::SummaryBody& body) {
      body.mutable_epoch()->set_end_mono_ns(body.epoch().start_mono_ns() + 3600 * kSecond);
    }));
  });
  Attack("a clock stamp far ahead", [&] {
    const auto stream = Stream();
    VerdictOn(*stream, NextSummary([](v1::SummaryBody& body) {
      body.mutable_epoch()->set_hlc(body.epoch().end_unix_ns() / 1'000'000 * 100 << 16);
    }));
  });
  Attack("losses of sequences that cannot be", [&] {
    const auto stream = Stream();
    v1::AgentMessage message;
    message.mutable_lost()->set_first_sequence(1);
    message.mutable_lost()->set_last_sequence(UINT64_MAX);
    message.mutable_lost()->set_reason(v1::Lost::SPOOL_FULL);
    stream->Write(message);
    EXPECT_TRUE(StillServed(*stream));
  });
}

TEST_F(HostileSummaryTest, TooMuch) {
  Attack("a summary above the limit", [&] {
    v1::Summary summary = NextSummary();
    summary.set_body(std::string(300'000, 'x'));
    ExpectRefused(summary);
  });
  Attack("a message above the limit", [&] {
    const auto stream = Stream();
    v1::Summary summary = NextSummary();
    summary.set_body(std::string(8 * kMiB, 'x'));
    stream->Write(Message(summary));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  });
  Attack("a bomb of zstd", [&] {
    // 250 KB that become 2 GB.
    const uint64_t before = MemoryOfCollector();
    v1::Summary summary = NextSummary();
    const std::string bomb = *proto::Compress(std::string(100 * kMiB, '\0'));
    for (const uint32_t stated : {uint32_t{1000}, uint32_t{100 * kMiB}, UINT32_MAX}) {
      summary.set_body(bomb);
      summary.set_body_bytes(stated);
      ExpectRefused(summary);
    }
    EXPECT_LT(MemoryOfCollector(), before + 64 * kMiB);
  });
  Attack("a bomb of gzip in gRPC", [&] {
    const uint64_t before = MemoryOfCollector();
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadAll(pki_.ca());
    options.pem_cert_chain = ReadAll(attacker_.cert);
    options.pem_private_key = ReadAll(attacker_.key);
    const auto stub = v1::Ingest::NewStub(
        grpc::CreateChannel(collector_.address(), grpc::SslCredentials(options)));
    grpc::ClientContext context;
    context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const auto stream = stub->Connect(&context);
    v1::Summary summary = NextSummary();
    summary.set_body(std::string(256 * kMiB, '\0'));  // 260 KB on the wire
    stream->Write(Message(summary));
    stream->WritesDone();
    EXPECT_FALSE(stream->Finish().ok());
    EXPECT_LT(MemoryOfCollector(), before + 64 * kMiB);
  });
  Attack("a stream without end", [&] {
    const auto stream = Stream();
    v1::AgentMessage message;
    *message.mutable_node_info() = AttackersHello().hello().node_info();
    int written = 0;
    while (written < 1'000'000 && stream->Write(message)) ++written;
    EXPECT_LT(written, 1'000'000);
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  });
  Attack("streams that say nothing", [&] {
    std::vector<std::unique_ptr<RawAgent>> streams;
    for (int i = 0; i < 24; ++i) {
      streams.push_back(std::make_unique<RawAgent>(collector_.address(), pki_.ca(), attacker_));
    }
    EXPECT_EQ(streams.back()->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  });
  Attack("more streams than a node has", [&] {
    std::vector<std::unique_ptr<RawAgent>> streams;
    for (char incarnation = 'a'; incarnation < 'h'; ++incarnation) {
      streams.push_back(std::make_unique<RawAgent>(collector_.address(), pki_.ca(), attacker_));
      v1::AgentMessage hello = AttackersHello();
      hello.mutable_hello()->set_incarnation(std::string(16, incarnation));
      streams.back()->Write(hello);
      streams.back()->Read();
    }
  });
}

TEST_F(HostileSummaryTest, OutOfTurn) {
  Attack("a summary before Hello", [&] {
    RawAgent stream(collector_.address(), pki_.ca(), attacker_);
    stream.Write(Message(NextSummary()));
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  });
  Attack("Hello twice", [&] {
    const auto stream = Stream();
    stream->Write(AttackersHello());
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  });
  Attack("a protocol nobody speaks", [&] {
    RawAgent stream(collector_.address(), pki_.ca(), attacker_);
    v1::AgentMessage hello = AttackersHello();
    hello.mutable_hello()->set_protocol(2);
    stream.Write(hello);
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  });
  Attack("a schema that nobody knows", [&] {
    const auto stream = Stream();
    v1::Summary summary = NextSummary();
    summary.set_schema_id(12345);
    EXPECT_EQ(VerdictOn(*stream, summary)->kind(), Verdict::RETRY_AFTER);
  });
  Attack("a schema under a false id", [&] {
    const auto stream = Stream();
    v1::AgentMessage message = SchemaMessage();
    message.mutable_schema()->mutable_vitals(0)->set_name("evil");
    stream->Write(message);
    EXPECT_TRUE(StillServed(*stream));
  });
  Attack("a live picture above the limit", [&] {
    const auto stream = Stream();
    v1::AgentMessage message;
    for (int i = 0; i < 5000; ++i) message.mutable_live()->add_vitals()->set_id(1);
    stream->Write(message);
    EXPECT_TRUE(StillServed(*stream));
  });
  Attack("results of commands nobody gave", [&] {
    const auto stream = Stream();
    v1::AgentMessage message;
    for (uint64_t id = 0; id < 1000; ++id) {
      message.mutable_result()->set_id(id);
      stream->Write(message);
    }
    EXPECT_TRUE(StillServed(*stream));
  });
  Attack("a message of no kind", [&] {
    const auto stream = Stream();
    stream->Write(v1::AgentMessage());
    EXPECT_TRUE(StillServed(*stream));
  });
}

TEST_F(HostileSummaryTest, EveryFieldOfABodyWrong) {
  Attack("every field of a summary wrong", [&] {
    auto stream = Stream();
    ++sequence_;
    const auto mutations = Mutations(attacking_.Body(1, LastMinute() - 2 * 3600 * kSecond, 60));
    ASSERT_GT(mutations.size(), 500u);
    const auto refused_before = Refusals();
    const uint64_t stored_before = Counted(kStored);
    std::map<Verdict::Kind, uint64_t> told;
    // As many under way as an agent has.
    constexpr size_t kTogether = 16;
    for (size_t begin = 0; begin < mutations.size(); begin += kTogether) {
      const size_t end = std::min(mutations.size(), begin + kTogether);
      for (size_t i = begin; i < end; ++i) {
        ++sequence_;
        v1::Summary summary = Sealed(static_cast<const v1::SummaryBody&>(*mutations[i].message));
        ASSERT_TRUE(stream->Write(Message(summary))) << mutations[i].what;
      }
      for (size_t i = begin; i < end; ++i) {
        const auto verdict = stream->ReadVerdict();
        ASSERT_TRUE(verdict.has_value()) << mutations[i].what << "\n" << collector_.log();
        ++told[verdict->kind()];
        if (verdict->kind() == Verdict::STORED) continue;
        EXPECT_FALSE(verdict->reason().empty()) << mutations[i].what;
        EXPECT_EQ(verdict->permanent(), verdict->kind() == Verdict::REFUSED) << mutations[i].what;
      }
    }
    // Many lies are small enough to be true. Each has a sequence of its own, so none is a repeat.
    ExpectCounted(told, refused_before, stored_before);
    EXPECT_EQ(told[Verdict::REPEAT], 0u);
    EXPECT_GT(told[Verdict::REFUSED], mutations.size() / 4);
  });
  Attack("every field of an envelope wrong", [&] {
    ++sequence_;
    const auto refused_before = Refusals();
    const uint64_t stored_before = Counted(kStored);
    std::map<Verdict::Kind, uint64_t> told;
    for (const Mutation& mutation : Mutations(NextSummary())) {
      const auto stream = Stream();
      const auto verdict = VerdictOn(*stream, static_cast<const v1::Summary&>(*mutation.message));
      ASSERT_TRUE(verdict.has_value()) << mutation.what;
      ++told[verdict->kind()];
      if (verdict->kind() == Verdict::REFUSED || verdict->kind() == Verdict::RETRY_AFTER) {
        EXPECT_FALSE(verdict->reason().empty()) << mutation.what;
      }
    }
    ExpectCounted(told, refused_before, stored_before);
    EXPECT_GT(told[Verdict::REFUSED], 0u);
  });
}

TEST_F(HostileSummaryTest, EveryFieldOfAMessageWrong) {
  Attack("every field of Hello wrong", [&] {
    // What a stream may end with, and as what that is counted.
    const std::map<grpc::StatusCode, std::string> outcomes = {
        {grpc::StatusCode::INVALID_ARGUMENT, "stream_bad_hello"},
        {grpc::StatusCode::FAILED_PRECONDITION, "stream_protocol"},
        {grpc::StatusCode::PERMISSION_DENIED, "stream_wrong_node"},
    };
    const auto before = Refusals();
    std::map<grpc::StatusCode, uint64_t> ended;
    for (const Mutation& mutation : Mutations(AttackersHello().hello())) {
      RawAgent stream(collector_.address(), pki_.ca(), attacker_);
      v1::AgentMessage message;
      *message.mutable_hello() = static_cast<const v1::Hello&>(*mutation.message);
      stream.Write(message);
      stream.WritesDone();
      const auto first = stream.Read();
      const grpc::Status status = stream.Finish();
      EXPECT_EQ(first.has_value() && first->has_welcome(), status.ok()) << mutation.what;
      EXPECT_TRUE(status.ok() || outcomes.contains(status.error_code()))
          << mutation.what << ": " << status.error_code() << ' ' << status.error_message();
      EXPECT_EQ(status.error_message().empty(), status.ok()) << mutation.what;
      ++ended[status.error_code()];
    }
    for (const auto& [code, reason] : outcomes) {
      EXPECT_GT(ended[code], 0u) << reason;
      EXPECT_EQ(Grown(before, reason), ended[code]) << reason;
    }
    EXPECT_TRUE(StillServed(*Stream()));
  });
  Attack("every field of other messages wrong", [&] {
    std::vector<v1::AgentMessage> valid(8);
    *valid[0].mutable_schema() = SchemaMessage().schema();
    *valid[1].mutable_node_info() = AttackersHello().hello().node_info();
    valid[2].mutable_names()->set_build_id("build");
    valid[2].mutable_names()->set_kind(v1::MAPPING_KIND_FILE);
    valid[2].mutable_names()->set_path("/bin/a");
    valid[2].mutable_names()->add_offset(1);
    valid[2].mutable_names()->add_name("f");
    valid[3].mutable_lost()->set_first_sequence(1'000'000);
    valid[3].mutable_lost()->set_last_sequence(1'000'001);
    valid[3].mutable_lost()->set_reason(v1::Lost::SPOOL_FULL);
    valid[4].mutable_goodbye()->set_reason(v1::Goodbye::STOP);
    valid[5].mutable_live()->add_vitals()->add_sub_weight(1);
    valid[6].mutable_result()->set_id(1);
    valid[7].mutable_probe()->set_sent_unix_ns(1);
    for (const v1::AgentMessage& message : valid) {
      for (const Mutation& mutation : Mutations(message)) {
        const auto stream = Stream();
        stream->Write(static_cast<const v1::AgentMessage&>(*mutation.message));
        stream->WritesDone();
        EXPECT_TRUE(stream->Finish().ok()) << mutation.what << "\n";
      }
    }
  });
}

}  // namespace
}  // namespace telltale::testing
