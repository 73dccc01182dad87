// Names of the functions of one library, as it is linked, stripped, and stripped with its symbols
// packed in it; and of what an enemy would put in their place.

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <lzma.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "agent/owned_fd.h"
#include "agent/symbols/elf_file.h"
#include "agent/symbols/elf_symbols.h"
#include "agent/symbols/host_resolver.h"
#include "agent/symbols/mini_debug_info.h"
#include "tests/support/temp_dir.h"

namespace telltale::agent {
namespace {

constexpr const char* kHidden = "_ZN12_GLOBAL__N_122TelltaleHiddenFunctionEi";

std::string Bytes(const char* variable) {
  const char* path = std::getenv(variable);
  EXPECT_NE(path, nullptr) << variable << " is not set; run this by ctest";
  std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

OwnedFd FileOf(std::string_view bytes) {
  OwnedFd fd(memfd_create("elf", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return fd;
}

ElfSymbols SymbolsOf(const std::string& bytes, const ElfSymbols::Limits& limits = {}) {
  return ElfSymbols::Read(FileOf(bytes).get(), limits);
}

std::string Packed(const std::string& bytes, uint32_t preset = 1) {
  std::string out(lzma_stream_buffer_bound(bytes.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC32, nullptr,
                                    reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                    reinterpret_cast<uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

class NamedFunctionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen(std::getenv("NAMED_LINKED"), RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    link_map* map = nullptr;
    ASSERT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    const auto offset_of = [map](const void* address) {
      return reinterpret_cast<uint64_t>(address) - map->l_addr;
    };
    exported_ = offset_of(dlsym(library, "TelltaleExportedFunction"));
    using Where = const void* (*)();
    const auto where = reinterpret_cast<Where>(dlsym(library, "TelltaleHiddenAddress"));
    ASSERT_NE(where, nullptr);
    hidden_ = offset_of(where());
  }

  uint64_t exported_ = 0, hidden_ = 0;  // the linker's addresses
};

TEST_F(NamedFunctionsTest, AllAreKnownFromTheSymbolTable) {
  const ElfSymbols symbols = SymbolsOf(Bytes("NAMED_LINKED"));
  EXPECT_TRUE(symbols.status().ok()) << symbols.status();
  EXPECT_EQ(symbols.NameAt(exported_), "TelltaleExportedFunction");
  EXPECT_EQ(symbols.NameAt(hidden_), kHidden);
}

TEST_F(NamedFunctionsTest, AStrippedLibraryNamesWhatItExports) {
  const ElfSymbols symbols = SymbolsOf(Bytes("NAMED_STRIPPED"));
  EXPECT_TRUE(symbols.status().ok()) << symbols.status();
  EXPECT_EQ(symbols.NameAt(exported_), "TelltaleExportedFunction");
  EXPECT_EQ(symbols.NameAt(hidden_), "");
}

TEST_F(NamedFunctionsTest, PackedSymbolsAddToTheExportedOnes) {
  const ElfSymbols symbols = SymbolsOf(Bytes("NAMED_PACKED"));
  EXPECT_TRUE(symbols.status().ok()) << symbols.status();
  EXPECT_EQ(symbols.NameAt(exported_), "TelltaleExportedFunction");
  EXPECT_EQ(symbols.NameAt(hidden_), kHidden);
}

TEST_F(NamedFunctionsTest, DamagedPackedSymbolsAreSaidSoAndTheExportedOnesStay) {
  std::string bytes = Bytes("NAMED_PACKED");
  const size_t at =
      bytes.find(std::string("\xfd"
                             "7zXZ\0",
                             6));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 40] ^= 0x55;
  const ElfSymbols symbols = SymbolsOf(bytes);
  EXPECT_EQ(symbols.status().code(), absl::StatusCode::kInvalidArgument) << symbols.status();
  EXPECT_EQ(symbols.NameAt(exported_), "TelltaleExportedFunction");
  EXPECT_EQ(symbols.NameAt(hidden_), "");
}

TEST_F(NamedFunctionsTest, OfALongSymbolTableNamesAreReadFromTheFile) {
  const std::string bytes = Bytes("NAMED_LINKED");
  const ElfSymbols whole = SymbolsOf(bytes);
  const ElfSymbols::Limits few[] = {
      {.functions = whole.size() - 1}, {.string_bytes = 100}, {.symbol_bytes = 100}};
  for (const ElfSymbols::Limits& limits : few) {
    const OwnedFd fd = FileOf(bytes);
    const ElfSymbols symbols = ElfSymbols::Read(fd.get(), limits);
    EXPECT_TRUE(symbols.status().ok()) << symbols.status();
    ASSERT_TRUE(symbols.indexed());
    EXPECT_EQ(symbols.NameAt(hidden_), "") << "else this shows nothing";
    EXPECT_EQ(symbols.NameIn(fd.get(), hidden_), kHidden);
    EXPECT_EQ(symbols.NameIn(fd.get(), exported_), "TelltaleExportedFunction");
    size_t others = 0;  // of an address with several names
    for (uint64_t address = 0; address < bytes.size(); ++address) {
      const std::string name = symbols.NameIn(fd.get(), address);
      const std::string expected = whole.NameAt(address);
      ASSERT_EQ(name.empty(), expected.empty()) << address << ' ' << name;
      others += name != expected;
    }
    EXPECT_LT(others, bytes.size() / 100);
    EXPECT_EQ(symbols.NameIn(-1, hidden_), "") << "of a file that is gone";
  }
}

TEST_F(NamedFunctionsTest, ASymbolTableThatIsTooLongLeavesTheExportedOnes) {
  const std::string bytes = Bytes("NAMED_LINKED");
  const ElfSymbols whole = SymbolsOf(bytes);
  const size_t few = whole.size() - 1;
  const ElfSymbols symbols = SymbolsOf(bytes, {.functions = few, .index = {.functions = few}});
  EXPECT_EQ(symbols.status().code(), absl::StatusCode::kResourceExhausted) << symbols.status();
  EXPECT_EQ(symbols.NameAt(exported_), "TelltaleExportedFunction");
}

TEST_F(NamedFunctionsTest, WhatUnpacksBeyondItsLimitIsLeftOut) {
  const ElfSymbols symbols = SymbolsOf(Bytes("NAMED_PACKED"), {.unpacked_bytes = 500});
  EXPECT_EQ(symbols.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(symbols.status().message()), ::testing::HasSubstr("500"));
  EXPECT_EQ(symbols.NameAt(exported_), "TelltaleExportedFunction");
}

// What the resolver says of the hidden function in a variant of the library that this process
// loads.
FunctionName HiddenFunctionOf(const std::string& bytes, const HostResolver::Options& options = {}) {
  const testing::TempDir dir;
  const std::string path = dir.path() + "/variant.so";
  std::ofstream(path, std::ios::binary) << bytes;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return {};
  using Where = const void* (*)();
  const auto where = reinterpret_cast<Where>(dlsym(library, "TelltaleHiddenAddress"));
  const ProcessRef self{.tgid = static_cast<uint32_t>(getpid())};
  HostResolver resolver(options);
  const CodeLocation place = resolver.User(self, reinterpret_cast<uint64_t>(where()), 1);
  resolver.Name(self, place);  // reads the file's symbols; the second time they are known
  FunctionName name = resolver.Name(self, place);
  dlclose(library);
  return name;
}

TEST_F(NamedFunctionsTest, TheResolverSaysWhyThereIsNoName) {
  const FunctionName named = HiddenFunctionOf(Bytes("NAMED_PACKED"));
  EXPECT_EQ(named.outcome, v1::NAME_OUTCOME_NAMED);
  EXPECT_EQ(named.text, "(anonymous namespace)::TelltaleHiddenFunction(int)");
  EXPECT_EQ(HiddenFunctionOf(Bytes("NAMED_STRIPPED")).outcome, v1::NAME_OUTCOME_NO_SYMBOL);
  HostResolver::Options few;
  few.symbols.functions = 1;
  EXPECT_EQ(HiddenFunctionOf(Bytes("NAMED_LINKED"), few).text, named.text);
  few.symbols.index.functions = 1;
  EXPECT_EQ(HiddenFunctionOf(Bytes("NAMED_LINKED"), few).outcome, v1::NAME_OUTCOME_LIMIT);
  std::string damaged = Bytes("NAMED_PACKED");
  damaged[damaged.find(std::string("\xfd"
                                   "7zXZ\0",
                                   6)) +
          40] ^= 0x55;
  EXPECT_EQ(HiddenFunctionOf(damaged).outcome, v1::NAME_OUTCOME_DAMAGED);
}

TEST(VdsoTest, ItsFunctionsHaveNames) {
  void* vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (vdso == nullptr) GTEST_SKIP() << "SKIPPED: this host has no vdso, or another one";
  const void* clock = dlsym(vdso, "__vdso_clock_gettime");
  ASSERT_NE(clock, nullptr);
  const ProcessRef self{.tgid = static_cast<uint32_t>(getpid())};
  HostResolver resolver({});
  const CodeLocation place = resolver.User(self, reinterpret_cast<uint64_t>(clock), 1);
  ASSERT_NE(place.file, nullptr);
  EXPECT_EQ(place.file->kind, v1::MAPPING_KIND_VDSO);
  EXPECT_FALSE(place.file->build_id.empty());
  EXPECT_THAT(resolver.Name(self, place).text, ::testing::HasSubstr("clock_gettime"));
}

TEST(ElfFileTest, TruncatedAndDamagedFilesAreRefusedOrReadNeverFatal) {
  const std::string whole = Bytes("NAMED_PACKED");
  ASSERT_GT(whole.size(), 5'000u);
  const ElfSymbols::Limits limits{.symbol_bytes = 1 << 20,
                                  .string_bytes = 1 << 20,
                                  .functions = 100,
                                  .unpacked_bytes = 1 << 20};
  const auto read = [&limits](std::string_view bytes, uint64_t address) {
    const OwnedFd fd = FileOf(bytes);
    ReadElfIdentity(fd.get()).IgnoreError();
    const ElfSymbols symbols = ElfSymbols::Read(fd.get(), limits);
    EXPECT_LE(symbols.size(), limits.functions);
    symbols.NameAt(address);
    symbols.NameIn(fd.get(), address);
  };
  for (size_t cut = 0; cut < whole.size(); cut += cut < 256 ? 1 : 97) {
    read(std::string_view(whole).substr(0, cut), 0x1100);
  }
  uint64_t section_headers;
  memcpy(&section_headers, whole.data() + 40, sizeof section_headers);
  std::mt19937_64 random(7);
  for (int round = 0; round < 3'000; ++round) {
    // Damage where it steers the reader: header, program headers, section headers.
    const bool front = round % 2 == 0;
    const size_t base = front ? 4 : section_headers;
    const size_t span = front ? 700 : whole.size() - section_headers;
    std::string damaged = whole;
    damaged[base + random() % span] = static_cast<char>(random());
    read(damaged, random());
  }
}

TEST_F(NamedFunctionsTest, ASectionBeyondItsLimitIsNamed) {
  const ElfSymbols symbols =
      SymbolsOf(Bytes("NAMED_STRIPPED"), {.symbol_bytes = 100, .index = {.symbol_bytes = 100}});
  EXPECT_EQ(symbols.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(symbols.status().message()), ::testing::HasSubstr("limit 100"));
}

TEST(MiniDebugInfoTest, UnpacksWhatWasPacked) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i);
  for (const uint32_t preset : {0u, 6u}) {
    const auto unpacked = UnpackMiniDebugInfo(Packed(text, preset), text.size());
    ASSERT_TRUE(unpacked.ok()) << unpacked.status();
    EXPECT_TRUE(*unpacked == text);
  }
}

TEST(MiniDebugInfoTest, AFewBytesDoNotBecomeMemoryWithoutEnd) {
  const std::string bomb = Packed(std::string(64 << 20, '\0'));
  ASSERT_LT(bomb.size(), 100'000u);
  EXPECT_EQ(UnpackMiniDebugInfo(bomb, 1 << 20).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(MiniDebugInfoTest, ADictionaryBeyondTheMemoryLimitIsRefused) {
  std::string packed = Packed("hello");
  // The header of the first block follows that of the stream: its length ... the LZMA2 filter with
  // one byte, the size of its dictionary; at last a checksum.
  constexpr size_t kBlock = 12;
  const size_t header_bytes = 4 * (static_cast<size_t>(packed[kBlock]) + 1);
  const size_t filter = packed.find("\x21\x01", kBlock);
  ASSERT_LT(filter, kBlock + header_bytes);
  const auto set_dictionary = [&](char code) {
    packed[filter + 2] = code;
    const uint32_t sum =
        lzma_crc32(reinterpret_cast<const uint8_t*>(packed.data()) + kBlock, header_bytes - 4, 0);
    memcpy(packed.data() + kBlock + header_bytes - 4, &sum, sizeof sum);
  };
  set_dictionary(28);  // 64 MB, as xz -9 does
  EXPECT_EQ(UnpackMiniDebugInfo(packed, 1'000).value_or("?"), "hello");
  set_dictionary(30);  // 128 MB
  EXPECT_EQ(UnpackMiniDebugInfo(packed, 1'000).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(MiniDebugInfoTest, DamageIsSaidSo) {
  const std::string packed = Packed(std::string(5'000, 'x') + "y");
  for (size_t cut = 0; cut < packed.size(); ++cut) {
    EXPECT_EQ(UnpackMiniDebugInfo(packed.substr(0, cut), 10'000).status().code(),
              absl::StatusCode::kInvalidArgument)
        << cut;
  }
  EXPECT_EQ(UnpackMiniDebugInfo("no xz at all", 10'000).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace telltale::agent
