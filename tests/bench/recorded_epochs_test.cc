#include "tests/bench/recorded_epochs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "proto/codec.h"
#include "storage/store.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::bench {
namespace {

using storage::kDayNs;
using storage::kSecondNs;
using telltale::testing::MadeSummary;
using telltale::testing::SyntheticNode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kStart = 20'500 * kDayNs;

// A store with three whole epochs of `web` and one of `build`, and one that was cut short of each.
class RecordedEpochs : public ::testing::Test {
 protected:
  RecordedEpochs() {
    storage::StoreOptions options;
    options.path = dir_.path() + "/store";
    options.now_ns = [] { return kStart + 600 * kSecondNs; };
    options.min_free_bytes = 0;
    store_ = *storage::Store::Open(options);
    Put(SyntheticNode("web", 1), 3);
    Put(SyntheticNode("build", 2), 1);
  }

  void Put(const SyntheticNode& node, uint64_t whole) {
    const uint32_t number = *store_->nodes().NumberOf(node.name());
    for (uint64_t sequence = 1; sequence <= whole + 1; ++sequence) {
      const MadeSummary made = node.MakeWith(
          sequence, kStart + 60 * sequence * kSecondNs, 60, [&](v1::SummaryBody& body) {
            if (sequence == 1) body.mutable_epoch()->set_kind(v1::EPOCH_KIND_SHORT);
          });
      const storage::Incoming item{number, &made.summary, &made.body, true};
      ASSERT_TRUE(store_->summaries().PutBatch({&item, 1}).ok());
    }
    ASSERT_TRUE(store_->summaries().PutSchema(number, proto::BuiltinSchema()).ok());
  }

  // Start of each in minutes, in the order of the day that they fill.
  static std::vector<uint64_t> Minutes(const absl::StatusOr<Recording>& recording) {
    std::vector<uint64_t> minutes;
    if (!recording.ok()) return minutes;
    for (const RecordedEpoch* epoch : recording->InTurn()) {
      minutes.push_back((epoch->body.epoch().start_unix_ns() - kStart) / (60 * kSecondNs));
    }
    return minutes;
  }

  telltale::testing::TempDir dir_;
  std::unique_ptr<storage::Store> store_;
};

TEST_F(RecordedEpochs, OfAllNodesAreTakenInTurnUntilNoneIsLeft) {
  Chosen chosen;
  chosen.all_nodes = true;
  const auto recording = ReadRecording(store_->reader(), chosen);
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(recording->nodes.size(), 2U);
  EXPECT_EQ(recording->nodes[0].epochs.size(), 3U);
  EXPECT_EQ(recording->nodes[1].epochs.size(), 1U);
  EXPECT_THAT(Minutes(recording), ElementsAre(2, 2, 3, 4));
}

TEST_F(RecordedEpochs, AreThoseOfTheNodeWithMostIfNoneIsNamed) {
  const auto recording = ReadRecording(store_->reader(), {});
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(recording->nodes.size(), 1U);
  EXPECT_EQ(recording->nodes[0].name, "web");
}

TEST_F(RecordedEpochs, OfAFewAreCountedFromEachNodesFirstWholeOne) {
  const auto recording = ReadRecording(store_->reader(), {.first = 2, .last = 3, .nodes = {"web"}});
  EXPECT_THAT(Minutes(recording), ElementsAre(3, 4));
  const auto none =
      ReadRecording(store_->reader(), {.first = 2, .last = 3, .nodes = {"web", "build"}});
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("of build"));
}

TEST_F(RecordedEpochs, OfAnUnknownNodeAreAnErrorThatSaysWhichThereAre) {
  const auto recording = ReadRecording(store_->reader(), {.nodes = {"sort"}});
  EXPECT_THAT(std::string(recording.status().message()),
              AllOf(HasSubstr("sort"), HasSubstr("web"), HasSubstr("build")));
}

}  // namespace
}  // namespace telltale::bench
