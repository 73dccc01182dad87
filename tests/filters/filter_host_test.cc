// Filters of filters.d, each in a process of its own: what they may, what becomes of one that does
// what it must not, and that the others do not notice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "collector/filter/host/user_filters.h"
#include "collector/filter/replay.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"
#include "tests/support/fake_epochs.h"
#include "tests/support/temp_dir.h"

namespace telltale::filter {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr uint64_t kNodes = 3, kEpochs = 40;
constexpr auto kPatience = std::chrono::seconds(200);  // of a test that fails
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // reserves terabytes, and allocates out of them
#else
constexpr bool kSanitized = false;
#endif

class FilterHostTest : public ::testing::Test {
 protected:
  FilterHostTest() : store_(&history_, &catalog_), log_(*AnomalyLog::Open({.store = &store_})) {
    std::filesystem::create_directory(directory_);
    for (uint64_t number = 0; number < kEpochs; ++number) {
      for (uint32_t node = 1; node <= kNodes; ++node) source_.Add(node, number, 1);
    }
    options_.directory = directory_;
    options_.host.program = TELLTALE_FILTER_HOST;
    // The time that has passed says little on a machine that others use.
    options_.host.wait = std::chrono::seconds(60);
    options_.host.cpu = std::chrono::milliseconds(200);
    options_.runner.source = &source_;
    options_.runner.store = &store_;
    options_.runner.log = log_.get();
    options_.runner.now_ns = [] { return kBegin + kEpochs * kEpoch; };
    options_.runner.poll = std::chrono::milliseconds(10);
    options_.look = std::chrono::milliseconds(10);
    options_.changed = [this](const std::string& filter, const std::string& what) {
      const std::lock_guard lock(mutex_);
      absl::StrAppend(&said_, filter, ": ", what, "\n");
    };
  }
  ~FilterHostTest() override { filters_.reset(); }

  std::string Path(const std::string& name) const {
    return absl::StrCat(directory_, "/", name, ".so");
  }
  // As an administrator should: whole, then under its name.
  void Install(const std::string& trial, const std::string& name) const {
    const std::string file = absl::StrCat(TELLTALE_TRIAL_FILTERS, "/trial-", trial, ".so");
    std::filesystem::copy_file(file, Path(name) + ".new",
                               std::filesystem::copy_options::overwrite_existing);
    chmod((Path(name) + ".new").c_str(), 0644);
    std::filesystem::rename(Path(name) + ".new", Path(name));
  }
  void Install(const std::string& trial) const { Install(trial, trial); }

  void Start() {
    filters_ = std::make_unique<UserFilters>(options_);
    filters_->Start();
  }

