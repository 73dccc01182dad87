#include "tests/support/synthetic_node.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"

namespace telltale::testing {
namespace {

// splitmix64 (Steele, Lea, Flood 2014).
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t n) { return Next() % n; }

 private:
  uint64_t state_;
};

// Zero in the low bits beyond the highest seven.
uint64_t SevenBits(uint64_t v) {
  int shift = 0;
  while ((v >> shift) >= 128) ++shift;
  return v >> shift << shift;
}

constexpr int kExes = 40;
constexpr int kFrames = 64;
constexpr int kStacks = 24;

void FillTables(Numbers& numbers, v1::Tables* tables) {
  for (int i = 0; i < kExes; ++i) tables->add_strings(absl::StrCat("/usr/bin/program-", i));
  for (int i = 0; i < kExes; ++i) tables->add_strings(absl::StrCat("program-", i));
  for (int i = 0; i < 8; ++i)
    tables->add_strings(absl::StrCat("/system.slice/unit-", i, ".service"));
  for (int i = 0; i < 4; ++i) {
    v1::Mapping* mapping = tables->add_mappings();
    mapping->set_kind(i == 0 ? v1::MAPPING_KIND_KERNEL : v1::MAPPING_KIND_FILE);
    mapping->set_build_id(std::string(20, static_cast<char>(i + 1)));
    mapping->set_path(static_cast<uint32_t>(i + 1));
  }
  for (int i = 0; i < kFrames; ++i) {
    tables->add_frame_mapping(static_cast<uint32_t>(1 + i % 4));
    tables->add_frame_offset(0x1000 + 0x40 * static_cast<uint64_t>(i));
  }
  for (int i = 0; i < kStacks; ++i) {
    v1::Stack* stack = tables->add_stacks();
    for (int depth = 0; depth < 4; ++depth) {
      stack->add_kernel(static_cast<uint32_t>(numbers.Below(kFrames / 4) * 4));
      stack->add_user(static_cast<uint32_t>(numbers.Below(kFrames / 4) * 4 + 1));
    }
    stack->set_kernel_end(v1::STACK_END_COMPLETE);
    stack->set_user_end(v1::STACK_END_COMPLETE);
  }
}

uint64_t FieldValue(const v1::FieldDescriptor& field, uint64_t pick, Numbers& numbers) {
  switch (field.kind()) {
    case v1::FIELD_KIND_IP:
      return 1 + pick % kFrames;
    case v1::FIELD_KIND_STRING:
    case v1::FIELD_KIND_ADDRESS:
      return 1 + pick % kExes;
    case v1::FIELD_KIND_ENUM:
      return pick % static_cast<uint64_t>(field.value_names_size());
    case v1::FIELD_KIND_PID:
      return 100 + pick % 50;
    case v1::FIELD_KIND_ORDER:
      return pick % 4;
    case v1::FIELD_KIND_PORT:
      return 80 + pick % 3;
    default:
      return pick % 1000 + (numbers.Below(10) == 0 ? 1 : 0);
  }
}

