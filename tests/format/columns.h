// Reads columns as storage/FORMAT.md describes them ("Columns"), independently of proto/columns.cc.

#ifndef TELLTALE_TESTS_FORMAT_COLUMNS_H_
#define TELLTALE_TESTS_FORMAT_COLUMNS_H_

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/format/grammar.h"

namespace telltale::format {

using Numbers = std::vector<uint64_t>;

struct Field {
  uint64_t number = 0;
  int kind = 0;  // 0 number, 1 fixed, 2 text, 3 message
  bool repeated = false;
  uint64_t count_form = 0, number_form = 0;
  std::vector<Field> inside;
  Numbers counts, numbers;  // of all parts
  std::vector<std::string> texts;
  size_t at = 0, part = 0;  // what is written next
};

inline uint64_t Varint(Bytes& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint64_t byte = bytes.Int(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error("a number without an end");
}

inline std::string AsVarint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

inline std::vector<Field> ReadTree(Bytes& bytes) {
  std::vector<Field> fields(Varint(bytes));
  for (Field& field : fields) {
    field.number = Varint(bytes);
    const uint64_t kind = bytes.Int(1);
    Require(kind < 16 && (kind & 7) <= 3, "field of unknown kind");
    field.kind = static_cast<int>(kind & 7);
    field.repeated = kind >= 8;
    if (field.repeated || field.kind == 3) field.count_form = bytes.Int(1);
    if (field.kind == 0 || field.kind == 2) field.number_form = bytes.Int(1);
    if (field.kind == 3) field.inside = ReadTree(bytes);
  }
  return fields;
}

inline Numbers ReadPlain(Bytes& bytes, uint64_t form, size_t count) {
  Require(form < 4, "numbers of unknown form");
  Numbers numbers;
  uint64_t before = 0;
  while (numbers.size() < count) {
    uint64_t value = Varint(bytes);
    if ((form & 2) != 0) value = before += (value >> 1) ^ (0 - (value & 1));
    const uint64_t beyond = value - 128;
    numbers.push_back((form & 1) == 0 || value < 128 ? value
                                                     : (64 + beyond % 64) << (beyond / 64 + 1));
  }
  return numbers;
}

inline Numbers ReadNumbers(Bytes& bytes, uint64_t form, size_t count, size_t places) {
  if (form != 4) return ReadPlain(bytes, form, count);
  const std::string forms = bytes.Take(places);
  Numbers numbers(count);
  for (size_t place = 0; place < places; ++place) {
    const Numbers some = ReadPlain(bytes, static_cast<uint8_t>(forms[place]), count / places);
    for (size_t part = 0; part < some.size(); ++part) numbers[part * places + place] = some[part];
  }
  return numbers;
}

inline void ReadData(Bytes& bytes, std::vector<Field>& fields, size_t parts) {
  for (Field& field : fields) {
    size_t values = parts;
    if (field.repeated || field.kind == 3) {
      field.counts = ReadNumbers(bytes, field.count_form, parts, 0);
      values = std::accumulate(field.counts.begin(), field.counts.end(), size_t{0});
    }
    if (field.kind == 3) {
      ReadData(bytes, field.inside, values);
    } else if (field.kind == 1) {
      for (size_t i = 0; i < values; ++i) field.texts.push_back(bytes.Take(8));
    } else {
      const size_t places = field.repeated && !field.counts.empty() ? field.counts[0] : 0;
      field.numbers = ReadNumbers(bytes, field.number_form, values, places);
    }
    if (field.kind != 2) continue;
    for (const uint64_t length : field.numbers) field.texts.push_back(bytes.Take(length));
  }
}

inline std::string WritePart(std::vector<Field>& fields) {
  std::string out;
  for (Field& field : fields) {
    const size_t part = field.part++;
    const bool counted = field.repeated || field.kind == 3;
    const uint64_t times = counted ? field.counts[part] : 1;
    const auto tag = [&](uint64_t wire) { return AsVarint(field.number << 3 | wire); };
    if (field.kind == 0 && field.repeated) {
      std::string packed;
      for (uint64_t i = 0; i < times; ++i) packed += AsVarint(field.numbers[field.at++]);
      if (times > 0) out += tag(2) + AsVarint(packed.size()) + packed;
      continue;
    }
    for (uint64_t i = 0; i < times; ++i, ++field.at) {
      if (field.kind == 0) {
        if (field.numbers[field.at] != 0) out += tag(0) + AsVarint(field.numbers[field.at]);
      } else if (field.kind == 1) {
        if (field.texts[field.at] != std::string(8, '\0')) out += tag(1) + field.texts[field.at];
      } else {
        const std::string text = field.kind == 3 ? WritePart(field.inside) : field.texts[field.at];
        if (!text.empty() || counted) out += tag(2) + AsVarint(text.size()) + text;
      }
    }
  }
  return out;
}

// The message whose columns these are, of `size` bytes.
inline std::string FromColumns(const std::string& columns, size_t size) {
  Bytes bytes(columns);
  std::vector<Field> fields = ReadTree(bytes);
  ReadData(bytes, fields, 1);
  bytes.End();
  std::string message = WritePart(fields);
  Require(message.size() == size, "columns of a message of another length");
  return message;
}

}  // namespace telltale::format

#endif  // TELLTALE_TESTS_FORMAT_COLUMNS_H_
