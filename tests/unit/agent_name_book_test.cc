// When the names of code are sent, again, and forgotten.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/symbols/name_book.h"
#include "proto/codec.h"
#include "tests/unit/replayed_node.h"

namespace telltale::agent {
namespace {

TEST(NameBookTest, SendsEveryNameOnceAndAgainToAnotherStore) {
  constexpr uint64_t kNow = 1'700'000'000 * kSecond;
  ReplayedNode node;
  const CutResult cut = node.Epoch(20);
  const std::vector<v1::Names> first = node.names.Unsent(cut.body.tables(), kNow);
  ASSERT_GE(first.size(), 3u);
  std::set<std::string> functions;
  for (const v1::Names& names : first) {
    ASSERT_TRUE(proto::CheckNames(names).ok()) << proto::CheckNames(names);
    functions.insert(names.name().begin(), names.name().end());
  }
  EXPECT_THAT(functions, testing::Contains("__schedule"));
  EXPECT_TRUE(node.names.Unsent(cut.body.tables(), kNow).empty());
  node.names.ForgetSent();
  EXPECT_EQ(node.names.Unsent(cut.body.tables(), kNow).size(), first.size());
}

TEST(NameBookTest, SendsANameAgainAWeekLaterWhicheverWayTheClockWent) {
  constexpr uint64_t kNow = 1'700'000'000 * kSecond;
  ReplayedNode node;
  const CutResult cut = node.Epoch(20);
  const auto unsent = [&](uint64_t now) {
    return node.names.Unsent(cut.body.tables(), now).size();
  };
  const size_t all = unsent(kNow);
  ASSERT_GE(all, 3u);
  EXPECT_EQ(unsent(kNow + proto::kNamesTravelAgainNs - 1), 0u);
  EXPECT_EQ(unsent(kNow + proto::kNamesTravelAgainNs), all);
  EXPECT_EQ(unsent(kNow + proto::kNamesTravelAgainNs + 1), 0u);
  EXPECT_EQ(unsent(kNow), all) << "the clock was set back";
}

TEST(NameBookTest, ForgetsTheOldestHalfWhenFull) {
  NameBook book(100);
  const auto file = std::make_shared<const CodeFile>(
      CodeFile{v1::MAPPING_KIND_FILE, std::string(20, 'x'), "/bin/x"});
  for (uint64_t i = 0; i < 1'000; ++i) book.Learn({file, i}, {v1::NAME_OUTCOME_NAMED, "f"});
  EXPECT_LE(book.size(), 100u);
  EXPECT_EQ(book.Known({file, 999}), v1::NAME_OUTCOME_NAMED);
  EXPECT_EQ(book.Known({file, 0}), v1::NAME_OUTCOME_UNSPECIFIED);
}

TEST(NameBookTest, TellsFilesByTheirIdAndKindNotByTheirPath) {
  NameBook book;
  const std::string id(20, 'x');
  const auto file = [](v1::MappingKind kind, const std::string& build_id, const char* path) {
    return std::make_shared<const CodeFile>(CodeFile{kind, build_id, path});
  };
  book.Learn({file(v1::MAPPING_KIND_FILE, id, "/bin/x"), 7}, {v1::NAME_OUTCOME_NAMED, "f"});
  const auto known = [&](v1::MappingKind kind, const std::string& build_id, uint64_t offset) {
    return book.Known({file(kind, build_id, "/elsewhere/x"), offset}) == v1::NAME_OUTCOME_NAMED;
  };
  EXPECT_TRUE(known(v1::MAPPING_KIND_FILE, id, 7));
  EXPECT_FALSE(known(v1::MAPPING_KIND_KERNEL, id, 7));
  EXPECT_FALSE(known(v1::MAPPING_KIND_VDSO, id, 7));
  EXPECT_FALSE(known(v1::MAPPING_KIND_FILE, id + "y", 7));
  EXPECT_FALSE(known(v1::MAPPING_KIND_FILE, std::string(20, 'y'), 7));
  EXPECT_FALSE(known(v1::MAPPING_KIND_FILE, id, 8));
}

TEST(NameBookTest, RemembersWhyThereIsNoNameUnlessThatMayChange) {
  NameBook book;
  const auto file = std::make_shared<const CodeFile>(
      CodeFile{v1::MAPPING_KIND_FILE, std::string(20, 'x'), "/bin/x"});
  book.Learn({file, 1}, {v1::NAME_OUTCOME_NO_SYMBOL, ""});
  book.Learn({file, 2}, {v1::NAME_OUTCOME_NO_FILE, ""});
  EXPECT_EQ(book.Known({file, 1}), v1::NAME_OUTCOME_NO_SYMBOL);
  EXPECT_EQ(book.Known({file, 2}), v1::NAME_OUTCOME_UNSPECIFIED);
}

// A file with functions at these places, as a summary's tables name them.
v1::Tables TablesOf(const CodeFile& file, const std::vector<uint64_t>& offsets) {
  v1::Tables tables;
  tables.add_strings(file.path);
  v1::Mapping& mapping = *tables.add_mappings();
  mapping.set_kind(file.kind);
  mapping.set_build_id(file.build_id);
  mapping.set_path(1);
  for (const uint64_t offset : offsets) {
    tables.add_frame_mapping(1);
    tables.add_frame_offset(offset);
  }
  return tables;
}

// A file whose `count` names are all known, its functions told from the last to the first.
struct NamedFile {
  template <typename NameOf>
  NamedFile(uint64_t count, NameOf name_of) {
    const auto file = std::make_shared<const CodeFile>(
        CodeFile{v1::MAPPING_KIND_FILE, std::string(20, 'x'), "/bin/x"});
    std::vector<uint64_t> offsets;
    for (uint64_t i = count; i > 0; --i) {
      book.Learn({file, i}, {v1::NAME_OUTCOME_NAMED, name_of(i)});
      offsets.push_back(i);
    }
    tables = TablesOf(*file, offsets);
  }

  // What is sent now: each message acceptable to a collector, each name by its offset once.
  void Send() {
    messages = book.Unsent(tables, 1'700'000'000 * kSecond);
    for (const v1::Names& names : messages) {
      EXPECT_TRUE(proto::CheckNames(names).ok()) << proto::CheckNames(names);
      EXPECT_LT(names.ByteSizeLong(), size_t{1} << 20);
      EXPECT_EQ(names.path(), "/bin/x");
      for (int i = 0; i < names.name_size(); ++i) {
        EXPECT_TRUE(sent.emplace(names.offset(i), names.name(i)).second) << names.offset(i);
      }
    }
  }

  NameBook book;
  v1::Tables tables;
  std::vector<v1::Names> messages;
  std::map<uint64_t, std::string> sent;
};

std::string LongName(uint64_t i) {
  const std::string number = std::to_string(i);
  return number + std::string(512 - number.size(), 'f');
}

TEST(NameBookTest, LongNamesOfOneFileTravelInMessagesTheCollectorTakes) {
  NamedFile file(5'000, LongName);
  file.Send();
  EXPECT_GT(file.messages.size(), 1u);
  ASSERT_EQ(file.sent.size(), 5'000u);
  for (const auto& [offset, name] : file.sent) EXPECT_EQ(name, LongName(offset));
  file.Send();
  EXPECT_TRUE(file.messages.empty()) << "they count as sent";
}

TEST(NameBookTest, ManyShortNamesOfOneFileTravelInMessagesTheCollectorTakes) {
  NamedFile file(20'000, [](uint64_t) { return std::string("f"); });
  file.Send();
  EXPECT_EQ(file.sent.size(), 20'000u);
}

TEST(NameBookTest, NamesBeyondWhatOneRecordHoldsComeWithTheNext) {
  NamedFile file(12'000, LongName);
  file.Send();
  size_t bytes = 0;
  for (const v1::Names& names : file.messages) bytes += names.ByteSizeLong();
  EXPECT_LT(bytes, size_t{6} << 20);
  EXPECT_LT(file.sent.size(), 12'000u);
  file.Send();
  EXPECT_EQ(file.sent.size(), 12'000u);
}

}  // namespace
}  // namespace telltale::agent
