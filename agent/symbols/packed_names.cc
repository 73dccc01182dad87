#include "agent/symbols/packed_names.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

namespace telltale::agent {
namespace {

constexpr size_t kBlockBytes = 32 << 10;  // smaller ones pack worse, larger ones take long to open
constexpr int kLevel = 1;

}  // namespace

uint32_t PackedNames::Append(std::string_view name) {
  if (!open_.empty() && open_.size() + name.size() >= kBlockBytes) Finish();
  const auto where = static_cast<uint32_t>(begin_ + open_.size());
  open_.append(name).push_back('\0');
  return where;
}

void PackedNames::Finish() {
  if (open_.empty()) return;
  std::string packed(ZSTD_compressBound(open_.size()), '\0');
  const size_t size =
      ZSTD_compress(packed.data(), packed.size(), open_.data(), open_.size(), kLevel);
  // What cannot be packed stays as it is: its names are not lost.
  if (ZSTD_isError(size) || size >= open_.size()) {
    packed = open_;
  } else {
    packed.resize(size);
  }
  packed.shrink_to_fit();
  packed_bytes_ += packed.size();
  const auto bytes = static_cast<uint32_t>(open_.size());
  blocks_.push_back({begin_, bytes, std::move(packed)});
  begin_ += bytes;
  open_ = {};
}

std::string PackedNames::At(uint32_t where) const {
  auto block = std::ranges::upper_bound(blocks_, where, {}, &Block::begin);
  if (block == blocks_.begin()) return "";
  --block;
  const uint32_t offset = where - block->begin;
  if (offset >= block->bytes) return "";
  if (block->packed.size() == block->bytes) return block->packed.c_str() + offset;
  std::string names(block->bytes, '\0');
  const size_t size =
      ZSTD_decompress(names.data(), names.size(), block->packed.data(), block->packed.size());
  return ZSTD_isError(size) ? "" : names.c_str() + offset;
}

}  // namespace telltale::agent
