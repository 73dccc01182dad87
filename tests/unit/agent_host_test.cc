// What the host says about itself: recorded texts of real machines, and hostile ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>

#include "agent/host/gauges.h"
#include "agent/host/host_names.h"
#include "agent/host/node_info.h"
#include "agent/host/proc_file.h"
#include "agent/host/process_files.h"
#include "agent/host/process_terms.h"
#include "proto/codec.h"

namespace telltale::agent {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class HostTest : public testing::Test {
 protected:
  HostTest() {
    std::string name = testing::TempDir() + "telltaleXXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~HostTest() override { fs::remove_all(root_); }
  void Write(const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path, std::ios::binary) << text;
  }
  std::string root_;
};

constexpr std::string_view kMeminfo =
    "MemTotal:       24632016 kB\nMemFree:         7000000 kB\nMemAvailable:   20000000 kB\n"
    "Buffers:          100000 kB\nCached:          9000000 kB\nSwapCached:            1 kB\n"
    "SwapTotal:       2097148 kB\nSwapFree:        2097100 kB\n";

TEST(GaugesTest, ReadsTheMemoryVector) {
  v1::Gauges g;
  ParseMeminfo(kMeminfo, &g);
  EXPECT_EQ(g.memory_total_bytes(), 24632016ull * 1024);
  EXPECT_EQ(g.memory_free_bytes(), 7000000ull * 1024);
  EXPECT_EQ(g.memory_available_bytes(), 20000000ull * 1024);
  EXPECT_EQ(g.page_cache_bytes(), 9000000ull * 1024);
  EXPECT_EQ(g.swap_total_bytes(), 2097148ull * 1024);
  EXPECT_EQ(g.swap_free_bytes(), 2097100ull * 1024);
}

TEST(GaugesTest, AddsFreeBlocksOverZones) {
  v1::Gauges g;
  ParseBuddyinfo(
      "Node 0, zone      DMA      1      0      2 \n"
      "Node 0, zone   Normal     10     20     30     40\n",
      &g);
  EXPECT_THAT(g.free_blocks(), ElementsAre(11, 20, 32, 40));
}

TEST(GaugesTest, ReadsLoadAndTasks) {
  v1::Gauges g;
  ParseLoadavg("0.52 12.08 100.5 3/467 12345\n", &g);
  EXPECT_EQ(g.load1_centi(), 52u);
  EXPECT_EQ(g.load5_centi(), 1208u);
  EXPECT_EQ(g.load15_centi(), 10050u);
  EXPECT_EQ(g.tasks_running(), 3u);
  EXPECT_EQ(g.tasks(), 467u);
}

TEST(GaugesTest, SplitsProcessorTime) {
  const CpuTicks cpu =
      ParseStat("cpu  10 20 30 40 50 60 70 80 5 6\ncpu0 1 2 3\ncpu1 1 2 3\nintr 99 1 2\nctxt 5\n");
  EXPECT_THAT(cpu.ticks, ElementsAre(10, 20, 30, 40, 50, 60, 70, 80));
  EXPECT_EQ(cpu.cpus_online, 2u);
}

TEST(GaugesTest, ReadsPressureOfOldAndNewKernels) {
  EXPECT_THAT(ParsePressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"
                            "full avg10=0.00 avg60=0.00 avg300=0.00 total=45\n"),
              ElementsAre(123, 45));
  EXPECT_THAT(ParsePressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"),
              ElementsAre(123, 0));
}

TEST(GaugesTest, AProcessNameCannotMoveTheFieldsOfItsStat) {
  const ProcessUse use = ParseProcessStat(
      "42 (x) R 1 2 3) S 1 42 42 0 -1 0 0 0 0 0 700 80 0 0 20 0 1 0 12345 1000 250 0 0\n");
  EXPECT_EQ(use.ticks, 780u);
  EXPECT_EQ(use.rss_pages, 250u);
}

