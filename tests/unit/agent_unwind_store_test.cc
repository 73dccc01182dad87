#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/symbols/vdso.h"
#include "agent/unwind/table_cache.h"
#include "agent/unwind/table_store.h"
#include "tests/support/temp_dir.h"

namespace telltale::agent {
namespace {

namespace fs = std::filesystem;

UnwindTable SomeTable(uint64_t functions) {
  UnwindTableBuilder builder({});
  for (uint64_t f = 0; f < functions; ++f) {
    builder.BeginFunction(0x1000 + f * 64, 0x1000 + f * 64 + 40);
    UnwindRule rule;
    rule.cfa = CfaRule::kRegister;
    rule.base = kRsp;
    rule.offset = static_cast<int32_t>(8 * (1 + f % 30));
    builder.Add(0x1000 + f * 64, rule);
  }
  auto table = builder.Finish();
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

class TableStoreTest : public ::testing::Test {
 protected:
  fs::path FileOf(const std::string& hex) const { return fs::path(dir()) / (hex + ".unwind"); }
  std::string dir() const { return scratch_.path() + "/unwind"; }

  telltale::testing::TempDir scratch_;
};

TEST_F(TableStoreTest, ATableComesBackAsItWasKept) {
  const UnwindTable table = SomeTable(500);
  TableStore({.directory = dir()}).Save("id", table);
  TableStore again({.directory = dir()});
  const auto kept = again.Load("id");
  ASSERT_TRUE(kept);
  EXPECT_TRUE(std::ranges::equal(kept->parts().rules, table.parts().rules));
  EXPECT_TRUE(std::ranges::equal(kept->parts().rows, table.parts().rows));
  EXPECT_TRUE(std::ranges::equal(kept->parts().pages, table.parts().pages));
  for (uint64_t at = 0; at < 0x10000; ++at) ASSERT_EQ(kept->At(at), table.At(at)) << at;
  EXPECT_EQ(again.counts().loaded, 1u);
  EXPECT_FALSE(again.Load("other"));
  struct stat info {};
  ASSERT_EQ(stat(FileOf("6964").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

// KB of the table's file that this process has in its memory.
uint64_t ResidentKb(const fs::path& path) {
  std::ifstream smaps("/proc/self/smaps");
  uint64_t kb = 0;
  bool of_file = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ')) of_file = line.ends_with(path.native());
    if (of_file && line.starts_with("Rss:")) kb += std::stoul(line.substr(4));
  }
  return kb;
}

TEST_F(TableStoreTest, WhatWasLookedUpGoesOutOfMemoryAndComesBack) {
  const UnwindTable table = SomeTable(50'000);
  TableStore store({.directory = dir()});
  const auto kept = store.Save("id", table);
  ASSERT_TRUE(kept);
  store.Save("gone by then", SomeTable(10));
  const auto look = [&] {
    for (uint64_t f = 0; f < 50'000; ++f) {
      ASSERT_EQ(kept->At(0x1000 + f * 64), table.At(0x1000 + f * 64)) << f;
    }
  };
  look();
  ASSERT_GE(ResidentKb(FileOf("6964")), 200U);
  store.LetPagesGo();
  EXPECT_EQ(ResidentKb(FileOf("6964")), 0U);
  look();
}

TEST_F(TableStoreTest, ADamagedFileIsRemovedAndCounted) {
  TableStore store({.directory = dir()});
  store.Save("id", SomeTable(50));
  {
    std::fstream file(FileOf("6964"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('!');
  }
  EXPECT_FALSE(store.Load("id"));
  EXPECT_EQ(store.counts().damaged, 1u);
  EXPECT_FALSE(fs::exists(FileOf("6964")));
}

TEST_F(TableStoreTest, NoDamageGoesUnnoticed) {
  const std::string bytes = EncodeTable("id", SomeTable(20));
  ASSERT_TRUE(DecodeTable(bytes, nullptr, "id", {}).ok());
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_FALSE(DecodeTable(damaged, nullptr, "id", {}).ok()) << at;
    EXPECT_FALSE(DecodeTable(bytes.substr(0, at), nullptr, "id", {}).ok()) << at;
  }
  EXPECT_FALSE(DecodeTable(bytes, nullptr, "ie", {}).ok());
}

TEST_F(TableStoreTest, WhatWasUsedLongestAgoMakesRoom) {
  const UnwindTable table = SomeTable(100);
  const uint64_t each = EncodeTable("a", table).size();
  TableStore store({.directory = dir(), .max_bytes = 2 * each});
  store.Save("a", table);
  store.Save("b", table);
  const auto hour = std::chrono::hours(1);
  fs::last_write_time(FileOf("61"), fs::file_time_type::clock::now() - 2 * hour);
  fs::last_write_time(FileOf("62"), fs::file_time_type::clock::now() - hour);
  ASSERT_TRUE(store.Load("a"));  // now the younger one
  store.Save("c", table);
  EXPECT_TRUE(store.Load("a"));
  EXPECT_FALSE(store.Load("b"));
  EXPECT_TRUE(store.Load("c"));
  EXPECT_EQ(store.counts().evicted, 1u);
  store.Save("larger", SomeTable(10'000));
  EXPECT_FALSE(store.Load("larger"));
  EXPECT_TRUE(store.Load("c"));
}

TEST_F(TableStoreTest, WithoutADirectoryNothingIsKept) {
  TableStore store({});
  store.Save("id", SomeTable(1));
  EXPECT_FALSE(store.Load("id"));
  EXPECT_EQ(store.counts().failed, 0u);
  TableStore nowhere({.directory = "/nonexistent/unwind"});
  nowhere.Save("id", SomeTable(1));
  EXPECT_FALSE(nowhere.Load("id"));
  EXPECT_EQ(nowhere.counts().failed, 2u);
  EXPECT_THAT(nowhere.counts().last_failure,
              ::testing::AllOf(::testing::HasSubstr("write /nonexistent/unwind/6964.unwind"),
                               ::testing::HasSubstr("No such file")));
}

TEST_F(TableStoreTest, ATableIsBuiltOnceAndThenLoaded) {
  const auto open = [] { return ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC); };
  const auto never = [] { return -1; };
  TableCache first({.store = {.directory = dir()}});
  EXPECT_EQ(first.Find("self", never).table, nullptr);
  const auto built = first.Find("self", open).table;
  ASSERT_NE(built, nullptr);
  EXPECT_GT(built->size(), 100u);
  EXPECT_EQ(first.Find("self", never).table, built);
  EXPECT_EQ(first.counts().built, 1u);
  TableCache second({.store = {.directory = dir()}});
  const auto loaded = second.Find("self", never).table;
  ASSERT_NE(loaded, nullptr);
  EXPECT_TRUE(std::ranges::equal(loaded->parts().rows, built->parts().rows));
  EXPECT_EQ(second.counts().built, 0u);
}

// Programs of a compiler have tables of megabytes: read again for each stack they would cost more
// than the stacks.
TEST_F(TableStoreTest, TablesOfSeveralTimesTheMemoryStayAtHand) {
  const uint64_t each = EncodeTable("a", SomeTable(2'000)).size();
  TableStore store({.directory = dir()});
  const std::string names = "abcd";
  for (const char name : names) store.Save(std::string(1, name), SomeTable(2'000));
  TableCache cache({.memory_bytes = each, .store = {.directory = dir()}});
  const auto never = [] { return -1; };
  for (int round = 0; round < 3; ++round) {
    for (const char name : names) ASSERT_NE(cache.Find(std::string(1, name), never).table, nullptr);
  }
  EXPECT_EQ(cache.store_counts().loaded, names.size());
}

// Its files may go while tables are in use: others that share the directory make room.
TEST_F(TableStoreTest, ATableOutlivesItsFile) {
  TableStore store({.directory = dir()});
  const UnwindTable table = SomeTable(5'000);
  const auto kept = store.Save("id", table);
  ASSERT_TRUE(kept);
  fs::remove(FileOf("6964"));
  for (uint64_t at = 0x1000; at < 0x50000; at += 24) ASSERT_EQ(kept->At(at), table.At(at)) << at;
}

// Without a directory and with more programs than the memory holds each stack would build tables.
TEST_F(TableStoreTest, WhatCannotBeKeptIsBuiltAgainInAShareOfTheTime) {
  const auto open = [] { return ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC); };
  uint64_t now = 1'000'000'000;
  TableCache cache({.memory_bytes = 1, .again = {.burst_ns = 1, .share = 0.01}, .mono_ns = [&now] {
                      return now;
                    }});
  EXPECT_NE(cache.Find("a", open).table, nullptr);
  EXPECT_NE(cache.Find("b", open).table, nullptr) << "there is time of its own for each first one";
  EXPECT_NE(cache.Find("a", open).table, nullptr);  // uses up what there is
  for (int stack = 0; stack < 1'000; ++stack) {
    const TableCache::Found found = cache.Find(stack % 2 == 0 ? "b" : "a", open);
    EXPECT_EQ(found.table != nullptr, stack % 2 != 0) << stack;
    EXPECT_EQ(found.postponed, stack % 2 == 0) << stack;
    if (cache.counts().built > 3) break;
  }
  EXPECT_EQ(cache.counts().built, 3u);
  now += uint64_t{1'000} * 1'000'000'000;
  EXPECT_NE(cache.Find("b", open).table, nullptr) << "later it may";
  EXPECT_EQ(cache.counts().built, 4u);
  EXPECT_FALSE(cache.Find("c", [] { return -1; }).postponed) << "it only cannot be opened";
}

// Whoever runs one new program after the other would have all of the thread's time.
TEST_F(TableStoreTest, WhatIsMetForTheFirstTimeIsBuiltInAShareOfTheTime) {
  const auto open = [] { return ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC); };
  uint64_t now = 1'000'000'000;
  TableCache cache({.first = {.burst_ns = 1, .share = 0.01}, .mono_ns = [&now] { return now; }});
  EXPECT_NE(cache.Find("a", open).table, nullptr);  // uses up what there is
  for (int program = 0; program < 100; ++program) {
    const TableCache::Found found = cache.Find("new " + std::to_string(program), open);
    ASSERT_EQ(found.table, nullptr) << program;
    EXPECT_TRUE(found.postponed);
  }
  EXPECT_NE(cache.Find("a", open).table, nullptr) << "it is there";
  now += uint64_t{1'000} * 1'000'000'000;
  EXPECT_NE(cache.Find("new 0", open).table, nullptr) << "later it may";
  EXPECT_EQ(cache.counts().built, 2u);
}

TEST_F(TableStoreTest, AFileWithoutUnwindInformationIsAskedOnce) {
  TableCache cache({});
  const auto text = [] { return ::open("/proc/self/status", O_RDONLY | O_CLOEXEC); };
  const auto table = cache.Find("text", text).table;
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->size(), 0u);
  EXPECT_EQ(cache.Find("text", text).table, table);
  EXPECT_EQ(cache.counts().built, 1u);
  EXPECT_EQ(cache.counts().refused, 1u);
}

TEST_F(TableStoreTest, TheVdsoHasATable) {
  TableCache cache({});
  const auto table = cache.Find("vdso", OpenVdso).table;
  ASSERT_NE(table, nullptr);
  EXPECT_GT(table->size(), 3u);
}

}  // namespace
}  // namespace telltale::agent
