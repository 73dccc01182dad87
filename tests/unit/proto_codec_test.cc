#include "proto/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/proto_bodies.h"

namespace telltale::proto {
namespace {

using testing::FullBody;
using ::testing::HasSubstr;
using testing::RandomBody;
using testing::SomeCells;
using testing::SomeIdentity;

class CodecTest : public ::testing::Test {
 protected:
  v1::Summary Encoded(const v1::SummaryBody& body, const v1::SketchCells& cells = {}) {
    absl::StatusOr<v1::Summary> summary = EncodeSummary(SomeIdentity(), schema_.id(), body, cells);
    EXPECT_TRUE(summary.ok()) << summary.status();
    return summary.ok() ? *std::move(summary) : v1::Summary();
  }

  const v1::Schema schema_ = BuiltinSchema();
};

TEST_F(CodecTest, GivesBackTheBodyAndCellsItWasGiven) {
  const v1::SummaryBody body = FullBody(schema_);
  const v1::SketchCells cells = SomeCells(schema_);
  const v1::Summary summary = Encoded(body, cells);
  const absl::StatusOr<Decoded> decoded = DecodeSummary(summary, schema_);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(Canonical(*decoded->body), Canonical(body));
  const absl::StatusOr<v1::SketchCells> decoded_cells = DecodeCells(summary);
  ASSERT_TRUE(decoded_cells.ok()) << decoded_cells.status();
  EXPECT_EQ(Canonical(*decoded_cells), Canonical(cells));
}

TEST_F(CodecTest, GivesBackRandomBodies) {
  std::mt19937_64 random(20261120);
  for (int round = 0; round < 200; ++round) {
    const v1::SummaryBody body = RandomBody(schema_, random);
    const v1::Summary summary = Encoded(body);
    const absl::StatusOr<Decoded> decoded = DecodeSummary(summary, schema_);
    ASSERT_TRUE(decoded.ok()) << decoded.status() << " in round " << round;
    ASSERT_EQ(Canonical(*decoded->body), Canonical(body)) << "round " << round;
  }
}

TEST_F(CodecTest, PartsOfABodyAreThoseOfTheWholeAndNothingElse) {
  std::mt19937_64 random(20261123);
  for (int round = 0; round < 50; ++round) {
    v1::SummaryBody body = round == 0 ? FullBody(schema_) : RandomBody(schema_, random);
    body.mutable_tables()->add_strings("sda");
    body.mutable_host_names()->add_device(8 << 20);
    body.mutable_host_names()->add_disk(static_cast<uint32_t>(body.tables().strings_size()));
    const v1::Summary summary = Encoded(body);
    for (const std::vector<uint32_t>& vitals :
         {std::vector<uint32_t>{}, std::vector<uint32_t>{3}, std::vector<uint32_t>{12, 1}}) {
      v1::SummaryBody expected = body;
      expected.clear_histograms();
      expected.clear_events();
      expected.clear_gauges();
      auto& kept = *expected.mutable_vitals();
      kept.erase(std::remove_if(kept.begin(), kept.end(),
                                [&](const v1::Vital& vital) {
                                  return !vitals.empty() && std::find(vitals.begin(), vitals.end(),
                                                                      vital.id()) == vitals.end();
                                }),
                 kept.end());
      const auto labels = DecodeParts(summary, schema_, {BodyParts::Depth::kLabels, vitals});
      ASSERT_TRUE(labels.ok()) << labels.status();
      ASSERT_EQ(Canonical(*labels->body), Canonical(expected)) << "round " << round;

      v1::SummaryBody accounts = expected;
      accounts.clear_tables();
      if (body.has_tables())
        *accounts.mutable_tables()->mutable_strings() = body.tables().strings();
      if (body.has_gauges()) *accounts.mutable_gauges() = body.gauges();
      for (v1::Vital& vital : *accounts.mutable_vitals()) vital.clear_samples();
      const auto counted = DecodeParts(summary, schema_, {BodyParts::Depth::kAccounts, vitals});
      ASSERT_TRUE(counted.ok()) << counted.status();
      ASSERT_EQ(Canonical(*counted->body), Canonical(accounts)) << "round " << round;

      expected.clear_tables();
      expected.clear_host_names();
      expected.clear_processes();
      for (v1::Vital& vital : kept) {
        for (v1::FoldedSample& sample : *vital.mutable_samples()) {
          const uint64_t samples = sample.samples();
          sample.Clear();
          sample.set_samples(samples);
        }
      }
      const auto totals = DecodeParts(summary, schema_, {BodyParts::Depth::kTotals, vitals});
      ASSERT_TRUE(totals.ok()) << totals.status();
      ASSERT_EQ(Canonical(*totals->body), Canonical(expected)) << "round " << round;
    }
    const auto whole = DecodeParts(summary, schema_, {});
    ASSERT_TRUE(whole.ok()) << whole.status();
    ASSERT_EQ(Canonical(*whole->body), Canonical(body));
  }
}

TEST_F(CodecTest, PartsOfBytesThatAreNoBodyAreRefused) {
  for (const BodyParts::Depth depth :
       {BodyParts::Depth::kLabels, BodyParts::Depth::kAccounts, BodyParts::Depth::kTotals}) {
    EXPECT_FALSE(KeepParts("\x12\x7f", {depth, {}}).ok()) << "a vital longer than the bytes";
    EXPECT_FALSE(KeepParts("\x0b", {depth, {}}).ok()) << "a group";
  }
  EXPECT_FALSE(KeepParts("\x12\x02\x3a\x7f", {BodyParts::Depth::kTotals, {}}).ok())
      << "a sample longer than its vital";
  EXPECT_FALSE(KeepParts("\x1a\x02\x0a\x7f", {BodyParts::Depth::kAccounts, {}}).ok())
      << "a string longer than the tables";
}

TEST_F(CodecTest, EncodesTheSameBodyToTheSameBytes) {
  const v1::SummaryBody body = FullBody(schema_);
  v1::SummaryBody copy;
  ASSERT_TRUE(copy.ParseFromString(Canonical(body)));
  EXPECT_EQ(Canonical(Encoded(body)), Canonical(Encoded(copy)));
}

TEST_F(CodecTest, DigestTellsAnyTwoEnvelopesApart) {
  const v1::Summary summary = Encoded(FullBody(schema_), SomeCells(schema_));
  v1::Summary other = summary;
  EXPECT_EQ(Digest(summary), Digest(other));
  other.mutable_identity()->set_sequence(43);
  EXPECT_NE(Digest(summary), Digest(other));
  other = summary;
  other.mutable_cells()->back() ^= 1;
  EXPECT_NE(Digest(summary), Digest(other));
}

TEST_F(CodecTest, BuiltinSchemaPassesItsOwnCheck) {
  EXPECT_TRUE(CheckSchema(schema_).ok()) << CheckSchema(schema_);
  EXPECT_NE(schema_.id(), 0u);
}

TEST_F(CodecTest, ASchemaWhoseIdIsNotItsHashIsRefused) {
  v1::Schema changed = schema_;
  changed.mutable_vitals(0)->set_about("something else");
  EXPECT_THAT(CheckSchema(changed).message(), HasSubstr("schema: id is"));
}

}  // namespace
}  // namespace telltale::proto
