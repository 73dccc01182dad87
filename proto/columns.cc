#include "proto/columns.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/column_numbers.h"
#include "proto/wire_field.h"

namespace telltale::proto {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kDeepest = 16;
constexpr size_t kMostFields = 4096;

enum Kind : uint8_t { kNumber, kFixed, kText, kMessage, kKinds };
constexpr uint8_t kRepeated = 8;

constexpr int kWireVarint = 0, kWireFixed64 = 1, kWireLength = 2;

struct Columns;

// What one field says in all parts that may have it.
struct Column {
  const FieldDescriptor* field = nullptr;  // of what is turned to columns
  bool wanted = true;                      // of what is turned back
  Kind kind = kNumber;
  bool repeated = false;
  uint8_t count_form = 0, number_form = 0;  // as they stand in the tree
  std::vector<uint64_t> counts;             // per part, of what is repeated and of messages
  std::vector<uint64_t> numbers;            // values, of texts their lengths
  std::vector<std::string_view> texts;
  std::unique_ptr<Columns> inside;
  size_t next = 0;  // value to be written next, of what is repeated

  bool counted() const { return repeated || kind == kMessage; }
  // How many numbers each part has, if all have as many.
  size_t Row() const {
    if (!repeated || counts.empty()) return 0;
    for (const uint64_t count : counts) {
      if (count != counts.front()) return 0;
    }
    return counts.front();
  }
};

struct Columns {
  size_t parts = 0;
  size_t next = 0;                             // part to be written next
  NumberRange wanted;                          // parts that may be written, of what is turned back
  std::vector<std::pair<int, Column>> fields;  // ascending by number
};

// ---- to columns ----

bool KindOf(const FieldDescriptor& field, Kind* kind) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_MESSAGE:
      *kind = kMessage;
      return true;
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
      *kind = kText;
      return true;
    case FieldDescriptor::TYPE_FIXED64:
      *kind = kFixed;
      return !field.is_repeated();
    case FieldDescriptor::TYPE_UINT32:
    case FieldDescriptor::TYPE_UINT64:
    case FieldDescriptor::TYPE_INT32:
    case FieldDescriptor::TYPE_INT64:
    case FieldDescriptor::TYPE_SINT32:
    case FieldDescriptor::TYPE_SINT64:
    case FieldDescriptor::TYPE_BOOL:
    case FieldDescriptor::TYPE_ENUM:
      *kind = kNumber;
      return true;
    default:
      return false;  // no stored message has one
  }
}

bool Take(std::string_view message, const Descriptor& type, int depth, Columns& columns);

// The numbers of a packed field, as canonical bytes have them.
bool TakePacked(std::string_view bytes, uint64_t& count, std::vector<uint64_t>& numbers) {
  const size_t first = numbers.size();
  numbers.resize(first + bytes.size());  // each takes a byte or more
  uint64_t* number = numbers.data() + first;
  for (; !bytes.empty(); ++number) {
    const size_t before = bytes.size();
    if (!TakeVarint(bytes, *number) || before - bytes.size() != VarintSize(*number)) return false;
  }
  count = static_cast<uint64_t>(number - numbers.data()) - first;
  numbers.resize(first + count);
  return true;
}

bool TakeOne(const WireField& part, size_t place, int depth, Column& column) {
  const bool counted = column.counted();
  if (counted) {
    column.counts.resize(place + 1);
    if (column.counts[place] != 0 && (!column.repeated || column.kind == kNumber)) return false;
  } else if (column.numbers.size() > place) {
    return false;  // twice
  } else {
    column.numbers.resize(place);
  }
  switch (column.kind) {
    case kNumber: {
      if (part.type != (column.repeated ? kWireLength : kWireVarint)) return false;
      if (!column.repeated) {
        column.numbers.push_back(part.value);
        return true;
      }
      return TakePacked(part.inside, column.counts[place], column.numbers);
    }
    case kFixed: {
      if (part.type != kWireFixed64) return false;
      uint64_t value = 0;
      std::memcpy(&value, part.whole.data() + part.whole.size() - sizeof(value), sizeof(value));
      column.numbers.push_back(value);
      return true;
    }
    case kText:
      if (part.type != kWireLength) return false;
      if (counted) ++column.counts[place];
      column.numbers.push_back(part.inside.size());
      column.texts.push_back(part.inside);
      return true;
    default:
      if (part.type != kWireLength) return false;
      ++column.counts[place];
      return Take(part.inside, *column.field->message_type(), depth + 1, *column.inside);
  }
}

