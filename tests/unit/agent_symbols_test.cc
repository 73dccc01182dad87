// From addresses to files and functions, on this very process, on a made-up /proc, on hostile
// text.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/symbols/elf_file.h"
#include "agent/symbols/host_resolver.h"
#include "agent/symbols/kallsyms.h"
#include "agent/symbols/lru_cache.h"
#include "agent/symbols/proc_maps.h"
#include "tests/support/fifo_writer.h"

// A function whose name the tests look for. Not static, so that it is in the symbol table.
extern "C" __attribute__((noinline)) int TelltaleTestLandmark(int x) {
  asm volatile("");
  return x + 1;
}

namespace telltale::agent {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kStepNs = 100'000'000;

void Write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

class ScratchDir {
 public:
  ScratchDir() {
    std::string name = ::testing::TempDir() + "telltaleXXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~ScratchDir() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

ExeId OwnExe() {
  struct stat info {};
  stat("/proc/self/exe", &info);
  return {.device = 0, .inode = info.st_ino, .generation = 0};
}

ProcessRef Self() { return {static_cast<uint32_t>(getpid()), 0, OwnExe(), 7}; }

uint64_t LoadBias() {
  uint64_t bias = ~uint64_t{0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        *static_cast<uint64_t*>(to) = info->dlpi_addr;
        return 1;  // the first is the program itself
      },
      &bias);
  return bias;
}

std::string OwnProgram() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Where the landmark is in this program's file.
uint64_t LandmarkInFile() {
  const uint64_t address = reinterpret_cast<uint64_t>(&TelltaleTestLandmark) - LoadBias();
  const int fd = open("/proc/self/exe", O_RDONLY);
  const auto identity = ReadElfIdentity(fd);
  close(fd);
  for (const ElfSegment& s : identity->segments) {
    if (address >= s.address && address - s.address < s.bytes) {
      return address - s.address + s.file_offset;
    }
  }
  ADD_FAILURE() << "no segment of this program holds the landmark";
  return 0;
}

// A program without its notes, and so without a build id.
std::string WithoutNotes(std::string program) {
  Elf64_Ehdr header;
  memcpy(&header, program.data(), sizeof header);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    char* at = program.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    memcpy(&segment, at, sizeof segment);
    if (segment.p_type == PT_NOTE) segment.p_type = PT_NULL;
    memcpy(at, &segment, sizeof segment);
  }
  return program;
}

TEST(ProcMapsTest, KeepsExecutableRegionsWithTheirFiles) {
  const auto regions = ParseMaps(
      "55d0c0a00000-55d0c0a02000 r--p 00000000 fe:01 1234                       /usr/bin/cat\n"
      "55d0c0a02000-55d0c0a07000 r-xp 00002000 fe:01 1234                       /usr/bin/cat\n"
      "7f10c0000000-7f10c0021000 r-xp 00000000 00:00 0 \n"
      "7f10d0000000-7f10d0001000 r-xp 00000000 fe:01 99   /tmp/a b\\012c (deleted)\n"
      "7fffd1bf0000-7fffd1bf2000 r-xp 00000000 00:00 0                          [vdso]\n",
      100);
  ASSERT_EQ(regions.size(), 4u);
  EXPECT_EQ(regions[0].start, 0x55d0c0a02000u);
  EXPECT_EQ(regions[0].file_offset, 0x2000u);
  EXPECT_EQ(regions[0].inode, 1234u);
  EXPECT_EQ(regions[0].device, 0xfe00001u);
  EXPECT_EQ(regions[0].path, "/usr/bin/cat");
  EXPECT_EQ(regions[1].path, "");
  EXPECT_EQ(regions[2].path, "/tmp/a b\nc");
  EXPECT_EQ(regions[3].path, "[vdso]");
}

TEST(ProcMapsTest, FindsTheRegionOfAnAddress) {
  const auto regions = ParseMaps("1000-2000 r-xp 0 0:0 1 /a\n3000-4000 r-xp 0 0:0 2 /b\n", 100);
  EXPECT_EQ(FindRegion(regions, 0xfff), nullptr);
  EXPECT_EQ(FindRegion(regions, 0x1000)->path, "/a");
  EXPECT_EQ(FindRegion(regions, 0x1fff)->path, "/a");
  EXPECT_EQ(FindRegion(regions, 0x2000), nullptr);
  EXPECT_EQ(FindRegion(regions, 0x3abc)->path, "/b");
}

TEST(ProcMapsTest, HostileTextIsHarmless) {
  EXPECT_TRUE(ParseMaps("", 10).empty());
  EXPECT_TRUE(ParseMaps("2000-1000 r-xp 0 0:0 1 /backwards\n", 10).empty());
  EXPECT_TRUE(ParseMaps("ffffffffffffffffff-0 r-xp 0 0:0 1 /x\n1000-2000\n-\n1000", 10).empty());
  EXPECT_EQ(ParseMaps("1000-5000 r-xp 0 0:0 1 /a\n2000-3000 r-xp 0 0:0 1 /inside\n", 10).size(),
            1u);
  std::string many;
  for (int i = 1; i < 1'000; ++i) {
    char line[64];
    snprintf(line, sizeof line, "%x000-%x800 r-xp 0 0:0 1 /a\n", i, i);
    many += line;
  }
  EXPECT_EQ(ParseMaps(many, 10).size(), 10u);
  std::mt19937 random(1);
  for (int round = 0; round < 2'000; ++round) {
    std::string text = many.substr(0, 200);
    for (int i = 0; i < 5; ++i) text[random() % text.size()] = static_cast<char>(random());
    ParseMaps(text, 10);
  }
}

TEST(HostResolverTest, NamesAFunctionOfThisProcess) {
  HostResolver resolver({});
  const auto address = reinterpret_cast<uint64_t>(&TelltaleTestLandmark);
  const CodeLocation location = resolver.User(Self(), address, 1);
  ASSERT_NE(location.file, nullptr);
  EXPECT_EQ(location.file->kind, v1::MAPPING_KIND_FILE);
  EXPECT_EQ(fs::path(location.file->path).filename(), "agent_symbols_test");
  EXPECT_EQ(resolver.Name(Self(), location).text, "TelltaleTestLandmark");
}

TEST(HostResolverTest, OffsetIsTheLinkersAddress) {
  HostResolver resolver({});
  const auto address = reinterpret_cast<uint64_t>(&TelltaleTestLandmark);
  EXPECT_EQ(resolver.User(Self(), address, 1).offset, address - LoadBias());
}

TEST(HostResolverTest, KnowsItsOwnExecutableAndLibraries) {
  HostResolver resolver({});
  EXPECT_EQ(resolver.ExePath(Self()), fs::read_symlink("/proc/self/exe"));
  const CodeLocation libc = resolver.User(Self(), reinterpret_cast<uint64_t>(&getpid), 1);
  ASSERT_NE(libc.file, nullptr);
  EXPECT_THAT(libc.file->path, ::testing::HasSubstr("libc"));
  EXPECT_THAT(resolver.Name(Self(), libc).text, ::testing::HasSubstr("getpid"));
}

TEST(HostResolverTest, AnAddressThatIsNotMappedHasNoFile) {
  HostResolver resolver({});
  EXPECT_EQ(resolver.User(Self(), 0x10, 1).file, nullptr);
  EXPECT_EQ(resolver.User(Self(), 0x10, 1).offset, 0x10u);
}

// Process 42 of a made-up host; in its own mount namespace /bin/app is this test's executable.
class FakeHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(proc() / "task/42/stat",
          "42 (a) b) S 1 42 42 0 -1 0 0 0 0 0 7 8 0 0 20 0 1 0 12345 1000 250 0 0\n");
    Write(proc() / "cgroup", "4:memory:/m\n3:cpuset:/c\n0::/unified\n");
    fs::create_directories(container() / "bin");
    fs::copy_file("/proc/self/exe", container() / "bin/app");
    fs::create_symlink(container(), proc() / "root");
    fs::create_symlink(container() / "bin/app", proc() / "exe");
    struct stat info {};
    stat((container() / "bin/app").c_str(), &info);
    process_ = {42, 123'450'000'000, {.device = 5, .inode = info.st_ino, .generation = 0}, 9};
    MapApp();
    options_.root = dir_.path();
    options_.boot_minus_mono_ns = [] { return int64_t{0}; };
  }
  fs::path proc() const { return dir_.path() / "proc/42"; }
  fs::path container() const { return dir_.path() / "container"; }
  fs::path app() const { return container() / "bin/app"; }
  // To /proc the same process, but its maps are read anew for it.
  ProcessRef MetAnew() {
    ++process_.start_ns;
    return process_;
  }
  void MapApp(uint64_t start = 0x1'0000'0000) {
    Write(proc() / "maps", Line(start, start + 0x1'0000'0000));
  }
  // So many regions of one page, PlaceOf each.
  void MapMany(uint64_t regions) {
    std::string text;
    for (uint64_t i = 0; i < regions; ++i) text += Line(PlaceOf(i), PlaceOf(i) + 0x1000);
    Write(proc() / "maps", text);
  }
  static uint64_t PlaceOf(uint64_t region) { return 0x1'0000'0000 + region * 0x2000; }
  std::string Line(uint64_t start, uint64_t end) const {
    char line[128];
    snprintf(line, sizeof line, "%lx-%lx r-xp 00000000 fe:01 %lu /bin/app\n",
             static_cast<unsigned long>(start), static_cast<unsigned long>(end),
             static_cast<unsigned long>(process_.exe.inode));
    return line;
  }
  // As the kernel tells of it: without its path.
  static MappedRegion Region(uint64_t start, uint64_t end, uint64_t inode) {
    return {.start = start,
            .end = end,
            .file_offset = 0,
            .device = 0xfe << 20 | 1,
            .inode = inode,
            .path = ""};
  }
  static ProcessMaps::Departed Departed(std::vector<MappedRegion> regions,
                                        uint64_t ns = UINT64_MAX) {
    return {.regions = std::move(regions), .cut = false, .ns = ns};
  }

