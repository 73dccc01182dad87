#include "agent/epoch/fold_tables.h"

#include <utility>

#include "proto/codec.h"

namespace telltale::agent {
namespace {

// Id of `key` in `ids`; a new one (and true in `*added`) if there is room, else 0.
template <typename Map, typename Key>
uint32_t IdOf(Map& ids, const Key& key, size_t limit, bool* added) {
  *added = false;
  if (const auto it = ids.find(key); it != ids.end()) return it->second;
  if (ids.size() >= limit) return 0;
  *added = true;
  const auto id = static_cast<uint32_t>(ids.size() + 1);
  ids.emplace(key, id);
  return id;
}

}  // namespace

uint32_t FoldTables::String(std::string_view text) {
  if (text.empty()) return 0;
  std::string clean = proto::SanitizeText(text, limits_.string_bytes);
  bool added;
  const uint32_t id = IdOf(string_ids_, clean, limits_.strings, &added);
  if (added) strings_.push_back(std::move(clean));
  if (id == 0) ++turned_away_;
  return id;
}

uint32_t FoldTables::File(const std::shared_ptr<const CodeFile>& file) {
  if (!file) return 0;
  if (file == last_file_) return last_file_id_;
  std::string key = std::to_string(file->kind) + '\0' + file->build_id + '\0' + file->path;
  bool added;
  const uint32_t id = IdOf(file_ids_, key, limits_.files, &added);
  if (added) files_.push_back(file);
  if (id == 0) {
    ++turned_away_;
    return 0;
  }
  last_file_ = file;
  return last_file_id_ = id;
}

uint32_t FoldTables::Frame(const CodeLocation& location) {
  const FoldFrame frame{File(location.file), location.offset};
  if (location.file && frame.file == 0) return 0;  // an offset without its file would lie
  bool added;
  const uint32_t id = IdOf(frame_ids_, frame, limits_.frames, &added);
  if (added) frames_.push_back(frame);
  if (id == 0) ++turned_away_;
  return id;
}

uint32_t FoldTables::Stack(FoldStack stack) {
  const size_t most = limits_.frames_per_stack;
  if (stack.kernel.size() > most / 2) {
    stack.kernel.resize(most / 2);
    stack.kernel_end = v1::STACK_END_DEPTH;
  }
  if (stack.user.size() > most - stack.kernel.size()) {
    stack.user.resize(most - stack.kernel.size());
    stack.user_end = v1::STACK_END_DEPTH;
  }
  if (stack == FoldStack{}) return 0;
  bool added;
  const uint32_t id = IdOf(stack_ids_, stack, limits_.stacks, &added);
  if (added) stacks_.push_back(std::move(stack));
  if (id == 0) ++turned_away_;
  return id;
}

}  // namespace telltale::agent