void FillVital(const v1::VitalDescriptor& descriptor, uint64_t seed, uint32_t seconds,
               Numbers& numbers, v1::Vital* vital) {
  vital->set_id(descriptor.id());
  vital->set_state(v1::VITAL_STATE_ACTIVE);
  vital->set_quantum(descriptor.quantum());
  vital->set_t_log2(2);
  uint64_t total = 0;
  for (int sub = 0; sub < descriptor.subs_size(); ++sub) {
    v1::SubSeries* series = vital->add_subs();
    uint64_t weight = 0;
    for (uint32_t second = 0; second < seconds; ++second) {
      const uint64_t value = SevenBits(numbers.Below(descriptor.quantum() * 1000 + 1));
      series->add_second_weight(value);
      weight += value;
    }
    series->set_weight(weight);
    series->set_events(weight / (descriptor.quantum() + 1) + numbers.Below(100));
    total += weight;
  }
  v1::SketchDigest* sketch = vital->mutable_sketch();
  sketch->set_rows(1);
  sketch->set_columns(512);
  sketch->set_total(total);
  sketch->set_distinct(40);
  uint64_t left = total;
  for (int i = 0; i < 6 && left > 1; ++i) {
    v1::FoldedSample* sample = vital->add_samples();
    // A few labels come in every epoch, the rest come and go.
    const uint64_t pick = i < 3 ? seed * 7 + static_cast<uint64_t>(i) : numbers.Below(200);
    sample->set_exe(static_cast<uint32_t>(1 + pick % kExes));
    sample->set_uid(static_cast<uint32_t>(1000 + pick % 5));
    for (const v1::FieldDescriptor& field : descriptor.label()) {
      sample->add_label(FieldValue(field, pick, numbers));
    }
    sample->set_sub(static_cast<uint32_t>(numbers.Below(descriptor.subs_size())));
    sample->set_stack(static_cast<uint32_t>(1 + numbers.Below(kStacks)));
    sample->set_samples(1 + numbers.Below(9));
    const uint64_t low = numbers.Below(left / 3 + 1);
    left -= low;
    sample->set_low(low);
    sample->set_high(low + numbers.Below(left + 1));
    sample->set_sampled_weight(low / 2);
    sample->set_first_ms(static_cast<uint32_t>(numbers.Below(1000)));
    sample->set_last_ms(sample->first_ms() + static_cast<uint32_t>(numbers.Below(4000)));
    v1::Sample* exemplar = sample->mutable_exemplar();
    exemplar->set_time_ns(numbers.Below(4'000'000'000));
    exemplar->set_cpu(static_cast<uint32_t>(numbers.Below(2)));
    exemplar->set_pid(static_cast<uint32_t>(100 + pick % 50));
    exemplar->set_tid(static_cast<uint32_t>(100 + pick % 50));
    exemplar->set_comm(static_cast<uint32_t>(kExes + 1 + pick % kExes));
    exemplar->set_cgroup(static_cast<uint32_t>(2 * kExes + 1 + pick % 8));
    exemplar->set_weight(1 + numbers.Below(1000));
    exemplar->set_cell_after(low + 1000);
    exemplar->set_t_log2(2);
    for (const v1::FieldDescriptor& field : descriptor.detail()) {
      exemplar->add_detail(FieldValue(field, numbers.Below(1000), numbers));
    }
  }
}

void FillProcesses(const v1::SummaryBody& body, uint64_t seed, Numbers& numbers,
                   v1::ProcessTable* table) {
  table->add_columns(v1::PROCESS_COLUMN_RUN_NS);
  struct Left {
    uint64_t events, weight;
  };
  std::vector<Left> left;
  for (const v1::Vital& vital : body.vitals()) {
    if (vital.id() > 4) break;
    for (int sub = 0; sub < vital.subs_size(); ++sub) {
      const uint32_t column =
          v1::PROCESS_COLUMN_FIRST_VITAL + vital.id() * 32 + static_cast<uint32_t>(sub) * 2;
      table->add_columns(column);
      table->add_columns(column + 1);
      left.push_back({vital.subs(sub).events(), vital.subs(sub).weight()});
    }
  }
  const auto fill = [&](v1::ProcessRow* row, bool rest) {
    row->add_values(numbers.Below(1'000'000'000));
    for (Left& part : left) {
      const uint64_t events = rest ? part.events : numbers.Below(part.events / 2 + 1);
      const uint64_t weight = rest ? part.weight : numbers.Below(part.weight / 2 + 1);
      row->add_values(events);
      row->add_values(weight);
      part.events -= events;
      part.weight -= weight;
    }
  };
  for (int i = 0; i < 12; ++i) {
    const uint64_t pick = i < 4 ? seed * 5 + static_cast<uint64_t>(i) : numbers.Below(kExes);
    v1::ProcessRow* row = table->add_rows();
    row->set_exe(static_cast<uint32_t>(1 + pick % kExes));
    row->set_comm(static_cast<uint32_t>(kExes + 1 + pick % kExes));
    row->set_uid(static_cast<uint32_t>(1000 + pick % 5));
    row->set_cgroup(static_cast<uint32_t>(2 * kExes + 1 + pick % 8));
    row->set_pid(static_cast<uint32_t>(100 + i));
    row->set_instances(1);
    fill(row, false);
  }
  fill(table->mutable_other(), true);
}

void FillHistograms(Numbers& numbers, v1::SummaryBody* body) {
  for (const char* operation : {"read", "write"}) {
    v1::Histogram* histogram = body->add_histograms();
    histogram->set_layer(v1::LAYER_DISK);
    histogram->set_operation(operation);
    histogram->set_r(2);
    histogram->set_unit(v1::UNIT_NANOSECONDS);
    uint32_t bucket = static_cast<uint32_t>(numbers.Below(20));
    for (int i = 0; i < 5; ++i) {
      const uint64_t count = 1 + numbers.Below(50);
      histogram->add_bucket(bucket);
      histogram->add_count(count);
      histogram->set_exits(histogram->exits() + count);
      bucket += 1 + static_cast<uint32_t>(numbers.Below(4));
    }
    histogram->set_entries(histogram->exits() + numbers.Below(3));
    histogram->set_sum(numbers.Below(1'000'000'000));
    histogram->set_share_ppm(1'000'000);
  }
}

}  // namespace

SyntheticNode::SyntheticNode(std::string name, uint64_t seed)
    : name_(std::move(name)), seed_(seed) {}

std::array<uint8_t, 16> SyntheticNode::incarnation() const {
  std::array<uint8_t, 16> id;
  id.fill(incarnation_byte_);
  id[0] = static_cast<uint8_t>(seed_);
  return id;
}

v1::SummaryBody SyntheticNode::Body(uint64_t sequence, uint64_t start_ns, uint32_t length_s) const {
  Numbers numbers(seed_ * 1'000'003 + sequence);
  v1::SummaryBody body;
  v1::Epoch* epoch = body.mutable_epoch();
  const uint64_t length_ns = length_s * 1'000'000'000ull;
  epoch->set_start_unix_ns(start_ns);
  epoch->set_end_unix_ns(start_ns + length_ns);
  epoch->set_start_mono_ns(start_ns % 1'000'000'000'000'000);
  epoch->set_end_mono_ns(epoch->start_mono_ns() + length_ns);
  epoch->set_kind(v1::EPOCH_KIND_FULL);
  epoch->set_length_s(length_s);
  epoch->set_watched_ns(length_ns);
  epoch->set_clock_error_ns(1000);
  epoch->set_boot_id(std::string(16, static_cast<char>(seed_)));
  epoch->set_agent_start_unix_ns(start_ns);
  FillTables(numbers, body.mutable_tables());
  static const v1::Schema schema = proto::BuiltinSchema();
  for (const v1::VitalDescriptor& descriptor : schema.vitals()) {
    if (descriptor.id() == 2) {  // like a machine without a performance counter
      v1::Vital* vital = body.add_vitals();
      vital->set_id(descriptor.id());
      vital->set_state(v1::VITAL_STATE_UNAVAILABLE);
      continue;
    }
    FillVital(descriptor, seed_, length_s, numbers, body.add_vitals());
  }
  FillProcesses(body, seed_, numbers, body.mutable_processes());
  FillHistograms(numbers, &body);
  body.mutable_gauges()->set_agent_cpu_ns(numbers.Below(1'000'000));
  body.mutable_gauges()->set_load1_centi(static_cast<uint32_t>(numbers.Below(400)));
  body.mutable_gauges()->set_memory_available_bytes(numbers.Below(1ull << 34));
  v1::Loss* loss = body.add_losses();
  loss->set_reason(v1::LOSS_REASON_RING_FULL);
  loss->set_events(numbers.Below(5));
  return body;
}

MadeSummary SyntheticNode::Seal(uint64_t sequence, v1::SummaryBody body) const {
  v1::Identity identity;
  identity.set_node(name_);
  const auto id = incarnation();
  identity.set_incarnation(std::string(id.begin(), id.end()));
  identity.set_sequence(sequence);
  v1::SketchCells cells;
  cells.set_seed_id(seed_ + sequence);
  v1::SketchCells::One* one = cells.add_vitals();
  one->set_vital(1);
  one->add_cells(sequence);
  static const uint64_t schema_id = proto::BuiltinSchema().id();
  absl::StatusOr<v1::Summary> summary = proto::EncodeSummary(identity, schema_id, body, cells);
  if (!summary.ok()) {
    std::fprintf(stderr, "synthetic summary is not valid: %s\n",
                 summary.status().ToString().c_str());
    std::abort();
  }
  return {*std::move(summary), std::move(body)};
}

MadeSummary SyntheticNode::Make(uint64_t sequence, uint64_t start_ns, uint32_t length_s) const {
  return Seal(sequence, Body(sequence, start_ns, length_s));
}

}  // namespace telltale::testing
