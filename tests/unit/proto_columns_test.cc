// Messages turned into columns and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "proto/codec.h"
#include "proto/column_numbers.h"
#include "proto/columns.h"
#include "proto/compress.h"
#include "telltale/v1/store.pb.h"
#include "tests/unit/proto_bodies.h"

namespace telltale::proto {
namespace {

const google::protobuf::Descriptor& BodyType() { return *v1::SummaryBody::descriptor(); }
constexpr size_t kLimit = 1 << 20;

TEST(ColumnsTest, GiveBackExactlyTheBytesOfAnyBody) {
  std::mt19937_64 random(7);
  const v1::Schema schema = BuiltinSchema();
  for (int i = 0; i < 200; ++i) {
    const std::string body = Canonical(testing::RandomBody(schema, random));
    const auto columns = ToColumns(body, BodyType());
    ASSERT_TRUE(columns.has_value()) << "body " << i;
    const auto back = FromColumns(*columns, body.size());
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(*back, body) << "body " << i;
  }
}

TEST(ColumnsTest, OfANodesBodyTakeFewerBytes) {
  const v1::Schema schema = BuiltinSchema();
  const std::string body = Canonical(testing::FullBody(schema));
  const auto columns = ToColumns(body, BodyType());
  ASSERT_TRUE(columns.has_value());
  EXPECT_LT(Compress(*columns)->size(), Compress(body)->size());
}

TEST(ColumnsTest, OfBytesThatTheyWouldChangeThereAreNone) {
  const std::string body = Canonical(testing::FullBody(BuiltinSchema()));
  EXPECT_FALSE(ToColumns(body + "\xa2\x06\x01x", BodyType())) << "a field of a later build";
  EXPECT_FALSE(ToColumns(body + std::string("\x0a\x00", 2), BodyType())) << "a part twice";
  EXPECT_FALSE(ToColumns(body.substr(0, body.size() - 1), BodyType())) << "cut off";
  v1::SubSeries sub;
  const std::string zero("\x08\x00", 2);  // written though it is the default
  ASSERT_TRUE(sub.ParseFromString(zero));
  EXPECT_FALSE(ToColumns(zero, *v1::SubSeries::descriptor()));
}

TEST(ColumnsTest, DamagedOnesAreRefusedOrStayWithinTheLimit) {
  const std::string body = Canonical(testing::FullBody(BuiltinSchema()));
  const std::string columns = *ToColumns(body, BodyType());
  EXPECT_FALSE(FromColumns(columns, body.size() - 1).ok()) << "beyond its limit";
  EXPECT_FALSE(FromColumns(columns + "x", kLimit).ok());
  EXPECT_FALSE(FromColumns("", kLimit).ok());
  for (size_t length = 0; length < columns.size(); ++length) {
    ASSERT_FALSE(FromColumns(std::string_view(columns).substr(0, length), kLimit).ok()) << length;
  }
  std::mt19937_64 random(8);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = columns;
    for (int n = 0; n < 3; ++n) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto opened = FromColumns(damaged, 2 * body.size());
    if (opened.ok()) {
      ASSERT_LE(opened->size(), 2 * body.size());
    }
  }
}

TEST(ColumnsTest, NumbersComeBackInEveryForm) {
  constexpr uint64_t kMost = ~uint64_t{0};
  std::vector<std::vector<uint64_t>> columns = {
      {0},
      {kMost},
      {0, kMost, 1, kMost - 1},
      {5, 5, 5, 5, 5, 5},
      {1'000'001, 1'000'002, 1'000'003},
      // At most seven significant bits.
      {127, 128, 130, 254, 256, uint64_t{127} << 57, uint64_t{64} << 30, 0}};
  // As long as a varint can be, and one bit longer.
  auto& lengths = columns.emplace_back();
  for (int bits = 7; bits < 64; bits += 7) {
    const uint64_t longer = uint64_t{1} << bits;
    lengths.insert(lengths.end(), {longer - 1, longer, longer + 1});
  }
  for (const auto& numbers : columns) {
    std::string bytes;
    const uint8_t form = NumberWriter().Write(numbers, 0, bytes);
    std::string_view left = bytes;
    std::vector<uint64_t> back;
    ASSERT_TRUE(ReadNumbers(left, form, numbers.size(), 0, back));
    EXPECT_EQ(back, numbers);
    EXPECT_TRUE(left.empty());
  }
}

TEST(ColumnsTest, NumbersPassedOverEndWhereThoseReadDo) {
  std::mt19937_64 random(9);
  for (const size_t row : {0, 1, 3, 8}) {
    for (size_t count = row == 0 ? 1 : 2 * row; count < 60; count += row == 0 ? 1 : row) {
      std::vector<uint64_t> numbers(count);
      for (uint64_t& number : numbers) number = random() >> (random() % 64);
      std::string bytes;
      const uint8_t form = NumberWriter().Write(numbers, row, bytes);
      const std::string all = bytes + "behind";
      std::string_view left = all;
      ASSERT_TRUE(SkipNumbers(left, form, count, row));
      EXPECT_EQ(left, "behind") << count << " in rows of " << row;
      left = std::string_view(bytes).substr(0, bytes.size() - 1);
      EXPECT_FALSE(SkipNumbers(left, form, count, row)) << "cut off";
      // Some of them, whole rows.
      const size_t step = std::max<size_t>(row, 1), all_rows = count / step;
      const size_t first = random() % all_rows, last = first + random() % (all_rows - first + 1);
      left = all;
      std::vector<uint64_t> some;
      ASSERT_TRUE(ReadNumbers(left, form, count, row, some, {first * step, last * step}));
      EXPECT_EQ(left, "behind");
      ASSERT_EQ(some.size(), count);
      for (size_t i = first * step; i < last * step; ++i) ASSERT_EQ(some[i], numbers[i]) << i;
    }
  }
}

TEST(ColumnsTest, WhatIsLeftOutChangesNothingOfThePartsThatAreKept) {
  std::mt19937_64 random(10);
  const v1::Schema schema = BuiltinSchema();
  for (int i = 0; i < 50; ++i) {
    const std::string body =
        Canonical(i == 0 ? testing::FullBody(schema) : testing::RandomBody(schema, random));
    const std::string columns = *ToColumns(body, BodyType());
    const uint32_t some = 1 + static_cast<uint32_t>(random()) % 5;
    for (const std::vector<uint32_t>& vitals : {std::vector<uint32_t>(), {some}, {some, 9, 99}}) {
      for (const auto depth : {BodyParts::Depth::kTotals, BodyParts::Depth::kAccounts,
                               BodyParts::Depth::kLabels, BodyParts::Depth::kWhole}) {
        const BodyParts parts{.depth = depth, .vitals = vitals};
        const auto less = FromColumns(
            columns, body.size(),
            [&](const std::vector<int>& path) { return NeedsField(parts, path); },
            [&](int field, uint64_t id) {
              return field != v1::SummaryBody::kVitalsFieldNumber || NeedsVital(parts, id);
            });
        ASSERT_TRUE(less.ok()) << less.status();
        if (depth == BodyParts::Depth::kWhole) {
          ASSERT_EQ(*less == body, vitals.empty());
          continue;
        }
        ASSERT_EQ(*KeepParts(*less, parts), *KeepParts(body, parts)) << "body " << i;
        EXPECT_LE(less->size(), KeepParts(body, parts)->size()) << "something is made for nothing";
      }
    }
  }
}

TEST(ColumnsTest, ATableIsWrittenPlaceByPlaceEachInItsForm) {
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < 40; ++i) {
    rows.insert(rows.end(), {(64 + i) << 30, 123'456'789 + i, 7});
  }
  std::string bytes;
  const uint8_t form = NumberWriter().Write(rows, 3, bytes);
  ASSERT_EQ(form, kTurned);
  EXPECT_EQ(bytes[0] & kShort, kShort);
  EXPECT_EQ(bytes[1], kSteps);
  EXPECT_EQ(bytes[2], 0);
  std::string_view left = bytes;
  std::vector<uint64_t> back;
  ASSERT_TRUE(ReadNumbers(left, form, rows.size(), 3, back));
  EXPECT_EQ(back, rows);
  // Only the second row.
  left = bytes;
  ASSERT_TRUE(ReadNumbers(left, form, rows.size(), 3, back, {3, 6}));
  EXPECT_TRUE(left.empty());
  EXPECT_TRUE(std::equal(back.begin() + 3, back.begin() + 6, rows.begin() + 3));
}

