#include "collector/query/stretches.h"

#include <algorithm>

namespace telltale::query {
namespace {

// The first stretch that ends at or after `from_ns`.
std::vector<Stretch>::iterator FirstNear(std::vector<Stretch>& list, uint64_t from_ns) {
  return std::lower_bound(list.begin(), list.end(), from_ns,
                          [](const Stretch& one, uint64_t time) { return one.to_ns < time; });
}

}  // namespace

void Stretches::Add(uint64_t from_ns, uint64_t to_ns) {
  if (to_ns <= from_ns) return;
  auto at = FirstNear(list_, from_ns);
  auto end = at;
  while (end != list_.end() && end->from_ns <= to_ns) {
    from_ns = std::min(from_ns, end->from_ns);
    to_ns = std::max(to_ns, end->to_ns);
    ++end;
  }
  if (at == end) {
    list_.insert(at, {from_ns, to_ns});
    return;
  }
  *at = {from_ns, to_ns};
  list_.erase(at + 1, end);
}

void Stretches::Remove(uint64_t from_ns, uint64_t to_ns) {
  if (to_ns <= from_ns) return;
  auto at = FirstNear(list_, from_ns);
  while (at != list_.end() && at->from_ns < to_ns) {
    const Stretch whole = *at;
    if (whole.from_ns < from_ns && whole.to_ns > to_ns) {
      at->to_ns = from_ns;
      list_.insert(at + 1, {to_ns, whole.to_ns});
      return;
    }
    if (whole.from_ns < from_ns) {
      at->to_ns = std::min(whole.to_ns, from_ns);
      ++at;
    } else if (whole.to_ns > to_ns) {
      at->from_ns = to_ns;
      return;
    } else {
      at = list_.erase(at);
    }
  }
}

bool Stretches::Overlaps(uint64_t from_ns, uint64_t to_ns) const {
  return std::any_of(list_.begin(), list_.end(), [&](const Stretch& one) {
    return one.from_ns < to_ns && one.to_ns > from_ns;
  });
}

}  // namespace telltale::query
