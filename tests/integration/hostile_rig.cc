#include "tests/integration/hostile_rig.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "proto/codec.h"
#include "proto/compress.h"
#include "telltale/v1/query.pb.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/program.h"

namespace telltale::testing {
namespace {

constexpr uint64_t kMinute = 60 * kSecond;
constexpr uint64_t kBystanderEpochs = 10;
constexpr char kList[] = "collector/HOSTILE.md";

v1::Hello HelloOf(const SyntheticNode& node) {
  v1::Hello hello = Hello({.node = node.name()}).hello();
  const auto id = node.incarnation();
  hello.set_incarnation(std::string(id.begin(), id.end()));
  return hello;
}

// "| a | b | c |" -> its trimmed cells.
std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells;
  for (size_t begin = line.find('|'); begin != std::string::npos;) {
    const size_t end = line.find('|', begin + 1);
    if (end == std::string::npos) break;
    std::string cell = line.substr(begin + 1, end - begin - 1);
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(cell);
    begin = end;
  }
  return cells;
}

std::string ReadPort(const std::string& data, const std::string& name) {
  const std::string ports = ReadAll(data + "/ports");
  const size_t begin = ports.find(name + "=") + name.size() + 1;
  return ports.substr(begin, ports.find('\n', begin) - begin);
}

}  // namespace

std::map<std::string, std::string> HostileList() {
  std::map<std::string, std::string> list;
  std::ifstream file(kList);
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    const auto cells = Cells(line);
    if (cells.size() != 3) {
      in_table = false;
    } else if (cells[0].starts_with("---")) {
      in_table = true;
    } else if (in_table) {
      const std::string& series = cells[2];
      EXPECT_FALSE(list.contains(cells[0])) << kList << ": twice: " << cells[0];
      list[cells[0]] = series.starts_with("`") ? series.substr(1, series.size() - 2) : "";
    }
  }
  return list;
}

std::set<std::string>& AttacksMade() {
  static std::set<std::string> made;
  return made;
}