  v1::FilterInfo Info(const std::string& name) const {
    for (v1::FilterInfo& info : filters_->List()) {
      if (info.name() == name) return info;
    }
    return {};
  }
  // Once it is as asked for.
  v1::FilterInfo Await(const std::string& name,
                       const std::function<bool(const v1::FilterInfo&)>& is_so) const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    v1::FilterInfo info;
    do {
      info = Info(name);
      if (is_so(info)) return info;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } while (std::chrono::steady_clock::now() < end);
    ADD_FAILURE() << name << " never was as it was to be: " << info.ShortDebugString();
    return info;
  }
  v1::FilterInfo AwaitDisabled(const std::string& name) const {
    return Await(name,
                 [](const v1::FilterInfo& info) { return info.status().state() == "disabled"; });
  }
  v1::FilterInfo AwaitAllSeen(const std::string& name) const {
    return Await(name,
                 [](const v1::FilterInfo& info) { return info.epochs() == kNodes * kEpochs; });
  }
  std::string Said() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  std::vector<v1::Anomaly> Found() const { return *log_->After("0", 10'000); }

  const testing::TempDir scratch_;
  const std::string directory_ = scratch_.path() + "/filters.d";
  storage::MemoryHistory history_;
  storage::MemoryCatalog catalog_;
  storage::DerivedStore store_;
  FakeSource source_;
  std::unique_ptr<AnomalyLog> log_;
  UserFiltersOptions options_;
  mutable std::mutex mutex_;
  std::string said_;
  std::unique_ptr<UserFilters> filters_;
};

TEST_F(FilterHostTest, AGoodFilterSeesAllEpochsAndWhatItSaysIsKeptClean) {
  Install("good");
  Start();
  const v1::FilterInfo info = AwaitAllSeen("good");
  EXPECT_EQ(info.status().state(), "running");
  EXPECT_EQ(info.user().file(), Path("good"));
  EXPECT_EQ(info.about(), "is on trial");
  EXPECT_GT(info.user().cpu_s(), 0);
  EXPECT_EQ(info.dropped(), 0u);
  const auto found = Found();
  ASSERT_EQ(found.size(), kNodes * kEpochs / 10);
  EXPECT_EQ(found[0].text(), "a trial \\x1b[2J");
  EXPECT_EQ(found[0].filter(), "good");
  EXPECT_EQ(found[0].subject(), "x86_64") << "the machine that system calls are numbered for";
  EXPECT_EQ(found[0].learned_epochs(), 10);
  ASSERT_EQ(found[0].facts_size(), 2);
  EXPECT_EQ(found[0].facts(0).name(), "epochs");
  EXPECT_EQ(found[0].facts(0).value(), 2.5);
  EXPECT_EQ(found[0].facts(0).unit(), "1");
  EXPECT_EQ(found[0].facts(1).text(), "a trial \\x1b[2J");
  EXPECT_THAT(Said(), HasSubstr("good: running, version 1, from " + Path("good")));
}

TEST_F(FilterHostTest, BadOnesAreDisabledEachWithItsReasonAndTheGoodOneGoesOn) {
  for (const char* trial : {"good", "crash", "hang", "flood", "stray"}) Install(trial);
  if (!kSanitized) {
    Install("eater");
    options_.host.memory_bytes = 16 << 20;
  }
  Start();
  EXPECT_THAT(AwaitDisabled("crash").status().reason(),
              AllOf(HasSubstr("crashed: signal 6"), HasSubstr("trial: about to fall"),
                    HasSubstr("node n")));
  EXPECT_THAT(AwaitDisabled("hang").status().reason(),
              AnyOf(HasSubstr("s of processor time for one epoch, limit 0.2 s"),
                    HasSubstr("no reply for 60.0 s")));
  EXPECT_THAT(AwaitDisabled("flood").status().reason(),
              HasSubstr("flooded: more than 256 marks in one epoch"));
  if (!kSanitized) {
    EXPECT_THAT(AwaitDisabled("eater").status().reason(),
                AllOf(HasSubstr("out of memory, crashed: signal 11"), HasSubstr("of 16 MiB used")));
  }
  // Times out of their epoch cost it those outputs, and it goes on.
  const v1::FilterInfo stray = AwaitAllSeen("stray");
  EXPECT_EQ(stray.status().state(), "running");
  EXPECT_EQ(stray.dropped(), 3 * kNodes * kEpochs);

  EXPECT_EQ(AwaitAllSeen("good").status().state(), "running");
  const auto found = Found();
  const auto of = [&](const std::string& filter) {
    return static_cast<uint64_t>(std::ranges::count(found, filter, &v1::Anomaly::filter));
  };
  EXPECT_EQ(of("good"), kNodes * kEpochs / 10);
  EXPECT_EQ(of("stray"), kNodes * kEpochs);
  EXPECT_EQ(found.size(), of("good") + of("stray"));
  EXPECT_THAT(Said(), HasSubstr("crash: disabled: crashed"));
  EXPECT_THAT(Said(), HasSubstr("tried again in 60 s"));
  EXPECT_GT(AwaitDisabled("hang").user().retry_s(), 0);
}

TEST_F(FilterHostTest, OneThatOnlyWaitsIsDisabledToo) {
  Install("sleeper");
  options_.host.wait = std::chrono::seconds(1);
  Start();
  EXPECT_THAT(AwaitDisabled("sleeper").status().reason(), HasSubstr("hung: no reply for 1.0 s"));
}

TEST_F(FilterHostTest, ItReachesNeitherNetworkNorProgramsNorFiles) {
  Install("escape");
  Start();
  const v1::FilterInfo info = AwaitAllSeen("escape");
  EXPECT_EQ(info.status().reason(), "");
  const auto found = Found();
  EXPECT_EQ(found.size(), kNodes * kEpochs);
}

TEST_F(FilterHostTest, WhatCannotBeUsedSaysWhyAndWaitsForAnotherFile) {
  Install("later");
  Install("good", "shared");
  chmod(Path("shared").c_str(), 0666);
  std::ofstream(Path("text")) << "not a library";
  Start();
  const v1::FilterInfo later = AwaitDisabled("later");
  EXPECT_EQ(later.status().reason(), "filter: interface version 2, this collector knows 1");
  EXPECT_EQ(later.user().retry_s(), 0);
  EXPECT_THAT(Said(), HasSubstr("tried again when the file changes"));
  EXPECT_THAT(AwaitDisabled("text").status().reason(), HasSubstr("cannot be loaded: the file"));
  EXPECT_THAT(AwaitDisabled("shared").status().reason(),
              HasSubstr("can be written by others (mode 0666)"));

  Install("good", "later");
  EXPECT_EQ(AwaitAllSeen("good").user().file(), Path("later"));
  EXPECT_EQ(Info("good").user().failures(), 0u);
  EXPECT_THAT(Said(), HasSubstr("later: its file changed; loaded again"));
}

TEST_F(FilterHostTest, ARunningOneIsReplacedByAnotherFileInItsPlace) {
  Install("stray", "mine");
  Start();
  AwaitAllSeen("stray");
  Install("good", "mine");
  EXPECT_EQ(AwaitAllSeen("good").user().file(), Path("mine"));
  EXPECT_THAT(Said(), HasSubstr("stray: its file changed; loaded again"));
  EXPECT_EQ(filters_->List().size(), 1u);
}

TEST_F(FilterHostTest, NamesAreTakenOnce) {
  Install("good", "a");
  options_.taken = {"stray"};
  options_.retry_first = std::chrono::milliseconds(100);
  Install("stray");
  Start();
  EXPECT_THAT(AwaitDisabled("stray").status().reason(), HasSubstr("is a built-in filter's"));
  AwaitAllSeen("good");
  Install("good", "b");
  EXPECT_THAT(AwaitDisabled("b").status().reason(),
              HasSubstr("its name, good, is that of " + Path("a") + " already"));
  // Once the other is gone it is its turn, and it goes on where that one was.
  std::filesystem::remove(Path("a"));
  const v1::FilterInfo info = Await("good", [&](const v1::FilterInfo& now) {
    return now.user().file() == Path("b") && now.epochs() == kNodes * kEpochs;
  });
  EXPECT_EQ(info.status().state(), "running");
  EXPECT_EQ(Found().size(), kNodes * kEpochs / 10);
  EXPECT_THAT(Said(), HasSubstr("good: removed: its file is gone"));
}

TEST_F(FilterHostTest, ADisabledOneIsTriedAgainAndARemovedOneIsGone) {
  Install("crash");
  options_.retry_first = std::chrono::milliseconds(50);
  Start();
  Await("crash", [](const v1::FilterInfo& info) { return info.user().failures() >= 3; });
  std::filesystem::remove(Path("crash"));
  // It is off the list a moment before that is told.
  Await("crash", [this](const v1::FilterInfo&) {
    return filters_->List().empty() && Said().find("crash: removed") != std::string::npos;
  });
}

TEST_F(FilterHostTest, WhatAFilterHoldsOpenGoesOnUntilTheFilterIsGone) {
  Install("holder");
  Start();
  const auto goes_on = [this](const std::string& filter, const std::string& node) {
    return filters_->IsOpen(filter, {node},
                            [](const OpenAnomaly& open) { return open.subject == "a program"; });
  };
  Await("holder", [&](const v1::FilterInfo&) { return goes_on("holder", "n1"); });
  EXPECT_TRUE(goes_on("holder", "n3"));
  EXPECT_FALSE(goes_on("holder", "n4"));
  EXPECT_FALSE(goes_on("good", "n1"));
  std::filesystem::remove(Path("holder"));
  Await("holder", [&](const v1::FilterInfo&) { return !goes_on("holder", "n1"); });
}

TEST_F(FilterHostTest, ARunOverThePastSaysTheSameInAnotherProcess) {
  Install("good");
  Start();
  AwaitAllSeen("good");
  const auto code = filters_->Open("good");
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_FALSE(filters_->Open("other").ok());
  const auto replayed = Replay({.code = code->get(),
                                .filter_options = {},
                                .source = &source_,
                                .store = &store_,
                                .node = source_.Nodes()[0],
                                .from_ns = kBegin,
                                .to_ns = kBegin + kEpochs * kEpoch},
                               [] { return false; });
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  ASSERT_EQ(replayed->anomalies.size(), kEpochs / 10);
  for (size_t i = 0; i < replayed->anomalies.size(); ++i) {
    EXPECT_EQ(replayed->anomalies[i].SerializeAsString(), replayed->live[i].SerializeAsString());
  }
}

}  // namespace
}  // namespace telltale::filter
