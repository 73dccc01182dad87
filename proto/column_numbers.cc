#include "proto/column_numbers.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "proto/wire_field.h"

namespace telltale::proto {
namespace {

constexpr int kSignificant = 7;
constexpr size_t kLongestVarint = 10;
constexpr size_t kMostPlaces = 256;  // more are no table
constexpr uint64_t kHalf = uint64_t{1} << (kSignificant - 1);

// False: it has more significant bits.
bool Shorten(uint64_t& value) {
  if (value < 2 * kHalf) return true;
  const int dropped = std::bit_width(value) - kSignificant;
  if ((value & ((uint64_t{1} << dropped) - 1)) != 0) return false;
  value = 2 * kHalf + static_cast<uint64_t>(dropped - 1) * kHalf + (value >> dropped) - kHalf;
  return true;
}

bool Lengthen(uint64_t& value) {
  if (value < 2 * kHalf) return true;
  const uint64_t dropped = (value - 2 * kHalf) / kHalf + 1;
  if (dropped > 64 - kSignificant) return false;
  value = (kHalf + value % kHalf) << dropped;
  return true;
}

uint64_t ZigZag(uint64_t difference) {
  return difference << 1 ^ (static_cast<int64_t>(difference) < 0 ? UINT64_MAX : 0);
}
uint64_t UnZigZag(uint64_t value) { return value >> 1 ^ ((value & 1) != 0 ? UINT64_MAX : 0); }

std::string InVarints(std::span<const uint64_t> numbers, bool steps) {
  std::string bytes(numbers.size() * kLongestVarint, '\0');
  char* end = bytes.data();
  uint64_t before = 0;
  for (const uint64_t number : numbers) {
    uint64_t value = steps ? ZigZag(number - std::exchange(before, number)) : number;
    for (; value >= 0x80; value >>= 7) *end++ = static_cast<char>(value | 0x80);
    *end++ = static_cast<char>(value);
  }
  bytes.resize(static_cast<size_t>(end - bytes.data()));
  return bytes;
}

// Within a tenth of a bit.
double RoughLog2(uint32_t number) {
  const int whole = std::bit_width(number) - 1;
  return whole + static_cast<double>(number) / static_cast<double>(uint64_t{1} << whole) - 1;
}

// What coding the bytes by how often each occurs would take, in bits, and what saying so takes.
double Cost(std::string_view bytes) {
  std::array<uint32_t, 256> times{};
  std::array<uint64_t, 4> occur{};  // a bit for each value: of most columns few do
  for (const char byte : bytes) {
    const auto value = static_cast<uint8_t>(byte);
    ++times[value];
    occur[value / 64] |= uint64_t{1} << value % 64;
  }
  const double all = RoughLog2(static_cast<uint32_t>(bytes.size()));
  double bits = 0;
  for (size_t word = 0; word < occur.size(); ++word) {
    for (uint64_t left = occur[word]; left != 0; left &= left - 1) {
      const uint32_t count = times[word * 64 + static_cast<size_t>(std::countr_zero(left))];
      bits += 3 + count * (all - RoughLog2(count));
    }
  }
  return bits;
}

struct Written {
  std::string bytes;
  uint8_t form = 0;
};

Written InOrder(std::span<const uint64_t> numbers) {
  std::vector<uint64_t> shortened(numbers.begin(), numbers.end());
  bool all_short = true, any_long = false;
  for (uint64_t& number : shortened) {
    any_long |= number >= 2 * kHalf;
    if (all_short) all_short = Shorten(number);
  }
  uint8_t form = 0;
  if (all_short && any_long) {
    form = kShort;
    numbers = shortened;
  }
  Written plain{InVarints(numbers, false), form};
  // What takes a byte each and is all the same gains nothing by steps.
  if (plain.bytes.find_first_not_of(plain.bytes.front()) == std::string::npos) return plain;
  Written steps{InVarints(numbers, true), static_cast<uint8_t>(form | kSteps)};
  return Cost(steps.bytes) < Cost(plain.bytes) ? steps : plain;
}

Written PlaceByPlace(std::span<const uint64_t> numbers, size_t row) {
  Written turned{std::string(row, 0), kTurned};
  std::vector<uint64_t> place(numbers.size() / row);
  for (size_t i = 0; i < row; ++i) {
    for (size_t part = 0; part < place.size(); ++part) place[part] = numbers[part * row + i];
    const Written one = InOrder(place);
    turned.bytes[i] = static_cast<char>(one.form);
    turned.bytes += one.bytes;
  }
  return turned;
}

bool ReadInOrder(std::string_view& bytes, uint8_t form, size_t step, std::span<uint64_t> numbers) {
  if (form > (kShort | kSteps)) return false;
  uint64_t before = 0;
  for (size_t i = 0; i < numbers.size(); i += step) {
    uint64_t number = 0;
    if (!TakeVarint(bytes, number)) return false;
    if ((form & kSteps) != 0) number = before += UnZigZag(number);
    if ((form & kShort) != 0 && !Lengthen(number)) return false;
    numbers[i] = number;
  }
  return true;
}

}  // namespace

uint8_t WriteNumbers(std::span<const uint64_t> numbers, size_t row, std::string& out) {
  if (numbers.empty()) return 0;
  Written best = InOrder(numbers);
  if (row > 1 && row <= kMostPlaces && numbers.size() > row) {
    Written turned = PlaceByPlace(numbers, row);
    if (Cost(turned.bytes) < Cost(best.bytes)) best = std::move(turned);
  }
  out += best.bytes;
  return best.form;
}

bool ReadNumbers(std::string_view& bytes, uint8_t form, size_t count, size_t row,
                 std::vector<uint64_t>& numbers) {
  numbers.clear();
  if (count > bytes.size()) return false;
  numbers.resize(count);
  if (form != kTurned) return ReadInOrder(bytes, form, 1, numbers);
  if (row == 0 || row > bytes.size() || count % row != 0) return false;
  const std::string_view forms = bytes.substr(0, row);
  bytes.remove_prefix(row);
  for (size_t place = 0; place < row; ++place) {
    const auto form_here = static_cast<uint8_t>(forms[place]);
    if (!ReadInOrder(bytes, form_here, row, std::span(numbers).subspan(place))) return false;
  }
  return true;
}

bool SkipNumbers(std::string_view& bytes, uint8_t form, size_t count, size_t row) {
  if (form == kTurned) {
    if (row == 0 || row > bytes.size()) return false;
    bytes.remove_prefix(row);
  }
  // A varint ends with its only byte below 128.
  size_t at = 0;
  for (uint64_t eight = 0; count >= sizeof(eight) && bytes.size() - at >= sizeof(eight);) {
    std::memcpy(&eight, bytes.data() + at, sizeof(eight));
    count -= static_cast<size_t>(std::popcount(~eight & 0x8080'8080'8080'8080));
    at += sizeof(eight);
  }
  for (; count != 0; ++at) {
    if (at == bytes.size()) return false;
    if (static_cast<uint8_t>(bytes[at]) < 0x80) --count;
  }
  bytes.remove_prefix(at);
  return true;
}

}  // namespace telltale::proto
