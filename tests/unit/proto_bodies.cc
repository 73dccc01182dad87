#include "tests/unit/proto_bodies.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace telltale::proto::testing {
namespace {

constexpr uint64_t kStart = 1'800'000'000ull * 1'000'000'000ull;
constexpr uint64_t kSecond = 1'000'000'000;

// Draws the numbers a body is made of. With `most` every optional part is present and every value
// distinct enough that a swapped field shows.
class Maker {
 public:
  Maker(const v1::Schema& schema, std::mt19937_64* random) : schema_(schema), random_(random) {}

  v1::SummaryBody Body() {
    v1::SummaryBody body;
    seconds_ = random_ == nullptr ? 10 : Up(1, 60);
    Epoch(body.mutable_epoch());
    Tables(body.mutable_tables());
    for (const v1::VitalDescriptor& descriptor : schema_.vitals()) {
      if (Present()) Vital(descriptor, body.add_vitals());
    }
    for (size_t i = Some(5); i > 0; --i) Histogram(body.add_histograms());
    if (Present()) Processes(body.mutable_processes());
    Events(body);
    if (Present()) Gauges(body.mutable_gauges());
    for (size_t i = Some(3); i > 0; --i) Loss(body.add_losses());
    return body;
  }

 private:
  bool Present() { return random_ == nullptr || (*random_)() % 8 != 0; }

  // A number in [low, high]; without randomness a fixed walk through the range.
  uint64_t Up(uint64_t low, uint64_t high) {
    if (random_ == nullptr) return low + (step_ += 7) % (high - low + 1);
    return std::uniform_int_distribution<uint64_t>(low, high)(*random_);
  }
  // How many of a repeated part: of the fixed body at least two.
  size_t Some(uint64_t most) { return random_ == nullptr ? Up(2, most) : Up(0, most); }
  // Small numbers are common, huge ones occur.
  uint64_t Total() { return Up(0, (uint64_t{1} << Up(1, 50)) - 1); }
  uint32_t String() { return static_cast<uint32_t>(Up(0, strings_)); }
  uint32_t StackIndex() { return static_cast<uint32_t>(Up(0, stacks_)); }
  std::string Bytes(size_t count) {
    std::string bytes;
    while (bytes.size() < count) bytes.push_back(static_cast<char>(Up(0, 255)));
    return bytes;
  }

  void Epoch(v1::Epoch* epoch) {
    epoch->set_start_unix_ns(kStart + Up(0, kSecond));
    epoch->set_end_unix_ns(epoch->start_unix_ns() + seconds_ * kSecond);
    epoch->set_start_mono_ns(Up(1, 1'000'000) * kSecond);
    epoch->set_end_mono_ns(epoch->start_mono_ns() + seconds_ * kSecond);
    epoch->set_kind(static_cast<v1::EpochKind>(Up(1, 3)));
    epoch->set_length_s(10);
    epoch->set_watched_ns(Up(0, seconds_ * kSecond));
    epoch->set_clock_offset_ns(static_cast<int64_t>(Up(0, 2'000'000)) - 1'000'000);
    epoch->set_clock_error_ns(Up(0, 1'000'000));
    epoch->set_hlc(Total());
    epoch->set_boot_id(Bytes(16));
    epoch->set_agent_start_unix_ns(kStart - Up(0, 1000) * kSecond);
    epoch->set_scope(Present() ? "/slices/planet" : "");
    epoch->set_unspooled(Present());
  }

  void Tables(v1::Tables* tables) {
    strings_ = Up(3, 40);
    for (size_t i = 0; i < strings_; ++i) {
      tables->add_strings("/usr/bin/prog-\xc3\xa9-" + std::to_string(i * 31));
    }
    const size_t mappings = Up(1, 8);
    for (size_t i = 0; i < mappings; ++i) {
      v1::Mapping* mapping = tables->add_mappings();
      mapping->set_kind(static_cast<v1::MappingKind>(Up(1, 4)));
      mapping->set_build_id(Bytes(Up(0, 20)));
      mapping->set_path(String());
    }
    frames_ = Up(2, 60);
    for (size_t i = 0; i < frames_; ++i) {
      tables->add_frame_mapping(static_cast<uint32_t>(Up(0, mappings)));
      tables->add_frame_offset(Up(0, UINT64_MAX - 1));
    }
    stacks_ = Up(1, 20);
    for (size_t i = 0; i < stacks_; ++i) {
      v1::Stack* stack = tables->add_stacks();
      for (size_t j = Some(20); j > 0; --j) stack->add_kernel(Frame());
      for (size_t j = Some(20); j > 0; --j) stack->add_user(Frame());
      stack->set_kernel_end(static_cast<v1::StackEnd>(Up(0, 6)));
      stack->set_user_end(static_cast<v1::StackEnd>(Up(0, 6)));
    }
  }
  uint32_t Frame() { return static_cast<uint32_t>(Up(0, frames_ - 1)); }

