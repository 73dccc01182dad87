#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "agent/unwind/stack_walker.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kStack = 0x7000'0000'0000;

// Code by ranges, each with one rule.
class FakeCode : public CodeFinder {
 public:
  CodeAt Find(uint64_t address) override {
    asked.push_back(address);
    auto it = code_.upper_bound(address);
    if (it == code_.begin()) return {};
    --it;
    if (address - it->first >= 0x100) return {};
    return it->second;
  }
  // 256 bytes of code whose frames have `words` words above the stack pointer, with the return
  // address.
  UnwindRule& Add(uint64_t begin, int32_t words) {
    code_[begin].kind = CodeAt::Kind::kFile;
    UnwindRule& rule = code_[begin].rule;
    rule.cfa = CfaRule::kRegister;
    rule.base = kRsp;
    rule.offset = 8 * words;
    return rule;
  }
  void Postpone(uint64_t begin) { code_[begin].postponed = true; }
  void AddGenerated(uint64_t begin) { code_[begin].kind = CodeAt::Kind::kGenerated; }
  void AddBeyond(uint64_t begin) { code_[begin].kind = CodeAt::Kind::kBeyond; }

  std::vector<uint64_t> asked;

 private:
  std::map<uint64_t, CodeAt> code_;
};

class StackWalkerTest : public testing::Test {
 protected:
  StackWalkerTest() {
    registers_[kRsp] = kStack;
    registers_[kRip] = 0x1010;
    code_.Add(0x1000, 2);
    code_.Add(0x2000, 3);
    code_.Add(0x9000, 1).cfa = CfaRule::kEnd;
  }
  UserEnd Walk(size_t most = 100) {
    frames_.clear();
    UserCopy copy;
    copy.registers = registers_;
    copy.stack_address = kStack;
    copy.stack = {reinterpret_cast<const char*>(stack_.data()), stack_.size() * 8};
    return WalkStack(copy, code_, most, frames_);
  }

  FakeCode code_;
  std::array<uint64_t, 17> registers_{};
  std::vector<uint64_t> stack_;
  std::vector<uint64_t> frames_;
};

TEST_F(StackWalkerTest, GoesFromReturnAddressToReturnAddressUntilTheThreadsStart) {
  stack_ = {0, 0x2010, 0, 0, 0x9010};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x1010, 0x2010, 0x9010}));
  // A call may be a function's last instruction: its rule is that of the byte before.
  EXPECT_EQ(code_.asked, (std::vector<uint64_t>{0x1010, 0x200f, 0x900f}));
}

TEST_F(StackWalkerTest, AReturnAddressOfZeroIsTheEnd) {
  stack_ = {0, 0x2010, 0, 0, 0};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  EXPECT_EQ(frames_.size(), 2u);
}

TEST_F(StackWalkerTest, SaysWhenTheCopyEnds) {
  stack_ = {0, 0x2010, 0, 0};
  EXPECT_EQ(Walk(), UserEnd::kWindow);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x1010, 0x2010}));
}

TEST_F(StackWalkerTest, SaysWhenAReturnAddressIsNoCode) {
  stack_ = {0, 0xdead, 0};
  EXPECT_EQ(Walk(), UserEnd::kBadPlace);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x1010}));
}

TEST_F(StackWalkerTest, SaysWhenAReturnAddressIsBeyondWhatIsKnown) {
  code_.AddBeyond(0xde00);
  stack_ = {0, 0xdead, 0};
  EXPECT_EQ(Walk(), UserEnd::kMapsLimit);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x1010}));
}

TEST_F(StackWalkerTest, EndsAtTheFrameLimit) {
  code_.Add(0x1000, 1);
  stack_.assign(50, 0x1010);
  EXPECT_EQ(Walk(10), UserEnd::kDepth);
  EXPECT_EQ(frames_.size(), 10u);
}

TEST_F(StackWalkerTest, AFrameThatDoesNotLieAboveEndsIt) {
  code_.Add(0x1000, 0);
  stack_ = {0x2010, 0x2010};
  EXPECT_EQ(Walk(), UserEnd::kBadFrame);
  code_.Add(0x1000, 2).base = kRbx;
  registers_[kRbx] = kStack - 64;
  EXPECT_EQ(Walk(), UserEnd::kBadFrame);
}

TEST_F(StackWalkerTest, SavedRegistersLeadOn) {
  UnwindRule& leaf = code_.Add(0x1000, 3);
  leaf.rbp = -2;  // pushed right below the return address
  UnwindRule& caller = code_.Add(0x2000, 2);
  caller.base = kRbp;
  caller.rbp = -2;
  stack_ = {0, kStack + 5 * 8, 0x2010, 77, 77, 0, 0x9010};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x1010, 0x2010, 0x9010}));
}

TEST_F(StackWalkerTest, ARegisterPoppedInAnEpilogueHasTheCallersValue) {
  UnwindRule& leaf = code_.Add(0x1000, 1);
  leaf.rbp = -2;  // where it was pushed: below the stack pointer by now
  UnwindRule& caller = code_.Add(0x2000, 2);
  caller.base = kRbp;
  registers_[kRbp] = kStack + 8;
  stack_ = {0x2010, 0, 0x9010};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
}

