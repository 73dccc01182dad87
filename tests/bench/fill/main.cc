// fill_store DIR [--nodes N] [--days D] [--node-days D] [--seed N] [--recording DIR]... [--until S]
//
// Makes DIR a data directory a collector can be started on (filler.h). Called by tests/bench/run.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "tests/bench/fill/filler.h"

namespace {

int Usage(const std::string& why) {
  std::fprintf(stderr,
               "fill_store: %s\nusage: fill_store DIR [--nodes N] [--days D] [--node-days D] "
               "[--seed N] [--recording DIR]... [--until SECONDS_SINCE_1970]\n",
               why.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  telltale::bench::FillOptions options;
  uint64_t until_s = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                               std::chrono::system_clock::now().time_since_epoch())
                                               .count());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      if (!options.data.empty()) return Usage("more than one directory");
      options.data = word;
      continue;
    }
    if (++i == argc) return Usage(std::string(word) + " lacks its value");
    const std::string value = argv[i];
    bool good = false;
    if (word == "--nodes") {
      good = absl::SimpleAtoi(value, &options.nodes) && options.nodes >= 1;
    } else if (word == "--days") {
      good = absl::SimpleAtoi(value, &options.days) && options.days >= 2 && options.days <= 60;
    } else if (word == "--node-days") {
      good = absl::SimpleAtoi(value, &options.node_days) && options.node_days >= 1;
    } else if (word == "--seed") {
      good = absl::SimpleAtoi(value, &options.seed);
    } else if (word == "--until") {
      good = absl::SimpleAtoi(value, &until_s) && until_s > 100 * 86'400;
    } else if (word == "--recording") {
      options.recordings.push_back(value);
      good = true;
    }
    if (!good) return Usage(std::string(word) + " " + value + " is not understood");
  }
  if (options.data.empty()) return Usage("no directory");
  if (options.node_days >= options.days) return Usage("--node-days must be below --days");
  options.now_ns = until_s * 1'000'000'000;
  options.say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const absl::Status filled = telltale::bench::Fill(options);
  if (filled.ok()) return 0;
  std::fprintf(stderr, "fill_store: %s\n", std::string(filled.message()).c_str());
  return 1;
}
