#include "proto/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "proto/codec.h"
#include "proto/convert.h"
#include "proto/text.h"
#include "tests/unit/proto_bodies.h"

namespace telltale::proto {
namespace {

using ::testing::AllOf;
using testing::FullBody;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SomeCells;
using testing::SomeIdentity;

// Everything but line feeds is printable: no escape sequence can come through.
void ExpectHarmless(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  EXPECT_TRUE(Printable(text)) << SanitizeText(text, 2000);
}

TEST(DumpTest, ShowsTotalsInTheVitalsUnitsAndNames) {
  const v1::Schema schema = BuiltinSchema();
  v1::SummaryBody body = FullBody(schema);
  v1::Vital* blocking = body.mutable_vitals(3);
  blocking->mutable_subs(0)->set_events(12'345);
  blocking->mutable_subs(0)->set_weight(2'500'000'000);
  v1::Vital* disk = body.mutable_vitals(4);
  disk->mutable_subs(1)->set_weight(3 << 20);
  disk->clear_losses();
  disk->add_losses()->set_reason(v1::LOSS_REASON_RING_FULL);
  body.mutable_user_frames()->add_outcome(v1::NAME_OUTCOME_NAMED);
  body.mutable_user_frames()->add_outcome(v1::NAME_OUTCOME_NO_SYMBOL);
  body.mutable_user_frames()->add_frames(1'234);
  body.mutable_user_frames()->add_frames(5);
  const std::string text = DumpBody(body, schema);
  EXPECT_THAT(text, HasSubstr("disk: 12,345 events, 2.50 s\n"));
  EXPECT_THAT(text, HasSubstr("user frames: 1,234 named, 5 no_symbol\n"));
  EXPECT_THAT(text, HasSubstr("read_done: "));
  EXPECT_THAT(text, HasSubstr("3.0 MiB\n"));
  EXPECT_THAT(text, HasSubstr("lost: ring_full 0 events"));
  EXPECT_THAT(text, HasSubstr("+ 10.0 s"));
  ExpectHarmless(text);
}

TEST(DumpTest, ShowsStacksWithSymbolsWhereTheyAreKnown) {
  v1::SummaryBody body;
  body.mutable_tables()->add_strings("/usr/bin/dd");
  v1::Mapping* mapping = body.mutable_tables()->add_mappings();
  mapping->set_kind(v1::MAPPING_KIND_FILE);
  mapping->set_path(1);
  mapping = body.mutable_tables()->add_mappings();
  mapping->set_kind(v1::MAPPING_KIND_KERNEL);
  body.mutable_tables()->add_frame_mapping(1);
  body.mutable_tables()->add_frame_offset(0x1234);
  body.mutable_tables()->add_frame_mapping(2);
  body.mutable_tables()->add_frame_offset(0x10);
  v1::Stack* stack = body.mutable_tables()->add_stacks();
  stack->add_kernel(1);
  stack->add_user(0);
  stack->set_user_end(v1::STACK_END_NO_FRAME_POINTERS);
  const BodyText plain(body);
  EXPECT_THAT(plain.Stack(1), ::testing::ElementsAre("[kernel]+0x10", "/usr/bin/dd+0x1234",
                                                     "(user stack incomplete: no_frame_pointers)"));
  const BodyText named(body, [](const v1::Mapping&, uint64_t offset) {
    return offset == 0x10 ? "do_io\x1b[31m" : "";
  });
  EXPECT_EQ(named.Stack(1)[0], "do_io\\x1b[31m [kernel]");
  EXPECT_EQ(named.Stack(1)[1], "/usr/bin/dd+0x1234");
}

TEST(DumpTest, LetsNoTerminalEscapeThroughEvenOfRefusedMessages) {
  const v1::Schema schema = BuiltinSchema();
  const std::string evil =
      "a\x1b[2J\x1b]0;owned\x07\nfake line\r\xc2\x9b"
      "b\u202e";
  v1::SummaryBody body = FullBody(schema);
  for (std::string& text : *body.mutable_tables()->mutable_strings()) text = evil;
  body.mutable_epoch()->set_scope(evil);
  body.mutable_histograms(0)->set_operation(evil);
  ExpectHarmless(DumpBody(body, schema));
  EXPECT_THAT(DumpBody(body, schema), Not(HasSubstr("\nfake line")));

  v1::Schema evil_schema = schema;
  for (v1::VitalDescriptor& vital : *evil_schema.mutable_vitals()) {
    vital.set_name(evil);
    vital.set_about(evil);
    vital.mutable_subs(0)->set_name(evil);
    for (v1::FieldDescriptor& field : *vital.mutable_label()) field.set_name(evil);
    for (v1::FieldDescriptor& field : *vital.mutable_detail()) {
      field.set_name(evil);
      for (std::string& value : *field.mutable_value_names()) value = evil;
    }
  }
  ExpectHarmless(DumpBody(body, evil_schema));
  ExpectHarmless(DumpSchema(evil_schema));
  ExpectHarmless(DumpCells(SomeCells(schema), evil_schema));
  v1::Names names;
  names.set_path(evil);
  names.add_offset(1);
  names.add_name(evil);
  ExpectHarmless(DumpNames(names));
  v1::Summary summary;
  summary.mutable_identity()->set_node(evil);
  ExpectHarmless(DumpEnvelope(summary));

  const absl::StatusOr<std::string> json = DumpJson(body);
  ASSERT_TRUE(json.ok()) << json.status();
  ExpectHarmless(*json);
  EXPECT_THAT(*json, HasSubstr("\\u001b[2J"));
}

TEST(DumpTest, ShowsBodiesWithBrokenIndexesWithoutReadingBeyondTables) {
  const v1::Schema schema = BuiltinSchema();
  v1::SummaryBody body = FullBody(schema);
  body.mutable_tables()->clear_strings();
  body.mutable_tables()->clear_mappings();
  body.mutable_tables()->clear_frame_offset();
  for (v1::Vital& vital : *body.mutable_vitals()) {
    vital.add_subs();
    for (v1::FoldedSample& sample : *vital.mutable_samples()) {
      sample.set_sub(UINT32_MAX);
      sample.set_stack(UINT32_MAX);
      for (uint64_t& value : *sample.mutable_label()) value = UINT64_MAX;
      for (uint64_t& value : *sample.mutable_exemplar()->mutable_detail()) value = UINT64_MAX;
    }
  }
  for (v1::Histogram& histogram : *body.mutable_histograms()) {
    histogram.set_r(3);
    histogram.add_bucket(UINT32_MAX);
  }
  body.mutable_processes()->mutable_columns()->Set(0, UINT32_MAX);
  body.mutable_processes()->mutable_rows(0)->add_values(1);
  ExpectHarmless(DumpBody(body, schema));
  ExpectHarmless(DumpBody(body, v1::Schema()));
}

TEST(ConvertTest, SaysNumbersAsPeopleReadThem) {
  EXPECT_EQ(ShowNumber(0), "0");
  EXPECT_EQ(ShowNumber(999), "999");
  EXPECT_EQ(ShowNumber(1'000), "1,000");
  EXPECT_EQ(ShowNumber(18'446'744'073'709'551'615u), "18,446,744,073,709,551,615");
  EXPECT_EQ(ShowDuration(999), "999 ns");
  EXPECT_EQ(ShowDuration(1'250'000), "1.25 ms");
  EXPECT_EQ(ShowDuration(5'000'000'000'000), "5,000 s");
  EXPECT_EQ(ShowBytes(1023), "1023 bytes");
  EXPECT_EQ(ShowBytes(4096), "4.0 KiB");
  EXPECT_EQ(ShowTime(1'800'000'000'123'000'000), "2027-01-15T08:00:00.123Z");
  EXPECT_EQ(ShowWeight(v1::UNIT_PAGES, 12'345), "12,345 pages");
  EXPECT_EQ(EnumWord(v1::LOSS_REASON_NOT_JOURNALLED), "not_journalled");
  EXPECT_EQ(EnumWord(static_cast<v1::LossReason>(99)), "99");
  EXPECT_EQ(EnumWord(v1::VITAL_STATE_DEGRADED), "degraded");
}

TEST(ConvertTest, BaseUnitOfNanosecondsIsSeconds) {
  EXPECT_STREQ(BaseUnitOf(v1::UNIT_NANOSECONDS).name, "s");
  EXPECT_DOUBLE_EQ(BaseUnitOf(v1::UNIT_NANOSECONDS).factor * 1e9, 1);
  EXPECT_STREQ(BaseUnitOf(v1::UNIT_BYTES).name, "bytes");
}

TEST(TextTest, SanitizingLeavesPrintableTextAndEscapesTheRest) {
  EXPECT_EQ(SanitizeText("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82", 100),
            "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82");
  EXPECT_EQ(SanitizeText("a\x01\x7f\xff", 100), "a\\x01\\x7f\\xff");
  EXPECT_EQ(SanitizeText("\x1b[2J", 100), "\\x1b[2J");
  EXPECT_EQ(SanitizeText("\xc2\x9b\x32J", 100), "\\xc2\\x9b2J") << "C1: one-character CSI";
  EXPECT_EQ(SanitizeText("\xe2\x80\xae", 100), "\\xe2\\x80\\xae") << "right-to-left override";
  EXPECT_EQ(SanitizeText("\xc0\xaf", 100), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(SanitizeText("\xed\xa0\x80", 100), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(SanitizeText("\xf4\x90\x80\x80", 100), "\\xf4\\x90\\x80\\x80") << "beyond U+10FFFF";
  EXPECT_EQ(SanitizeText("\xe2\x82", 100), "\\xe2\\x82") << "cut short";
  EXPECT_EQ(SanitizeText("a\xe2\x82\xac", 3), "a") << "characters are not cut in the middle";
  EXPECT_EQ(SanitizeText("a\x01", 4), "a") << "escapes are not cut in the middle";
}

TEST(TextTest, SanitizedBytesAreAlwaysPrintableWithinTheLimitAndStaySo) {
  std::mt19937_64 random(31);
  for (int round = 0; round < 20'000; ++round) {
    std::string raw;
    for (uint64_t length = random() % 40; length > 0; --length) {
      raw.push_back(static_cast<char>(random() % 3 == 0 ? random() : 0x80 + random() % 0x80));
    }
    const size_t limit = random() % 60;
    const std::string clean = SanitizeText(raw, limit);
    ASSERT_TRUE(Printable(clean));
    ASSERT_LE(clean.size(), limit);
    ASSERT_EQ(SanitizeText(clean, limit), clean);
  }
}

TEST(TextTest, NodeNamesAreFitForKeysPathsAndScreens) {
  for (const char* good : {"a", "node-7.example.org", "N_1", "0"}) EXPECT_TRUE(ValidNodeName(good));
  for (const char* bad : {"", "-a", ".", "..", "a/b", "a b", "a\n", "\xc3\xa9"}) {
    EXPECT_FALSE(ValidNodeName(bad)) << bad;
  }
  EXPECT_TRUE(ValidNodeName(std::string(128, 'a')));
  EXPECT_FALSE(ValidNodeName(std::string(129, 'a')));
  EXPECT_FALSE(ValidNodeName(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace telltale::proto
