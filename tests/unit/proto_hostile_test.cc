// What a lying, broken or hostile node may send: nothing crashes, everything wrong is refused with
// field, value and limit.
#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <random>
#include <string>

#include "proto/codec.h"
#include "proto/compress.h"
#include "tests/support/mutations.h"
#include "tests/unit/proto_bodies.h"

namespace telltale::proto {
namespace {

using ::testing::ContainsRegex;
using testing::FullBody;
using ::testing::HasSubstr;
using testing::SomeCells;
using testing::SomeIdentity;

const v1::Schema& TestSchema() {
  static const v1::Schema schema = BuiltinSchema();
  return schema;
}

// Every part of a body, but only three vitals: for tests that try each byte.
v1::SummaryBody SmallBody() {
  v1::SummaryBody body = FullBody(TestSchema());
  body.mutable_vitals()->DeleteSubrange(3, body.vitals_size() - 3);
  body.mutable_processes()->mutable_rows()->DeleteSubrange(2, body.processes().rows_size() - 2);
  return body;
}

// An envelope around any bytes, consistent with them, so that only what a test changed is wrong.
v1::Summary Wrap(const std::string& raw, const v1::Epoch& epoch) {
  v1::Summary summary;
  *summary.mutable_identity() = SomeIdentity();
  summary.set_format(kBodyFormat);
  summary.set_schema_id(TestSchema().id());
  summary.set_start_unix_ns(epoch.start_unix_ns());
  summary.set_end_unix_ns(epoch.end_unix_ns());
  summary.set_body_bytes(static_cast<uint32_t>(raw.size()));
  summary.set_body(*Compress(raw));
  return summary;
}

v1::Summary Wrap(const v1::SummaryBody& body) { return Wrap(Canonical(body), body.epoch()); }

absl::Status Open(const v1::Summary& summary) {
  return DecodeSummary(summary, TestSchema()).status();
}

// Looks for a vital, so that a case does not depend on how many samples the fixed body drew.
v1::Vital& VitalWith(v1::SummaryBody& body, const std::function<bool(const v1::Vital&)>& wanted) {
  for (v1::Vital& vital : *body.mutable_vitals()) {
    if (wanted(vital)) return vital;
  }
  ADD_FAILURE() << "no such vital in the fixed body";
  return *body.mutable_vitals(0);
}
v1::FoldedSample& SampleOf(v1::SummaryBody& body, uint32_t id) {
  return *VitalWith(body, [id](const v1::Vital& v) {
            return v.id() == id && v.samples_size() > 0;
          }).mutable_samples(0);
}
v1::FoldedSample& AnySample(v1::SummaryBody& body) {
  return *VitalWith(body, [](const v1::Vital& v) {
            return v.samples_size() > 0;
          }).mutable_samples(0);
}
v1::Vital& WithBacklog(v1::SummaryBody& body) {
  return VitalWith(body, [](const v1::Vital& v) { return v.backlog_size() > 0; });
}
v1::Histogram& WideHistogram(v1::SummaryBody& body) {
  for (v1::Histogram& histogram : *body.mutable_histograms()) {
    if (histogram.bucket_size() >= 2) return histogram;
  }
  ADD_FAILURE() << "no histogram with two buckets in the fixed body";
  return *body.mutable_histograms(0);
}

struct Lie {
  const char* name;
  std::function<void(v1::SummaryBody&)> tell;
  const char* refusal;
};
void PrintTo(const Lie& lie, std::ostream* out) { *out << lie.name; }

class LieTest : public ::testing::TestWithParam<Lie> {};

TEST_P(LieTest, IsRefusedWithFieldAndLimit) {
  v1::SummaryBody body = FullBody(TestSchema());
  ASSERT_TRUE(Open(Wrap(body)).ok()) << Open(Wrap(body));
  GetParam().tell(body);
  const absl::Status status = Open(Wrap(body));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().refusal));
}

