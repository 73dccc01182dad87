// The fixture of tests of a damaged store: a few nodes with an epoch a minute, rolled up, and the
// ways in which its files and rows come to be what a bad disk leaves of them. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_DAMAGED_STORE_H_
#define TELLTALE_TESTS_SUPPORT_DAMAGED_STORE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/store.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {

class DamagedStoreTest : public ::testing::Test {
 protected:
  static constexpr uint16_t kDay = 20'500;
  static constexpr uint64_t kStart = kDay * storage::kDayNs;
  static constexpr uint64_t kMinuteNs = 60 * storage::kSecondNs;
  static constexpr uint64_t kFiveMinutesNs = 5 * kMinuteNs;
  using Rows = std::map<std::string, std::string>;

  // Opens it; all nodes have numbers and schemas and no epochs yet.
  DamagedStoreTest();

  std::string rocks() const { return dir_.path() + "/store/rocks"; }
  absl::Status TryOpen();
  void Open();

  // The epoch of a node (from 0) in this minute from the start on, or so much later.
  absl::StatusOr<storage::Outcome> Put(size_t node, uint64_t minute, uint64_t late_ns = 0);
  void PutAll(size_t node, uint64_t first, uint64_t last);  // both included; each is new
  void PutRows(const Rows& rows);                           // into the catalog
  void RollUp(uint64_t now_ns);                             // all that is due by then
  void WriteFiles();                                        // what is in memory, too

  // So many rows of a table of the catalog that they are many blocks. Of marks: around those of
  // the second node.
  Rows ManyMarks();
  Rows ManyDaysOfCoverage(size_t node);  // kDay in their middle
  Rows ManyLedgers(size_t node);

  // Shares of all rows of a family ("default": the catalog), in the order of their keys; file_ is
  // the file they lie in, and the store is closed.
  void Damage(std::string_view family, double from, double to);

  // How many epochs the windows of a node's first day that can be read have.
  uint64_t Epochs(storage::Tier tier, size_t node) const;

  TempDir dir_;
  uint64_t now_ns_ = kStart;
  std::vector<SyntheticNode> makers_ = {SyntheticNode("web-1", 1), SyntheticNode("web-2", 2),
                                        SyntheticNode("web-3", 3)};
  std::vector<uint32_t> nodes_;  // their numbers
  std::unique_ptr<storage::Store> store_;
  std::mt19937_64 random_{7};
  std::string file_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_DAMAGED_STORE_H_