  uint64_t Value(const v1::FieldDescriptor& field) {
    switch (field.kind()) {
      case v1::FIELD_KIND_IP:
        return Up(0, frames_);
      case v1::FIELD_KIND_STRING:
      case v1::FIELD_KIND_ADDRESS:
        return Up(0, strings_);
      case v1::FIELD_KIND_ENUM:
        return Up(0, field.value_names_size() - 1);
      case v1::FIELD_KIND_PORT:
        return Up(0, UINT16_MAX);
      case v1::FIELD_KIND_PID:
        return Up(0, 4'194'304);
      case v1::FIELD_KIND_ORDER:
        return Up(0, 10);
      default:
        return Total();
    }
  }

  void Vital(const v1::VitalDescriptor& descriptor, v1::Vital* vital) {
    vital->set_id(descriptor.id());
    if (random_ != nullptr && !Present()) {
      vital->set_state(v1::VITAL_STATE_UNAVAILABLE);
      return;
    }
    vital->set_state(v1::VITAL_STATE_ACTIVE);
    vital->set_quantum(descriptor.quantum());
    vital->set_t_log2(static_cast<uint32_t>(Up(1, 16)));
    for (int i = 0; i < descriptor.subs_size(); ++i) {
      v1::SubSeries* sub = vital->add_subs();
      sub->set_events(Total());
      uint64_t weight = 0;
      for (size_t second = Present() ? seconds_ : 0; second > 0; --second) {
        sub->add_second_weight(Up(0, 127) << Up(0, 30));
        weight += sub->second_weight(sub->second_weight_size() - 1);
      }
      sub->set_weight(weight + Up(0, 1000));
    }
    Sketch(vital->mutable_sketch());
    for (size_t i = Some(6); i > 0; --i) Folded(descriptor, vital->add_samples());
    vital->mutable_folded_away()->set_entries(Up(1, 9));
    vital->mutable_folded_away()->set_samples(Up(9, 99));
    vital->mutable_folded_away()->set_sampled_weight(Total());
    for (size_t i = descriptor.has_backlog() ? seconds_ : 0; i > 0; --i) {
      vital->add_backlog(static_cast<int64_t>(Up(0, 2000)) - 1000);
    }
    for (size_t i = Some(2); i > 0; --i) {
      v1::KnobChange* change = vital->add_knobs();
      change->set_time_ms(Ms());
      change->set_knob(static_cast<v1::Knob>(Up(1, 5)));
      change->set_from(Total());
      change->set_to(Total());
    }
    for (size_t i = Some(2); i > 0; --i) Loss(vital->add_losses());
  }
  uint32_t Ms() { return static_cast<uint32_t>(Up(0, seconds_ * 1000)); }

