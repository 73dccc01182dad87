// Turns the numbers of one body into words: strings, frames, stacks, and the values of labels and
// details by the kind their descriptor gives. Every string comes out sanitized, and an index beyond
// its table comes out as "?", so that bodies which were refused can be shown too. Const after
// construction: any thread while the body lives.

#ifndef TELLTALE_PROTO_BODY_TEXT_H_
#define TELLTALE_PROTO_BODY_TEXT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "telltale/v1/summary.pb.h"

namespace telltale::proto {

// Of a string that is shown, whoever sent it.
inline constexpr size_t kShownBytes = 1024;

// The symbol at an offset of a mapping, empty if unknown.
using SymbolSource = std::function<std::string(const v1::Mapping&, uint64_t offset)>;

class BodyText {
 public:
  // `body` must outlive this.
  explicit BodyText(const v1::SummaryBody& body, SymbolSource symbols = nullptr);

  // Of a "strings index + 1"; "-" for none.
  std::string String(uint32_t index_plus_1) const;

  // "do_sys_open [kernel]", "/usr/bin/dd+0x1234".
  std::string Frame(uint32_t index) const;

  // Of a "stacks index + 1": kernel frames, then user frames, leaf first, each part followed by a
  // line that says why it is incomplete, if it is.
  std::vector<std::string> Stack(uint32_t index_plus_1) const;

  // One value of a label or detail: "read_issued", "pid 12", "0x7f00", "eth".
  std::string Value(const v1::FieldDescriptor& field, uint64_t value) const;

 private:
  const v1::SummaryBody& body_;  // not owned
  SymbolSource symbols_;         // may be empty
};

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_BODY_TEXT_H_
