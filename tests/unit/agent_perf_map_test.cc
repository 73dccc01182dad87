// The text of perf maps: what counts of it, and how little of a hostile one.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "agent/symbols/perf_map.h"

namespace telltale::agent {
namespace {

std::string Line(uint64_t start, uint64_t bytes, const std::string& name) {
  char numbers[64];
  snprintf(numbers, sizeof numbers, "%lx %lx ", static_cast<unsigned long>(start),
           static_cast<unsigned long>(bytes));
  return numbers + name + "\n";
}

TEST(PerfMapTest, NamesWhatLiesInAFunction) {
  PerfMap map;
  map.Append("3ef414c0 398 LazyCompile:*fib /srv/app.js:3:14\n0x5000 0x10 plain\n");
  EXPECT_EQ(map.NameAt(0x3ef414bf), "");
  EXPECT_EQ(map.NameAt(0x3ef414c0), "LazyCompile:*fib /srv/app.js:3:14");
  EXPECT_EQ(map.NameAt(0x3ef41857), "LazyCompile:*fib /srv/app.js:3:14");
  EXPECT_EQ(map.NameAt(0x3ef41858), "");
  EXPECT_EQ(map.NameAt(0x500f), "plain");
}

TEST(PerfMapTest, ALineCountsWhenItIsWhole) {
  PerfMap map;
  map.Append("1000 100 fi");
  EXPECT_EQ(map.NameAt(0x1000), "");
  map.Append("rst\n2000 1");
  EXPECT_EQ(map.NameAt(0x1000), "first");
  map.Append("00 sec");
  map.Append("ond\n");
  EXPECT_EQ(map.NameAt(0x2050), "second");
}

TEST(PerfMapTest, WhatWasWrittenLastCounts) {
  PerfMap map;
  map.Append(Line(0x1000, 0x100, "old") + Line(0x1040, 0x10, "inside"));
  EXPECT_EQ(map.NameAt(0x103f), "old");
  EXPECT_EQ(map.NameAt(0x1040), "inside");
  EXPECT_EQ(map.NameAt(0x1050), "old");
  map.Append(Line(0x1000, 0x100, "new"));
  for (const uint64_t at : {0x1000, 0x1040, 0x10ff}) EXPECT_EQ(map.NameAt(at), "new");
  EXPECT_EQ(map.size(), 1u);
}

TEST(PerfMapTest, OverlapsAreAsIfEveryByteWereMarked) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    PerfMap map;
    std::map<uint64_t, std::string> truth;
    for (int i = 0; i < 40; ++i) {
      const uint64_t start = 100 + random() % 60, bytes = 1 + random() % 30;
      const std::string name = "f" + std::to_string(i);
      map.Append(Line(start, bytes, name));
      for (uint64_t at = start; at < start + bytes; ++at) truth[at] = name;
    }
    for (uint64_t at = 90; at < 200; ++at) {
      const auto known = truth.find(at);
      ASSERT_EQ(map.NameAt(at), known == truth.end() ? "" : known->second) << round << " " << at;
    }
  }
}

TEST(PerfMapTest, LinesThatMakeNoSenseAreSkipped) {
  PerfMap map;
  map.Append(
      "\n \nzz 10 name\n1000\n1000 10\n1000 10 \n1000 0 empty\n1000zz 10 x\n-1 10 x\n"
      "ffffffffffffffff 10 beyond\n1000 ffffffffffff giant\n11111111111111111 10 long\n" +
      std::string(10'000, '1') + " 10 endless\n2000 10 good\n");
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(map.NameAt(0x2000), "good");
  EXPECT_FALSE(map.full());
}

TEST(PerfMapTest, AnEndlessLineTakesNoMemoryAndEndsAtItsEnd) {
  PerfMap map;
  for (int i = 0; i < 1'000; ++i) map.Append(std::string(1'000, 'x'));
  map.Append("\n2000 10 good\n");
  EXPECT_EQ(map.NameAt(0x2000), "good");
}

TEST(PerfMapTest, EveryLimitHolds) {
  PerfMap lines({.lines = 3});
  PerfMap bytes({.bytes = 1'000});
  PerfMap names({.name_bytes = 8});
  for (uint64_t i = 1; i <= 100; ++i) {
    lines.Append(Line(i << 8, 16, "f"));
    bytes.Append(Line(i << 8, 16, "f"));
  }
  EXPECT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines.full());
  EXPECT_LE(bytes.bytes(), 1'000u);
  EXPECT_GT(bytes.size(), 10u);
  EXPECT_TRUE(bytes.full());
  names.Append(Line(0x1000, 1, "123456789"));
  EXPECT_EQ(names.NameAt(0x1000), "12345678");
}

}  // namespace
}  // namespace telltale::agent
