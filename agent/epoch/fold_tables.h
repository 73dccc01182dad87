// Strings, files, frames and stacks met in one epoch, each kept once, while its samples are folded.
//
// Ids count from 1 in order of first use; 0 is "none", or "no room": every table is bounded and
// counts what it turned away. Owned by a FoldedEpoch; no thread of its own.

#ifndef TELLTALE_AGENT_EPOCH_FOLD_TABLES_H_
#define TELLTALE_AGENT_EPOCH_FOLD_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/symbols/resolver.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

struct FoldFrame {
  uint32_t file = 0;  // id; 0: no file, offset is the address
  uint64_t offset = 0;
  friend bool operator==(const FoldFrame&, const FoldFrame&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const FoldFrame& f) {
    return H::combine(std::move(h), f.file, f.offset);
  }
};

struct FoldStack {
  std::vector<uint32_t> kernel, user;  // frame ids, leaf first
  v1::StackEnd kernel_end = v1::STACK_END_NONE;
  v1::StackEnd user_end = v1::STACK_END_NONE;
  friend bool operator==(const FoldStack&, const FoldStack&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const FoldStack& s) {
    return H::combine(std::move(h), s.kernel, s.user, static_cast<int>(s.kernel_end),
                      static_cast<int>(s.user_end));
  }
};

class FoldTables {
 public:
  struct Limits {
    size_t strings = 12'000;
    size_t string_bytes = 1'024;  // each
    size_t files = 4'096;
    size_t frames = 48'000;
    size_t stacks = 6'000;
    size_t frames_per_stack = 256;  // the kernel part at most half of it
  };
  FoldTables() = default;
  explicit FoldTables(const Limits& limits) : limits_(limits) {}

  // Id of a text, made printable (it is untrusted). Empty text has id 0.
  uint32_t String(std::string_view text);
  uint32_t Frame(const CodeLocation& location);
  uint32_t Stack(FoldStack stack);  // empty stack without reasons: 0

  const std::string& StringAt(uint32_t id) const { return strings_[id - 1]; }
  const FoldFrame& FrameAt(uint32_t id) const { return frames_[id - 1]; }
  const FoldStack& StackAt(uint32_t id) const { return stacks_[id - 1]; }
  const CodeFile& FileAt(uint32_t id) const { return *files_[id - 1]; }

  // How many lookups found their table full.
  uint64_t turned_away() const { return turned_away_; }

 private:
  uint32_t File(const std::shared_ptr<const CodeFile>& file);

  Limits limits_;
  std::vector<std::string> strings_;
  std::vector<std::shared_ptr<const CodeFile>> files_;
  std::vector<FoldFrame> frames_;
  std::vector<FoldStack> stacks_;
  absl::flat_hash_map<std::string, uint32_t> string_ids_, file_ids_;
  // A stack's frames are mostly in the file of the one before.
  std::shared_ptr<const CodeFile> last_file_;
  uint32_t last_file_id_ = 0;
  absl::flat_hash_map<FoldFrame, uint32_t> frame_ids_;
  absl::flat_hash_map<FoldStack, uint32_t> stack_ids_;
  uint64_t turned_away_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_FOLD_TABLES_H_
