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