// Written as canonical bytes have it: no number longer than it need be, and nothing that is 0 or
// empty unless it stands for one of several.
bool AsCanonical(const WireField& part, const Column& column) {
  const size_t tag = VarintSize(static_cast<uint64_t>(part.number) << 3);
  if (part.type == kWireVarint) {
    return part.value != 0 && part.whole.size() == tag + VarintSize(part.value);
  }
  if (part.type == kWireFixed64) {
    return part.whole.size() == tag + sizeof(uint64_t) && column.numbers.back() != 0;
  }
  if (part.inside.empty() && (column.kind == kNumber || !column.counted())) return false;
  return part.whole.size() == tag + VarintSize(part.inside.size()) + part.inside.size();
}

// The column of a field, which stands at `at` or is to be put there; nullptr: the type has no such
// field.
Column* ColumnAt(size_t at, int number, const Descriptor& type, Columns& columns) {
  if (at < columns.fields.size() && columns.fields[at].first == number) {
    return &columns.fields[at].second;
  }
  Column fresh;
  fresh.field = type.FindFieldByNumber(number);
  if (fresh.field == nullptr || !KindOf(*fresh.field, &fresh.kind)) return nullptr;
  fresh.repeated = fresh.field->is_repeated();
  if (fresh.kind == kMessage) fresh.inside = std::make_unique<Columns>();
  const auto place = columns.fields.begin() + static_cast<ptrdiff_t>(at);
  return &columns.fields.emplace(place, number, std::move(fresh))->second;
}

// One more part.
bool Take(std::string_view message, const Descriptor& type, int depth, Columns& columns) {
  if (depth > kDeepest) return false;
  const size_t place = columns.parts++;
  WireField part;
  int before = 0;
  size_t at = 0;
  while (!message.empty()) {
    if (!NextField(message, part) || part.number < before) return false;
    before = part.number;
    while (at < columns.fields.size() && columns.fields[at].first < part.number) ++at;
    Column* const column = ColumnAt(at, part.number, type, columns);
    if (column == nullptr || !TakeOne(part, place, depth, *column)) return false;
    if (!AsCanonical(part, *column)) return false;
  }
  return true;
}

void WriteData(Columns& columns, NumberWriter& writer, std::string& out) {
  for (auto& [number, column] : columns.fields) {
    if (column.counted()) {
      column.counts.resize(columns.parts);
      column.count_form = writer.Write(column.counts, 0, out);
    } else {
      column.numbers.resize(columns.parts);
    }
    if (column.kind == kFixed) {
      for (const uint64_t value : column.numbers) {
        out.append(reinterpret_cast<const char*>(&value), sizeof(value));
      }
    } else if (column.kind == kMessage) {
      WriteData(*column.inside, writer, out);
    } else {
      column.number_form = writer.Write(column.numbers, column.Row(), out);
      for (const std::string_view text : column.texts) out.append(text);
    }
  }
}

void WriteTree(const Columns& columns, std::string& out) {
  PutVarint(columns.fields.size(), out);
  for (const auto& [number, column] : columns.fields) {
    PutVarint(static_cast<uint64_t>(number), out);
    out.push_back(static_cast<char>(column.kind | (column.repeated ? kRepeated : 0)));
    if (column.counted()) out.push_back(static_cast<char>(column.count_form));
    if (column.kind == kNumber || column.kind == kText) {
      out.push_back(static_cast<char>(column.number_form));
    }
    if (column.kind == kMessage) WriteTree(*column.inside, out);
  }
}

