// What of a reply of a user filter's process gets into the collector.

#include "collector/filter/host/host_reply.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "collector/filter/host/host_limits.h"
#include "telltale/v1/filter_host.pb.h"

namespace telltale::filter {
namespace {

// What is kept of the lines that a filter names as muted.
std::string Muted(const std::string& lines) {
  v1::HostReply reply;
  reply.mutable_done()->mutable_learning()->set_muted(lines);
  const auto read = ReadReply(reply.SerializeAsString(), {});
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? read->done.learning().muted() : "";
}

TEST(HostReplyTest, MutedProgramsOfAnyNameAreToldAndDoNotEndTheFilter) {
  EXPECT_EQ(Muted("/usr/bin/a\n\n/opt/caf\xe9\n"), "/usr/bin/a\n/opt/caf\\xe9\n");
}

// Whether one that began long ago is known the feed knows, which has room for it or not; points and
// marks of then would stand in the hour that is shown.
TEST(HostReplyTest, AnAnomalyMayHaveBegunLongAgoAndAPointOrAMarkMayNot) {
  constexpr uint64_t kDay = 86'400'000'000'000, kNow = 20'000 * kDay;
  v1::HostReply reply;
  v1::HostDone& done = *reply.mutable_done();
  v1::HostAnomaly& anomaly = *done.add_anomalies();
  anomaly.set_start_ns(kNow - 40 * kDay);
  anomaly.set_end_ns(kNow);
  v1::HostAnomaly& ahead = *done.add_anomalies();
  ahead.set_start_ns(kNow);
  ahead.set_end_ns(kNow + 1);
  v1::HostMark& mark = *done.add_marks();
  mark.set_start_ns(kNow - 40 * kDay);
  mark.set_end_ns(kNow);
  done.add_points()->set_time_ns(kNow - 40 * kDay);
  const auto read =
      ReadReply(reply.SerializeAsString(), {.from_ns = kNow - 7 * kDay, .to_ns = kNow});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->done.anomalies_size(), 1);
  EXPECT_EQ(read->done.anomalies(0).start_ns(), kNow - 40 * kDay);
  EXPECT_EQ(read->done.marks_size() + read->done.points_size(), 0);
  EXPECT_EQ(read->dropped, 3u);
}

// It is kept for each node: a thousand of them with what a reply has room for are 4 GB.
TEST(HostReplyTest, OfMutedProgramsAsManyAreKeptAsAreShown) {
  EXPECT_LE(Muted(std::string(3 << 20, 'x')).size(), kMaxHostSubject + 1);
  std::string all, first;
  for (int i = 0; i < 100'000; ++i) {
    absl::StrAppend(&all, "/usr/bin/program-", i, "\n");
    if (i + 1 == kMaxHostMuted) first = all;
  }
  EXPECT_TRUE(Muted(all) == first);
}

}  // namespace
}  // namespace telltale::filter
