#include "collector/ingest/byte_budget.h"

#include <algorithm>

namespace telltale::ingest {
namespace {

constexpr double kDayNs = 86'400e9;
constexpr double kDays = 4;

}  // namespace

uint64_t ByteBudget::Take(uint64_t bytes, uint64_t a_day, uint64_t mono_ns) {
  const double rate = static_cast<double>(a_day) / kDayNs;  // bytes a ns
  const auto passed = static_cast<double>(mono_ns - std::min(mono_ns, at_ns_));
  used_ = std::max(0.0, used_ - passed * rate);
  at_ns_ = std::max(at_ns_, mono_ns);
  const double over = used_ + static_cast<double>(bytes) - kDays * static_cast<double>(a_day);
  if (over > 0) return static_cast<uint64_t>(over / rate) + 1;
  used_ += static_cast<double>(bytes);
  return 0;
}

void ByteBudget::GiveBack(uint64_t bytes) {
  used_ = std::max(0.0, used_ - static_cast<double>(bytes));
}

}  // namespace telltale::ingest
