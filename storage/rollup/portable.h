// Labels, stacks and samples without the tables of the body they came in: every index replaced by
// what it stands for, so that those of different epochs can be compared and merged. Plain values
// and free functions: any thread.

#ifndef TELLTALE_STORAGE_ROLLUP_PORTABLE_H_
#define TELLTALE_STORAGE_ROLLUP_PORTABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "storage/rollup/stored_tables.h"
#include "telltale/v1/store.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::storage {

// A place in code.
struct Location {
  v1::MappingKind kind =
      v1::MAPPING_KIND_UNSPECIFIED;  // unspecified: no mapping, offset is an address
  std::string build_id;
  std::string path;
  uint64_t offset = 0;
  auto operator<=>(const Location&) const = default;
};

struct PortableStack {
  std::vector<Location> kernel;  // leaf first
  std::vector<Location> user;
  v1::StackEnd kernel_end = v1::STACK_END_NONE;
  v1::StackEnd user_end = v1::STACK_END_NONE;
  auto operator<=>(const PortableStack&) const = default;
};

// A value of a label or detail. monostate: an index that was 0, "none".
using PortableValue = std::variant<std::monostate, uint64_t, Location, std::string>;

struct PortableLabel {
  std::string exe;  // empty: none
  uint32_t uid = 0;
  bool irq = false;
  std::vector<PortableValue> values;
  auto operator<=>(const PortableLabel&) const = default;
};

// The same while the tables live that hold its strings: for who only needs to know which it is.
struct LocationView {
  v1::MappingKind kind = v1::MAPPING_KIND_UNSPECIFIED;
  std::string_view build_id, path;
  uint64_t offset = 0;
};
using ValueView = std::variant<std::monostate, uint64_t, LocationView, std::string_view>;
struct LabelView {
  std::string_view exe;
  uint32_t uid = 0;
  bool irq = false;
  absl::InlinedVector<ValueView, 6> values;
};
PortableLabel Owned(const LabelView& label);

struct PortableExemplar {
  uint64_t digest = 0;
  uint64_t epoch_start_ns = 0;
  uint64_t epoch_sequence = 0;
  bool has_stack = false;
  PortableStack stack;
  std::string comm;
  std::string cgroup;
  std::vector<PortableValue> detail;
  v1::Sample numbers;  // the rest of the sample: no index in it, no peers
};

// Reads indexes of one body or window; they were checked to lie in the tables.
class TableView {
 public:
  explicit TableView(const v1::Tables& tables) : message_(&tables) {}
  explicit TableView(const StoredTables& tables) : stored_(&tables) {}

  std::string String(uint64_t index_plus_1) const { return std::string(Text(index_plus_1)); }
  Location Frame(uint32_t index) const;
  PortableStack Stack(uint64_t index_plus_1) const;
  PortableValue Value(const v1::FieldDescriptor& field, uint64_t value) const;

  // These live as long as the tables.
  std::string_view Text(uint64_t index_plus_1) const;
  ValueView View(const v1::FieldDescriptor& field, uint64_t value) const;

 private:
  LocationView Place(uint64_t index) const;

  // One of them.
  const v1::Tables* const message_ = nullptr;
  const StoredTables* const stored_ = nullptr;
};

// The label of an entry of a summary. No descriptor: executable and uid alone.
PortableLabel LabelOf(const v1::FoldedSample& sample, const v1::VitalDescriptor* descriptor,
                      const TableView& tables);
LabelView LabelViewOf(const v1::FoldedSample& sample, const v1::VitalDescriptor* descriptor,
                      const TableView& tables);
// The label of a row of a window. A value that is not described is the number it is.
LabelView LabelViewOf(const v1::RollupLabel& row, const v1::VitalDescriptor* descriptor,
                      const TableView& tables);

// The digest of a label: exact by build id and offset; stable by exe, file and operation only,
// without process numbers, addresses and offsets, so that an upgrade or a restart does not make
// everything new. xxh3.
uint64_t ExactId(const PortableLabel& label);
uint64_t ExactId(const LabelView& label);
uint64_t StableId(const PortableLabel& label, const v1::VitalDescriptor* descriptor);
// Of an exemplar, keyed by its label's exact id.
uint64_t ExemplarDigest(uint64_t exact_id, uint64_t epoch_start_ns, uint64_t sequence,
                        const v1::Sample& sample);
uint64_t DigestText(std::string_view text);

// The descriptor of a vital; nullptr: the schema has none.
const v1::VitalDescriptor* DescriptorOf(const v1::Schema& schema, uint32_t vital);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROLLUP_PORTABLE_H_