TEST_F(StackWalkerTest, ARegisterThatNobodySavedLeadsNowhere) {
  code_.Add(0x2000, 2).base = 12;
  registers_[12] = kStack + 16;
  stack_ = {0, 0x2010, 0, 0, 0};
  EXPECT_EQ(Walk(), UserEnd::kUnsupported);
}

TEST_F(StackWalkerTest, ARealignedFrameIsFoundThroughMemory) {
  UnwindRule& leaf = code_.Add(0x1000, 0);
  leaf.cfa = CfaRule::kDeref;
  leaf.base = kRbp | UnwindRule::kRbpByRbp;
  leaf.offset = -8 * 256 + 1;  // *(rbp - 8) + 8
  leaf.rbp = 0;
  registers_[kRbp] = kStack + 8;
  stack_ = {kStack + 32, 123, 0, 0, 0x9010};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x1010, 0x9010}));
}

TEST_F(StackWalkerTest, ALinkageStubBeforeAndAfterItsPush) {
  UnwindRule& stub = code_.Add(0x1000, 0);
  stub.cfa = CfaRule::kPlt;
  stub.offset = 11;
  registers_[kRip] = 0x101a;
  stack_ = {0x9010, 0xbad};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  registers_[kRip] = 0x101b;
  stack_ = {5, 0x9010};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
}

TEST_F(StackWalkerTest, ALinkageStubWithoutInformation) {
  code_.Add(0x4000, 0).cfa = CfaRule::kNone;
  registers_[kRip] = 0x4010;
  registers_[kRbp] = kStack + 8;  // of the caller: not to be followed from here
  stack_ = {3, 0x2010, 0, 0, 0x9010};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x4010, 0x2010, 0x9010}));
  stack_ = {3, 4, 5, 0x2010};
  registers_[kRbp] = 12345;
  EXPECT_EQ(Walk(), UserEnd::kNoTable);
}

TEST_F(StackWalkerTest, SaysWhenATableIsOnlyPostponed) {
  code_.Add(0x4000, 0).cfa = CfaRule::kNone;
  code_.Postpone(0x4000);
  stack_ = {0, 0x4010, 12345, 0x2010};
  registers_[kRbp] = 12345;
  EXPECT_EQ(Walk(), UserEnd::kPostponed);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x1010, 0x4010}));
}

TEST_F(StackWalkerTest, ALeafMayHoldItsReturnAddressInARegister) {
  UnwindRule& leaf = code_.Add(0x1000, 0);  // like vfork, which pops it
  leaf.cfa = CfaRule::kInRegister;
  leaf.offset = 5;
  registers_[5] = 0x2010;
  stack_ = {0, 0, 0x9010};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x1010, 0x2010, 0x9010}));
}

TEST_F(StackWalkerTest, PassesASignalHandlersFrame) {
  code_.Add(0x3000, 0).cfa = CfaRule::kSignal;
  stack_.assign(40, 0);
  stack_[1] = 0x3010;                     // the handler returns to the trampoline
  stack_[2 + 160 / 8] = kStack + 35 * 8;  // rsp of what was interrupted
  stack_[2 + 168 / 8] = 0x2000;           // at a function's very first byte
  stack_[35 + 2] = 0x9010;
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x1010, 0x3010, 0x2001, 0x9010}));
  EXPECT_EQ(code_.asked[2], 0x2000u);
}

TEST_F(StackWalkerTest, GeneratedCodeIsWalkedByFramePointers) {
  code_.AddGenerated(0x5000);
  registers_[kRip] = 0x5010;
  registers_[kRbp] = kStack + 16;
  stack_ = {0, 0, kStack + 40, 0x5020, 0, 0, 0x2010, 0, 0, 0x9010};
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  EXPECT_EQ(frames_, (std::vector<uint64_t>{0x5010, 0x5020, 0x2010, 0x9010}));
  registers_[kRbp] = 12345;
  EXPECT_EQ(Walk(), UserEnd::kGenerated);
  EXPECT_EQ(frames_.size(), 1u);
}

TEST_F(StackWalkerTest, AFramePointerOfZeroMarksTheOutermostFrame) {
  code_.AddGenerated(0x5000);
  stack_ = {0, 0x5010, 0};
  registers_[kRbp] = 0;
  EXPECT_EQ(Walk(), UserEnd::kComplete);
  registers_[kRip] = 0x5010;  // a leaf's register may be zero by chance
  stack_.assign(40, 0);
  EXPECT_EQ(Walk(), UserEnd::kGenerated);
}

TEST_F(StackWalkerTest, NothingCopiedIsNotRead) {
  EXPECT_EQ(Walk(), UserEnd::kWindow);
  registers_[kRsp] = ~uint64_t{0};
  EXPECT_NE(Walk(), UserEnd::kComplete);
}

}  // namespace
}  // namespace telltale::agent
