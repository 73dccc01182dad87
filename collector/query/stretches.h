// A set of stretches of time, [from, to), kept apart and ascending. A value; nanoseconds since
// 1970.

#ifndef TELLTALE_COLLECTOR_QUERY_STRETCHES_H_
#define TELLTALE_COLLECTOR_QUERY_STRETCHES_H_

#include <cstdint>
#include <vector>

namespace telltale::query {

struct Stretch {
  uint64_t from_ns = 0, to_ns = 0;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

class Stretches {
 public:
  Stretches() = default;
  Stretches(uint64_t from_ns, uint64_t to_ns) { Add(from_ns, to_ns); }

  void Add(uint64_t from_ns, uint64_t to_ns);
  void Remove(uint64_t from_ns, uint64_t to_ns);
  bool Overlaps(uint64_t from_ns, uint64_t to_ns) const;
  bool empty() const { return list_.empty(); }
  const std::vector<Stretch>& list() const { return list_; }

 private:
  std::vector<Stretch> list_;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_STRETCHES_H_
