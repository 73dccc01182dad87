#include "agent/epoch/sampled_hashes.h"

#include <gtest/gtest.h>

#include "sketch/layout.h"

namespace telltale::agent {
namespace {

RawSample Sample(uint8_t vital, uint32_t cpu, uint64_t hash) {
  RawSample sample;
  sample.vital = vital;
  sample.cpu = cpu;
  sample.label_hash = hash;
  return sample;
}

TEST(SampledHashesTest, CountsWhatFollowsASampleOfTheSameLabelInItsCellAndCpu) {
  constexpr uint64_t kCell = uint64_t{7} << TELLTALE_CELL_SHIFT, kLabel = kCell | 1,
                     kNeighbour = kCell | 2, kElsewhere = uint64_t{8} << TELLTALE_CELL_SHIFT;
  SampledHashes hashes;
  hashes.Add(Sample(1, 0, kLabel));
  hashes.Add(Sample(1, 0, kLabel));      // repeated
  hashes.Add(Sample(1, 1, kLabel));      // first on its CPU
  hashes.Add(Sample(2, 0, kLabel));      // first of its vital
  hashes.Add(Sample(1, 0, kElsewhere));  // another cell
  hashes.Add(Sample(1, 0, kLabel));      // repeated
  hashes.Add(Sample(1, 0, kNeighbour));
  hashes.Add(Sample(1, 0, kLabel));  // the neighbour came between
  uint64_t samples = 0, repeated = 0;
  for (const sketch::SampledLabel& label : hashes.Of(1, TELLTALE_COLUMNS)) {
    if (label.place != sketch::PlaceOf(kLabel, TELLTALE_COLUMNS)) continue;
    samples += label.samples;
    repeated += label.repeated;
  }
  EXPECT_EQ(samples, 5u);
  EXPECT_EQ(repeated, 2u);
  EXPECT_EQ(hashes.Of(1, TELLTALE_COLUMNS).size(), 3u);
  EXPECT_EQ(hashes.Of(2, TELLTALE_COLUMNS).size(), 1u);
  EXPECT_FALSE(hashes.overflowed());
  EXPECT_TRUE(hashes.Has(1, kElsewhere));
  EXPECT_FALSE(hashes.Has(2, kElsewhere)) << "of another vital";
}

TEST(SampledHashesTest, SaysThatItHadNoRoomForMore) {
  SampledHashes hashes;
  for (uint64_t hash = 0; hash < SampledHashes::kMost; ++hash) hashes.Add(Sample(1, 0, hash));
  EXPECT_FALSE(hashes.overflowed());
  hashes.Add(Sample(1, 0, 5));
  EXPECT_FALSE(hashes.overflowed()) << "it is known";
  hashes.Add(Sample(1, 0, SampledHashes::kMost));
  EXPECT_TRUE(hashes.overflowed());
}

}  // namespace
}  // namespace telltale::agent