HostileTest::HostileTest()
    : pki_(scratch_.path(), "ca"),
      stranger_(scratch_.path(), "stranger"),
      own_(pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")),
      viewer_(pki_.Issue("viewer", "URI:telltale://viewer/ann")),
      operator_(pki_.Issue("operator", "URI:telltale://operator/olga")),
      attacker_(pki_.Issue("attacker", "URI:telltale://node/web-1")),
      collector_(scratch_.path() + "/data", pki_, own_) {}

void HostileTest::SetUp() {
  // Without kept answers, so that each is made again.
  std::vector<std::string> arguments = {"--query-cache-bytes", "0"};
  arguments.insert(arguments.end(), more_arguments_.begin(), more_arguments_.end());
  ASSERT_TRUE(collector_.Start(arguments)) << collector_.log();
  constexpr uint64_t kHour = 3600 * kSecond;
  begin_ns_ = (LastMinute() / kHour - 26) * kHour;
  StoreBystander();
  // Windows of an hour that is over are computed once; until then answers lack what they add.
  ASSERT_TRUE(Await([&] { return Counted("telltale_dirty_windows") == 0; })) << collector_.log();
  before_ = BystandersAnswers();
}

void HostileTest::StoreBystander() {
  RawAgent stream(collector_.address(), pki_.ca(),
                  pki_.Issue("bystander", "URI:telltale://node/db-1"));
  v1::AgentMessage hello;
  *hello.mutable_hello() = HelloOf(bystander_);
  stream.Write(hello);
  stream.Write(SchemaMessage());
  // Every second location of its own code has a name, the others none.
  for (int mapping = 1; mapping <= 4; ++mapping) {
    v1::AgentMessage message;
    v1::Names& names = *message.mutable_names();
    names.set_build_id(std::string(20, static_cast<char>(mapping)));
    names.set_kind(mapping == 1 ? v1::MAPPING_KIND_KERNEL : v1::MAPPING_KIND_FILE);
    names.set_path("/usr/bin/program");
    for (uint64_t i = static_cast<uint64_t>(mapping) - 1; i < 64; i += 8) {
      names.add_offset(0x1000 + 0x40 * i);
      names.add_name("function_" + std::to_string(i));
    }
    stream.Write(message);
  }
  for (uint64_t sequence = 1; sequence <= kBystanderEpochs; ++sequence) {
    const auto made = bystander_.Make(sequence, begin_ns_ + (sequence - 1) * kMinute);
    const auto verdict = VerdictOn(stream, made.summary);
    ASSERT_TRUE(verdict.has_value());
    ASSERT_EQ(verdict->kind(), v1::Verdict::STORED) << verdict->reason();
  }
  stream.WritesDone();
  ASSERT_TRUE(stream.Finish().ok());
}

std::string HostileTest::BystandersAnswers() {
  const auto client = Https(viewer_);
  const auto part = [this](const std::string& field, const std::string& tier, uint64_t from_s,
                           uint64_t to_s) {
    return field + ".nodes=db-1&" + field + ".tier=" + tier + "&" + field +
           ".start_s=" + std::to_string(begin_ns_ / kSecond + from_s) + "&" + field +
           ".end_s=" + std::to_string(begin_ns_ / kSecond + to_s);
  };
  constexpr uint64_t kAll = kBystanderEpochs * 60;
  const std::vector<std::string> tiers = {"TIER_RAW", "TIER_5MIN", "TIER_1H"};
  const auto end = [](const std::string& tier) { return tier == "TIER_RAW" ? kAll : 3600; };
  const std::vector<std::string> of_any_tier = {
      "top?vital=cpu&by=DIMENSION_PROCESS&",
      "top?vital=cpu&by=DIMENSION_SITE&",
      "top?vital=blocking&by=DIMENSION_STACK&",
      "stacks?vital=cpu&",
      "histogram?",
      "coverage?",
  };
  std::vector<std::string> questions = {
      "samples?vital=disk_io&" + part("selection", "TIER_RAW", 0, kAll),
      "events?" + part("selection", "TIER_RAW", 0, kAll),
  };
  for (const std::string& tier : tiers) {
    for (const std::string& question : of_any_tier) {
      questions.push_back(question + part("selection", tier, 0, end(tier)));
    }
    questions.push_back("flame?stacks.vital=cpu&" + part("stacks.selection", tier, 0, end(tier)));
    if (tier == "TIER_1H") continue;
    // Its second half against its first.
    questions.push_back("diff?top.vital=cpu&" + part("top.selection", tier, kAll / 2, kAll) + "&" +
                        part("against", tier, 0, kAll / 2));
  }
  std::string answers;
  for (const std::string& question : questions) {
    const HttpReply reply = client->Get("/api/v1/" + question);
    EXPECT_EQ(reply.status, 200) << question << ": " << reply.body;
    answers += question + "\n" + reply.body + "\n";
  }
  // Windows, too: their graphs stand in blocks that nodes share, which are written anew for what
  // the attacker brought. A graph comes from the windows' rows until its block is there, and tells
  // what was read for it and which time that is of: what it shows is the same.
  for (const std::string& tier : tiers) {
    const std::string question = "series?per_node=true&" + part("selection", tier, 0, end(tier));
    const HttpReply reply =
        client->Get("/api/v1/" + question, "Accept: application/x-protobuf\r\n");
    v1::SeriesAnswer series;
    EXPECT_TRUE(series.ParseFromString(reply.body)) << reply.body;
    EXPECT_GT(series.series_size(), 0) << question;
    if (tier != "TIER_RAW") {
      v1::Coverage& coverage = *series.mutable_coverage();
      coverage.clear_used();
      coverage.clear_values_start_s();
      coverage.clear_values_end_s();
      coverage.clear_values_watched_s();
    }
    answers += question + "\n" + series.DebugString();
  }
  const HttpReply reply = client->Get("/api/v1/nodes", "Accept: application/x-protobuf\r\n");
  v1::NodesAnswer nodes;
  EXPECT_TRUE(nodes.ParseFromString(reply.body));
  for (v1::Node& node : *nodes.mutable_nodes()) {
    if (node.name() != bystander_.name()) continue;
    // Falls silent during a long test.
    node.clear_state();
    node.clear_silent_since_s();
    answers += node.SerializeAsString();
  }
  return answers;
}

uint64_t HostileTest::Counted(const std::string& series) {
  const HttpReply reply = Https(viewer_)->Get("/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.complete);
  const size_t at = reply.body.find("\n" + series + " ");
  if (at == std::string::npos) return 0;
  return std::stoull(reply.body.substr(at + series.size() + 2));
}

std::map<std::string, uint64_t> HostileTest::Refusals() {
  const HttpReply reply = Https(viewer_)->Get("/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.complete);
  const std::string family = "\ntelltale_ingest_refused_total{reason=\"";
  std::map<std::string, uint64_t> refusals;
  for (size_t at = reply.body.find(family); at != std::string::npos;
       at = reply.body.find(family, at + 1)) {
    const size_t begin = at + family.size();
    const size_t end = reply.body.find("\"} ", begin);
    refusals[reply.body.substr(begin, end - begin)] = std::stoull(reply.body.substr(end + 3));
  }
  return refusals;
}

void HostileTest::Attack(const std::string& name, const std::function<void()>& attack) {
  SCOPED_TRACE(name);
  static const std::map<std::string, std::string> list = HostileList();
  AttacksMade().insert(name);
  const auto row = list.find(name);
  ASSERT_NE(row, list.end()) << "is not in " << kList;
  const std::string& series = row->second;
  const uint64_t before = series.empty() ? 0 : Counted(series);
  attack();
  if (!series.empty()) {
    EXPECT_TRUE(Await([&] { return Counted(series) > before; }, 30)) << "not counted: " << series;
  }
  const std::string after = BystandersAnswers();
  if (after == before_) return;
  const auto differ = std::ranges::mismatch(before_, after).in1;
  const size_t at = std::max<ptrdiff_t>(0, differ - before_.begin() - 200);
  ADD_FAILURE() << "another node's answers changed: " << before_.substr(at, 400)
                << "\nis now: " << after.substr(std::min(at, after.size()), 400);
}

v1::AgentMessage HostileTest::AttackersHello() const {
  v1::AgentMessage message;
  *message.mutable_hello() = HelloOf(attacking_);
  return message;
}

std::unique_ptr<RawAgent> HostileTest::Stream(const IssuedFiles& certificate) {
  auto stream = std::make_unique<RawAgent>(collector_.address(), pki_.ca(), certificate);
  stream->Write(AttackersHello());
  const auto welcome = stream->Read();
  EXPECT_TRUE(welcome.has_value() && welcome->has_welcome()) << collector_.log();
  stream->Write(SchemaMessage());
  return stream;
}

v1::Summary HostileTest::NextSummary(const std::function<void(v1::SummaryBody&)>& change) {
  const uint64_t start_ns = begin_ns_ + sequence_ % 50 * kMinute;
  ++sequence_;
  v1::SummaryBody body = attacking_.Body(sequence_, start_ns, 60);
  if (change) change(body);
  return Sealed(body);
}

v1::Summary HostileTest::Sealed(const v1::SummaryBody& body) {
  v1::Summary summary;
  const auto id = attacking_.incarnation();
  summary.mutable_identity()->set_node(attacking_.name());
  summary.mutable_identity()->set_incarnation(std::string(id.begin(), id.end()));
  summary.mutable_identity()->set_sequence(sequence_);
  summary.set_format(proto::kBodyFormat);
  summary.set_schema_id(SchemaMessage().schema().id());
  summary.set_start_unix_ns(body.epoch().start_unix_ns());
  summary.set_end_unix_ns(body.epoch().end_unix_ns());
  const std::string raw = proto::Canonical(body);
  summary.set_body_bytes(static_cast<uint32_t>(raw.size()));
  summary.set_body(*proto::Compress(raw));
  return summary;
}

v1::AgentMessage HostileTest::Message(const v1::Summary& summary) {
  v1::AgentMessage message;
  *message.mutable_summary() = summary;
  return message;
}

std::optional<v1::Verdict> HostileTest::VerdictOn(RawAgent& stream, const v1::Summary& summary) {
  if (!stream.Write(Message(summary))) return std::nullopt;
  return stream.ReadVerdict();
}

std::unique_ptr<HttpsClient> HostileTest::Https(const std::optional<IssuedFiles>& certificate,
                                                int max_tls_version) const {
  return std::make_unique<HttpsClient>(HttpsClient::Options{.port = https_port(),
                                                            .ca_file = pki_.ca(),
                                                            .client = certificate,
                                                            .max_tls_version = max_tls_version});
}

uint16_t HostileTest::https_port() const {
  return static_cast<uint16_t>(std::stoul(ReadPort(scratch_.path() + "/data", "https")));
}
uint16_t HostileTest::grpc_port() const {
  return static_cast<uint16_t>(std::stoul(ReadPort(scratch_.path() + "/data", "grpc")));
}

std::string HostileTest::Raw(uint16_t port, const std::string& bytes) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string came;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0) {
    pollfd ready = {.fd = fd, .events = POLLIN, .revents = 0};
    char piece[4096];
    while (poll(&ready, 1, 500) > 0) {
      const ssize_t got = read(fd, piece, sizeof piece);
      if (got <= 0) break;
      came.append(piece, static_cast<size_t>(got));
    }
  }
  close(fd);
  return came;
}

}  // namespace telltale::testing
