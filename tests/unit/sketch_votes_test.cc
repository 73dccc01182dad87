// The vote in the cells against exact counts: orders, CPUs, weights, powers of t.
#include "sketch/votes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "sketch/log_sample.h"

namespace telltale::sketch {
namespace {

constexpr uint32_t kColumns = 16;

uint64_t PowersMask(uint32_t t_log2) {
  uint64_t powers = 0;
  for (uint32_t bit = 0; bit < 64; bit += t_log2) powers |= uint64_t{1} << bit;
  return powers;
}

struct Event {
  uint64_t hash = 0, weight = 0;
  size_t cpu = 0;
};

// Rows of slots that count as the kernel's programs do.
class Counting {
 public:
  explicit Counting(size_t cpus) : rows_(cpus, std::vector<telltale_slot>(kColumns)) {}
  telltale_due Add(const Event& e, uint32_t quantum_log2 = 0, uint32_t t_log2 = 1,
                   uint32_t heavy_log2 = 63) {
    exact_[e.hash] += e.weight;
    return telltale_add(&rows_[e.cpu][Column(e.hash, kColumns)], e.hash, e.weight, quantum_log2,
                        PowersMask(t_log2), heavy_log2);
  }
  void Refuse(uint64_t hash) { telltale_refused(&rows_[0][Column(hash, kColumns)], hash); }
  VotedCells Cells() const {
    std::vector<std::span<const telltale_slot>> rows(rows_.begin(), rows_.end());
    return AddUp(rows);
  }
  const telltale_slot& slot(size_t cpu, uint32_t cell) const { return rows_[cpu][cell]; }
  const std::map<uint64_t, uint64_t>& exact() const { return exact_; }

