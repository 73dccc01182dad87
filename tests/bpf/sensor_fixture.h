// What the tests of the real sensor share: a started BpfSensor, a sink that keeps all, and children
// that do a known amount of work. Skips aloud when the host does not let us watch its kernel.

#ifndef TELLTALE_TESTS_BPF_SENSOR_FIXTURE_H_
#define TELLTALE_TESTS_BPF_SENSOR_FIXTURE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "agent/sensor/bpf_sensor.h"
#include "gtest/gtest.h"

namespace telltale::agent {

struct KeepAll : SampleSink {
  void OnSample(const RawSample& sample) override { samples.push_back(sample); }
  void OnEvent(const RawEvent& event) override { events.push_back(event); }
  std::vector<RawSample> samples;
  std::vector<RawEvent> events;
};

// A forked child that does its work when told to and then waits to be told to end, so that it can
// be looked at while it lives.
class Child {
 public:
  explicit Child(std::function<void()> work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Begin();  // lets it work
  enum class State { kWorking, kDone, kGaveUp };
  State AwaitDone(int timeout_ms);  // done: it stays alive
  int End();                        // lets it exit; returns its wait status
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int to_child_ = -1, from_child_ = -1;
};

// Weight and events of one sub-series.
struct Amount {
  uint64_t events = 0, weight = 0;
};

class SensorTest : public testing::Test {
 protected:
  void SetUp() override { Start(Options()); }
  virtual BpfSensorOptions Options() { return {}; }
  // Skips where the host does not let us watch its kernel.
  void Start(BpfSensorOptions options);

  // Until the child's work is done; it stays alive. Drains meanwhile as the agent does: a busy host
  // fills the ring in seconds. TryAwait: false if the child gave up.
  void Await(Child& child);
  bool TryAwait(Child& child);
  RawEpoch Cut();
  static Amount Total(const RawEpoch& epoch, uint8_t vital, uint8_t sub);
  // Of all rows of this process.
  static Amount ShareOf(const RawEpoch& epoch, pid_t tgid, uint8_t vital, uint8_t sub);
  // On a CPU, in the queue or blocked: of all rows, the whole time of their tasks.
  static uint64_t AccountedNs(const RawEpoch& epoch);
  static const RawProcess* Find(const RawEpoch& epoch, pid_t tgid);
  static void PinTo(int cpu);

  std::unique_ptr<BpfSensor> sensor_;
  KeepAll kept_;
};

// What is counted exactly is so whatever was before: goes on with the sensor of the case before, in
// an epoch of its own, unless that case failed. A start takes seconds.
class SensorCountTest : public SensorTest {
 protected:
  static void TearDownTestSuite() { before_.reset(); }
  void SetUp() override;
  void TearDown() override;

 private:
  static std::unique_ptr<BpfSensor> before_;
};

// The test starts its sensor itself: one start, which takes seconds, instead of two.
class UnstartedSensorTest : public SensorTest {
 protected:
  void SetUp() override {}
};

// An empty file without a name below the working directory: the build's disk, not a tmpfs. `flags`
// besides read and write, such as O_DIRECT; -1: this file system cannot.
int UnnamedFile(int flags = 0);

// Whether some frame lies in a kernel function whose name contains `part`.
bool Through(const std::vector<uint64_t>& frames, std::string_view part);
// Whether a program can hold a task that it knows by its number, to walk its stack (Linux 6.2).
bool LooksTasksUp();

// |seen - expected| <= share * expected, with both shown when not.
testing::AssertionResult Within(double share, uint64_t seen, uint64_t expected);

}  // namespace telltale::agent

#endif  // TELLTALE_TESTS_BPF_SENSOR_FIXTURE_H_
