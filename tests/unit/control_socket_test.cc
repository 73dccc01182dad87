// A backup that is asked for and no longer wanted: it has ended, and left nothing, once the asker
// goes on.
#include "collector/control_socket.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/temp_dir.h"

namespace telltale::collector {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

class ControlSocketTest : public ::testing::Test {
 protected:
  void Listen(ControlSocket::BackUp back_up) {
    auto control = ControlSocket::Listen(dir_.path(), std::move(back_up));
    ASSERT_TRUE(control.ok()) << control.status();
    control_ = *std::move(control);
  }
  // Wants it until it has begun.
  absl::Status AskAndStop() {
    return AskForBackup(dir_.path(), to_, [this](uint64_t, uint64_t) { return !begun_; }).status();
  }

  const telltale::testing::TempDir dir_;
  const std::string to_ = dir_.path() + "/copy";
  std::atomic<bool> begun_{false};
  std::atomic<bool> ended_{false};
  std::unique_ptr<ControlSocket> control_;  // last, since it uses the others
};

TEST_F(ControlSocketTest, WhoStopsABackupGoesOnWhenItHasEnded) {
  Listen([&](const std::string&,
             const storage::CopyWatcher& watch) -> absl::StatusOr<storage::CopyResult> {
    begun_ = true;
    const auto give_up = steady_clock::now() + std::chrono::seconds(10);
    while (watch(0, 1) && steady_clock::now() < give_up) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    std::this_thread::sleep_for(milliseconds(300));  // clears away what it has made
    ended_ = true;
    return absl::CancelledError("stopped");
  });
  EXPECT_EQ(AskAndStop().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(ended_);
}

TEST_F(ControlSocketTest, ABackupThatIsWholeWhenNobodyWantsItIsRemoved) {
  Listen([&](const std::string& to,
             const storage::CopyWatcher& watch) -> absl::StatusOr<storage::CopyResult> {
    begun_ = true;
    const auto give_up = steady_clock::now() + std::chrono::seconds(10);
    while (watch(0, 1) && steady_clock::now() < give_up) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    fs::create_directories(to + "/store/rocks");
    return storage::CopyResult{1, 1, 1};
  });
  EXPECT_EQ(AskAndStop().code(), absl::StatusCode::kCancelled);
  control_.reset();
  EXPECT_FALSE(fs::exists(to_ + "/store"));
}

TEST_F(ControlSocketTest, ABackupThatIsWantedStays) {
  Listen([&](const std::string& to,
             const storage::CopyWatcher& watch) -> absl::StatusOr<storage::CopyResult> {
    EXPECT_TRUE(watch(1, 2));
    fs::create_directories(to + "/store/rocks");
    return storage::CopyResult{1, 2, 3};
  });
  const auto copied = AskForBackup(dir_.path(), to_, {});
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(copied->linked_bytes, 3u);
  EXPECT_TRUE(fs::exists(to_ + "/store/rocks"));
}

}  // namespace
}  // namespace telltale::collector
