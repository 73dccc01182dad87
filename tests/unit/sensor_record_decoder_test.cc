#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "agent/sensor/record_decoder.h"
#include "agent/vitals/vitals.h"

namespace telltale::agent {
namespace {

class CopyRecordTest : public ::testing::Test {
 protected:
  CopyRecordTest() : bytes_(sizeof(telltale_copy) + 64) {
    telltale_copy record = {};
    record.kind = TELLTALE_RECORD_COPY;
    record.bytes = 40;
    record.address = 0x7000;
    for (size_t i = 0; i < TELLTALE_REGISTERS; ++i) record.registers[i] = 100 + i;
    memcpy(bytes_.data(), &record, sizeof(record));
    for (size_t i = 0; i < 64; ++i) bytes_[sizeof(record) + i] = static_cast<char>(i);
  }
  telltale_copy& record() { return *reinterpret_cast<telltale_copy*>(bytes_.data()); }

  std::vector<char> bytes_;
};

TEST_F(CopyRecordTest, RegistersStandByTheirDwarfNumbers) {
  const UserCopy copy = DecodeCopy(record(), bytes_.size());
  // rax rdx rcx rbx rsi rdi rbp rsp, r8 to r15, rip; pt_regs begins with r15.
  const std::array<uint64_t, 17> expected = {110, 112, 111, 105, 113, 114, 104, 119, 109,
                                             108, 107, 106, 103, 102, 101, 100, 116};
  EXPECT_EQ(copy.registers, expected);
}

TEST_F(CopyRecordTest, OnlyWhatWasCopiedCanBeRead) {
  const UserCopy copy = DecodeCopy(record(), bytes_.size());
  uint64_t value = 0;
  EXPECT_FALSE(copy.Read(0x7000 - 1, &value));
  ASSERT_TRUE(copy.Read(0x7000, &value));
  EXPECT_EQ(value, 0x0706050403020100u);
  EXPECT_TRUE(copy.Read(0x7000 + 32, &value));
  EXPECT_FALSE(copy.Read(0x7000 + 33, &value));
  EXPECT_FALSE(copy.Read(~uint64_t{0}, &value));
}

TEST_F(CopyRecordTest, ALengthBeyondTheRecordIsCutOff) {
  record().bytes = 1'000'000;
  EXPECT_EQ(DecodeCopy(record(), bytes_.size()).stack.size(), 64u);
  EXPECT_EQ(RecordKind(bytes_.data(), bytes_.size()), uint32_t{TELLTALE_RECORD_COPY});
  EXPECT_EQ(RecordKind(bytes_.data(), sizeof(telltale_copy) - 1), 0u);
}

TEST(EventRecordTest, ToldThatAnotherProgramRunsTheScript) {
  telltale_event record = {};
  record.kind = TELLTALE_RECORD_EXEC;
  memcpy(record.path, "/bin/true", 10);
  EXPECT_FALSE(DecodeEvent(record).script);
  record.code = 1;
  EXPECT_TRUE(DecodeEvent(record).script);
  EXPECT_EQ(DecodeEvent(record).count, 1U);
  EXPECT_EQ(DecodeEvent(record).path, "/bin/true");
}

TEST(EventRecordTest, EndsToldTogetherAreCountedEach) {
  telltale_event record = {};
  record.kind = TELLTALE_RECORD_EXIT;
  EXPECT_EQ(DecodeEvent(record).count, 1U);
  record.unfollowed = 240;
  EXPECT_EQ(DecodeEvent(record).count, 240U);
}

TEST(DepartureRecordTest, SaysWhetherItHadMoreThanTheKernelNoted) {
  telltale_departure record = {};
  record.time_ns = 7;
  record.regions = TELLTALE_DEPARTED_REGIONS;
  EXPECT_FALSE(DecodeDeparture(record).cut);
  EXPECT_EQ(DecodeDeparture(record).mono_ns, 7u);
  record.regions = TELLTALE_DEPARTED_REGIONS + 54;
  EXPECT_TRUE(DecodeDeparture(record).cut) << "more executable regions than have room";
  EXPECT_EQ(DecodeDeparture(record).regions.size(), size_t{TELLTALE_DEPARTED_REGIONS});
  record.regions = 3;
  record.cut = 1;
  EXPECT_TRUE(DecodeDeparture(record).cut) << "more areas than were looked at";
}

TEST(SampleRecordTest, HasTheIdOfTheVitalWithItsNumber) {
  telltale_sample record = {};
  for (size_t i = 0; i < TELLTALE_VITALS; ++i) {
    record.vital = static_cast<uint8_t>(i + 1);
    EXPECT_EQ(DecodeSample(record).vital, Vitals()[i].id);
  }
  for (const int none : {0, TELLTALE_VITALS + 1, 255}) {
    record.vital = static_cast<uint8_t>(none);
    EXPECT_EQ(DecodeSample(record).vital, 0) << none;
  }
}

TEST(SampleRecordTest, KernelFramesThatFillTheirRoomMayNotBeAll) {
  telltale_sample record = {};
  record.vital = 1;
  record.flags = TELLTALE_SAMPLE_KSTACK;
  record.kernel_bytes = (TELLTALE_KERNEL_FRAMES - 1) * sizeof(uint64_t);
  EXPECT_FALSE(DecodeSample(record).stack.kernel_cut);
  record.kernel_bytes += sizeof(uint64_t);
  EXPECT_TRUE(DecodeSample(record).stack.kernel_cut);
}

}  // namespace
}  // namespace telltale::agent
