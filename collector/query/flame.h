// Stacks as a tree (a flame graph), alone or beside those of another selection (a differential
// one): each node weighs what all stacks through it weigh together.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_FLAME_H_
#define TELLTALE_COLLECTOR_QUERY_FLAME_H_

#include <cstdint>

#include "telltale/v1/query.pb.h"

namespace telltale::query {

inline constexpr uint32_t kUsualFlameNodes = 5'000, kMaxFlameNodes = 50'000;

// `against`: nullptr for a tree without comparison. Beyond `max_nodes` the lightest nodes are left
// out and their weight stays in their parents as `self`; a note in the coverage says how many.
// Low and high of a node are sums over its stacks, high at most the vital's total.
v1::FlameAnswer FlameOf(const v1::StacksAnswer& selected, const v1::StacksAnswer* against,
                        uint32_t max_nodes);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_FLAME_H_
