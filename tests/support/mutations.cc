#include "tests/support/mutations.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"

namespace telltale::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kRepeats = 3000;

// A change of one field of one message, wherever that message stands.
struct Change {
  std::string what;
  std::function<void(Message*)> apply;
};

template <typename Value, typename Set, typename SetRepeated>
void AddValues(const FieldDescriptor* field, const std::vector<Value>& values, Set set,
               SetRepeated set_repeated, std::vector<Change>* changes) {
  for (const Value& value : values) {
    const std::string shown = [&] {
      if constexpr (std::is_same_v<Value, std::string>) {
        return absl::StrCat(value.size(), " bytes ", value.substr(0, 1) == "\xff" ? "bad" : "good");
      } else {
        return absl::StrCat(value);
      }
    }();
    changes->push_back({absl::StrCat(field->name(), " = ", shown), [=](Message* message) {
                          const Reflection* reflection = message->GetReflection();
                          if (field->is_repeated()) {
                            (reflection->*set_repeated)(message, field, 0, value);
                          } else {
                            (reflection->*set)(message, field, value);
                          }
                        }});
  }
}

void AddScalarChanges(const FieldDescriptor* field, std::vector<Change>* changes) {
  constexpr uint32_t k32 = std::numeric_limits<uint32_t>::max();
  constexpr uint64_t k64 = std::numeric_limits<uint64_t>::max();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      AddValues<uint32_t>(field, {0, 1, 65536, k32 / 2, k32}, &Reflection::SetUInt32,
                          &Reflection::SetRepeatedUInt32, changes);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      AddValues<uint64_t>(field, {0, 1, k32, k64 / 2, k64}, &Reflection::SetUInt64,
                          &Reflection::SetRepeatedUInt64, changes);
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      AddValues<int32_t>(field, {0, -1, INT32_MIN, INT32_MAX}, &Reflection::SetInt32,
                         &Reflection::SetRepeatedInt32, changes);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      AddValues<int64_t>(field, {0, -1, INT64_MIN, INT64_MAX}, &Reflection::SetInt64,
                         &Reflection::SetRepeatedInt64, changes);
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      AddValues<double>(field, {0, -1, 1e300, std::numeric_limits<double>::infinity(), NAN},
                        &Reflection::SetDouble, &Reflection::SetRepeatedDouble, changes);
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      AddValues<bool>(field, {false, true}, &Reflection::SetBool, &Reflection::SetRepeatedBool,
                      changes);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      AddValues<int>(field, {0, -1, 9999}, &Reflection::SetEnumValue,
                     &Reflection::SetRepeatedEnumValue, changes);
      break;
    case FieldDescriptor::CPPTYPE_STRING: {
      std::vector<std::string> values = {"", "a", "../../etc/passwd", std::string(300, 'x'),
                                         std::string(5000, 'x')};
      // Protobuf itself refuses to read a string that is no UTF-8.
      if (field->type() == FieldDescriptor::TYPE_BYTES) values.push_back("\xff\xfe");
      values.push_back(std::string("a\0\x1b[2J\r\n", 8));
      using Set = void (Reflection::*)(Message*, const FieldDescriptor*, std::string) const;
      using SetRepeated =
          void (Reflection::*)(Message*, const FieldDescriptor*, int, std::string) const;
      AddValues<std::string>(field, values, static_cast<Set>(&Reflection::SetString),
                             static_cast<SetRepeated>(&Reflection::SetRepeatedString), changes);
      break;
    }
    default:
      break;
  }
}

void Repeat(Message* message, const FieldDescriptor* field) {
  const Reflection* reflection = message->GetReflection();
  for (int i = 0; i < kRepeats; ++i) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        reflection->AddMessage(message, field)
            ->CopyFrom(reflection->GetRepeatedMessage(*message, field, 0));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection->AddUInt32(message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection->AddUInt64(message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection->AddInt64(message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection->AddEnumValue(message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection->AddString(message, field, "again");
        break;
      default:
        return;
    }
  }
}

std::vector<Change> ChangesOf(const Message& message) {
  std::vector<Change> changes;
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const bool there = std::find(present.begin(), present.end(), field) != present.end();
    if (!field->is_repeated() || there) AddScalarChanges(field, &changes);
    if (there) {
      changes.push_back({absl::StrCat(field->name(), " gone"), [field](Message* changed) {
                           changed->GetReflection()->ClearField(changed, field);
                         }});
    }
    if (there && field->is_repeated()) {
      changes.push_back({absl::StrCat(field->name(), " x ", kRepeats),
                         [field](Message* changed) { Repeat(changed, field); }});
    }
  }
  return changes;
}

// `place` finds, in a copy of `root`, the message that is `here` in `root`.
void Walk(const Message& root, const Message& here, const std::string& path,
          const std::function<Message*(Message*)>& place, std::vector<Mutation>* mutations) {
  for (const Change& change : ChangesOf(here)) {
    Mutation mutation{path + change.what, std::unique_ptr<Message>(root.New())};
    mutation.message->CopyFrom(root);
    change.apply(place(mutation.message.get()));
    mutations->push_back(std::move(mutation));
  }
  std::vector<const FieldDescriptor*> fields;
  here.GetReflection()->ListFields(here, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const Message& child = field->is_repeated()
                               ? here.GetReflection()->GetRepeatedMessage(here, field, 0)
                               : here.GetReflection()->GetMessage(here, field);
    Walk(
        root, child, absl::StrCat(path, field->name(), "."),
        [place, field](Message* copy) {
          Message* parent = place(copy);
          return field->is_repeated()
                     ? parent->GetReflection()->MutableRepeatedMessage(parent, field, 0)
                     : parent->GetReflection()->MutableMessage(parent, field);
        },
        mutations);
  }
}

}  // namespace

std::vector<Mutation> Mutations(const Message& valid) {
  std::vector<Mutation> mutations;
  Walk(
      valid, valid, "", [](Message* copy) { return copy; }, &mutations);
  return mutations;
}

}  // namespace telltale::testing
