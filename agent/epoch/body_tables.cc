#include "agent/epoch/body_tables.h"

namespace telltale::agent {
namespace {

uint32_t& Slot(std::vector<uint32_t>& ids, uint32_t id) {
  if (ids.size() <= id) ids.resize(id + 1, 0);
  return ids[id];
}

}  // namespace

uint32_t BodyTables::String(uint32_t id) {
  if (id == 0) return 0;
  if (Slot(strings_, id) == 0) {
    to_.add_strings(from_.StringAt(id));
    strings_[id] = static_cast<uint32_t>(to_.strings_size());
  }
  return strings_[id];
}

uint32_t BodyTables::File(uint32_t id) {
  if (id == 0) return 0;
  if (Slot(files_, id) == 0) {
    const CodeFile& file = from_.FileAt(id);
    const uint32_t path = String(from_.String(file.path));
    v1::Mapping& mapping = *to_.add_mappings();
    mapping.set_kind(file.kind);
    mapping.set_build_id(file.build_id);
    mapping.set_path(path);
    files_[id] = static_cast<uint32_t>(to_.mappings_size());
  }
  return files_[id];
}

uint32_t BodyTables::Frame(uint32_t id) {
  if (id == 0) return 0;
  if (Slot(frames_, id) == 0) {
    const FoldFrame& frame = from_.FrameAt(id);
    to_.add_frame_mapping(File(frame.file));
    to_.add_frame_offset(frame.offset);
    frames_[id] = static_cast<uint32_t>(to_.frame_offset_size());
  }
  return frames_[id];
}

uint32_t BodyTables::Stack(uint32_t id) {
  if (id == 0) return 0;
  if (Slot(stacks_, id) == 0) {
    const FoldStack& stack = from_.StackAt(id);
    v1::Stack wire;
    // In a stack frames are plain indexes: every frame of it exists.
    for (const uint32_t frame : stack.kernel) wire.add_kernel(Frame(frame) - 1);
    for (const uint32_t frame : stack.user) wire.add_user(Frame(frame) - 1);
    wire.set_kernel_end(stack.kernel_end);
    wire.set_user_end(stack.user_end);
    *to_.add_stacks() = std::move(wire);
    stacks_[id] = static_cast<uint32_t>(to_.stacks_size());
  }
  return stacks_[id];
}

}  // namespace telltale::agent