TEST(ProcessFilesTest, AProcessNameCannotMoveTheFieldsOfItsStat) {
  const std::string stat =
      "42 (x) R 1 2 3) S 1 42 42 0 -1 0 0 0 0 0 700 80 0 0 20 0 31 0 12345 1000 250 0 0\n";
  EXPECT_EQ(TaskState(stat), 'S');
  EXPECT_EQ(ThreadCount(stat), 31u);
  EXPECT_EQ(StartTicks(stat), 12'345u);
  EXPECT_EQ(ThreadCount("42 (x) S 1 42 42 0 -1 0 0 0"), std::nullopt);
  EXPECT_EQ(ThreadCount(""), std::nullopt);
  EXPECT_EQ(TaskState(""), std::nullopt);
}

TEST(GaugesTest, HostileTextIsHarmless) {
  std::mt19937 random(3);
  const std::string seeds[] = {std::string(kMeminfo),
                               "Node 0, zone DMA 1 2 3",
                               "0.52 0.58 0.59 1/467 1",
                               "cpu  1 2 3 4 5 6 7 8\ncpu0 1",
                               "some total=99999999999999999999999999\nfull total=",
                               "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22"};
  for (const std::string& seed : seeds) {
    for (int round = 0; round < 500; ++round) {
      std::string text = seed;
      for (int i = 0; i < 4; ++i) text[random() % text.size()] = static_cast<char>(random());
      if (round % 7 == 0) text.resize(random() % text.size());
      v1::Gauges g;
      ParseMeminfo(text, &g);
      ParseBuddyinfo(text, &g);
      ParseLoadavg(text, &g);
      ParseStat(text);
      ParsePressure(text);
      ParseProcessStat(text);
      EXPECT_LE(g.free_blocks_size(), 32);
      EXPECT_LE(g.memory_total_bytes(), uint64_t{1} << 58);  // what the codec accepts
    }
  }
  v1::Gauges g;
  ParseMeminfo("MemTotal: 18446744073709551615 kB\n", &g);
  EXPECT_LE(g.memory_total_bytes(), uint64_t{1} << 58);
  ParseMeminfo("MemFree: 18446744073709551616 kB\n", &g);  // beyond 64 bits
  EXPECT_EQ(g.memory_free_bytes(), 0u);
  ParseLoadavg("99999999999.99 0 0 1/1 1", &g);
  EXPECT_EQ(g.load1_centi(), UINT32_MAX);
}

TEST_F(HostTest, ReportsWhatHappenedSinceTheLastReading) {
  Write("/proc/stat", "cpu  100 0 50 1000 5 0 0 0\ncpu0 1\ncpu1 1\n");
  Write("/proc/pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=1000\n");
  Write("/proc/42/stat", "42 (a) S 1 42 42 0 -1 0 0 0 0 0 100 0 0 0 20 0 1 0 1 1000 10 0 0\n");
  Write("/proc/43/stat", "43 (a) S 1 42 42 0 -1 0 0 0 0 0 200 0 0 0 20 0 1 0 1 1000 20 0 0\n");
  GaugeReader::Options options;
  options.root = root_;
  options.agent_pids = [] { return std::vector<uint32_t>{42, 43}; };
  GaugeReader reader(options);
  Write("/proc/stat", "cpu  130 0 60 1500 4 0 0 0\ncpu0 1\ncpu1 1\n");  // iowait ran backwards
  Write("/proc/pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=1700\n");
  Write("/proc/43/stat", "43 (a) S 1 42 42 0 -1 0 0 0 0 0 201 2 0 0 20 0 1 0 1 1000 20 0 0\n");
  const v1::Gauges g = reader.Read();
  EXPECT_THAT(g.cpu_ns(), ElementsAre(300'000'000, 0, 100'000'000, 5'000'000'000, 0, 0, 0, 0));
  EXPECT_THAT(g.psi_us(), ElementsAre(700, 0, 0, 0, 0, 0));
  EXPECT_EQ(g.agent_cpu_ns(), 30'000'000u);
  EXPECT_EQ(g.agent_rss_bytes(), 30u * 4096);
  EXPECT_EQ(g.cpus_online(), 2u);
}

constexpr char kOneHierarchy[] = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

TEST_F(HostTest, ALimitOfACgroupOrOfOneAboveItIsToldWithWhatItDidInTheEpoch) {
  Write("/proc/self/mountinfo", kOneHierarchy);
  Write("/proc/42/cgroup", "0::/shop.slice/web.service\n");
  Write("/proc/42/stat",
        "42 (a b) S 1 42 42 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 1 1000 10 0 0 0 0 0 0 0 0 "
        "0 0 0 0 17 0 0 50 1 0\n");
  Write("/sys/fs/cgroup/shop.slice/cpu.stat",
        "usage_usec 9\nnr_throttled 100\nthrottled_usec 7000\n");
  Write("/sys/fs/cgroup/shop.slice/web.service/cpu.stat",
        "usage_usec 9\nnr_throttled 3\nthrottled_usec 10\n");
  ProcessTermsReader reader(root_);
  EXPECT_EQ(reader.Of(42).cgroup, "") << "since when it was throttled nobody knows yet";
  EXPECT_EQ(reader.Of(42).policy, 1u);
  EXPECT_EQ(reader.Of(42).real_time_priority, 50u);
  reader.EndEpoch();
  Write("/sys/fs/cgroup/shop.slice/cpu.stat", "nr_throttled 148\nthrottled_usec 4007000\n");
  const ProcessTerms terms = reader.Of(42);
  EXPECT_EQ(terms.cgroup, "/shop.slice");
  EXPECT_EQ(terms.throttled.periods, 48u);
  EXPECT_EQ(terms.throttled.ns, 4'000'000'000u);
  reader.EndEpoch();
  EXPECT_EQ(reader.Of(42).cgroup, "") << "not in this epoch";
  EXPECT_EQ(reader.Of(43).cgroup, "") << "gone";
}

TEST_F(HostTest, TheCpuControllerOfVersionOneHasCgroupsOfItsOwn) {
  Write("/proc/self/mountinfo",
        "31 20 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "32 20 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "30 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  Write("/proc/42/cgroup", "5:memory:/m\n4:cpu,cpuacct:/shop\n0::/u\n");
  Write("/proc/42/stat", "42 (a) S 1\n");
  const std::string stat = "/sys/fs/cgroup/cpu,cpuacct/shop/cpu.stat";
  Write(stat, "nr_periods 10\nnr_throttled 5\nthrottled_time 100\n");
  ProcessTermsReader reader(root_);
  reader.Of(42);
  reader.EndEpoch();
  Write(stat, "nr_periods 20\nnr_throttled 9\nthrottled_time 5100\n");
  EXPECT_EQ(reader.Of(42).cgroup, "/shop");
  EXPECT_EQ(reader.Of(42).throttled.periods, 4u);
  EXPECT_EQ(reader.Of(42).throttled.ns, 5'000u);
}

TEST_F(HostTest, NamesUsersByThePasswdFileAndDisksByTheirNumbers) {
  Write("/etc/passwd",
        "root:x:0:0::/root:/bin/sh\nbad line\n:x:5:\npg:x:26:26:::\ntoor:x:0:0:::\n");
  std::filesystem::create_directories(root_ + "/sys/dev/block");
  std::filesystem::create_symlink("../../devices/virtual/block/loop7",
                                  root_ + "/sys/dev/block/7:7");
  HostNames names(root_);
  EXPECT_EQ(names.User(0), "root");
  EXPECT_EQ(names.User(26), "pg");
  EXPECT_EQ(names.User(5), "");
  EXPECT_EQ(names.Disk((7 << 20) + 7), "loop7");
  EXPECT_EQ(names.Disk(8 << 20), "");
  Write("/proc/1/root/etc/passwd", "host:x:26:26:::\n");
  EXPECT_EQ(names.User(26), "pg") << "the same through an epoch";
  names.EndEpoch();
  EXPECT_EQ(names.User(26), "host") << "the host's, seen from a container";
}

TEST_F(HostTest, AHostWithoutTheFilesHasNoGauges) {
  GaugeReader::Options options;
  options.root = root_;
  const v1::Gauges g = GaugeReader(options).Read();
  EXPECT_EQ(g.memory_total_bytes(), 0u);
  EXPECT_EQ(g.psi_us_size(), 0);
}

TEST_F(HostTest, DescribesANodeByItsFiles) {
  Write("/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
  Write("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.55-1\n");
  Write("/etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  Write("/sys/devices/system/cpu/possible", "0-127\n");
  Write("/sys/devices/system/cpu/online", "0-3,8\n");
  Write("/proc/meminfo", kMeminfo);
  Write("/proc/sys/kernel/random/boot_id", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\n");
  Write("/etc/machine-id", "d41d8cd98f00b204e9800998ecf8427e\n");
  Write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  const v1::NodeInfo info = ReadNodeInfo(root_);
  EXPECT_EQ(info.kernel_release(), "6.1.0-13-amd64");
  EXPECT_EQ(info.distribution(), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(info.cpus_possible(), 128u);
  EXPECT_EQ(info.cpus_online(), 5u);
  EXPECT_EQ(info.memory_bytes(), 24632016ull * 1024);
  ASSERT_EQ(info.boot_id().size(), 16u);
  EXPECT_EQ(info.boot_id()[0], '\x0f');
  EXPECT_EQ(info.boot_id()[15], '\xf0');
  EXPECT_EQ(info.machine_fingerprint().size(), 8u);
  EXPECT_EQ(info.clock_source(), "tsc");

  Write("/etc/machine-id", "another\n");
  EXPECT_NE(ReadNodeInfo(root_).machine_fingerprint(), info.machine_fingerprint());
  const v1::NodeInfo again = ReadNodeInfo(root_, &info);
  EXPECT_EQ(again.machine_fingerprint(), info.machine_fingerprint());
  EXPECT_EQ(again.boot_id(), info.boot_id());
  EXPECT_EQ(again.kernel_release(), info.kernel_release());
}

TEST(NodeInfoTest, ThisHostIsFitForTheWire) {
  v1::NodeInfo info = ReadNodeInfo("");
  info.set_node("n1");
  info.set_epoch_length_s(60);
  info.set_schema_id(proto::BuiltinSchema().id());
  EXPECT_TRUE(proto::CheckNodeInfo(info).ok()) << proto::CheckNodeInfo(info);
  EXPECT_GT(info.memory_bytes(), 0u);
  EXPECT_GT(info.cpus_online(), 0u);
}

TEST(NodeInfoTest, HostileListsAndUuidsAreRefused) {
  EXPECT_EQ(CountCpuList("0-99999999999"), 65'536u);
  EXPECT_EQ(CountCpuList("9-1"), 0u);
  EXPECT_EQ(CountCpuList("x"), 0u);
  EXPECT_EQ(CountCpuList("0,2,"), 2u);
  EXPECT_EQ(UuidBytes("0f1e2d3c"), "");
  EXPECT_EQ(UuidBytes(std::string(1'000, 'a')), "");
}

TEST_F(HostTest, ReadsNoMoreOfAFileThanAllowed) {
  Write("/big", std::string(100'000, 'x'));
  EXPECT_EQ(ReadBounded(root_ + "/big", 50'000)->size(), 50'000u);
  EXPECT_EQ(ReadBounded(root_ + "/big", 1 << 20)->size(), 100'000u);
  EXPECT_EQ(ReadBounded(root_ + "/none", 10).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace telltale::agent