// ---- from columns ----

bool TakeByte(std::string_view& bytes, uint8_t& byte) {
  if (bytes.empty()) return false;
  byte = static_cast<uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  return true;
}

// `path`: to the message these are the columns of, which is wanted or not.
bool ReadTree(std::string_view& bytes, const WantsField& wants, std::vector<int>& path, bool wanted,
              size_t& room, Columns& columns) {
  uint64_t fields = 0;
  if (path.size() > kDeepest || !TakeVarint(bytes, fields) || fields > room) return false;
  room -= fields;
  columns.fields.reserve(fields);
  int before = 0;
  for (uint64_t i = 0; i < fields; ++i) {
    uint64_t number = 0;
    uint8_t kind = 0;
    if (!TakeVarint(bytes, number) || number > FieldDescriptor::kMaxNumber) return false;
    if (static_cast<int>(number) <= std::exchange(before, static_cast<int>(number))) return false;
    if (!TakeByte(bytes, kind) || (kind & ~kRepeated) >= kKinds) return false;
    Column& column = columns.fields.emplace_back(before, Column()).second;
    column.kind = static_cast<Kind>(kind & ~kRepeated);
    column.repeated = (kind & kRepeated) != 0;
    if (column.kind == kFixed && column.repeated) return false;
    if (column.counted() && !TakeByte(bytes, column.count_form)) return false;
    path.push_back(before);
    column.wanted = wanted && (wants == nullptr || wants(path));
    if (column.kind == kMessage) {
      column.inside = std::make_unique<Columns>();
      if (!ReadTree(bytes, wants, path, column.wanted, room, *column.inside)) return false;
    } else if (column.kind != kFixed && !TakeByte(bytes, column.number_form)) {
      return false;
    }
    path.pop_back();
  }
  return true;
}

// False: more than `limit`.
bool Sum(const std::vector<uint64_t>& numbers, size_t limit, size_t& sum) {
  sum = 0;
  for (const uint64_t number : numbers) {
    if (number > limit - sum) return false;
    sum += number;
  }
  return true;
}

bool ReadTexts(std::string_view& bytes, Column& column) {
  size_t all = 0;
  if (!Sum(column.numbers, bytes.size(), all)) return false;
  std::string_view left = bytes.substr(0, all);
  bytes.remove_prefix(all);
  if (!column.wanted) return true;
  column.texts.reserve(column.numbers.size());
  for (const uint64_t length : column.numbers) {
    column.texts.push_back(left.substr(0, length));
    left.remove_prefix(length);
  }
  return true;
}

bool ReadFixed(std::string_view& bytes, size_t values, Column& column) {
  if (values > bytes.size() / sizeof(uint64_t)) return false;
  if (column.wanted) {
    column.numbers.resize(values);
    if (values != 0) std::memcpy(column.numbers.data(), bytes.data(), values * sizeof(uint64_t));
  }
  bytes.remove_prefix(values * sizeof(uint64_t));
  return true;
}

// Whether it says what their field 1 does of parts that may be left out by it.
bool IsFirst(int number, const Column& column) {
  return number == 1 && column.kind == kNumber && !column.repeated && column.wanted;
}

// Of the parts of a message that may be written, by their field 1: the first and the last.
void Narrow(const std::vector<uint64_t>& firsts, const std::function<bool(uint64_t)>& wants,
            NumberRange& wanted) {
  size_t first = firsts.size(), last = 0;
  for (size_t part = 0; part < firsts.size(); ++part) {
    if (!wants(firsts[part])) continue;
    first = std::min(first, part);
    last = part + 1;
  }
  wanted = {std::min(first, last), last};
}

// The values of the parts that may be written, of a column that has as many as `counts` says.
NumberRange ValuesOf(const std::vector<uint64_t>& counts, NumberRange parts) {
  NumberRange values{0, 0};
  const size_t last = std::min(parts.last, counts.size());
  for (size_t part = 0; part < last; ++part) {
    if (part < parts.first) values.first += counts[part];
    values.last += counts[part];
  }
  return values;
}