const Lie kLies[] = {
    // Epoch.
    {"end_before_start",
     [](auto& b) { b.mutable_epoch()->set_end_unix_ns(b.epoch().start_unix_ns()); },
     "epoch.end_unix_ns is"},
    {"epoch_of_an_hour",
     [](auto& b) {
       b.mutable_epoch()->set_end_mono_ns(b.epoch().start_mono_ns() + 3'600'000'000'000);
     },
     "must be at most 120000000000 ns after the start, is 3600000000000"},
    {"after_2100", [](auto& b) { b.mutable_epoch()->set_end_unix_ns(UINT64_MAX); },
     "epoch.end_unix_ns is 18446744073709551615, must be at most"},
    {"watched_longer_than_the_epoch",
     [](auto& b) { b.mutable_epoch()->set_watched_ns(10'000'000'001); },
     "epoch.watched_ns is 10000000001, must be at most 10000000000"},
    {"kind_missing", [](auto& b) { b.mutable_epoch()->set_kind(v1::EPOCH_KIND_UNSPECIFIED); },
     "epoch.kind is 0"},
    {"length_that_windows_cannot_nest", [](auto& b) { b.mutable_epoch()->set_length_s(7); },
     "epoch.length_s is 7, must divide a minute"},
    {"offset_beyond_int64_sums", [](auto& b) { b.mutable_epoch()->set_clock_offset_ns(INT64_MIN); },
     "epoch.clock_offset_ns"},
    {"short_boot_id", [](auto& b) { b.mutable_epoch()->set_boot_id("x"); },
     "epoch.boot_id length is 1, must be 16 bytes"},
    {"escape_in_scope", [](auto& b) { b.mutable_epoch()->set_scope("/a\x1b[2J"); },
     "epoch.scope is \"/a\\x1b[2J\" (6 bytes), must be printable UTF-8"},
    // Vitals.
    {"vitals_out_of_order", [](auto& b) { b.mutable_vitals()->SwapElements(0, 1); },
     "vitals[1].id is 1, must be above the one before, 2"},
    {"a_vital_twice", [](auto& b) { *b.add_vitals() = b.vitals(b.vitals_size() - 1); },
     "must be above the one before"},
    {"unknown_vital", [](auto& b) { b.mutable_vitals(13)->set_id(99); },
     "vitals[13].id is 99, is not in the schema"},
    {"missing_sub", [](auto& b) { b.mutable_vitals(3)->mutable_subs()->RemoveLast(); },
     "vitals[3].subs is 7, must be as many as the schema's, 8"},
    {"weight_that_would_overflow_sums",
     [](auto& b) { b.mutable_vitals(0)->mutable_subs(0)->set_weight(UINT64_MAX); },
     "vitals[0].subs[0].weight is 18446744073709551615, must be at most 288230376151711744"},
    {"more_seconds_than_the_epoch",
     [](auto& b) {
       while (b.vitals(0).subs(0).second_weight_size() < 12) {
         b.mutable_vitals(0)->mutable_subs(0)->add_second_weight(0);
       }
     },
     "vitals[0].subs[0].second_weight is 12, must be at most 11"},
    {"seconds_above_their_total",
     [](auto& b) {
       v1::SubSeries* sub = b.mutable_vitals(0)->mutable_subs(0);
       sub->set_weight(1000);
       sub->clear_second_weight();
       for (int i = 0; i < 10; ++i) sub->add_second_weight(110);
     },
     "sum of second_weight is 1100, must be at most 1026"},
    {"seconds_that_wrap_around",
     [](auto& b) {
       v1::SubSeries* sub = b.mutable_vitals(0)->mutable_subs(0);
       sub->clear_second_weight();
       sub->add_second_weight(uint64_t{1} << 63);
       sub->add_second_weight(uint64_t{1} << 63);
     },
     "second_weight is 9223372036854775808"},
    {"t_of_zero", [](auto& b) { b.mutable_vitals(0)->set_t_log2(0); }, "vitals[0].t_log2 is 0"},
    {"t_of_2_to_the_17", [](auto& b) { b.mutable_vitals(0)->set_t_log2(17); },
     "vitals[0].t_log2 is 17, must be at most 16"},
    {"unlisted_label_above_all_totals",
     [](auto& b) { b.mutable_vitals(0)->mutable_sketch()->set_unlisted_high(UINT64_MAX); },
     "sketch.unlisted_high is 18446744073709551615"},
    {"missed_more_often_than_always",
     [](auto& b) { b.mutable_vitals(0)->mutable_sketch()->add_miss(10'001); },
     "sketch.miss is 10001"},
    {"more_missed_than_heavy_labels",
     [](auto& b) { b.mutable_vitals(0)->mutable_sketch()->set_control_heavy_missed(7'001); },
     "sketch.control_heavy_missed is 7001"},
    {"more_heavy_labels_left_out_than_sampled",
     [](auto& b) { b.mutable_vitals(0)->mutable_sketch()->set_control_heavy_unlisted(7'001); },
     "sketch.control_heavy_unlisted is 7001"},
    {"more_heavy_labels_than_labels",
     [](auto& b) { b.mutable_vitals(0)->mutable_sketch()->set_control_heavy(9'001); },
     "sketch.control_heavy is 9001"},
    {"misses_of_more_octaves_than_a_weight_has",
     [](auto& b) {
       for (int i = 0; i < 65; ++i) b.mutable_vitals(0)->mutable_sketch()->add_miss(1);
     },
     "sketch.miss is "},
    {"more_loaded_cells_than_cells",
     [](auto& b) { b.mutable_vitals(0)->mutable_sketch()->set_load_cells(0, 257); },
     "sketch.load_cells is 257"},
    {"load_exponents_out_of_order",
     [](auto& b) { b.mutable_vitals(0)->mutable_sketch()->set_load_exponents(1, 3); },
     "sketch.load_exponents is 3, must be above the one before"},
    {"backlog_beyond_the_epoch",
     [](auto& b) {
       v1::Vital& vital = WithBacklog(b);
       while (vital.backlog_size() < 12) vital.add_backlog(0);
     },
     ".backlog is 12, must be at most 11"},
    {"backlog_where_none_is_kept", [](auto& b) { b.mutable_vitals(0)->add_backlog(1); },
     "vitals[0].backlog is 1, must be empty"},
    // Samples.
    {"exe_beyond_the_strings", [](auto& b) { AnySample(b).set_exe(9999); },
     "exe is 9999, must be at most"},
    {"stack_beyond_the_stacks", [](auto& b) { AnySample(b).set_stack(9999); },
     "stack is 9999, must be at most"},
    {"sub_beyond_the_vitals", [](auto& b) { AnySample(b).set_sub(16); },
     "sub is 16, must be below"},
    {"low_above_high", [](auto& b) { AnySample(b).set_low(AnySample(b).high() + 1); }, "low is"},
    {"first_after_last", [](auto& b) { AnySample(b).set_first_ms(AnySample(b).last_ms() + 1); },
     "first_ms is"},
    {"last_after_the_epoch", [](auto& b) { AnySample(b).set_last_ms(10'001); },
     "last_ms is 10001, must be at most 10000"},
    {"no_exemplar", [](auto& b) { AnySample(b).clear_exemplar(); },
     "exemplar is 0, must be present"},
    {"samples_of_zero", [](auto& b) { AnySample(b).set_samples(0); }, "samples is 0"},
    {"label_too_long", [](auto& b) { AnySample(b).add_label(1); }, "label is"},
    {"label_frame_beyond_the_frames", [](auto& b) { SampleOf(b, 3).set_label(2, 1 << 20); },
     "label.ip is 1048576, must be at most"},
    {"detail_too_short", [](auto& b) { AnySample(b).mutable_exemplar()->clear_detail(); },
     "detail is 0, must be as many as the schema's"},
    {"detail_enum_beyond_its_names",
     [](auto& b) { SampleOf(b, 3).mutable_exemplar()->set_detail(1, 8); },
     "detail.policy is 8, must be below 8 (names)"},
    {"cell_that_shrank",
     [](auto& b) {
       AnySample(b).mutable_exemplar()->set_cell_before(10);
       AnySample(b).mutable_exemplar()->set_cell_after(9);
     },
     "cell_before is 10, must be at most 9"},
    {"duty_above_always", [](auto& b) { AnySample(b).mutable_exemplar()->set_duty_ppm(1'000'001); },
     "duty_ppm"},
    {"peer_with_a_stranger_stack",
     [](auto& b) { AnySample(b).mutable_exemplar()->mutable_waker()->set_stack(9999); },
     "exemplar.waker.stack is 9999"},
    // Tables.
    {"control_characters_in_a_string", [](auto& b) { b.mutable_tables()->set_strings(0, "a\tb"); },
     "tables.strings[0].text is \"a\\x09b\" (3 bytes), must be printable UTF-8"},
    {"hidden_right_to_left_override",
     [](auto& b) { b.mutable_tables()->set_strings(0, "a\u202eb"); }, "must be printable UTF-8"},
    {"a_long_string", [](auto& b) { b.mutable_tables()->set_strings(0, std::string(1025, 'a')); },
     "(1025 bytes), must be at most 1024 bytes"},
    {"offsets_without_mappings", [](auto& b) { b.mutable_tables()->add_frame_offset(1); },
     "tables.frame_offset is"},
    {"frame_of_no_mapping", [](auto& b) { b.mutable_tables()->set_frame_mapping(0, 9999); },
     "tables.frame_mapping is 9999, must be at most"},
    {"stack_of_no_frame", [](auto& b) { b.mutable_tables()->mutable_stacks(0)->add_kernel(9999); },
     "tables.stacks[0].kernel is 9999, must be below"},
    {"endless_stack",
     [](auto& b) {
       for (int i = 0; i < 300; ++i) b.mutable_tables()->mutable_stacks(0)->add_user(0);
     },
     "tables.stacks[0].length is"},
    {"huge_build_id",
     [](auto& b) { b.mutable_tables()->mutable_mappings(0)->set_build_id(std::string(33, 'x')); },
     "tables.mappings[0].build_id length is 33, must be at most 32"},
    // Histograms, processes, events, gauges, losses.
    {"three_parts_an_octave", [](auto& b) { WideHistogram(b).set_r(3); },
     ".r is 3, must be 1, 2 or 4"},
    {"bucket_beyond_64_bits",
     [](auto& b) {
       v1::Histogram& h = WideHistogram(b);
       h.set_bucket(h.bucket_size() - 1, 64 * h.r());
     },
     ".bucket is"},
    {"buckets_out_of_order", [](auto& b) { WideHistogram(b).mutable_bucket()->SwapElements(0, 1); },
     ".bucket is"},
    {"an_empty_bucket", [](auto& b) { WideHistogram(b).set_count(0, 0); },
     ".count is 0, must be at least 1"},
    {"exits_that_are_not_the_sum",
     [](auto& b) { WideHistogram(b).set_exits(WideHistogram(b).exits() + 1); },
     "must be the sum of count"},
    {"a_row_short_of_a_value",
     [](auto& b) { b.mutable_processes()->mutable_rows(0)->mutable_values()->RemoveLast(); },
     "processes.rows[0].values is 14, must be as many as columns, 15"},
    {"rows_that_sum_too_high",
     [](auto& b) {
       for (v1::ProcessRow& row : *b.mutable_processes()->mutable_rows()) {
         row.set_values(0, uint64_t{1} << 58);
       }
     },
     "processes.columns[0].sum is"},
    {"a_throttled_cgroup_beyond_the_strings",
     [](auto& b) { b.mutable_processes()->mutable_rows(0)->set_throttled_cgroup(1u << 30); },
     "processes.rows[0].throttled_cgroup is"},
    {"a_user_beyond_the_strings",
     [](auto& b) {
       b.mutable_host_names()->add_uid(26);
       b.mutable_host_names()->add_user(1u << 30);
     },
     "host_names.user is"},
    {"a_disk_without_a_name", [](auto& b) { b.mutable_host_names()->add_device(8); },
     "host_names.disk is 0, must be as many as the numbers, 1"},
    {"a_column_twice", [](auto& b) { b.mutable_processes()->set_columns(1, 1); },
     "processes.columns is 1, stands there twice"},
    {"an_estimate_of_no_column", [](auto& b) { b.mutable_processes()->set_estimated(0, 77); },
     "processes.estimated is 77, must be one of the columns"},
    {"other_without_values",
     [](auto& b) { b.mutable_processes()->mutable_other()->clear_values(); },
     "processes.other.values is 0"},
    {"events_backwards",
     [](auto& b) {
       b.mutable_events(0)->set_time_ms(9000);
       b.mutable_events(1)->set_time_ms(8999);
     },
     "events[1].time_ms is 8999, must not be before the one before, 9000"},
    {"event_after_the_epoch",
     [](auto& b) { b.mutable_events(b.events_size() - 1)->set_time_ms(10'001); },
     "time_ms is 10001"},
    {"stack_ends_without_counts",
     [](v1::SummaryBody& b) {
       b.mutable_user_stacks()->clear_end();
       b.mutable_user_stacks()->add_end(v1::STACK_END_COMPLETE);
       b.mutable_user_stacks()->clear_samples();
     },
     "user_stacks.samples is 0, must be as many as end, 1"},
    {"stack_ends_without_bound",
     [](v1::SummaryBody& b) {
       b.mutable_user_stacks()->clear_end();
       b.mutable_user_stacks()->clear_samples();
       b.mutable_user_stacks()->add_end(static_cast<v1::StackEnd>(64));
       b.mutable_user_stacks()->add_samples(1);
     },
     "user_stacks.end is 64, must be at most 63"},
    {"frame_names_without_counts",
     [](v1::SummaryBody& b) { b.mutable_user_frames()->add_outcome(v1::NAME_OUTCOME_NAMED); },
     "user_frames.frames is 0, must be as many as outcome, 1"},
    {"frame_names_twice",
     [](v1::SummaryBody& b) {
       for (int i = 0; i < 2; ++i) {
         b.mutable_user_frames()->add_outcome(v1::NAME_OUTCOME_NAMED);
         b.mutable_user_frames()->add_frames(1);
       }
     },
     "user_frames.outcome is 1, must be above the one before, 1"},
    {"frame_names_without_bound",
     [](v1::SummaryBody& b) {
       b.mutable_user_frames()->add_outcome(static_cast<v1::NameOutcome>(64));
       b.mutable_user_frames()->add_frames(1);
     },
     "user_frames.outcome is 64, must be at most 63"},
    {"endless_gauges",
     [](auto& b) {
       for (int i = 0; i < 64; ++i) b.mutable_gauges()->add_psi_us(1);
     },
     "gauges.psi_us is 70, must be at most 64"},
    {"a_loss_reason_of_its_own",
     [](auto& b) { b.add_losses()->set_reason(static_cast<v1::LossReason>(64)); },
     ".reason is 64, must be at most 63"},
    {"a_loss_reason_of_its_own_in_a_vital",
     [](auto& b) {
       b.mutable_vitals(0)->add_losses()->set_reason(static_cast<v1::LossReason>(INT32_MAX));
     },
     ".reason is 2147483647, must be at most 63"},
    {"loss_without_a_reason", [](auto& b) { b.add_losses()->set_events(1); },
     ".reason is 0, must be stated"},
};

INSTANTIATE_TEST_SUITE_P(Bodies, LieTest, ::testing::ValuesIn(kLies),
                         [](const auto& lie) { return std::string(lie.param.name); });

TEST(HostileTest, EveryTruncationOfTheBodyIsRefused) {
  const v1::Summary whole = Wrap(SmallBody());
  for (size_t length = 0; length < whole.body().size(); ++length) {
    v1::Summary cut = whole;
    cut.mutable_body()->resize(length);
    ASSERT_EQ(Open(cut).code(), absl::StatusCode::kInvalidArgument) << length;
  }
}

TEST(HostileTest, EveryTruncationBeforeCompressionIsRefusedOrAWholeBody) {
  const v1::SummaryBody body = SmallBody();
  const std::string raw = Canonical(body);
  for (size_t length = 0; length < raw.size(); ++length) {
    const absl::StatusOr<Decoded> decoded =
        DecodeSummary(Wrap(raw.substr(0, length), body.epoch()), TestSchema());
    if (!decoded.ok()) {
      ASSERT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument) << decoded.status();
    } else {  // cut between two fields of the body: what is left stands on its own
      ASSERT_EQ(Canonical(*decoded->body), raw.substr(0, length));
    }
  }
}

TEST(HostileTest, NoFlippedBitOfTheCompressedBodyGoesUnseen) {
  const v1::SummaryBody body = SmallBody();
  const v1::Summary whole = Wrap(body);
  const std::string raw = Canonical(body);
  for (size_t bit = 0; bit < whole.body().size() * 8; ++bit) {
    v1::Summary flipped = whole;
    (*flipped.mutable_body())[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const absl::StatusOr<Decoded> decoded = DecodeSummary(flipped, TestSchema());
    if (decoded.ok()) {
      // zstd's header has bits without meaning; then the content is what it was.
      ASSERT_EQ(Canonical(*decoded->body), raw) << "bit " << bit;
    } else {
      ASSERT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
    }
  }
}

TEST(HostileTest, RandomDamageBeforeCompressionNeverCrashesAReader) {
  const v1::SummaryBody body = SmallBody();
  const std::string raw = Canonical(body);
  std::mt19937_64 random(7);
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = raw;
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const absl::StatusOr<Decoded> decoded =
        DecodeSummary(Wrap(damaged, body.epoch()), TestSchema());
    if (!decoded.ok()) {
      ++refused;
      ASSERT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument) << decoded.status();
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST(HostileTest, ABombIsRefusedByItsHeaderNotOpened) {
  const v1::SummaryBody body = FullBody(TestSchema());
  v1::Summary bomb = Wrap(std::string(64 << 20, '\0'), body.epoch());
  EXPECT_LT(bomb.body().size(), 16u << 10);
  EXPECT_THAT(std::string(Open(bomb).message()),
              HasSubstr("body is stated to open to 67108864 bytes, limit 1048576"));
  bomb.set_body_bytes(1000);
  EXPECT_THAT(std::string(Open(bomb).message()),
              HasSubstr("body holds 67108864 bytes, its envelope says 1000"));
}

TEST(HostileTest, ABodyOfEmptyMessagesIsRefusedBeforeTheyAreMade) {
  const v1::SummaryBody body = FullBody(TestSchema());
  std::string raw;
  while (raw.size() < 1'000'000) raw += std::string("\x32\x00", 2);  // events, empty
  EXPECT_THAT(std::string(Open(Wrap(raw, body.epoch())).message()),
              HasSubstr("body.messages and strings is 65537, must be at most 65536"));
}

TEST(HostileTest, MalformedTextIsRefusedWithoutALineOfLogForEachAttempt) {
  static int lines = 0;
  lines = 0;
  google::protobuf::LogHandler* before = google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel, const char*, int, const std::string&) { ++lines; });
  v1::SummaryBody body = SmallBody();
  body.mutable_epoch()->set_scope("AAAA");
  std::string raw = Canonical(body);
  raw.replace(raw.find("AAAA"), 4, "\xff\xfe\xfd\xfc");
  EXPECT_THAT(std::string(Open(Wrap(raw, body.epoch())).message()), HasSubstr("UTF-8"));
  EXPECT_EQ(lines, 0);
  google::protobuf::SetLogHandler(before);
}

TEST(HostileTest, ASecondFrameBehindTheFirstIsRefused) {
  v1::Summary summary = Wrap(FullBody(TestSchema()));
  summary.mutable_body()->append(*Compress("more"));
  EXPECT_THAT(std::string(Open(summary).message()), HasSubstr("is not one whole zstd frame"));
}

TEST(HostileTest, AnEnvelopeThatContradictsItsBodyIsRefused) {
  v1::Summary summary = Wrap(FullBody(TestSchema()));
  summary.set_start_unix_ns(summary.start_unix_ns() + 1);
  EXPECT_THAT(std::string(Open(summary).message()), HasSubstr("start_unix_ns is"));
  summary = Wrap(FullBody(TestSchema()));
  summary.set_end_unix_ns(1);
  EXPECT_THAT(std::string(Open(summary).message()), HasSubstr("end_unix_ns is 1, its body says"));
  summary = Wrap(FullBody(TestSchema()));
  summary.set_schema_id(5);
  EXPECT_THAT(std::string(Open(summary).message()), HasSubstr("schema_id is 5"));
  summary = Wrap(FullBody(TestSchema()));
  summary.set_format(3);
  EXPECT_THAT(std::string(Open(summary).message()), HasSubstr("format is 3"));
  summary = Wrap(FullBody(TestSchema()));
  summary.mutable_identity()->set_node("../etc");
  EXPECT_THAT(std::string(Open(summary).message()), HasSubstr("identity.node is \"../etc\""));
  summary.mutable_identity()->set_node("a");
  summary.mutable_identity()->set_incarnation("short");
  EXPECT_THAT(std::string(Open(summary).message()), HasSubstr("incarnation length is 5"));
}

TEST(HostileTest, LyingCellsAreRefused) {
  v1::SketchCells cells = SomeCells(TestSchema());
  const auto open = [&cells] {
    v1::Summary summary = Wrap(FullBody(TestSchema()));
    const std::string raw = Canonical(cells);
    summary.set_cells(*Compress(raw));
    summary.set_cells_bytes(static_cast<uint32_t>(raw.size()));
    return std::string(DecodeCells(summary).status().message());
  };
  EXPECT_EQ(open(), "");
  cells.mutable_vitals(0)->set_cells(0, UINT64_MAX);
  EXPECT_THAT(open(), HasSubstr("cells: vitals[0].cells is 18446744073709551615"));
  cells = SomeCells(TestSchema());
  cells.mutable_vitals(0)->set_bitmap("x");
  EXPECT_THAT(open(), HasSubstr("bitmap length is 1, must be 0, 512 or 1024 bytes"));
  cells = SomeCells(TestSchema());
  cells.mutable_vitals(1)->set_vital(1);
  EXPECT_THAT(open(), HasSubstr("cells: vitals[1].vital is 1"));
  cells = SomeCells(TestSchema());
  cells.mutable_vitals(0)->add_contested(1);
  EXPECT_THAT(open(), HasSubstr("contested is 257, must be 0 or as many as cells, 256"));
  cells = SomeCells(TestSchema());
  cells.mutable_vitals(0)->set_greatest_margin(9, cells.vitals(0).cells(9) + 1);
  EXPECT_THAT(open(), HasSubstr("greatest_margin is 82, must be at most 81 (total of the cell)"));
  cells = SomeCells(TestSchema());
  cells.mutable_vitals(0)->mutable_cells()->Resize(16385, 0);
  EXPECT_THAT(open(), HasSubstr("cells is 16385, must be at most 16384"));
}

TEST(HostileTest, LyingBodiesAreRefusedBeforeTheyAreSentToo) {
  v1::SummaryBody body = FullBody(TestSchema());
  body.mutable_tables()->set_strings(0, "a\x1b");
  EXPECT_EQ(EncodeSummary(SomeIdentity(), TestSchema().id(), body, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HostileTest, EveryRefusalOfAFieldNamesItItsValueAndWhatItMustBe) {
  size_t refused = 0;
  for (const telltale::testing::Mutation& mutation :
       telltale::testing::Mutations(FullBody(TestSchema()))) {
    const auto& body = static_cast<const v1::SummaryBody&>(*mutation.message);
    const absl::Status status = Open(Wrap(body));
    if (status.ok()) continue;
    ++refused;
    // Of what is opened the size is known and no field yet.
    EXPECT_THAT(std::string(status.message()), ContainsRegex("[a-z_]+.* is .+, (must|limit)"))
        << mutation.what;
  }
  EXPECT_GT(refused, 400u);
}

TEST(HostileTest, ABodyOverItsLimitAsksForMoreFolding) {
  Limits limits;
  limits.body_bytes = 100;
  const absl::Status status =
      EncodeSummary(SomeIdentity(), TestSchema().id(), FullBody(TestSchema()), {}, limits).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bytes compressed, limit 100"));
}

}  // namespace
}  // namespace telltale::proto