  ScratchDir dir_;
  ProcessRef process_;
  HostResolver::Options options_;
};

TEST_F(FakeHostTest, OpensFilesOfAnotherMountNamespace) {
  HostResolver resolver(options_);
  const CodeLocation location = resolver.User(process_, 0x1'0000'0000, 1);
  ASSERT_NE(location.file, nullptr);
  EXPECT_EQ(location.file->path, "/bin/app");
  const int fd = open("/proc/self/exe", O_RDONLY);
  EXPECT_EQ(location.file->build_id.size() == 9, ReadElfIdentity(fd)->build_id.empty());
  if (!ReadElfIdentity(fd)->build_id.empty()) {
    EXPECT_EQ(location.file->build_id, ReadElfIdentity(fd)->build_id);
  }
  close(fd);
}

TEST_F(FakeHostTest, AReusedPidIsNotTheProcessMeant) {
  HostResolver resolver(options_);
  process_.start_ns += 1'000'000'000;
  EXPECT_EQ(resolver.User(process_, 0x1'0000'0000, 1).file, nullptr);
  EXPECT_EQ(resolver.ExePath(process_), "");
  EXPECT_EQ(resolver.CgroupPath(process_), "");
}

TEST_F(FakeHostTest, StartTimesOfTheMonotonicClockAgreeAfterASuspend) {
  options_.boot_minus_mono_ns = [] { return int64_t{3'450'000'000}; };
  HostResolver resolver(options_);
  process_.start_ns = 120'000'000'000;
  EXPECT_NE(resolver.User(process_, 0x1'0000'0000, 1).file, nullptr);
}

TEST_F(FakeHostTest, AProcessBegunBetweenTwoSuspendsIsAlive) {
  options_.boot_minus_mono_ns = [] { return int64_t{10'000'000'000}; };
  HostResolver resolver(options_);
  process_.start_ns = 120'000'000'000;  // 3.45 s of the 10 s were before it
  EXPECT_NE(resolver.User(process_, 0x1'0000'0000, 1).file, nullptr);
  process_.start_ns = 110'000'000'000;
  EXPECT_EQ(resolver.User(process_, 0x1'0000'0000, 1).file, nullptr) << "more than all suspends";
}

TEST_F(FakeHostTest, AFileThatWasWrittenInPlaceIsIdentifiedAnew) {
  HostResolver resolver(options_);
  const CodeLocation before = resolver.User(process_, 0x1'0000'0000, 1);
  ASSERT_NE(before.file, nullptr);
  EXPECT_EQ(resolver.User(MetAnew(), 0x1'0000'0000, 1).file, before.file);
  Write(app(), WithoutNotes(OwnProgram()) + "longer than before");
  const CodeLocation after = resolver.User(MetAnew(), 0x1'0000'0000, 1);
  ASSERT_NE(after.file, nullptr);
  EXPECT_NE(after.file->build_id, before.file->build_id);
  const CodeLocation alone = HostResolver(options_).User(process_, 0x1'0000'0000, 1);
  ASSERT_NE(alone.file, nullptr);
  EXPECT_EQ(after.file->build_id, alone.file->build_id);
}

TEST_F(FakeHostTest, AFileThatCannotBeFoundAnyMoreIsWhatItWas) {
  HostResolver resolver(options_);
  const CodeLocation before = resolver.User(process_, 0x1'0000'0000, 1);
  ASSERT_NE(before.file, nullptr);
  fs::rename(app(), container() / "bin/old");
  fs::remove(proc() / "exe");
  fs::create_symlink(container() / "bin/old", proc() / "exe");
  EXPECT_EQ(resolver.User(MetAnew(), 0x1'0000'0000, 1).file, before.file);
}

TEST_F(FakeHostTest, ABuildIdCopiedIntoAUsersFileIsAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can give a file away";
  const int fd = open("/proc/self/exe", O_RDONLY);
  const bool has_id = !ReadElfIdentity(fd)->build_id.empty();
  close(fd);
  if (!has_id) GTEST_SKIP() << "SKIPPED: this program was linked without a build id";
  const CodeLocation own = HostResolver(options_).User(process_, 0x1'0000'0000, 1);
  ASSERT_EQ(chown(app().c_str(), 65534, 65534), 0);
  HostResolver resolver(options_);
  const CodeLocation users = resolver.User(process_, 0x1'0000'0000 + LandmarkInFile(), 1);
  ASSERT_NE(own.file, nullptr);
  ASSERT_NE(users.file, nullptr);
  EXPECT_NE(users.file->build_id, own.file->build_id);
  EXPECT_LE(users.file->build_id.size(), 32u);
  EXPECT_EQ(resolver.Name(process_, users).text, "TelltaleTestLandmark") << "its own names it has";
}

TEST_F(FakeHostTest, AFileRenamedOverOneWithoutABuildIdDoesNotNameItsCode) {
  const std::string program = WithoutNotes(OwnProgram());
  Write(app(), program);
  HostResolver resolver(options_);
  const CodeLocation landmark = resolver.User(process_, 0x1'0000'0000 + LandmarkInFile(), 1);
  ASSERT_NE(landmark.file, nullptr);
  EXPECT_EQ(landmark.file->build_id.size(), 9u);  // 'h' and a hash
  EXPECT_EQ(HostResolver(options_).Name(process_, landmark).text, "TelltaleTestLandmark");
  Write(container() / "bin/new", program);
  fs::rename(container() / "bin/new", app());
  EXPECT_EQ(resolver.Name(process_, landmark).outcome, v1::NAME_OUTCOME_NO_FILE);
}

TEST_F(FakeHostTest, AFileWrittenOverOneWithoutABuildIdDoesNotNameItsCode) {
  const std::string program = WithoutNotes(OwnProgram());
  Write(app(), program);
  HostResolver resolver(options_);
  const CodeLocation landmark = resolver.User(process_, 0x1'0000'0000 + LandmarkInFile(), 1);
  ASSERT_NE(landmark.file, nullptr);
  Write(app(), program + "longer than before");
  EXPECT_EQ(resolver.Name(process_, landmark).outcome, v1::NAME_OUTCOME_NO_FILE);
}

TEST_F(FakeHostTest, AProcessThatHasExecedSinceHasOtherMaps) {
  HostResolver resolver(options_);
  process_.exe.inode += 1'000'000;
  EXPECT_EQ(resolver.User(process_, 0x1'0000'0000, 1).file, nullptr);
}

TEST_F(FakeHostTest, AProcessMetInTheMiddleOfAnExecIsReadAgain) {
  Write(proc() / "maps", "");
  ProcessMaps maps(options_);
  EXPECT_EQ(maps.Reading(process_, 1'000), 0u);
  MapApp();
  EXPECT_EQ(maps.Reading(process_, 2'000), 0u);  // too soon
  const uint64_t first = maps.Reading(process_, 10'000'000);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(maps.Reading(process_, 20'000'000), first);
  EXPECT_FALSE(maps.Find(process_, 0x9'0000'0000, 30'000'000).has_value());
  EXPECT_NE(maps.Reading(process_, 30'000'000), first);  // it was read again for that address
}

TEST_F(FakeHostTest, AForkedCopyThatIsGoneHadItsParentsMaps) {
  HostResolver resolver(options_);
  ProcessRef child = process_;
  child.tgid = 4'000'000;
  EXPECT_EQ(resolver.User(child, 0x1'0000'0000, 1).file, nullptr);
  child.start_ns += 1;
  child.parent = process_.tgid;
  const CodeLocation location = resolver.User(child, 0x1'0000'0000, 1);
  ASSERT_NE(location.file, nullptr);
  EXPECT_EQ(location.file->path, "/bin/app");
  EXPECT_NE(resolver.Name(child, location).outcome, v1::NAME_OUTCOME_NO_FILE);
  child.start_ns += 1;
  child.exe.inode += 1;  // the parent runs something else by now
  EXPECT_EQ(resolver.User(child, 0x1'0000'0000, 2).file, nullptr);
}

TEST_F(FakeHostTest, WhatAProcessHadMappedAsItEndedIsRememberedByTheFilesMetBefore) {
  ProcessMaps maps(options_);
  ASSERT_TRUE(maps.Find(process_, 0x1'0000'0000, 1).has_value());  // teaches the file's path
  ProcessRef gone = process_;
  gone.tgid = 4'000'000;
  EXPECT_EQ(maps.Reading(gone, 1), 0u);
  maps.Remember(gone, Departed({Region(0x7'0000'0000, 0x8'0000'0000, process_.exe.inode),
                                Region(0x8'0000'0000, 0x9'0000'0000, process_.exe.inode + 1)}));
  EXPECT_NE(maps.Reading(gone, 2), 0u);
  const auto place = maps.Find(gone, 0x7'0000'0000, 3);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->mapped->file->path, "/bin/app");
  EXPECT_FALSE(maps.Find(gone, 0x8'0000'0000, 4).has_value()) << "a file that nobody knows";
}

TEST_F(FakeHostTest, AProcessThatExecsItsOwnProgramIsReadAnew) {
  ProcessMaps maps(options_);
  ASSERT_TRUE(maps.Find(process_, 0x1'0000'0000, 1'000).has_value());
  maps.Remember(process_,
                Departed({Region(0x1'0000'0000, 0x2'0000'0000, process_.exe.inode)}, 2'000));
  MapApp(0x7'0000'0000);  // as the kernel lays it out anew
  EXPECT_TRUE(maps.Find(process_, 0x1'0000'0000, 1'500).has_value()) << "a sample of before";
  EXPECT_TRUE(maps.Find(process_, 0x7'0000'0000, 3'000).has_value());
  EXPECT_FALSE(maps.Find(process_, 0x1'0000'0000, 3'000).has_value());
}

TEST_F(FakeHostTest, WhatWasKnownBeyondWhereADepartureIsCutStaysKnown) {
  MapMany(150);
  ProcessMaps maps(options_);
  ASSERT_TRUE(maps.Find(process_, PlaceOf(149), 1'000).has_value());
  std::vector<MappedRegion> lowest;
  for (uint64_t i = 0; i < 96; ++i) {
    lowest.push_back(Region(PlaceOf(i), PlaceOf(i) + 0x1000, process_.exe.inode));
  }
  ProcessMaps::Departed departed = Departed(lowest, 2'000);
  departed.cut = true;
  fs::remove_all(proc());
  maps.Remember(process_, departed);
  for (const uint64_t i : {0, 95, 96, 149}) {
    EXPECT_TRUE(maps.Find(process_, PlaceOf(i), 1'500).has_value()) << i;
  }
}

TEST_F(FakeHostTest, WhatLiesBeyondTheRegionsThatAreKeptIsToldFromWhatIsNowhere) {
  MapMany(20);
  options_.regions_per_process = 10;
  ProcessMaps maps(options_);
  EXPECT_FALSE(maps.Find(process_, PlaceOf(15), 1'000).has_value());
  EXPECT_TRUE(maps.IsBeyondKnown(process_, PlaceOf(15), 1'000));
  EXPECT_FALSE(maps.IsBeyondKnown(process_, PlaceOf(3) + 0x1000, 1'000)) << "between two of them";
  options_.regions_per_process = 20;
  ProcessMaps all(options_);
  EXPECT_FALSE(all.IsBeyondKnown(process_, PlaceOf(20), 1'000));
}

TEST_F(FakeHostTest, OfADepartureThatWasCutTheRestIsNotKnown) {
  ProcessMaps maps(options_);
  ASSERT_TRUE(maps.Find(process_, 0x1'0000'0000, 1'000).has_value());  // teaches the file's path
  ProcessRef gone = process_;
  gone.tgid = 4'000'000;
  ProcessMaps::Departed departed =
      Departed({Region(0x7'0000'0000, 0x8'0000'0000, process_.exe.inode)}, 2'000);
  departed.cut = true;
  maps.Remember(gone, departed);
  EXPECT_TRUE(maps.IsBeyondKnown(gone, 0x8'0000'0000, 1'500));
  EXPECT_FALSE(maps.IsBeyondKnown(gone, 0x6'0000'0000, 1'500));
}

TEST_F(FakeHostTest, ADepartureThatNobodyCouldLookAtTakesNothingAway) {
  ProcessMaps maps(options_);
  ASSERT_TRUE(maps.Find(process_, 0x1'0000'0000, 1'000).has_value());
  maps.Remember(process_, Departed({}, 2'000));
  fs::remove_all(proc());
  EXPECT_TRUE(maps.Find(process_, 0x1'0000'0000, 1'500).has_value());
}

TEST_F(FakeHostTest, AFileWhosePathWasForgottenIsTheOneThatTheProcessWasReadWith) {
  options_.files = 1;
  ProcessMaps maps(options_);
  ASSERT_TRUE(maps.Find(process_, 0x1'0000'0000, 1'000).has_value());
  maps.OnExec({.device = 7, .inode = 555, .generation = 0}, "/usr/bin/true");
  maps.Remember(process_,
                Departed({Region(0x1'0000'0000, 0x2'0000'0000, process_.exe.inode)}, 2'000));
  fs::remove_all(proc());
  EXPECT_TRUE(maps.Find(process_, 0x1'0000'0000, 1'500).has_value());
}

TEST_F(FakeHostTest, AForkedCopyThatEndedBeforeItsFilesWereMetHasThoseOfItsParent) {
  ProcessMaps maps(options_);
  ProcessRef copy = process_;
  copy.tgid = 4'000'000;
  maps.Remember(copy, Departed({Region(0x7'0000'0000, 0x8'0000'0000, 99)}));
  copy.parent = process_.tgid;
  EXPECT_TRUE(maps.Find(copy, 0x1'0000'0000, 1).has_value());
}

TEST_F(FakeHostTest, AnExecTellsThePathOfAProgramThatIsGoneBeforeItWasEverRead) {
  ProcessMaps maps(options_);
  ProcessRef gone = process_;
  gone.tgid = 4'000'000;
  gone.exe = {.device = 7, .inode = 555, .generation = 2};
  maps.OnExec(gone.exe, "/usr/bin/true");
  maps.OnExec({.device = 7, .inode = 556, .generation = 2}, "./relative");
  MappedRegion region{
      .start = 4096, .end = 8192, .file_offset = 0, .device = 7, .inode = 555, .path = ""};
  MappedRegion relative = region;
  relative.start = 8192, relative.end = 12288, relative.inode = 556;
  maps.Remember(gone, Departed({region, relative}));
  const auto place = maps.Find(gone, 4096, 1);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->mapped->file->path, "/usr/bin/true");
  EXPECT_FALSE(maps.Find(gone, 8192, 2).has_value());
}

TEST_F(FakeHostTest, AFileOfAProcessThatIsGoneIsOpenedHereOnlyIfItIsTheSame) {
  // This process is the "here" of the made-up host.
  const std::string here = absl::StrCat("proc/", getpid());
  fs::create_directories(dir_.path() / here);
  fs::create_symlink(container(), dir_.path() / here / "root");
  struct stat info {};
  stat(app().c_str(), &info);
  CodeFile file;
  file.path = "/bin/app";
  file.device = uint64_t{major(info.st_dev)} << 20 | minor(info.st_dev);
  ProcessMaps maps(options_);
  ProcessRef gone = process_;
  gone.tgid = 4'000'000;
  const int fd = maps.OpenMapped(gone, file, info.st_ino);
  EXPECT_GE(fd, 0);
  close(fd);
  file.device += 1;  // of another image that has the same path and inode
  EXPECT_EQ(maps.OpenMapped(gone, file, info.st_ino), -1);
}

TEST_F(FakeHostTest, TheMemoryCgroupComesFirst) {
  HostResolver resolver(options_);
  EXPECT_EQ(resolver.CgroupPath(process_), "/m");
  Write(proc() / "cgroup", "0::/unified\n");
  EXPECT_EQ(HostResolver(options_).CgroupPath(process_), "/unified");
}

TEST_F(FakeHostTest, AnExecTellsTheNameOfWhatIsGoneByNow) {
  HostResolver resolver(options_);
  RawEvent exec;
  exec.exe = {.device = 1, .inode = 555, .generation = 2};
  exec.path = "/usr/bin/true";
  resolver.OnExec(exec);
  EXPECT_EQ(resolver.ExePath({4'000'000, 5, exec.exe, 0}), "/usr/bin/true");
}

// Else a shell would be called what it was last told to run.
TEST_F(FakeHostTest, AScriptIsNotTheNameOfWhatRunsIt) {
  HostResolver resolver(options_);
  RawEvent exec;
  exec.exe = {.device = 1, .inode = 555, .generation = 2};
  exec.script = true;
  exec.path = "/usr/local/bin/backup.sh";
  resolver.OnExec(exec);
  exec.script = false;
  for (const char* link : {"/proc/self/exe", "/dev/fd/3"}) {
    exec.path = link;
    resolver.OnExec(exec);
  }
  EXPECT_EQ(resolver.ExePath({4'000'000, 5, exec.exe, 0}), "");
}

TEST_F(FakeHostTest, WhatIsMappedBehindFiveMegabytesOfMapsIsKnown) {
  std::string text;
  for (uint64_t i = 0; i < 60'000; ++i) {
    char line[96];
    snprintf(line, sizeof line, "%012lx-%012lx r--p 00000000 fe:01 77 %40s\n",
             static_cast<unsigned long>(0x1'0000 + i * 0x2000),
             static_cast<unsigned long>(0x1'1000 + i * 0x2000), "/data");
    text += line;
  }
  char code[128];
  snprintf(code, sizeof code, "7f0000000000-7f0100000000 r-xp 00000000 fe:01 %lu /bin/app\n",
           static_cast<unsigned long>(process_.exe.inode));
  ASSERT_GT(text.size(), 5u << 20);
  Write(proc() / "maps", text + code);
  ProcessMaps maps(options_);
  EXPECT_TRUE(maps.Find(process_, 0x7f00'0000'1000, kStepNs).has_value());
  // To read them takes the kernel 50 ms; for an address that is nowhere it is not asked each time.
  const uint64_t first = maps.Reading(process_, kStepNs);
  for (uint64_t step = 2; step < 50; ++step) {
    EXPECT_FALSE(maps.Find(process_, 0x10, step * kStepNs).has_value());
  }
  EXPECT_EQ(maps.Reading(process_, 50 * kStepNs), first);
}

TEST_F(FakeHostTest, ForAnAddressThatIsNowhereMapsAreReadEverMoreRarely) {
  ProcessMaps maps(options_);
  uint64_t readings = 0, last = 0;
  for (uint64_t step = 1; step <= 100; ++step) {
    EXPECT_FALSE(maps.Find(process_, 0x10, step * kStepNs).has_value());
    const uint64_t now = maps.Reading(process_, step * kStepNs);
    readings += now != last ? 1 : 0;
    last = now;
  }
  EXPECT_LE(readings, 12u);
  Write(proc() / "maps", "300000000-400000000 r-xp 00000000 00:00 0\n");
  EXPECT_TRUE(maps.Find(process_, 0x3'0000'0000, 170 * kStepNs).has_value());
}

TEST_F(FakeHostTest, MapsAreReadAgainForWhatWasLoadedSince) {
  Write(proc() / "maps", "1000-2000 r-xp 0 0:0 0 [vdso]\n");
  HostResolver resolver(options_);
  EXPECT_EQ(resolver.User(process_, 0x1'0000'0000, 1'000).file, nullptr);
  MapApp();
  EXPECT_EQ(resolver.User(process_, 0x1'0000'0000, 2'000).file, nullptr);  // too soon
  EXPECT_NE(resolver.User(process_, 0x1'0000'0000, 200'000'000).file, nullptr);
}

TEST_F(FakeHostTest, ALinkInPlaceOfAFileIsNotFollowed) {
  fs::rename(container() / "bin/app", container() / "bin/real");
  fs::remove(proc() / "exe");
  fs::create_symlink(container() / "bin/real", proc() / "exe");
  fs::create_symlink("real", container() / "bin/app");
  HostResolver resolver(options_);
  const CodeLocation location = resolver.User(process_, 0x1'0000'0000, 1);
  ASSERT_NE(location.file, nullptr);
  EXPECT_EQ(location.file->build_id.size(), 9u);  // 'h' and a hash: nothing was read
  EXPECT_EQ(resolver.Name(process_, location).outcome, v1::NAME_OUTCOME_NO_FILE);
}

TEST_F(FakeHostTest, AFifoInPlaceOfAFileDoesNotBlock) {
  fs::remove(container() / "bin/app");
  ASSERT_EQ(mkfifo((container() / "bin/app").c_str(), 0600), 0);
  fs::remove(proc() / "exe");
  fs::create_symlink(container() / "bin/app", proc() / "exe");
  struct stat info {};
  stat((container() / "bin/app").c_str(), &info);
  process_.exe.inode = info.st_ino;
  MapApp();
  const telltale::testing::FifoWriter writer(app());
  HostResolver resolver(options_);
  const CodeLocation location = resolver.User(process_, 0x1'0000'0000, 1);
  ASSERT_NE(location.file, nullptr);
  EXPECT_EQ(location.file->build_id.size(), 9u);  // 'h' and a hash: the file itself stays closed
  EXPECT_EQ(resolver.Name(process_, location).outcome, v1::NAME_OUTCOME_NO_FILE);
  EXPECT_TRUE(writer.Waits()) << "whoever waits for a reader was sent on";
}

TEST(ElfFileTest, BuildIdIsTheOneTheLoaderSees) {
  const int fd = open("/proc/self/exe", O_RDONLY);
  const auto identity = ReadElfIdentity(fd);
  close(fd);
  ASSERT_TRUE(identity.ok()) << identity.status();
  std::string loaded;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_NOTE) continue;
          const auto* at =
              reinterpret_cast<const char*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
          const std::string id = GnuBuildId({at, info->dlpi_phdr[i].p_memsz});
          if (!id.empty()) *static_cast<std::string*>(to) = id;
        }
        return 1;
      },
      &loaded);
  EXPECT_EQ(identity->build_id, loaded);
  EXPECT_FALSE(identity->segments.empty());
}

TEST(ElfFileTest, ReadsTheBuildIdAmongOtherNotes) {
  const auto note = [](std::string name, std::string desc, uint32_t type) {
    const uint32_t sizes[3] = {static_cast<uint32_t>(name.size()),
                               static_cast<uint32_t>(desc.size()), type};
    std::string bytes(reinterpret_cast<const char*>(sizes), sizeof sizes);
    name.resize((name.size() + 3) / 4 * 4);
    desc.resize((desc.size() + 3) / 4 * 4);
    return bytes + name + desc;
  };
  const std::string gnu("GNU\0", 4);
  EXPECT_EQ(GnuBuildId(note("Xen", "zz", 6) + note(gnu, "abi", 1) + note(gnu, "IDIDID", 3)),
            "IDIDID");
  EXPECT_EQ(GnuBuildId(note(gnu, std::string(100, 'x'), 3)).size(), 32u);
  EXPECT_EQ(GnuBuildId(note(gnu, "IDIDID", 3).substr(0, 18)), "");
  EXPECT_EQ(GnuBuildId(std::string(64, '\xff')), "");
}

TEST(KallsymsTest, LocatesKernelCodeWithoutTellingWhereItLies) {
  const std::string text =
      "ffffffff9a000000 T _text\nffffffff9a000100 t do_one\nffffffff9a000200 D data\n"
      "ffffffff9a000300 T do_two\nffffffffc0200000 t mod_fn\t[ext4]\n";
  std::string moved = text;
  for (size_t at; (at = moved.find("9a0")) != std::string::npos;) moved.replace(at, 3, "bb0");
  std::vector<uint64_t> offsets;
  for (const auto& [symbols, base] :
       {std::pair{text, 0xffffffff9a000000}, {moved, 0xffffffffbb000000}}) {
    ScratchDir dir;
    Write(dir.path() / "proc/kallsyms", symbols);
    Kallsyms kallsyms(dir.path());
    const CodeLocation two = kallsyms.Locate(base + 0x344);
    ASSERT_NE(two.file, nullptr);
    EXPECT_EQ(two.file->path, "[kernel]");
    EXPECT_FALSE(two.file->build_id.empty());
    EXPECT_EQ(kallsyms.NameAt(two), "do_two");
    EXPECT_EQ(kallsyms.NameAt(kallsyms.Locate(base + 0x2ff)), "do_one");
    offsets.push_back(two.offset);
    const CodeLocation module = kallsyms.Locate(0xffffffffc0200010);
    EXPECT_EQ(module.file->path, "[ext4]");
    EXPECT_EQ(module.offset, 0x10u);
    EXPECT_EQ(kallsyms.NameAt(module), "mod_fn");
    EXPECT_EQ(kallsyms.Locate(0x1000).file, nullptr);
  }
  EXPECT_EQ(offsets[0], offsets[1]);
}

TEST(KallsymsTest, HiddenAddressesMeanNothingIsKnown) {
  ScratchDir dir;
  Write(dir.path() / "proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T schedule\n");
  Kallsyms kallsyms(dir.path());
  EXPECT_EQ(kallsyms.Locate(0xffffffff81000000).file, nullptr);
  Kallsyms missing(dir.path() / "nowhere");
  EXPECT_EQ(missing.Locate(0xffffffff81000000).file, nullptr);
}

// Modules lie side by side: what a new one does must not be told of the one before it.
TEST(KallsymsTest, AModuleLoadedSinceIsNotTakenForTheOneBeforeIt) {
  const std::string kernel = "ffffffff9a000000 T _text\nffffffff9a000100 t do_one\n";
  const std::string first = "ffffffffc0200000 t first_fn\t[first]\n";
  const std::string second = "ffffffffc0202000 t second_fn\t[second]\n";
  const std::string listed = "first 8192 2 - Live 0xffffffffc0200000\n";
  constexpr uint64_t kInSecond = 0xffffffffc0202010;
  ScratchDir dir;
  Write(dir.path() / "proc/kallsyms", kernel + first);
  Write(dir.path() / "proc/modules", listed);
  uint64_t now = 5'000'000'000;
  Kallsyms kallsyms(dir.path(), [&now] { return now; });
  EXPECT_EQ(kallsyms.NameAt(kallsyms.Locate(0xffffffffc0200010)), "first_fn");
  EXPECT_EQ(kallsyms.Locate(kInSecond).file, nullptr);

  Write(dir.path() / "proc/kallsyms", kernel + first + second);
  Write(dir.path() / "proc/modules",
        "first 8192 3 second, Live 0xffffffffc0200000\n"
        "second 4096 0 - Live 0xffffffffc0202000\n");
  now += Kallsyms::kLookNs - 1;
  EXPECT_EQ(kallsyms.Locate(kInSecond).file, nullptr) << "it is not looked at each time";
  now += 1;
  const CodeLocation found = kallsyms.Locate(kInSecond);
  ASSERT_NE(found.file, nullptr);
  EXPECT_EQ(found.file->path, "[second]");
  EXPECT_EQ(found.offset, 0x10u);
  EXPECT_EQ(kallsyms.NameAt(found), "second_fn");
  EXPECT_EQ(kallsyms.NameAt(kallsyms.Locate(0xffffffff9a000104)), "do_one");
}

TEST(KallsymsTest, AModuleInThePlaceOfAnotherIsTold) {
  ScratchDir dir;
  Write(dir.path() / "proc/kallsyms",
        "ffffffff9a000000 T _text\nffffffffc0200000 t first_fn\t[first]\n");
  Write(dir.path() / "proc/modules", "first 8192 0 - Live 0xffffffffc0200000\n");
  uint64_t now = 5'000'000'000;
  Kallsyms kallsyms(dir.path(), [&now] { return now; });
  EXPECT_EQ(kallsyms.NameAt(kallsyms.Locate(0xffffffffc0200010)), "first_fn");
  Write(dir.path() / "proc/kallsyms",
        "ffffffff9a000000 T _text\nffffffffc0200000 t second_fn\t[second]\n");
  Write(dir.path() / "proc/modules", "second 8192 0 - Live 0xffffffffc0200000\n");
  now += Kallsyms::kLookNs;
  EXPECT_EQ(kallsyms.NameAt(kallsyms.Locate(0xffffffffc0200010)), "second_fn");
}

TEST(LruCacheTest, ForgetsWhatWasUsedLongestAgo) {
  LruCache<int, std::string> cache(3);
  cache.Put(1, "a"), cache.Put(2, "b"), cache.Put(3, "c");
  EXPECT_EQ(*cache.Find(1), "a");
  cache.Put(4, "d");
  EXPECT_EQ(cache.Find(2), nullptr);
  EXPECT_NE(cache.Find(1), nullptr);
  cache.Put(5, "e", 3);  // costs all there is
  EXPECT_EQ(cache.size(), 1u);
  cache.Put(5, "f", 1);
  EXPECT_EQ(*cache.Find(5), "f");
  EXPECT_EQ(cache.cost(), 1u);
}

}  // namespace
}  // namespace telltale::agent
