#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "agent/unwind/call_frames.h"
#include "tests/unit/eh_frame_writer.h"

namespace telltale::agent {
namespace {

using namespace std::string_view_literals;
using telltale::testing::EhFrameWriter;

constexpr uint64_t kSection = 0x2000, kCode = 0x401000;

UnwindTable Parse(const EhFrameWriter& writer, UnwindTable::Limits limits = {}) {
  auto frames = ParseEhFrame(writer.bytes(), kSection, limits);
  EXPECT_TRUE(frames.ok()) << frames.status();
  return frames.ok() ? std::move(frames->table) : UnwindTable();
}

UnwindRule Register(unsigned reg, int32_t offset) {
  UnwindRule rule;
  rule.cfa = CfaRule::kRegister;
  rule.base = static_cast<uint8_t>(reg);
  rule.offset = offset;
  return rule;
}

TEST(CallFramesTest, RowsHoldFromTheirPlaceToTheNext) {
  // push rbp; CFA = rsp + 16, rbp at CFA - 16; mov; CFA by rbp; leave; CFA = rsp + 8
  const UnwindTable table = Parse(EhFrameWriter(kSection).Function(
      kCode, 0x40, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x30\x0c\x07\x08"sv));
  UnwindRule pushed = Register(kRsp, 16), framed = Register(kRbp, 16);
  pushed.rbp = framed.rbp = -2;
  EXPECT_EQ(table.At(kCode - 1), UnwindRule());
  EXPECT_EQ(table.At(kCode), Register(kRsp, 8));
  EXPECT_EQ(table.At(kCode + 1), pushed);
  EXPECT_EQ(table.At(kCode + 3), pushed);
  EXPECT_EQ(table.At(kCode + 4), framed);
  EXPECT_EQ(table.At(kCode + 0x33), framed);
  EXPECT_EQ(table.At(kCode + 0x34).base, kRsp);
  EXPECT_EQ(table.At(kCode + 0x3f).offset, 8);
  EXPECT_EQ(table.At(kCode + 0x40), UnwindRule());
  EXPECT_EQ(table.At(0), UnwindRule());
  EXPECT_EQ(table.At(~uint64_t{0}), UnwindRule());
}

TEST(CallFramesTest, AStateRememberedComesBackWhole) {
  const UnwindTable table = Parse(EhFrameWriter(kSection).Function(
      kCode, 0x20, "\x41\x0e\x10\x83\x02\x0a\x41\xc3\x0e\x08\x41\x0b"sv));
  UnwindRule saved = Register(kRsp, 16);
  saved.rbx = -2;
  EXPECT_EQ(table.At(kCode + 1), saved);
  EXPECT_EQ(table.At(kCode + 2), Register(kRsp, 8));
  EXPECT_EQ(table.At(kCode + 3), saved);
}

TEST(CallFramesTest, FunctionsComeInAnyOrderAndMayLeaveGaps) {
  const UnwindTable table = Parse(EhFrameWriter(kSection)
                                      .Function(kCode + 0x3000, 0x10, "\x41\x0e\x20"sv)
                                      .Function(kCode, 0x18, "\x41\x0e\x10"sv)
                                      .Function(kCode + 0x20, 0x10, "\x41\x0e\x18"sv));
  EXPECT_EQ(table.At(kCode + 0x17).offset, 16);
  EXPECT_EQ(table.At(kCode + 0x20).offset, 8);
  EXPECT_EQ(table.At(kCode + 0x2f).offset, 24);
  EXPECT_EQ(table.At(kCode + 0x30), UnwindRule());
  EXPECT_EQ(table.At(kCode + 0x2fff), UnwindRule());
  EXPECT_EQ(table.At(kCode + 0x3000).offset, 8);
  EXPECT_EQ(table.At(kCode + 0x300f).offset, 32);
}

TEST(CallFramesTest, ALinkageStubsExpression) {
  const UnwindTable table = Parse(EhFrameWriter(kSection).Function(
      kCode, 0x40, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"sv));
  EXPECT_EQ(table.At(kCode + 0x20).cfa, CfaRule::kPlt);
  EXPECT_EQ(table.At(kCode + 0x20).offset, 11);
}

TEST(CallFramesTest, ARealignedFrame) {
  // CFA = *(rbp - 8); rbp at *rbp, rbx at rbp - 40
  const UnwindTable table = Parse(EhFrameWriter(kSection).Function(
      kCode, 0x40, "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00\x10\x03\x02\x76\x58"sv));
  UnwindRule rule;
  rule.cfa = CfaRule::kDeref;
  rule.base = kRbp | UnwindRule::kRbpByRbp | UnwindRule::kRbxByRbp;
  rule.offset = -8 * 256;
  rule.rbp = 0;
  rule.rbx = -5;
  EXPECT_EQ(table.At(kCode), rule);
}

TEST(CallFramesTest, WhereAThreadBeginsAndWhereASignalCameIn) {
  EXPECT_EQ(Parse(EhFrameWriter(kSection).Function(kCode, 8, "\x07\x10"sv)).At(kCode).cfa,
            CfaRule::kEnd);
  EXPECT_EQ(Parse(EhFrameWriter(kSection, "zRS").Function(kCode, 8, ""sv)).At(kCode).cfa,
            CfaRule::kSignal);
}

TEST(CallFramesTest, AReturnAddressInARegister) {
  UnwindRule rule = Register(kRsp, 8 * 32 + 5);
  rule.cfa = CfaRule::kInRegister;
  EXPECT_EQ(Parse(EhFrameWriter(kSection).Function(kCode, 8, "\x09\x10\x05"sv)).At(kCode), rule);
}

TEST(CallFramesTest, WhatHasNoRuleSaysSo) {
  // CFA = rsp + *rsp; return address below a register; CFA far beyond what a rule holds
  for (const std::string_view program :
       {"\x0f\x05\x77\x00\x06\x77\x00"sv, "\x10\x10\x02\x76\x08"sv, "\x0e\xff\xff\xff\xff\x7f"sv}) {
    EXPECT_EQ(Parse(EhFrameWriter(kSection).Function(kCode, 8, program)).At(kCode).cfa,
              CfaRule::kUnsupported);
  }
}

TEST(CallFramesTest, AFunctionThatCannotBeReadIsSkippedAndCounted) {
  EhFrameWriter writer(kSection);
  writer.Function(kCode, 8, "\x3f"sv).Function(kCode + 0x100, 8, ""sv);
  const auto frames = ParseEhFrame(writer.bytes(), kSection, {});
  ASSERT_TRUE(frames.ok());
  EXPECT_EQ(frames->functions, 1u);
  EXPECT_EQ(frames->skipped, 1u);
  EXPECT_EQ(frames->table.At(kCode), UnwindRule());
  EXPECT_EQ(frames->table.At(kCode + 0x100), Register(kRsp, 8));
}

TEST(CallFramesTest, AnySectionCutShortOrDamagedIsReadWithoutHarm) {
  EhFrameWriter writer(kSection);
  writer.Function(kCode, 0x20, "\x41\x0e\x10\x83\x02\x0a\x41\xc3\x0e\x08\x41\x0b"sv)
      .Function(kCode + 0x40, 0x40, "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"sv);
  for (size_t length = 0; length < writer.bytes().size(); ++length) {
    EXPECT_TRUE(ParseEhFrame(writer.bytes().substr(0, length), kSection, {}).ok());
  }
  for (size_t at = 0; at < writer.bytes().size(); ++at) {
    std::string damaged = writer.bytes();
    for (int value = 0; value < 256; ++value) {
      damaged[at] = static_cast<char>(value);
      const auto frames = ParseEhFrame(damaged, kSection, {});
      EXPECT_TRUE(frames.ok() || absl::IsResourceExhausted(frames.status()));
    }
  }
}

TEST(CallFramesTest, LimitsOfATable) {
  EhFrameWriter far(kSection), many(kSection);
  far.Function(kCode, 8, ""sv).Function(kCode + 0x40000000, 8, ""sv);
  EXPECT_TRUE(absl::IsResourceExhausted(ParseEhFrame(far.bytes(), kSection, {}).status()));
  EXPECT_TRUE(ParseEhFrame(far.bytes(), kSection, {.functions = 2, .span = 1ull << 40}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      ParseEhFrame(far.bytes(), kSection, {.functions = 1, .span = 1ull << 40}).status()))
      << "by default a million, 28 MB while they are read";
  many.Function(kCode, 8, "\x41\x0e\x10\x41\x0e\x18\x41\x0e\x20"sv);
  const UnwindTable full = Parse(many, {.rules = 3});
  EXPECT_EQ(full.parts().rules.size(), 3u);
  EXPECT_EQ(full.At(kCode + 1).offset, 16);
}

}  // namespace
}  // namespace telltale::agent
