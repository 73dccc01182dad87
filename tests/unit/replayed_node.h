// A node whose sensor replays, with the folder and cutter that make its epochs.

#ifndef TELLTALE_TESTS_UNIT_REPLAYED_NODE_H_
#define TELLTALE_TESTS_UNIT_REPLAYED_NODE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "agent/epoch/epoch_cutter.h"
#include "agent/epoch/sample_folder.h"
#include "agent/sensor/replay_sensor.h"
#include "agent/symbols/name_book.h"

namespace telltale::agent {

inline constexpr uint64_t kSecond = 1'000'000'000;

// A node with a clock that a test moves.
struct ReplayedNode {
  explicit ReplayedNode(ReplayOptions options = {}, EpochCutter::Options cut = {})
      : sensor([&] {
          options.mono_ns = [this] { return now; };
          return options;
        }()),
        folder({}, resolver, names),
        cutter(cut, resolver) {
    EXPECT_TRUE(sensor.Start().ok());
  }

  RawEpoch Run(uint64_t seconds) {
    for (uint64_t s = 0; s < seconds * 10; ++s) {
      now += kSecond / 10;
      EXPECT_TRUE(sensor.Drain(folder).ok());
    }
    return *sensor.Cut(folder);
  }

  CutContext Context(uint32_t length_s) {
    CutContext context;
    context.clock.wall_minus_mono_ns = 1'795'000'000 * static_cast<int64_t>(kSecond);
    context.length_s = length_s;
    context.boot_id = std::string(16, 'b');
    context.vitals = sensor.Status();
    return context;
  }

  CutResult Epoch(uint32_t seconds) {
    raw = Run(seconds);
    folded = folder.Take();
    absl::StatusOr<CutResult> result = cutter.Cut(raw, folded, Context(seconds));
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }

  uint64_t now = 1'000 * kSecond;
  ReplaySensor sensor;
  ReplayResolver resolver;
  NameBook names;
  SampleFolder folder;
  EpochCutter cutter;
  RawEpoch raw;
  FoldedEpoch folded;
};

}  // namespace telltale::agent

#endif  // TELLTALE_TESTS_UNIT_REPLAYED_NODE_H_
