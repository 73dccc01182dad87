#include "collector/filter/resting_states.h"

#include <zstd.h>

#include <new>

#include "collector/filter/detect/state_bytes.h"

namespace telltale::filter {
namespace {

// States are read again a minute later: what the fastest level leaves is little.
constexpr int kLevel = 1;

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* context) const {
    kFree(context);
  }
};

}  // namespace

// Contexts, kept as making one costs as much as packing a node.
struct RestingStates::Packer {
  std::unique_ptr<ZSTD_CCtx, Freed<ZSTD_freeCCtx>> pack{ZSTD_createCCtx()};
  std::unique_ptr<ZSTD_DCtx, Freed<ZSTD_freeDCtx>> open{ZSTD_createDCtx()};
  std::string room;
};

RestingStates::RestingStates() : packer_(std::make_unique<Packer>()) {
  if (packer_->pack == nullptr || packer_->open == nullptr) throw std::bad_alloc();
}
RestingStates::~RestingStates() = default;

bool RestingStates::Put(uint32_t node, const States& states) {
  StateWriter all;
  all.Put(static_cast<uint32_t>(states.size()));
  for (const std::optional<std::string>& state : states) {
    all.Put(static_cast<uint8_t>(state.has_value()));
    if (state.has_value()) all.Text(*state);
  }
  std::string& room = packer_->room;
  room.resize(ZSTD_compressBound(all.bytes().size()));
  const size_t size = ZSTD_compressCCtx(packer_->pack.get(), room.data(), room.size(),
                                        all.bytes().data(), all.bytes().size(), kLevel);
  if (ZSTD_isError(size)) return false;
  if (node >= packed_.size()) packed_.resize(node + 1);
  packed_[node] = std::string(room.data(), size);  // as large as it needs to be
  return true;
}

RestingStates::States RestingStates::Take(uint32_t node) {
  if (!Has(node)) return {};
  const std::string packed = std::move(packed_[node]);
  packed_[node] = std::string();
  std::string& room = packer_->room;
  room.resize(ZSTD_getFrameContentSize(packed.data(), packed.size()));
  ZSTD_decompressDCtx(packer_->open.get(), room.data(), room.size(), packed.data(), packed.size());
  StateReader all(room);
  States states(all.Get<uint32_t>());
  for (std::optional<std::string>& state : states) {
    if (all.Get<uint8_t>() != 0) state = all.Text();
  }
  return states;
}

}  // namespace telltale::filter
