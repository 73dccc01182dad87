// A Sensor that needs no kernel: plays a small lifelike world (replay_world.h) second by second.
// Its programs have habits, noise and bursts; short-lived compilers come and go; labels follow a
// Zipf law over code sites; cells, power-of-t sampling, tokens, seconds, histograms and process
// accounts obey the same rules as the kernel's, except that who leads a cell does not matter for
// who is sampled (slot.h). Planted incidents make one program misbehave for a while.
//
// For tests, the simulator and machines without BPF. Equal options and equal clock readings give
// equal epochs. Time only passes by `mono_ns`; threads as for any Sensor.

#ifndef TELLTALE_AGENT_SENSOR_REPLAY_SENSOR_H_
#define TELLTALE_AGENT_SENSOR_REPLAY_SENSOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "agent/sensor/replay_world.h"
#include "agent/sensor/sensor.h"

namespace telltale::agent {

// From from_s to to_s after Start, processes of `program` do `factor` times their rate of `vital`.
struct ReplayIncident {
  uint8_t vital = TELLTALE_CPU;
  std::string program;
  uint64_t from_s = 0, to_s = 0;
  double factor = 10;
};

struct ReplayOptions {
  std::function<uint64_t()> mono_ns;  // CLOCK_MONOTONIC
  uint64_t seed = 1;
  uint32_t cpus = 4;
  double intensity = 1;              // of every rate
  uint32_t samples_per_vital = 200;  // tokens of one epoch
  std::vector<uint8_t> unavailable = {TELLTALE_LLC};
  std::vector<ReplayIncident> incidents;
};

class ReplaySensor : public Sensor {
 public:
  explicit ReplaySensor(ReplayOptions options);

  absl::Status Start() override;
  std::vector<VitalStatus> Status() const override;
  absl::StatusOr<uint64_t> Drain(SampleSink& sink) override;
  absl::StatusOr<RawEpoch> Cut(SampleSink& sink) override;
  absl::StatusOr<RawEpoch> Peek() override;

 private:
  struct Process;   // one that is alive
  struct Activity;  // one piece of work to be counted

  bool Available(uint8_t vital) const;
  double Uniform();  // [0, 1)
  double FactorOf(uint8_t vital, const ReplayProgram& program) const;
  void BeginEpoch(uint64_t start_ns);
  void AdvanceTo(uint64_t now_ns, bool part_of_second);
  void Play(uint64_t from_ns, uint64_t to_ns);
  void PlayProcess(RawProcess& account, size_t program, uint64_t from_ns, uint64_t to_ns,
                   double cpu_scale);
  void Compile(size_t program, uint64_t from_ns, uint64_t to_ns, double cpu_scale);
  void Work(RawProcess& account, size_t program, uint8_t vital, double weight, uint64_t from_ns,
            uint64_t to_ns);
  void Count(const Activity& activity);
  void SampleIfCrossed(const Activity& activity, uint64_t hash, uint64_t before);
  RawSample SampleOf(const Activity& activity, uint64_t hash) const;
  RawEpoch EpochSoFar(uint64_t end_ns) const;
  uint64_t Deliver(SampleSink& sink);

  const ReplayOptions options_;
  uint64_t started_ns_ = 0;
  uint64_t played_to_ns_ = 0;
  uint64_t random_ = 0;
  uint32_t next_tgid_ = 1000;
  double compilers_due_ = 0;
  std::vector<std::pair<size_t, RawProcess>> alive_;  // (program, accounts of this epoch)
  RawEpoch epoch_;
  std::map<uint8_t, std::vector<telltale_slot>> slots_;  // by vital
  std::map<uint8_t, uint32_t> tokens_, dry_, quiet_epochs_;
  std::map<uint8_t, uint8_t> t_log2_;
  std::vector<std::variant<RawSample, RawEvent>> queue_;  // not yet drained
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_REPLAY_SENSOR_H_
