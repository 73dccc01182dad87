#include "tests/fleetsim/redraw_tables.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "tests/fleetsim/noise.h"

namespace telltale::fleetsim {
namespace {

constexpr size_t kCommBytes = 15;  // TASK_COMM_LEN of the kernel, without the 0

uint64_t FrameIdentity(const v1::Tables& tables, uint32_t frame) {
  const int i = static_cast<int>(frame);
  const uint32_t mapping = tables.frame_mapping(i);
  const uint64_t file =
      mapping == 0 ? 0 : HashText(tables.mappings(static_cast<int>(mapping - 1)).build_id());
  return Mix(file, tables.frame_offset(i));
}

bool Chosen(uint64_t hash, uint32_t percent) { return hash % 100 < percent; }

// Hands each comm of the body to `change`.
template <typename Change>
void EachComm(v1::SummaryBody& body, const Change& change) {
  for (v1::ProcessRow& row : *body.mutable_processes()->mutable_rows()) {
    row.set_comm(change(row.comm()));
  }
  for (v1::DiscreteEvent& event : *body.mutable_events()) event.set_comm(change(event.comm()));
  for (v1::Vital& vital : *body.mutable_vitals()) {
    for (v1::FoldedSample& sample : *vital.mutable_samples()) {
      v1::Sample& exemplar = *sample.mutable_exemplar();
      exemplar.set_comm(change(exemplar.comm()));
      for (auto* peer : {exemplar.has_waker() ? exemplar.mutable_waker() : nullptr,
                         exemplar.has_ran_instead() ? exemplar.mutable_ran_instead() : nullptr,
                         exemplar.has_holder() ? exemplar.mutable_holder() : nullptr}) {
        if (peer != nullptr) peer->set_comm(change(peer->comm()));
      }
    }
  }
}

}  // namespace

uint64_t PrivateShift(uint64_t node_seed) { return 1 + Mix(node_seed, 77) % 0xffff; }

std::string OtherBuildId(const std::string& build_id, uint64_t build) {
  std::string other = build_id;
  uint64_t hash = Mix(HashText(build_id), build);
  for (char& byte : other) {
    byte = static_cast<char>(hash);
    hash = Mix(hash);
  }
  return other;
}

std::vector<uint64_t> StackIdentities(const v1::Tables& tables) {
  std::vector<uint64_t> identities;
  identities.reserve(static_cast<size_t>(tables.stacks_size()));
  for (const v1::Stack& stack : tables.stacks()) {
    uint64_t identity = Mix(static_cast<uint64_t>(stack.kernel_size()));
    for (const uint32_t frame : stack.kernel())
      identity = Mix(identity, FrameIdentity(tables, frame));
    for (const uint32_t frame : stack.user())
      identity = Mix(identity, FrameIdentity(tables, frame));
    identities.push_back(identity);
  }
  return identities;
}

bool PrivateFrames::In(const v1::Stack& stack) const {
  const auto is_own = [this](uint32_t frame) { return own[frame]; };
  return std::ranges::any_of(stack.user(), is_own) || std::ranges::any_of(stack.kernel(), is_own);
}

PrivateFrames MakeStacksPrivate(uint64_t node_seed, uint32_t percent, v1::Tables& tables) {
  const std::vector<uint64_t> identities = StackIdentities(tables);
  const uint64_t shift = PrivateShift(node_seed);
  // The leaf and its caller: a private function in a program that others run too.
  std::vector<uint32_t*> places;
  std::vector<int> elsewhere(static_cast<size_t>(tables.frame_mapping_size()));
  for (int i = 0; i < tables.stacks_size(); ++i) {
    v1::Stack& stack = *tables.mutable_stacks(i);
    for (const uint32_t frame : stack.kernel()) ++elsewhere[frame];
    for (const uint32_t frame : stack.user()) ++elsewhere[frame];
    if (!Chosen(Mix(node_seed, identities[static_cast<size_t>(i)]), percent)) continue;
    auto& frames = stack.user_size() > 0 ? *stack.mutable_user() : *stack.mutable_kernel();
    for (int depth = 0; depth < std::min(2, frames.size()); ++depth) {
      places.push_back(frames.mutable_data() + depth);
      --elsewhere[frames.Get(depth)];
    }
  }
  PrivateFrames frames;
  frames.own.resize(elsewhere.size());
  std::map<uint32_t, uint32_t> moved;  // recorded frame to the one made of it
  for (uint32_t* place : places) {
    const auto [at, fresh] = moved.try_emplace(*place, *place);
    const int frame = static_cast<int>(at->first);
    if (fresh && elsewhere[at->first] == 0) {
      tables.set_frame_offset(frame, tables.frame_offset(frame) + shift);
      frames.own[at->first] = true;
    } else if (fresh) {
      at->second = static_cast<uint32_t>(tables.frame_mapping_size());
      tables.add_frame_mapping(tables.frame_mapping(frame));
      tables.add_frame_offset(tables.frame_offset(frame) + shift);
      frames.own.push_back(true);
      frames.made_of.push_back(at->first);
    }
    *place = at->second;
  }
  return frames;
}

void MakeCommsPrivate(uint64_t node_seed, uint32_t percent, v1::SummaryBody& body) {
  v1::Tables& tables = *body.mutable_tables();
  std::map<uint32_t, uint32_t> renamed;
  EachComm(body, [&](uint32_t comm) {
    if (comm == 0) return comm;
    const std::string& text = tables.strings(static_cast<int>(comm - 1));
    if (!Chosen(Mix(node_seed, HashText(text)), percent)) return comm;
    const auto [at, fresh] = renamed.try_emplace(comm, 0);
    if (fresh) {
      const std::string tail = absl::StrCat("-", absl::Hex(node_seed & 0xffff));
      tables.add_strings(proto::SanitizeText(
          absl::StrCat(text.substr(0, kCommBytes - tail.size()), tail), 4 * kCommBytes));
      at->second = static_cast<uint32_t>(tables.strings_size());
    }
    return at->second;
  });
}

}  // namespace telltale::fleetsim
