// A real collector under attack: a bystander whose answers must stay the same to the byte, an
// attacker with a good certificate of its own, and the counters by which the collector says what it
// refused. Every attack goes by its name in collector/HOSTILE.md, which says what counts it. One
// thread.

#ifndef TELLTALE_TESTS_INTEGRATION_HOSTILE_RIG_H_
#define TELLTALE_TESTS_INTEGRATION_HOSTILE_RIG_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/collector_process.h"
#include "tests/support/https_client.h"
#include "tests/support/pki.h"
#include "tests/support/raw_agent.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {

// Rows of the document: attack, and what counts it ("" where nothing can tell it from good use).
std::map<std::string, std::string> HostileList();
// Names of all attacks carried out by this process.
std::set<std::string>& AttacksMade();

class HostileTest : public ::testing::Test {
 protected:
  HostileTest();
  void SetUp() override;

  // Carries out `attack` and requires that what the document names has been counted and that the
  // bystander's answers are what they were.
  void Attack(const std::string& name, const std::function<void()>& attack);

  // Of a series as it stands on /metrics, labels and all; 0 if it is not there.
  uint64_t Counted(const std::string& series);
  // By reason, what ingest refused, as it stands on /metrics.
  std::map<std::string, uint64_t> Refusals();

  // Streams as the attacker's node, greeted and with the schema told.
  std::unique_ptr<RawAgent> Stream(const IssuedFiles& certificate);
  std::unique_ptr<RawAgent> Stream() { return Stream(attacker_); }
  v1::AgentMessage AttackersHello() const;
  // A valid summary of the attacker, of a minute no other call gave.
  v1::Summary NextSummary(const std::function<void(v1::SummaryBody&)>& change = {});
  // The same around any body, valid or not.
  v1::Summary Sealed(const v1::SummaryBody& body);
  static v1::AgentMessage Message(const v1::Summary& summary);
  // What becomes of it; nothing: the stream ended.
  static std::optional<v1::Verdict> VerdictOn(RawAgent& stream, const v1::Summary& summary);

  // HTTPS as the holder of `certificate`, or nobody.
  std::unique_ptr<HttpsClient> Https(const std::optional<IssuedFiles>& certificate,
                                     int max_tls_version = 0) const;
  uint16_t https_port() const;
  uint16_t grpc_port() const;
  // Plain bytes to a port, and what comes back until it is closed or half a second is silent.
  static std::string Raw(uint16_t port, const std::string& bytes);

  TempDir scratch_;
  Pki pki_;
  Pki stranger_;
  const IssuedFiles own_, viewer_, operator_, attacker_;
  CollectorProcess collector_;
  SyntheticNode bystander_{"db-1", 1};
  SyntheticNode attacking_{"web-1", 2};
  std::vector<std::string> more_arguments_;
  uint64_t sequence_ = 0;

 private:
  std::string BystandersAnswers();
  void StoreBystander();

  uint64_t begin_ns_ = 0;
  std::string before_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_INTEGRATION_HOSTILE_RIG_H_
