#include "storage/verify_names.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace telltale::storage {

std::string VerifyNames::Check(const RollupKey& window, const v1::Tables& tables) {
  const NamePartition partition = NamePartitionOf(window.tier, window.window_start_ns);
  const std::pair<NamePartition, uint32_t> of{partition, window.node};
  if (of != known_of_) {
    known_.clear();
    known_of_ = of;
  }
  for (int i = 0; i < tables.frame_mapping_size(); ++i) {
    const uint32_t mapping = tables.frame_mapping(i);  // index + 1
    if (mapping > static_cast<uint32_t>(tables.mappings_size()) ||
        i >= tables.frame_offset_size()) {
      return absl::StrCat("frame ", i, " points outside of its tables");
    }
    if (mapping == 0) continue;
    const std::string& id = tables.mappings(static_cast<int>(mapping) - 1).build_id();
    if (id.empty() || id.size() > UINT8_MAX) continue;
    const uint64_t offset = tables.frame_offset(i);
    if (!known_.emplace(id, offset).second) continue;
    const Row row = Find(partition, window.node, id, offset);
    if (row == Row::kUnreadable) continue;  // lies in what is told of the names themselves
    if (row == Row::kMissing) {
      return absl::StrCat("the name of ", absl::BytesToHexString(id), "+0x", absl::Hex(offset),
                          " is not where its windows need it");
    }
    ++found_;
  }
  return "";
}

VerifyNames::Row VerifyNames::Find(NamePartition partition, uint32_t node,
                                   const std::string& build_id, uint64_t offset) const {
  Row row = Row::kMissing;
  for (const uint32_t source : {node, kSharedName}) {
    const absl::Status got =
        history_.Get(Family::kDict, NameKey(partition, build_id, offset, source)).status();
    if (got.ok()) return Row::kThere;
    if (!absl::IsNotFound(got)) row = Row::kUnreadable;
  }
  return row;
}

}  // namespace telltale::storage
