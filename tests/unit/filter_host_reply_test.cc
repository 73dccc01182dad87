// What of a reply of a user filter's process gets into the collector.

#include "collector/filter/host/host_reply.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "collector/filter/host/frames.h"
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

TEST(HostReplyTest, FactsAreCleanedAndMoreThanAnAnomalyMayHaveEndTheFilter) {
  v1::HostReply reply;
  v1::HostAnomaly& anomaly = *reply.mutable_done()->add_anomalies();
  for (int i = 0; i < TELLTALE_FILTER_FACTS; ++i) {
    v1::HostFact& fact = *anomaly.add_facts();
    fact.set_name(std::string(1'000, 'n'));
    fact.set_unit("\x1b[2J");
    fact.set_text(std::string(100'000, 't'));
  }
  const auto read = ReadReply(reply.SerializeAsString(), {});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->done.anomalies(0).facts_size(), TELLTALE_FILTER_FACTS);
  const v1::HostFact& fact = read->done.anomalies(0).facts(0);
  EXPECT_LE(fact.name().size(), kMaxHostName);
  EXPECT_EQ(fact.unit(), "\\x1b[2J");
  EXPECT_LE(fact.text().size(), kMaxHostSubject);
  anomaly.add_facts();
  EXPECT_EQ(ReadReply(reply.SerializeAsString(), {}).status().message(),
            "flooded: 17 facts of an anomaly");
}

// Two bytes of a message are hundreds in memory.
TEST(HostReplyTest, WhatWouldTakeFarMoreMemoryThanItHasBytesIsNotRead) {
  v1::HostReply reply;
  for (int i = 0; i < 100'000; ++i) reply.mutable_done()->add_points();
  EXPECT_EQ(
      ReadReply(reply.SerializeAsString(), {}).status().message(),
      absl::StrCat("flooded: a reply of more than ", kMaxReplyObjects, " messages and texts"));
}

TEST(HostReplyTest, AllThatAFilterMayEmitAtOnceIsRead) {
  v1::HostReply reply;
  v1::HostDone& done = *reply.mutable_done();
  for (int i = 0; i < kMaxPoints; ++i) {
    v1::HostPoint& point = *done.add_points();
    for (std::string* text : {point.mutable_series(), point.mutable_vital(), point.mutable_sub()}) {
      *text = std::string(kMaxHostName, 'x');
    }
  }
  for (int i = 0; i < kMaxMarks; ++i) done.add_marks()->set_text(std::string(kMaxHostText, 'x'));
  for (int i = 0; i < kMaxAnomalies; ++i) {
    v1::HostAnomaly& anomaly = *done.add_anomalies();
    for (std::string* text :
         {anomaly.mutable_text(), anomaly.mutable_evidence(), anomaly.mutable_against(),
          anomaly.mutable_cause(), anomaly.mutable_next()}) {
      *text = std::string(kMaxHostText, 'x');
    }
    for (std::string* text : {anomaly.mutable_subject(), anomaly.mutable_cgroup(),
                              anomaly.mutable_device(), anomaly.mutable_site()}) {
      *text = std::string(kMaxHostSubject, 'x');
    }
    for (int k = 0; k < kMaxFacts; ++k) {
      v1::HostFact& fact = *anomaly.add_facts();
      fact.set_name(std::string(kMaxHostName, 'x'));
      fact.set_unit(std::string(kMaxHostName, 'x'));
      fact.set_text(std::string(kMaxHostSubject, 'x'));
    }
  }
  const std::string bytes = reply.SerializeAsString();
  EXPECT_LT(bytes.size(), kMaxReplyBytes);
  const auto read = ReadReply(bytes, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->done.points_size(), kMaxPoints);
}

// It is kept for each node, for as long as the filter runs.
TEST(HostReplyTest, WhatNobodyKnowsIsNotKept) {
  v1::HostReply reply;
  v1::HostLearning& learning = *reply.mutable_done()->mutable_learning();
  learning.GetReflection()->MutableUnknownFields(&learning)->AddLengthDelimited(
      900, std::string(100'000, 'x'));
  const auto read = ReadReply(reply.SerializeAsString(), {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_LT(read->done.learning().SpaceUsedLong(), 1'000u);
}

// A filter that spins and lets a byte come now and then.
TEST(FrameTest, WhoReadsByteByByteAsksWhetherItMayGoOn) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::atomic<bool> over = false;
  std::thread drips([&] {
    const char head[4] = {0, 0, 16, 0};  // a mebibyte
    send(ends[1], head, sizeof head, MSG_NOSIGNAL);
    while (!over) {
      send(ends[1], "x", 1, MSG_NOSIGNAL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  int asked = 0;
  const auto read = ReadFrame(ends[0], kMaxReplyBytes, [&]() -> absl::Status {
    return ++asked < 20 ? absl::OkStatus() : absl::DeadlineExceededError("long enough");
  });
  over = true;
  drips.join();
  EXPECT_EQ(read.status().message(), "long enough");
  close(ends[0]);
  close(ends[1]);
}

// A library may write to the socket before the host does.
TEST(HostReplyTest, AFirstMessageOfAMillionVitalsIsRefusedBeforeItIsRead) {
  v1::HostReply reply;
  v1::HostDeclared& declared = *reply.mutable_declared();
  declared.set_protocol(kHostProtocol);
  declared.set_name("wants");
  declared.set_about("wants all there is");
  for (int i = 0; i < kMaxHostVitals; ++i) declared.add_vitals("cpu");
  EXPECT_TRUE(ReadDeclared(reply.SerializeAsString()).ok());
  for (int i = 0; i < 1'000'000; ++i) declared.add_vitals("");
  EXPECT_EQ(ReadDeclared(reply.SerializeAsString()).status().message(),
            "its first message has more than 128 messages and texts");
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
