// Large answers are printed as JSON once, whoever asks for them again.
#include "collector/web/json_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "telltale/v1/query.pb.h"

namespace telltale::web {
namespace {

using ::testing::HasSubstr;

v1::TopAnswer Large(const std::string& first) {
  v1::TopAnswer answer;
  for (int i = 0; i < 2'000; ++i) {
    answer.add_tables()->set_vital(i == 0 ? first : "vital " + std::to_string(i));
  }
  return answer;
}

TEST(JsonTextsTest, TheSameAnswerIsPrintedOnce) {
  JsonTexts texts(8 << 20);
  const auto first = texts.Of(Large("one"));
  const auto again = texts.Of(Large("one"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, *again);
  EXPECT_THAT(*first, HasSubstr("one"));
  EXPECT_EQ(texts.figures().hits, 1u);
}

TEST(JsonTextsTest, AnotherAnswerIsNotTakenForIt) {
  JsonTexts texts(8 << 20);
  ASSERT_TRUE(texts.Of(Large("one")).ok());
  EXPECT_THAT(texts.Of(Large("two")).value(), HasSubstr("two"));
  // Of the same bytes, but of another type.
  v1::NodesAnswer other;
  ASSERT_TRUE(other.ParseFromString(Large("one").SerializeAsString()));
  EXPECT_NE(texts.Of(other).value(), texts.Of(Large("one")).value());
}

TEST(JsonTextsTest, OfBytesItIsTheSameText) {
  JsonTexts texts(8 << 20);
  const std::string bytes = Large("one").SerializeAsString();
  const auto of_bytes = texts.OfBytes(v1::TopAnswer(), bytes);
  ASSERT_TRUE(of_bytes.ok()) << of_bytes.status();
  EXPECT_EQ(*of_bytes, JsonTexts(0).Of(Large("one")).value());
  EXPECT_EQ(texts.Of(Large("one")).value(), *of_bytes);
  EXPECT_EQ(texts.figures().hits, 1u);
  EXPECT_FALSE(texts.OfBytes(v1::TopAnswer(), std::string(10'000, '\xff')).ok());
}

TEST(JsonTextsTest, WhatIsSmallTakesNoRoom) {
  JsonTexts texts(8 << 20);
  EXPECT_THAT(texts.Of(v1::TopAnswer()).value(), HasSubstr("{"));
  EXPECT_EQ(texts.figures().bytes, 0u);
}

}  // namespace
}  // namespace telltale::web