 private:
  std::vector<std::vector<telltale_slot>> rows_;
  std::map<uint64_t, uint64_t> exact_;
};

// A label's hash with a mark of its own, so that none is taken for another.
uint64_t HashOf(uint32_t label) { return uint64_t{label} * 0x9E3779B97F4A7C15 << 16 | label; }

std::vector<Event> Events(std::mt19937_64& random, size_t cpus, int order) {
  const uint32_t labels = 1 + random() % 120;
  const uint32_t heaviest = 1 + random() % 40;
  std::vector<Event> events;
  for (int i = 0; i < 3000; ++i) {
    // Low labels come more often, and some events are huge.
    const auto label = static_cast<uint32_t>(random() % (1 + random() % labels));
    events.push_back({HashOf(label), random() >> (63 - random() % heaviest), random() % cpus});
  }
  if (order == 1) std::ranges::stable_sort(events, {}, &Event::hash);
  if (order == 2) std::ranges::stable_sort(events, std::ranges::greater{}, &Event::weight);
  return events;
}

TEST(VotesTest, IntervalsHoldTheExactWeightOfEveryLabel) {
  std::mt19937_64 random(41);
  for (int round = 0; round < 120; ++round) {
    const size_t cpus = 1 + random() % 4;
    Counting counting(cpus);
    for (const Event& e : Events(random, cpus, round % 3)) counting.Add(e);
    const VotedCells cells = counting.Cells();
    for (const auto& [hash, weight] : counting.exact()) {
      const Place place = PlaceOf(hash, kColumns);
      const Interval interval = Estimate(cells, {&place, 1}, 0);
      ASSERT_LE(interval.low, weight) << round;
      ASSERT_GE(interval.high, weight) << round;
      ASSERT_LE(interval.high, cells.total[place.cell]) << "never wider than the plain cell";
    }
  }
}

// Events are seen an eighth of the time, chosen at random, and stand for eight times as much
// (Horvitz, Thompson, 1952): the interval then holds an estimate of the weight without bias, with a
// variance of 7 times the sum of the squares of the events' weights.
TEST(VotesTest, IntervalsOfWhatIsSeenPartOfTheTimeHoldEstimatesWithoutBias) {
  constexpr int kRounds = 400, kLabels = 60, kDeviations = 5;
  constexpr uint32_t kDutyLog2 = 3;
  std::mt19937_64 random(46);
  std::uniform_real_distribution<double> log_weight(0, std::log(1e4));
  std::vector<Event> events;
  std::map<uint64_t, uint64_t> weights;
  std::map<uint64_t, double> variance, low, high;
  for (int i = 0; i < 3000; ++i) {
    const auto label = static_cast<uint32_t>(random() % (1 + random() % kLabels));
    const auto weight = static_cast<uint64_t>(std::exp(log_weight(random)));
    events.push_back({HashOf(label), weight, random() % 2});
    weights[HashOf(label)] += weight;
    variance[HashOf(label)] += 7.0 * static_cast<double>(weight) * static_cast<double>(weight);
  }
  for (int round = 0; round < kRounds; ++round) {
    std::ranges::shuffle(events, random);
    Counting counting(2);
    for (const Event& e : events) {
      if (random() % (1 << kDutyLog2) == 0) counting.Add({e.hash, e.weight << kDutyLog2, e.cpu});
    }
    const VotedCells cells = counting.Cells();
    for (const auto& [hash, weight] : weights) {
      const Place place = PlaceOf(hash, kColumns);
      const Interval interval = Estimate(cells, {&place, 1}, 0);
      const double far = 6 * std::sqrt(variance[hash]);
      ASSERT_LE(static_cast<double>(interval.low), static_cast<double>(weight) + far);
      ASSERT_GE(static_cast<double>(interval.high), static_cast<double>(weight) - far);
      low[hash] += static_cast<double>(interval.low) / kRounds;
      high[hash] += static_cast<double>(interval.high) / kRounds;
    }
  }
  for (const auto& [hash, weight] : weights) {
    const double error = kDeviations * std::sqrt(variance[hash] / kRounds);
    EXPECT_LE(low[hash], static_cast<double>(weight) + error);
    EXPECT_GE(high[hash], static_cast<double>(weight) - error);
  }
}

TEST(VotesTest, ALabelOfMoreThanHalfOfItsCellLeadsItHoweverItsEventsCome) {
  std::mt19937_64 random(42);
  for (int round = 0; round < 200; ++round) {
    std::vector<Event> events(51, {HashOf(1), 10, 0});
    for (uint32_t i = 0; i < 50; ++i) events.push_back({HashOf(2 + random() % 30), 10, 0});
    std::ranges::shuffle(events, random);
    Counting counting(1);
    for (Event& e : events) {
      e.hash &= ~uint64_t{0} >> 4;  // all in cell 0
      counting.Add(e);
    }
    const Place place = PlaceOf(events[0].hash, kColumns);
    uint64_t most = 0;
    for (const Lead& lead : counting.Cells().leads) most = std::max(most, lead.margin);
    EXPECT_GT(counting.Cells().MarginAt(PlaceOf(HashOf(1) & ~uint64_t{0} >> 4, kColumns)), 0u);
    EXPECT_EQ(most, counting.Cells().MarginAt(PlaceOf(HashOf(1) & ~uint64_t{0} >> 4, kColumns)));
    ASSERT_EQ(place.cell, 0u);
  }
}

TEST(VotesTest, MarginsOfOneLabelOnSeveralCpusAddUpAndOthersAreKeptApart) {
  Counting counting(3);
  const uint64_t a = HashOf(1), b = (a & ~TELLTALE_MARK_MASK) | 2;  // one cell, two marks
  counting.Add({a, 10, 0});
  counting.Add({a, 7, 1});
  counting.Add({b, 5, 1});
  counting.Add({b, 9, 2});
  const VotedCells cells = counting.Cells();
  const Place at_a = PlaceOf(a, kColumns), at_b = PlaceOf(b, kColumns);
  EXPECT_EQ(cells.MarginAt(at_a), 12u);
  EXPECT_EQ(cells.MarginAt(at_b), 9u);
  EXPECT_EQ(cells.contested[at_a.cell], 5u);
  EXPECT_EQ(cells.GreatestMargin(at_a.cell), 12u);
  EXPECT_EQ(Estimate(cells, {&at_a, 1}, 0), (Interval{12, 17}));
  EXPECT_EQ(Estimate(cells, {&at_b, 1}, 11), (Interval{11, 14})) << "samples prove more";
  const Place both[] = {at_a, at_b};
  EXPECT_EQ(Estimate(cells, both, 0), (Interval{21, 26})) << "one cell is contested once";
  EXPECT_EQ(UnlistedHigh(cells, both), 5u);
  EXPECT_EQ(UnlistedHigh(cells, {both, 1}), 14u) << "b leads and is not listed";
  EXPECT_EQ(UnlistedHigh(cells, {}), 17u);
}

TEST(VotesTest, NoUnlistedLabelWeighsMoreThanIsSaid) {
  std::mt19937_64 random(43);
  for (int round = 0; round < 60; ++round) {
    Counting counting(2);
    for (const Event& e : Events(random, 2, round % 3)) counting.Add(e);
    std::vector<Place> listed;
    uint64_t heaviest_unlisted = 0;
    for (const auto& [hash, weight] : counting.exact()) {
      if (random() % 3 != 0) {
        listed.push_back(PlaceOf(hash, kColumns));
      } else {
        heaviest_unlisted = std::max(heaviest_unlisted, weight);
      }
    }
    std::ranges::sort(listed);
    ASSERT_GE(UnlistedHigh(counting.Cells(), listed), heaviest_unlisted);
  }
}

TEST(VotesTest, ASlotThatAnInterruptsAddGotLostFromStaysWithinItsTotal) {
  const telltale_slot slots[2] = {{.total = 5, .lead = uint64_t{9} << TELLTALE_MARGIN_SHIFT | 3},
                                  {.total = 6, .lead = uint64_t{3} << TELLTALE_MARGIN_SHIFT | 3}};
  const std::span<const telltale_slot> row(slots);
  const VotedCells cells = AddUp({&row, 1});
  EXPECT_EQ(cells.MarginAt({0, 3}), 5u);
  EXPECT_EQ(cells.contested, (std::vector<uint64_t>{0, 2}));
}

TEST(VotesTest, HugeWeightsDoNotWrapTheMargin) {
  Counting counting(1);
  for (int i = 0; i < 5; ++i) counting.Add({7, ~uint64_t{0} / 8, 0});
  EXPECT_EQ(telltale_margin(counting.slot(0, 0).lead), TELLTALE_VOTE_MAX);
  EXPECT_EQ(counting.slot(0, 0).lead & TELLTALE_MARK_MASK, 7u);
}

TEST(DueTest, PassedAgreesWithCrossedPower) {
  std::mt19937_64 random(44);
  for (int round = 0; round < 50'000; ++round) {
    const auto t_log2 = static_cast<uint32_t>(1 + random() % 16);
    const uint64_t a = random() >> (2 + random() % 62), b = a + (random() >> (2 + random() % 62));
    ASSERT_EQ(telltale_passed(a, b, PowersMask(t_log2)) != 0, CrossedPower(a, b, 1, t_log2) != 0)
        << a << " -> " << b << " t 2^" << t_log2;
  }
}

// Whatever the labels, the order, the quantum and t, which may change at any event: what made the
// total pass a power is due, unless its label leads and was kept; so is, of those who do not lead,
// what made the contested part pass one; and nothing else.
TEST(DueTest, WhoPassesAPowerIsDueAndNobodyElse) {
  std::mt19937_64 random(45);
  for (int round = 0; round < 60; ++round) {
    const auto quantum_log2 = static_cast<uint32_t>(random() % 8);
    auto t_log2 = static_cast<uint32_t>(1 + random() % 4);
    const uint64_t quantum = uint64_t{1} << quantum_log2;
    Counting counting(1);
    for (const Event& e : Events(random, 1, round % 3)) {
      if (random() % 500 == 0) t_log2 = static_cast<uint32_t>(1 + random() % 8);
      const telltale_slot before = counting.slot(0, Column(e.hash, kColumns));
      const telltale_due due = counting.Add(e, quantum_log2, t_log2);
      const telltale_slot after = counting.slot(0, Column(e.hash, kColumns));
      const uint64_t margin = telltale_margin(before.lead), now = telltale_margin(after.lead);
      const bool led = (before.lead & TELLTALE_MARK_MASK) == (e.hash & TELLTALE_MARK_MASK);
      const bool total = CrossedPower(before.total, after.total, quantum, t_log2) != 0;
      const bool contested =
          CrossedPower((before.total - margin) / 2, (after.total - now) / 2, quantum, t_log2) != 0;
      telltale_due expected = TELLTALE_NOT_DUE;
      if (led && total) {
        expected = before.lead & TELLTALE_LEAD_SEEN ? TELLTALE_DUE_AGAIN : TELLTALE_DUE;
      } else if (!led && (total || contested)) {
        expected = TELLTALE_DUE;
      }
      ASSERT_EQ(due, expected) << round;
    }
  }
}

TEST(DueTest, ALeaderThatWasRefusedIsDueAtTheNextPower) {
  Counting counting(1);
  EXPECT_EQ(counting.Add({5, 1, 0}), TELLTALE_DUE);
  counting.Refuse(5);
  EXPECT_EQ(counting.Add({5, 1, 0}), TELLTALE_DUE);
  counting.Refuse(6);  // another label of the cell: says nothing of the leader
  EXPECT_EQ(counting.Add({5, 2, 0}), TELLTALE_DUE_AGAIN) << "it was kept";
  EXPECT_EQ(counting.Add({6, 20, 0}), TELLTALE_DUE) << "another leads, and is kept at once";
  EXPECT_EQ(counting.Add({6, 40, 0}), TELLTALE_DUE_AGAIN);
  EXPECT_EQ(telltale_margin(counting.slot(0, 0).lead), 56u);
}

TEST(DueTest, AHeavyLeaderThatWasRefusedIsDueAtThePowersOfTheMostItMayWeigh) {
  Counting counting(1);
  counting.Add({6, 1000, 0}, 0, 1, 5);
  counting.Add({5, 1002, 0}, 0, 1, 5);  // leads with 2, may weigh 1,002; the total's next is 2,048
  counting.Refuse(5);
  EXPECT_EQ(counting.Add({5, 2, 0}, 0, 1, 5), TELLTALE_NOT_DUE);
  EXPECT_EQ(counting.Add({5, 20, 0}, 0, 1, 5), TELLTALE_DUE) << "1,024";
  counting.Refuse(5);
  EXPECT_EQ(counting.Add({5, 1, 0}, 0, 1, 5), TELLTALE_NOT_DUE);
  EXPECT_EQ(telltale_stake(&counting.slot(0, 0), 5), 1025u) << "1,000 contested, a margin of 25";
  EXPECT_EQ(telltale_stake(&counting.slot(0, 0), 6), 1000u) << "what is contested";
  Counting light(1);
  light.Add({6, 10, 0}, 0, 1, 5);
  light.Add({5, 12, 0}, 0, 1, 5);
  light.Refuse(5);
  EXPECT_EQ(light.Add({5, 4, 0}, 0, 1, 5), TELLTALE_NOT_DUE) << "16 is a power, and light";
}

// As code does that runs in one order each time, say the faults of each fork: the total, even after
// every second event, passes all powers of two at the events of one label.
TEST(DueTest, OfTwoLabelsThatTakeTurnsWithEqualWeightsBothAreDueOnceTheyAreHeavy) {
  Counting counting(1);
  std::map<uint64_t, int> due;
  for (int turn = 0; turn < 1000; ++turn) {
    for (const uint64_t label : {5, 6}) {
      if (counting.Add({label, 1, 0}, 0, 1, 3) != TELLTALE_DUE) continue;
      if (turn < 100) {
        counting.Refuse(label);  // no token is left for who is light
      } else {
        ++due[label];
      }
    }
  }
  EXPECT_GE(due[5], 1);
  EXPECT_GE(due[6], 1);
}

// 300 threads sleep through an epoch, 256 cells: three of them share one in many an epoch.
TEST(DueTest, OneEventOfACellsLoadIsDueAlsoWhereItPassesNoPower) {
  Counting counting(1);
  EXPECT_EQ(counting.Add({5, 20, 0}, 0, 1, 2), TELLTALE_DUE);
  EXPECT_EQ(counting.Add({6, 20, 0}, 0, 1, 2), TELLTALE_DUE);
  EXPECT_EQ(counting.Add({7, 20, 0}, 0, 1, 2), TELLTALE_DUE) << "40 to 60, contested 20 to 20";
  EXPECT_EQ(counting.Add({8, 3, 0}, 0, 1, 2), TELLTALE_NOT_DUE) << "60 to 63, 20 to 23: light";
  EXPECT_EQ(counting.Add({7, 20, 0}, 0, 1, 2), TELLTALE_DUE_AGAIN) << "it leads and was kept";
}

TEST(DueTest, TheFewerTokensAreLeftTheHeavierALabelMustBe) {
  const auto least = [](uint32_t tokens) {  // stake that may still take one, heavy from 32 on
    uint64_t stake = 0;
    while (telltale_too_light(stake, 5, tokens, 320)) ++stake;
    return stake;
  };
  EXPECT_EQ(least(81), 0u) << "above a quarter anyone may";
  EXPECT_EQ(least(80), 32u);
  EXPECT_EQ(least(41), 32u);
  EXPECT_EQ(least(40), 64u);
  EXPECT_EQ(least(21), 64u);
  EXPECT_EQ(least(20), 128u);
  EXPECT_EQ(least(11), 128u);
  EXPECT_EQ(least(10), 256u);
  EXPECT_EQ(least(6), 256u);
  EXPECT_EQ(least(5), 512u);
  EXPECT_EQ(least(1), 512u);
}

}  // namespace
}  // namespace telltale::sketch
