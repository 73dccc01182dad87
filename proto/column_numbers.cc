#include "proto/column_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "proto/wire_field.h"

namespace telltale::proto {
namespace {

constexpr int kSignificant = 7;
constexpr size_t kMostPlaces = 256;  // more are no table
constexpr double kSayingSo = 3;      // bits, of each value that occurs
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

// `bytes` grows to what they need at most.
std::string_view InVarints(std::span<const uint64_t> numbers, bool steps,
                           std::vector<char>& bytes) {
  const size_t most = numbers.size() * kLongestVarint + sizeof(uint64_t);
  if (bytes.size() < most) bytes.resize(most);
  char* end = bytes.data();
  uint64_t before = 0;
  for (const uint64_t number : numbers) {
    end = PutVarint(steps ? ZigZag(number - std::exchange(before, number)) : number, end);
  }
  return {bytes.data(), static_cast<size_t>(end - bytes.data())};
}

// Within a tenth of a bit: the exponent, and of the fraction the mantissa.
double RoughLog2(uint32_t number) {
  constexpr int kMantissa = 52, kBias = 1023;
  const auto bits = std::bit_cast<uint64_t>(static_cast<double>(number));
  const uint64_t fraction = (bits & ((uint64_t{1} << kMantissa) - 1)) | uint64_t{kBias}
                                                                            << kMantissa;
  return static_cast<double>(static_cast<int>(bits >> kMantissa) - kBias) +
         (std::bit_cast<double>(fraction) - 1);
}

// Passes by `count` varints.
bool Skip(std::string_view& bytes, size_t count) {
  // A varint ends with its only byte below 128.
  size_t at = 0;
  for (uint64_t eight = 0; count >= sizeof(eight) && bytes.size() - at >= sizeof(eight);) {
    std::memcpy(&eight, bytes.data() + at, sizeof(eight));
    // The ends among them, added up in the highest byte: any x86-64 does that at once.
    count -= (~eight >> 7 & 0x0101'0101'0101'0101) * 0x0101'0101'0101'0101 >> 56;
    at += sizeof(eight);
  }
  for (; count != 0; ++at) {
    if (at == bytes.size()) return false;
    if (static_cast<uint8_t>(bytes[at]) < 0x80) --count;
  }
  bytes.remove_prefix(at);
  return true;
}

// Every `step`th of the numbers, which are `count`; of those only [first, last).
bool ReadInOrder(std::string_view& bytes, uint8_t form, size_t step, size_t count,
                 NumberRange wanted, uint64_t* numbers) {
  if (form > (kShort | kSteps)) return false;
  const size_t last = std::min(wanted.last, count), first = std::min(wanted.first, last);
  const bool steps = (form & kSteps) != 0;
  // A step rests on all before it.
  size_t i = steps && first != last ? 0 : first;
  if (i != 0 && !Skip(bytes, i)) return false;
  uint64_t before = 0;
  for (; i < last; ++i) {
    uint64_t number = 0;
    if (!TakeVarint(bytes, number)) return false;
    if (steps) number = before += UnZigZag(number);
    if (i < first) continue;
    if ((form & kShort) != 0 && !Lengthen(number)) return false;
    numbers[i * step] = number;
  }
  return Skip(bytes, count - i);
}

}  // namespace

// What coding the bytes by how often each occurs would take, in bits, and what saying so takes.
double NumberWriter::Cost(std::string_view bytes) {
  std::array<uint64_t, 4> occur{};  // a bit for each value: of most columns few do
  for (const char byte : bytes) {
    const auto value = static_cast<uint8_t>(byte);
    ++times_[value];
    occur[value / 64] |= uint64_t{1} << value % 64;
  }
  const double all = RoughLog2(static_cast<uint32_t>(bytes.size()));
  double bits = 0;
  for (size_t word = 0; word < occur.size(); ++word) {
    for (uint64_t left = occur[word]; left != 0; left &= left - 1) {
      const size_t value = word * 64 + static_cast<size_t>(std::countr_zero(left));
      const uint32_t count = std::exchange(times_[value], 0);
      bits += kSayingSo + count * (all - RoughLog2(count));
    }
  }
  return bits;
}

NumberWriter::Written NumberWriter::InOrder(std::span<const uint64_t> numbers) {
  uint8_t form = 0;
  uint64_t any = 0;
  for (const uint64_t number : numbers) any |= number;
  if (any >= 2 * kHalf) {
    shortened_.assign(numbers.begin(), numbers.end());
    if (std::ranges::all_of(shortened_, Shorten)) {
      form = kShort;
      numbers = shortened_;
    }
  }
  const std::string_view plain = InVarints(numbers, false, plain_);
  // What takes a byte each and is all the same gains nothing by steps.
  if (plain.find_first_not_of(plain.front()) == std::string_view::npos) return {plain, form};
  const std::string_view steps = InVarints(numbers, true, steps_);
  if (Cost(steps) >= Cost(plain)) return {plain, form};
  return {steps, static_cast<uint8_t>(form | kSteps)};
}

uint8_t NumberWriter::Write(std::span<const uint64_t> numbers, size_t row, std::string& out) {
  if (numbers.empty()) return 0;
  if (row <= 1 || row > kMostPlaces || numbers.size() <= row) {
    const Written written = InOrder(numbers);
    out += written.bytes;
    return written.form;
  }
  const size_t forms = out.size();
  out.append(row, '\0');
  place_.resize(numbers.size() / row);
  for (size_t i = 0; i < row; ++i) {
    for (size_t part = 0; part < place_.size(); ++part) place_[part] = numbers[part * row + i];
    const Written written = InOrder(place_);
    out[forms + i] = static_cast<char>(written.form);
    out += written.bytes;
  }
  return kTurned;
}

bool ReadNumbers(std::string_view& bytes, uint8_t form, size_t count, size_t row,
                 std::vector<uint64_t>& numbers, NumberRange wanted) {
  numbers.clear();
  if (count > bytes.size()) return false;
  numbers.resize(count);
  if (form != kTurned) return ReadInOrder(bytes, form, 1, count, wanted, numbers.data());
  if (row == 0 || row > bytes.size() || count % row != 0) return false;
  const std::string_view forms = bytes.substr(0, row);
  bytes.remove_prefix(row);
  const NumberRange rows{wanted.first / row, wanted.last / row};
  for (size_t place = 0; place < row; ++place) {
    const auto form_here = static_cast<uint8_t>(forms[place]);
    uint64_t* const begin = numbers.data() + place;
    if (!ReadInOrder(bytes, form_here, row, count / row, rows, begin)) return false;
  }
  return true;
}

bool SkipNumbers(std::string_view& bytes, uint8_t form, size_t count, size_t row) {
  if (form == kTurned) {
    if (row == 0 || row > bytes.size()) return false;
    bytes.remove_prefix(row);
  }
  return Skip(bytes, count);
}

}  // namespace telltale::proto
