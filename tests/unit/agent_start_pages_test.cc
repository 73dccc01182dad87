// A process gives back what only its start read, and nothing of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/host/proc_file.h"
#include "agent/host/start_pages.h"

namespace telltale::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kPages = 64;

std::string RegionText(const std::string& head, int anonymous_kb, int swap_kb) {
  return head + "\nSize:   8 kB\nRss:    8 kB\nAnonymous:   " + std::to_string(anonymous_kb) +
         " kB\nSwap:   " + std::to_string(swap_kb) + " kB\nVmFlags: rd mr mw me\n";
}

TEST(StartPagesTest, OnlyWhatIsAsInTheFileMayGo) {
  const std::string file = " 00002000 08:01 131 /usr/lib/libgrpc.so.29";
  EXPECT_THAT(
      CleanRegions(
          RegionText("1000-3000 r--p" + file, 0, 0) + RegionText("3000-5000 r-xp" + file, 0, 0) +
          // relocated, in memory and swapped out; data; shared; no file
          RegionText("5000-7000 r--p" + file, 4, 0) + RegionText("7000-9000 r--p" + file, 0, 4) +
          RegionText("9000-b000 rw-p" + file, 0, 0) + RegionText("b000-d000 r--s" + file, 0, 0) +
          RegionText("d000-f000 r--p 00000000 00:00 0", 0, 0) +
          RegionText("f000-11000 r-xp" + file, 0, 0)),
      ElementsAre(CleanRegion{0x1000, 0x3000}, CleanRegion{0x3000, 0x5000},
                  CleanRegion{0xf000, 0x11000}));
  EXPECT_THAT(CleanRegions("1000-3000 r--p" + file + "\nRss: 8 kB\nAnonymous: 0 kB\n"), IsEmpty());
  EXPECT_THAT(CleanRegions("Anonymous: 0 kB\nSwap: 0 kB\n"), IsEmpty());
}

// A file of pages that each hold their number, mapped as a library's data is.
class MappedFile {
 public:
  MappedFile() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    std::string name = testing::TempDir() + "telltaleXXXXXX";
    const int fd = mkstemp(name.data());
    unlink(name.c_str());
    std::string bytes;
    for (size_t i = 0; i < kPages; ++i) bytes += std::string(page_, static_cast<char>(i + 1));
    if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) abort();
    at_ =
        static_cast<char*>(mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
    close(fd);
  }
  ~MappedFile() { munmap(at_, kPages * page_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char& Page(size_t number) { return at_[number * page_]; }
  void Seal() { mprotect(at_, kPages * page_, PROT_READ); }
  size_t Resident() const {
    const auto smaps = ReadBounded("/proc/self/smaps", 8 << 20);
    const size_t begin = smaps->find(Hex(at_) + "-");
    std::string_view rest = std::string_view(*smaps).substr(begin);
    rest.remove_prefix(rest.find("Rss:") + 4);
    return *TakeNumber(rest) * 1024 / page_;
  }

 private:
  static std::string Hex(const void* at) {
    char text[32];
    snprintf(text, sizeof text, "%lx", reinterpret_cast<unsigned long>(at));
    return text;
  }
  const size_t page_;
  char* at_;
};

TEST(StartPagesTest, ReadPagesGoAndComeBack) {
  MappedFile file;
  file.Seal();
  int sum = 0;
  for (size_t i = 0; i < kPages; ++i) sum += file.Page(i);
  ASSERT_EQ(file.Resident(), kPages);
  LetStartPagesGo();
  EXPECT_EQ(file.Resident(), 0u);
  for (size_t i = 0; i < kPages; ++i) sum -= file.Page(i);
  EXPECT_EQ(sum, 0);
}

TEST(StartPagesTest, WhatWasChangedBeforeItBecameReadOnlyStays) {
  MappedFile file;
  file.Page(7) = 'r';
  file.Seal();
  LetStartPagesGo();
  EXPECT_EQ(file.Page(7), 'r');
}

}  // namespace
}  // namespace telltale::agent