TEST(ColumnsTest, ASummaryWithColumnsOpensToTheSameBodyAndParts) {
  const v1::Schema schema = BuiltinSchema();
  const v1::SummaryBody body = testing::FullBody(schema);
  const auto sent = EncodeSummary(testing::SomeIdentity(), schema.id(), body, {});
  ASSERT_TRUE(sent.ok()) << sent.status();
  const auto stored = WithColumns(*sent, body);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->format(), kColumnsFormat);
  EXPECT_LT(stored->body().size(), sent->body().size());
  const auto opened = DecodeSummary(*stored, schema);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(Canonical(*opened->body), Canonical(body));
  for (const auto depth : {BodyParts::Depth::kTotals, BodyParts::Depth::kAccounts,
                           BodyParts::Depth::kLabels, BodyParts::Depth::kWhole}) {
    // All vitals, each alone, the first and the last, and none of them.
    std::vector<std::vector<uint32_t>> choices = {
        {}, {body.vitals(0).id(), body.vitals().rbegin()->id()}, {200}};
    for (const v1::Vital& vital : body.vitals()) choices.push_back({vital.id()});
    for (const std::vector<uint32_t>& vitals : choices) {
      const auto of_sent = DecodeParts(*sent, schema, {depth, vitals});
      const auto of_stored = DecodeParts(*stored, schema, {depth, vitals});
      ASSERT_TRUE(of_sent.ok() && of_stored.ok()) << of_stored.status();
      EXPECT_EQ(Canonical(*of_stored->body), Canonical(*of_sent->body));
    }
  }
  v1::Summary other = *stored;
  other.set_body_bytes(other.body_bytes() + 1);
  EXPECT_FALSE(DecodeSummary(other, schema).ok()) << "not as long as it says";
  other.set_body_bytes(2 << 20);
  EXPECT_FALSE(DecodeSummary(other, schema).ok()) << "beyond the limit";
  other = *sent;
  other.set_format(kColumnsFormat);
  EXPECT_FALSE(DecodeSummary(other, schema).ok()) << "no columns";
}

}  // namespace
}  // namespace telltale::proto
