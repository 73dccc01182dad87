// Replays a fuzzer's corpus (TELLTALE_CORPUS, a directory), and random damage to it, where no
// fuzzer is at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::vector<std::string> Corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TELLTALE_CORPUS)) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    inputs.push_back(bytes.str());
  }
  return inputs;
}

void Feed(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

TEST(CorpusTest, NoInputCrashesAReader) {
  const std::vector<std::string> corpus = Corpus();
  ASSERT_GE(corpus.size(), 4u) << "one input for each door at least";
  for (const std::string& input : corpus) Feed(input);
}

TEST(CorpusTest, NoDamagedInputCrashesAReader) {
  std::mt19937_64 random(41);
  for (const std::string& input : Corpus()) {
    for (int round = 0; round < 300; ++round) {
      std::string damaged = input;
      for (uint64_t changes = 1 + random() % 6; changes > 0 && damaged.size() > 2; --changes) {
        const size_t at = 1 + random() % (damaged.size() - 1);
        switch (random() % 4) {
          case 0:
            damaged[at] = static_cast<char>(random());
            break;
          case 1:
            damaged[at] ^= static_cast<char>(1 << random() % 8);
            break;
          case 2:
            damaged.erase(at, 1 + random() % 8);
            break;
          default:
            damaged.insert(at, damaged.substr(1 + random() % (damaged.size() - 1), random() % 16));
        }
      }
      Feed(damaged);
    }
  }
}

}  // namespace