// Each number stands for a byte of `bytes` or more, so none is made that is not there. `wants`: by
// their field 1, which parts.
bool ReadData(std::string_view& bytes, Columns& columns, size_t limit,
              const std::function<bool(uint64_t)>& wants, const WantsMessage& wants_inside) {
  for (auto& [number, column] : columns.fields) {
    size_t values = columns.parts;
    NumberRange wanted = columns.wanted;
    if (column.counted()) {
      if (!ReadNumbers(bytes, column.count_form, columns.parts, 0, column.counts) ||
          !Sum(column.counts, limit, values)) {
        return false;
      }
      wanted = ValuesOf(column.counts, columns.wanted);
    }
    bool good = false;
    if (column.kind == kMessage) {
      column.inside->parts = values;
      column.inside->wanted = wanted;
      std::function<bool(uint64_t)> of_field;
      if (wants_inside != nullptr) {
        of_field = [&, field = number](uint64_t first) { return wants_inside(field, first); };
      }
      good = ReadData(bytes, *column.inside, limit, of_field, {});
    } else if (column.kind == kFixed) {
      good = ReadFixed(bytes, values, column);
    } else if (column.kind == kNumber && !column.wanted) {
      good = SkipNumbers(bytes, column.number_form, values, column.Row());
    } else if (column.kind == kNumber) {
      good = ReadNumbers(bytes, column.number_form, values, column.Row(), column.numbers, wanted);
    } else {
      good = ReadNumbers(bytes, column.number_form, values, column.Row(), column.numbers) &&
             ReadTexts(bytes, column);
    }
    if (!good) return false;
    if (wants != nullptr && IsFirst(number, column)) Narrow(column.numbers, wants, columns.wanted);
  }
  return true;
}

// The bytes of a message that is being made.
class MessageBytes {
 public:
  explicit MessageBytes(size_t expected)
      : bytes_(std::make_unique_for_overwrite<char[]>(expected)), room_(expected) {}

  size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.get(), size_}; }
  void Number(uint64_t value) { Told(PutVarint(value, Room(kLongestVarint))); }
  void Tag(int number, int wire) {
    Number(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(wire));
  }
  void Bytes(const void* bytes, size_t size) {
    char* const end = Room(size);
    if (size != 0) std::memcpy(end, bytes, size);
    Told(end + size);
  }
  void Text(int number, std::string_view text) {
    Tag(number, kWireLength);
    Number(text.size());
    Bytes(text.data(), text.size());
  }
  // What has a length: leaves a byte for it, which most need no more of; returns where it begins.
  size_t Begin(int number) {
    Tag(number, kWireLength);
    Told(Room(1) + 1);
    return size_;
  }
  void End(size_t begin) {
    uint64_t length = size_ - begin;
    if (const size_t more = VarintSize(length) - 1; more != 0) {
      Told(Room(more) + more);
      std::memmove(bytes_.get() + begin + more, bytes_.get() + begin, length);
    }
    char* place = bytes_.get() + begin - 1;
    for (; length >= 0x80; length >>= 7) *place++ = static_cast<char>(length | 0x80);
    *place = static_cast<char>(length);
  }

 private:
  char* Room(size_t more) {
    if (more > room_ - size_) {
      room_ = std::max(2 * room_, size_ + more);
      auto wider = std::make_unique_for_overwrite<char[]>(room_);
      std::memcpy(wider.get(), bytes_.get(), size_);
      bytes_ = std::move(wider);
    }
    return bytes_.get() + size_;
  }
  void Told(const char* end) { size_ = static_cast<size_t>(end - bytes_.get()); }

  std::unique_ptr<char[]> bytes_;
  size_t room_, size_ = 0;
};

