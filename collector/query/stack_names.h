// Turns the tables of one body (strings, code locations, stacks) into what answers show:
// executables, frames with function names where anybody told them, else binary+offset.
//
// StackNames belongs to one body and one answer; SymbolCache to one answer. One thread.

#ifndef TELLTALE_COLLECTOR_QUERY_STACK_NAMES_H_
#define TELLTALE_COLLECTOR_QUERY_STACK_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/query/source.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

// Names asked of the source once per location.
class SymbolCache {
 public:
  explicit SymbolCache(const Source* source) : source_(source) {}
  const std::optional<std::string>& Name(const std::string& build_id, uint64_t offset,
                                         uint32_t node);
  // As uname of the node says, "x86_64"; empty: not known.
  const std::string& Machine(uint32_t node);

 private:
  const Source* const source_;
  std::optional<std::unordered_map<uint32_t, std::string>> machines_;
  std::unordered_map<std::string, std::optional<std::string>> names_;
};

// A place in code, free of tables.
struct CodePlace {
  bool mapped = false;  // false: the offset is an address
  v1::MappingKind kind = v1::MAPPING_KIND_UNSPECIFIED;
  std::string path, build_id;
  uint64_t offset = 0;
};
// By build id and offset, as the agent or another node called it. A source of debug files by build
// id would add file, line and inlined functions here, where v1.Frame has numbers left open for
// them.
v1::Frame NamedFrame(const CodePlace& place, uint32_t node, SymbolCache& cache);
// The file it is in as answers say it, without asking for a name.
std::string BinaryOf(const CodePlace& place);

// Makes the id of a stack: kernel frames, BeginUser, user frames, each leaf first.
class StackIdMaker {
 public:
  void Add(const std::string* build_id, uint64_t offset);  // nullptr: not mapped
  void BeginUser() { bytes_ += '|'; }
  std::string Finish() const;  // 16 bytes

 private:
  std::string bytes_;
};

class StackNames {
 public:
  StackNames(const v1::Tables* tables, uint32_t node, SymbolCache* cache)
      : tables_(*tables), node_(node), cache_(*cache) {}

  // Index + 1 as in the messages; 0 gives "".
  std::string String(uint32_t index_plus_1) const;
  // Index of a frame, not + 1.
  v1::Frame Frame(uint32_t frame) const;
  std::string Binary(uint32_t frame) const;
  // Kernel part, then user part, leaf first. Index + 1; 0 gives nothing.
  std::vector<v1::Frame> Kernel(uint32_t stack_plus_1) const;
  std::vector<v1::Frame> User(uint32_t stack_plus_1) const;
  const v1::Stack* Stack(uint32_t stack_plus_1) const;  // nullptr: none
  // 16 bytes, equal for equal code locations whatever body they came in. Empty: no stack.
  std::string StackId(uint32_t stack_plus_1) const;
  bool HasFrames(uint32_t stack_plus_1) const;
  const std::string& Machine() const { return cache_.Machine(node_); }

 private:
  std::optional<CodePlace> Place(uint32_t frame) const;

  const v1::Tables& tables_;
  const uint32_t node_;
  SymbolCache& cache_;
};

// "function (binary)" for a line of text; just the function for the kernel.
std::string FrameText(const v1::Frame& frame);

// Last part of a path.
std::string BaseName(const std::string& path);

// The call an event is of, as a frame; nullopt: none. `number_plus_1` as in the messages.
std::optional<v1::Frame> CallFrame(const std::string& machine, uint64_t number_plus_1);

// Whether the label of a vital holds the code address its events happen at.
bool ByAddress(const v1::VitalDescriptor& descriptor);

// Where an event comes from, as people mean it: the first user frame outside the C library and the
// dynamic loader, else the first. Index of a stack of so many user frames, at least one; by the
// binaries of its frames alone, since asking for all names takes longer than all else.
size_t SiteAmong(size_t frames, const std::function<std::string(size_t)>& binary);

// "complete", "depth limit", "unreadable" ...; empty: this kind of event takes no such stack.
std::string StackEndText(v1::StackEnd end);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_STACK_NAMES_H_
