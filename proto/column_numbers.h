// The numbers of one column, in the form that repeats itself most; those of a table (all parts have
// as many) place by place. The functions that read them may be called by any thread.
//
// A form is a byte of bits:
// - 1, short: each number has at most seven significant bits and is written as the place it has
//   among such numbers: below 128 itself, else 128 + 64 e + m for (64 + m) * 2^(e + 1), m < 64;
// - 2, steps: each number is written as its difference to the one before (the first one's to 0),
//   modulo 2^64, zigzag;
// - 4, turned, by itself: parts that all have the same count of numbers are written place by place,
//   first the forms of all places, a byte each, then the first numbers of all parts, then the
//   second ones (the rows of a table by column).
// Numbers are varints as in protobuf.

#ifndef TELLTALE_PROTO_COLUMN_NUMBERS_H_
#define TELLTALE_PROTO_COLUMN_NUMBERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::proto {

inline constexpr uint8_t kShort = 1, kSteps = 2, kTurned = 4;

// Writes columns. Keeps the room it works in from one to the next, so one of these serves all
// columns of a message. One thread at a time.
class NumberWriter {
 public:
  // Appends the numbers to `out` and returns the form chosen. `row`: how many numbers each part
  // has, if all have as many and there is more than one; else 0.
  uint8_t Write(std::span<const uint64_t> numbers, size_t row, std::string& out);

 private:
  struct Written {
    std::string_view bytes;  // until the next
    uint8_t form = 0;
  };
  double Cost(std::string_view bytes);
  Written InOrder(std::span<const uint64_t> numbers);

  std::vector<uint64_t> shortened_, place_;
  std::vector<char> plain_, steps_;
  std::array<uint32_t, 256> times_{};  // each byte occurs; all 0 between calls of Cost
};

// Some of a column's numbers, [first, last).
struct NumberRange {
  size_t first = 0, last = SIZE_MAX;
};

// Takes `count` numbers off `bytes`. False: there are not so many, or they have no such form. `row`
// as when they were written. Those outside `wanted` may be left 0; where there are rows it begins
// and ends with one.
bool ReadNumbers(std::string_view& bytes, uint8_t form, size_t count, size_t row,
                 std::vector<uint64_t>& numbers, NumberRange wanted = {});

// The same, without looking at them.
bool SkipNumbers(std::string_view& bytes, uint8_t form, size_t count, size_t row);

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_COLUMN_NUMBERS_H_