  void Sketch(v1::SketchDigest* sketch) {
    sketch->set_rows(1);
    sketch->set_columns(256);
    sketch->set_total(Total());
    sketch->set_distinct(Up(0, 4000));
    for (uint32_t exponent = 3; exponent < 9; ++exponent) {
      sketch->add_load_exponents(exponent);
      sketch->add_load_cells(Up(1, 30));
    }
    sketch->set_layout(static_cast<v1::CellLayout>(Up(0, 1)));
    if (sketch->layout() == v1::CELL_LAYOUT_VOTED) {
      sketch->set_unlisted_high(Total());
      sketch->set_contested_samples(Up(0, 400));
      sketch->set_miss_from(static_cast<uint32_t>(Up(0, 12)));
      sketch->set_control_labels(static_cast<uint32_t>(Up(20, 2'000)));
      sketch->set_control_heavy(static_cast<uint32_t>(Up(3, 20)));
      sketch->set_control_heavy_missed(static_cast<uint32_t>(Up(0, 3)));
      for (const uint32_t miss : {9'900u, 6'000u, 800u, 0u}) sketch->add_miss(miss);
    }
  }

  void Peer(v1::Peer* peer) {
    peer->set_pid(static_cast<uint32_t>(Up(1, 9999)));
    peer->set_tid(static_cast<uint32_t>(Up(1, 9999)));
    peer->set_comm(String());
    peer->set_start_mono_ns(Total());
    peer->set_stack(StackIndex());
  }

  void Folded(const v1::VitalDescriptor& descriptor, v1::FoldedSample* folded) {
    folded->set_exe(String());
    folded->set_uid(static_cast<uint32_t>(Up(0, 70'000)));
    for (const v1::FieldDescriptor& field : descriptor.label()) folded->add_label(Value(field));
    folded->set_sub(static_cast<uint32_t>(Up(0, descriptor.subs_size() - 1)));
    folded->set_stack(StackIndex());
    folded->set_samples(Up(1, 50));
    folded->set_sampled_weight(Total());
    folded->set_low(Total());
    folded->set_high(folded->low() + Total());
    folded->set_last_ms(Ms());
    folded->set_first_ms(static_cast<uint32_t>(Up(0, folded->last_ms())));
    folded->set_open(Up(0, 1) == 1);
    folded->set_irq(Up(0, 1) == 1);
    v1::Sample* sample = folded->mutable_exemplar();
    sample->set_time_ns(Up(0, seconds_ * kSecond));
    sample->set_cpu(static_cast<uint32_t>(Up(0, 255)));
    sample->set_pid(static_cast<uint32_t>(Up(1, 9999)));
    sample->set_tid(static_cast<uint32_t>(Up(1, 9999)));
    sample->set_comm(String());
    sample->set_cgroup(String());
    sample->set_weight(Total());
    sample->set_cell_before(Total());
    sample->set_cell_after(sample->cell_before() + sample->weight());
    sample->set_t_log2(static_cast<uint32_t>(Up(1, 16)));
    sample->set_duty_ppm(static_cast<uint32_t>(Up(0, 1'000'000)));
    for (const v1::FieldDescriptor& field : descriptor.detail()) sample->add_detail(Value(field));
    sample->set_process_age_ms(Total());
    if (Present()) Peer(sample->mutable_ran_instead());
    if (Present()) Peer(sample->mutable_waker());
    if (Present()) Peer(sample->mutable_holder());
  }

  void Histogram(v1::Histogram* histogram) {
    static constexpr uint32_t kParts[] = {1, 2, 4};
    histogram->set_layer(static_cast<v1::Layer>(Up(1, 5)));
    histogram->set_operation("read");
    histogram->set_subject_kind(v1::SUBJECT_KIND_EXE);
    histogram->set_subject(String());
    histogram->set_r(kParts[Up(0, 2)]);
    histogram->set_unit(v1::UNIT_NANOSECONDS);
    std::set<uint32_t> buckets;
    for (size_t i = Some(20); i > 0; --i) {
      buckets.insert(static_cast<uint32_t>(Up(0, 64 * histogram->r() - 1)));
    }
    for (const uint32_t bucket : buckets) {
      histogram->add_bucket(bucket);
      histogram->add_count(Up(1, 100'000));
      histogram->set_exits(histogram->exits() + histogram->count(histogram->count_size() - 1));
    }
    histogram->set_sum(Total());
    histogram->set_entries(Total());
    histogram->set_share_ppm(static_cast<uint32_t>(Up(0, 1'000'000)));
  }

  void Row(v1::ProcessRow* row, int columns) {
    row->set_exe(String());
    row->set_comm(String());
    row->set_uid(static_cast<uint32_t>(Up(0, 70'000)));
    row->set_cgroup(String());
    row->set_pid(static_cast<uint32_t>(Up(0, 9999)));
    row->set_start_mono_ns(Total());
    row->set_instances(static_cast<uint32_t>(Up(1, 2000)));
    row->set_irq(Up(0, 1) == 1);
    for (int i = 0; i < columns; ++i) row->add_values(Total());
  }

  void Processes(v1::ProcessTable* table) {
    for (uint32_t column = 1; column <= 14; ++column) table->add_columns(column);
    table->add_columns(v1::PROCESS_COLUMN_FIRST_VITAL + 4 * 32 + 1);
    table->add_estimated(v1::PROCESS_COLUMN_FIRST_VITAL + 4 * 32 + 1);
    for (size_t i = Up(1, 30); i > 0; --i) Row(table->add_rows(), table->columns_size());
    if (Present()) Row(table->mutable_other(), table->columns_size());
    table->set_other_processes(Up(0, 500));
    table->set_whole_from_run_ns(Up(0, 3'000'000'000));
  }

  void Events(v1::SummaryBody& body) {
    std::vector<uint32_t> times;
    for (size_t i = Some(10); i > 0; --i) times.push_back(Ms());
    std::ranges::sort(times);
    for (const uint32_t time : times) {
      v1::DiscreteEvent* event = body.add_events();
      event->set_type(static_cast<v1::EventType>(Up(1, 8)));
      event->set_time_ms(time);
      event->set_pid(static_cast<uint32_t>(Up(1, 9999)));
      event->set_exe(String());
      event->set_comm(String());
      event->set_cgroup(String());
      event->set_uid(static_cast<uint32_t>(Up(0, 70'000)));
      event->set_exit_code(static_cast<uint32_t>(Up(0, 255)));
      event->set_exit_signal(static_cast<uint32_t>(Up(0, 64)));
      event->set_value(-static_cast<int64_t>(Total()));
      event->set_text(String());
      event->set_count(static_cast<uint32_t>(Up(0, 40)));
    }
  }

  void Gauges(v1::Gauges* gauges) {
    gauges->set_memory_total_bytes(Total());
    gauges->set_memory_free_bytes(Total());
    gauges->set_memory_available_bytes(Total());
    gauges->set_page_cache_bytes(Total());
    gauges->set_swap_total_bytes(Total());
    gauges->set_swap_free_bytes(Total());
    for (int order = 0; order < 11; ++order) gauges->add_free_blocks(Total());
    gauges->set_load1_centi(static_cast<uint32_t>(Up(0, 10'000)));
    gauges->set_load5_centi(static_cast<uint32_t>(Up(0, 10'000)));
    gauges->set_load15_centi(static_cast<uint32_t>(Up(0, 10'000)));
    for (int i = 0; i < 8; ++i) gauges->add_cpu_ns(Total());
    for (int i = 0; i < 6; ++i) gauges->add_psi_us(Total());
    gauges->set_tasks(static_cast<uint32_t>(Up(1, 9999)));
    gauges->set_tasks_running(static_cast<uint32_t>(Up(1, 99)));
    gauges->set_agent_cpu_ns(Total());
    gauges->set_agent_rss_bytes(Total());
    gauges->set_sensor_map_bytes(Total());
    gauges->set_spool_bytes(Total());
    gauges->set_spool_summaries(static_cast<uint32_t>(Up(0, 99)));
    gauges->set_cut_us(static_cast<uint32_t>(Up(0, 9999)));
    gauges->set_cpus_online(static_cast<uint32_t>(Up(1, 256)));
    gauges->set_unspooled_summaries(static_cast<uint32_t>(Up(0, 64)));
    gauges->set_budget_ppm(10'000);
    for (uint32_t part = 0; part < 11; ++part) {
      gauges->add_part_cpu_ns(Total());
      gauges->add_part_level(part % 3);
    }
  }

  void Loss(v1::Loss* loss) {
    loss->set_reason(static_cast<v1::LossReason>(Up(1, 13)));
    loss->set_events(Total());
    loss->set_weight(Total());
  }

  const v1::Schema& schema_;
  std::mt19937_64* random_;  // nullptr: the fixed walk
  uint64_t step_ = 0;
  uint64_t seconds_ = 10;
  uint64_t strings_ = 0, frames_ = 0, stacks_ = 0;
};

}  // namespace

v1::Identity SomeIdentity() {
  v1::Identity identity;
  identity.set_node("node-7");
  identity.set_incarnation("0123456789abcdef");
  identity.set_sequence(42);
  return identity;
}

v1::SummaryBody FullBody(const v1::Schema& schema) { return Maker(schema, nullptr).Body(); }

v1::SummaryBody RandomBody(const v1::Schema& schema, std::mt19937_64& random) {
  return Maker(schema, &random).Body();
}

v1::SketchCells SomeCells(const v1::Schema& schema) {
  v1::SketchCells cells;
  cells.set_seed_id(0x1122334455667788);
  for (const v1::VitalDescriptor& descriptor : schema.vitals()) {
    v1::SketchCells::One* one = cells.add_vitals();
    one->set_vital(descriptor.id());
    for (uint64_t i = 0; i < 256; ++i) one->add_cells(i * i * descriptor.id());
    const bool voted = descriptor.id() % 2 != 0;
    one->set_bitmap(std::string(voted ? 1024 : 512, static_cast<char>(descriptor.id())));
    for (int i = 0; voted && i < one->cells_size(); ++i) {
      one->add_contested(one->cells(i) / 3);
      one->add_greatest_margin(one->cells(i) / 4);
    }
  }
  return cells;
}

}  // namespace telltale::proto::testing
