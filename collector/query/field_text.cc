#include "collector/query/field_text.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/query/syscall_names.h"

namespace telltale::query {
namespace {

std::string ProtocolText(uint64_t protocol) {
  switch (protocol) {
    case 1:
      return "icmp";
    case 6:
      return "tcp";
    case 17:
      return "udp";
    case 58:
      return "icmp6";
    case 132:
      return "sctp";
    case 256 + 1:
      return "unix";
    case 256 + 16:
      return "netlink";
    case 256 + 17:
      return "packet";
    default:
      return protocol >= 256 ? absl::StrCat("family ", protocol - 256)
                             : absl::StrCat("protocol ", protocol);
  }
}

std::string DurationText(uint64_t ns) {
  if (ns >= 1'000'000'000) return absl::StrFormat("%.3g s", static_cast<double>(ns) * 1e-9);
  if (ns >= 1'000'000) return absl::StrFormat("%.3g ms", static_cast<double>(ns) * 1e-6);
  if (ns >= 1'000) return absl::StrFormat("%.3g us", static_cast<double>(ns) * 1e-3);
  return absl::StrCat(ns, " ns");
}

std::string SyscallText(uint64_t number_plus_1, const std::string& machine) {
  if (number_plus_1 == 0) return "";
  const std::string name(SyscallName(machine, number_plus_1 - 1));
  return name.empty() ? absl::StrCat("syscall ", number_plus_1 - 1) : name;
}

}  // namespace

std::string FieldText(const v1::FieldDescriptor& field, uint64_t value, const StackNames& names,
                      const std::string& machine) {
  switch (field.kind()) {
    case v1::FIELD_KIND_SIGNED: {
      const int64_t number = static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
      const char* error =
          number < 0 && number > -4096 ? strerrorname_np(static_cast<int>(-number)) : nullptr;
      return error == nullptr ? absl::StrCat(number) : absl::StrCat(number, " ", error);
    }
    case v1::FIELD_KIND_IP:
      return value == 0 ? "" : FrameText(names.Frame(static_cast<uint32_t>(value - 1)));
    case v1::FIELD_KIND_SYSCALL:
      return SyscallText(value, machine);
    case v1::FIELD_KIND_DEVICE:
      return absl::StrCat(value >> 20, ":", value & 0xfffff);
    case v1::FIELD_KIND_SIGNAL: {
      const char* name = value < 65 ? sigabbrev_np(static_cast<int>(value)) : nullptr;
      return name == nullptr ? absl::StrCat("signal ", value) : absl::StrCat("SIG", name);
    }
    case v1::FIELD_KIND_PORT:
    case v1::FIELD_KIND_PID:
      return value == 0 ? "" : absl::StrCat(value);
    case v1::FIELD_KIND_PROTOCOL:
      return ProtocolText(value);
    case v1::FIELD_KIND_BYTES:
      return absl::StrCat(value, " bytes");
    case v1::FIELD_KIND_NANOSECONDS:
      return DurationText(value);
    case v1::FIELD_KIND_ERRNO: {
      if (value == 0) return "";
      const char* name = value < 4096 ? strerrorname_np(static_cast<int>(value)) : nullptr;
      return name == nullptr ? absl::StrCat("errno ", value) : name;
    }
    case v1::FIELD_KIND_STACK_POINTER:
    case v1::FIELD_KIND_GFP:
    case v1::FIELD_KIND_HEX:
      return absl::StrFormat("0x%x", value);
    case v1::FIELD_KIND_ENUM:
      if (value < static_cast<uint64_t>(field.value_names_size())) {
        return field.value_names(static_cast<int>(value));
      }
      return absl::StrCat(value);
    case v1::FIELD_KIND_STRING:
    case v1::FIELD_KIND_ADDRESS:
      return names.String(static_cast<uint32_t>(value));
    default:
      return absl::StrCat(value);
  }
}

}  // namespace telltale::query
