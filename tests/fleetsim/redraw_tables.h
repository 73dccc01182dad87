// The part of re-drawing that makes nodes differ in what code they run: build ids, private stacks,
// private command names. Free functions; any thread.

#ifndef TELLTALE_TESTS_FLEETSIM_REDRAW_TABLES_H_
#define TELLTALE_TESTS_FLEETSIM_REDRAW_TABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "telltale/v1/summary.pb.h"

namespace telltale::fleetsim {

// Bytes by which a node's private code lies elsewhere; never 0.
uint64_t PrivateShift(uint64_t node_seed);

// The build id another build of the same file has; `build` > 0.
std::string OtherBuildId(const std::string& build_id, uint64_t build);

// Frames of the node's own, after MakeStacksPrivate.
struct PrivateFrames {
  std::vector<bool> own;          // by frame of the table
  std::vector<uint32_t> made_of;  // of each frame appended, which one it was made of

  bool In(const v1::Stack& stack) const;
};

// Gives `percent` of the stacks frames of the node's own. A frame that only such stacks have is
// moved where it stands, as an agent would list it; of another a moved one is appended.
PrivateFrames MakeStacksPrivate(uint64_t node_seed, uint32_t percent, v1::Tables& tables);

// Renames `percent` of the commands; other uses of the same string stay.
void MakeCommsPrivate(uint64_t node_seed, uint32_t percent, v1::SummaryBody& body);

// What each stack is, whatever its indexes.
std::vector<uint64_t> StackIdentities(const v1::Tables& tables);

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_REDRAW_TABLES_H_
