// What the tests of spool and uplink share: small valid epochs, files as text.

#ifndef TELLTALE_TESTS_UNIT_AGENTRT_SUPPORT_H_
#define TELLTALE_TESTS_UNIT_AGENTRT_SUPPORT_H_

#include <string>

#include "agent/spool/disk_writer.h"
#include "agent/spool/record.h"
#include "tests/support/temp_dir.h"

namespace telltale::agent {

inline constexpr const char* kTestNode = "node-1";
inline constexpr uint64_t kTestEpochNs = 60'000'000'000;
inline constexpr uint64_t kTestStartNs = 1'700'000'040'000'000'000;  // of epoch 0

// Epoch n: [kTestStartNs + n * kTestEpochNs, + kTestEpochNs).
v1::SummaryBody MakeTestBody(uint64_t n);
// With sequence n, of the incarnation 16 x 0x5a, and one Names message.
Record MakeTestRecord(uint64_t n);

using ::telltale::testing::TempDir;

std::string Slurp(const std::string& path);
void Spill(const std::string& path, const std::string& bytes);
void FlipByte(const std::string& path, size_t at);

class NoObserver : public SpoolObserver {
 public:
  void OnSpooled(uint64_t, TimeRange, uint64_t, v1::EpochKind) override {}
  void OnHeld(uint64_t, TimeRange, std::string, v1::EpochKind) override {}
  void OnLost(const v1::Lost&) override {}
  void OnAnnounced() override {}
};

}  // namespace telltale::agent

#endif  // TELLTALE_TESTS_UNIT_AGENTRT_SUPPORT_H_