// Passes by the next parts.
void SkipParts(Columns& columns, uint64_t parts) {
  const size_t begin = columns.next;
  columns.next += parts;
  for (auto& [number, column] : columns.fields) {
    if (!column.wanted) continue;
    uint64_t values = parts;
    if (column.counted()) {
      values = 0;
      for (size_t place = begin; place < columns.next; ++place) values += column.counts[place];
    }
    column.next += values;
    if (column.kind == kMessage) SkipParts(*column.inside, values);
  }
}

// What their field 1 says of the next part.
uint64_t FirstOf(const Columns& columns) {
  if (columns.fields.empty()) return 0;
  const auto& [number, column] = columns.fields.front();
  return IsFirst(number, column) ? column.numbers[columns.next] : 0;
}

bool WritePart(Columns& columns, const WantsMessage& wants, size_t limit, MessageBytes& out);

// What one field says in one part. Parts are asked for in the order in which they stand.
bool WriteField(int number, Column& column, size_t place, const WantsMessage& wants, size_t limit,
                MessageBytes& out) {
  uint64_t times = column.counted() ? column.counts[place] : 1;
  switch (column.kind) {
    case kNumber:
      if (column.repeated) {
        if (times == 0) return true;
        const size_t begin = out.Begin(number);
        for (; times != 0; --times) out.Number(column.numbers[column.next++]);
        out.End(begin);
      } else if (column.numbers[place] != 0) {
        out.Tag(number, kWireVarint);
        out.Number(column.numbers[place]);
      }
      return true;
    case kFixed:
      if (column.numbers[place] == 0) return true;
      out.Tag(number, kWireFixed64);
      out.Bytes(&column.numbers[place], sizeof(uint64_t));
      return true;
    case kText:
      for (; times != 0; --times) {
        const std::string_view text = column.texts[column.next++];
        if (text.empty() && !column.repeated) continue;
        out.Text(number, text);
        if (out.size() > limit) return false;
      }
      return true;
    default:
      for (; times != 0; --times) {
        if (wants != nullptr && !wants(number, FirstOf(*column.inside))) {
          SkipParts(*column.inside, 1);
          continue;
        }
        const size_t begin = out.Begin(number);
        if (!WritePart(*column.inside, {}, limit, out)) return false;
        out.End(begin);
        if (out.size() > limit) return false;
      }
      return true;
  }
}

// False: more than the limit.
bool WritePart(Columns& columns, const WantsMessage& wants, size_t limit, MessageBytes& out) {
  const size_t place = columns.next++;
  for (auto& [number, column] : columns.fields) {
    if (column.wanted && !WriteField(number, column, place, wants, limit, out)) return false;
  }
  return out.size() <= limit;
}

}  // namespace

std::optional<std::string> ToColumns(std::string_view message, const Descriptor& type) {
  Columns columns;
  if (!Take(message, type, 0, columns)) return std::nullopt;
  std::string data;
  data.reserve(message.size());
  NumberWriter writer;
  WriteData(columns, writer, data);
  std::string out;
  out.reserve(data.size() + 1024);
  WriteTree(columns, out);
  out += data;
  return out;
}

absl::StatusOr<std::string> FromColumns(std::string_view columns, size_t limit,
                                        const WantsField& wants,
                                        const WantsMessage& wants_message) {
  const auto refused = [&](const char* what) {
    return absl::InvalidArgumentError(
        absl::StrCat("open columns: ", columns.size(), " bytes ", what));
  };
  std::string_view left = columns;
  Columns all;
  all.parts = 1;
  size_t room = kMostFields;
  std::vector<int> path;
  if (!ReadTree(left, wants, path, true, room, all)) {
    return refused("do not begin with a tree of fields");
  }
  if (!ReadData(left, all, columns.size(), {}, wants_message)) {
    return refused("lack what their fields should have");
  }
  if (!left.empty()) return refused("have more than their fields say");
  MessageBytes message(std::min(limit, columns.size() * 4) + kLongestVarint);
  if (!WritePart(all, wants_message, limit, message)) {
    return refused("are a message beyond its limit");
  }
  return std::string(message.view());
}

}  // namespace telltale::proto
