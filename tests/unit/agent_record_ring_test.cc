// A ring as the kernel lays it out, in a file: what its reader is handed, and when.

#include "agent/sensor/record_ring.h"

#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace telltale::agent {
namespace {

constexpr size_t kBytes = 1 << 16;

class RecordRingTest : public testing::Test {
 protected:
  RecordRingTest() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), fd_(memfd_create("r", 0)) {
    const size_t length = 2 * page_ + kBytes;
    if (ftruncate(fd_, static_cast<off_t>(length)) != 0) return;
    void* const at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (at != MAP_FAILED) at_ = static_cast<char*>(at);
  }
  ~RecordRingTest() override {
    if (at_ != nullptr) munmap(at_, 2 * page_ + kBytes);
    close(fd_);
  }
  void SetUp() override {
    ASSERT_NE(at_, nullptr);
    ASSERT_TRUE(ring_.Open(fd_, kBytes, "of a test").ok());
  }

  uint64_t& consumed() { return *reinterpret_cast<uint64_t*>(at_); }
  uint64_t& produced() { return *reinterpret_cast<uint64_t*>(at_ + page_); }
  // As the kernel writes, past the end at the begin.
  void Put(uint64_t where, const void* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      at_[2 * page_ + (where + i) % kBytes] = static_cast<const char*>(bytes)[i];
    }
  }
  // Returns where its header is.
  uint64_t Write(const std::string& text, uint32_t bits = 0) {
    const uint64_t where = produced();
    const uint32_t header[2] = {static_cast<uint32_t>(text.size()) | bits, 0};
    Put(where, header, sizeof(header));
    Put(where + sizeof(header), text.data(), text.size());
    produced() = where + (sizeof(header) + text.size() + 7) / 8 * 8;
    return where;
  }
  void BeginAt(uint64_t where) { consumed() = produced() = where; }
  std::vector<std::string> Taken() {
    std::vector<std::string> taken;
    const absl::Status status = ring_.Consume([&](const void* data, size_t size) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % sizeof(uint64_t), 0U);
      taken.emplace_back(static_cast<const char*>(data), size);
    });
    EXPECT_TRUE(status.ok()) << status;
    return taken;
  }

  const size_t page_;
  const int fd_;
  char* at_ = nullptr;
  RecordRing ring_;
};

using Texts = std::vector<std::string>;

TEST_F(RecordRingTest, HandsOutEachRecordOnceAndInOrder) {
  Write("one");
  Write("and two");
  EXPECT_EQ(Taken(), (Texts{"one", "and two"}));
  EXPECT_EQ(consumed(), produced());
  Write("three");
  EXPECT_EQ(Taken(), Texts{"three"});
  EXPECT_EQ(Taken(), Texts{});
}

TEST_F(RecordRingTest, ARecordThatRunsPastTheEndIsWhole) {
  std::string text(1'000, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  BeginAt(5 * kBytes - 496);
  Write(text);
  Write("behind it");
  EXPECT_EQ(Taken(), (Texts{text, "behind it"}));
  // The header is the last there is room for, and the record ends with the ring.
  BeginAt(7 * kBytes - 8);
  Write(text);
  EXPECT_EQ(Taken(), Texts{text});
  BeginAt(9 * kBytes - 8 - 1'000);
  Write(text);
  EXPECT_EQ(Taken(), Texts{text});
}

TEST_F(RecordRingTest, WhatIsNotFinishedHoldsUpWhatIsBehindIt) {
  Write("first");
  const uint64_t where = Write("begun", BPF_RINGBUF_BUSY_BIT);
  Write("last");
  EXPECT_EQ(Taken(), Texts{"first"});
  EXPECT_EQ(consumed(), where);
  const uint32_t header = 5;
  Put(where, &header, sizeof(header));
  EXPECT_EQ(Taken(), (Texts{"begun", "last"}));
}

TEST_F(RecordRingTest, WhatItsWriterDroppedIsLeftOut) {
  Write("kept");
  Write("dropped", BPF_RINGBUF_DISCARD_BIT);
  Write("kept too");
  EXPECT_EQ(Taken(), (Texts{"kept", "kept too"}));
  EXPECT_EQ(consumed(), produced());
}

TEST_F(RecordRingTest, WhatIsLongerThanTheRingIsNoRecord) {
  const uint32_t header[2] = {kBytes, 0};
  Put(0, header, sizeof(header));
  produced() = kBytes;
  const absl::Status status =
      ring_.Consume([](const void*, size_t) { FAIL() << "was handed out"; });
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_NE(status.message().find("a record of 65536 bytes in one of 65536"), std::string::npos)
      << status;
}

TEST(RecordRingOpenTest, AnErrorNamesTheRingAndItsBytes) {
  RecordRing ring;
  const absl::Status status = ring.Open(-1, 4'096, "of departures");
  EXPECT_NE(status.message().find("ring of departures, 4096 bytes"), std::string::npos) << status;
  EXPECT_FALSE(ring.open());
}

}  // namespace
}  // namespace telltale::agent
