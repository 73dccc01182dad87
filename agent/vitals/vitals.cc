#include "agent/vitals/vitals.h"

#include <algorithm>
#include <vector>

namespace telltale::agent {

std::span<const sketch::Vital> Vitals() {
  static const std::vector<sketch::Vital> all = [] {
    std::vector<sketch::Vital> list(sketch::Vitals().begin(), sketch::Vitals().end());
    list.insert(list.end(), LocalVitals().begin(), LocalVitals().end());
    return list;
  }();
  return all;
}

const sketch::Vital* FindVital(uint8_t id) {
  const auto it = std::ranges::find(Vitals(), id, &sketch::Vital::id);
  return it == Vitals().end() ? nullptr : &*it;
}

size_t PlaceOf(uint8_t id) { return static_cast<size_t>(FindVital(id) - Vitals().data()); }

}  // namespace telltale::agent
