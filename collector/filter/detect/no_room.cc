#include "collector/filter/detect/no_room.h"

#include <map>
#include <mutex>
#include <string>

namespace telltale::filter {
namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::string, uint64_t, std::less<>> by_filter;  // guarded by mutex
};

Counts& TheCounts() {
  static Counts* const counts = new Counts;
  return *counts;
}

}  // namespace

void NoteNoRoom(std::string_view filter, uint64_t labels) {
  if (labels == 0) return;
  Counts& counts = TheCounts();
  const std::lock_guard lock(counts.mutex);
  counts.by_filter[std::string(filter)] += labels;
}

uint64_t NoRoom(std::string_view filter) {
  Counts& counts = TheCounts();
  const std::lock_guard lock(counts.mutex);
  const auto known = counts.by_filter.find(filter);
  return known == counts.by_filter.end() ? 0 : known->second;
}

}  // namespace telltale::filter
