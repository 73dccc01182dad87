// Writes the golden files of the format as it is today. Run once when a format is released, never
// again for it: the files stay for ever, and tests/unit/proto_golden_test.cc proves that newer code
// still reads them.
//   write_golden DIRECTORY VERSION
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>

#include "proto/codec.h"
#include "tests/unit/proto_bodies.h"

int main(int argc, char** argv) {
  using namespace telltale::proto;
  if (argc != 3) {
    std::cerr << "usage: write_golden DIRECTORY VERSION\n";
    return 2;
  }
  const std::string base = std::string(argv[1]) + "/";
  const std::string version = "_v" + std::string(argv[2]);
  const telltale::v1::Schema schema = BuiltinSchema();
  const absl::StatusOr<telltale::v1::Summary> summary = EncodeSummary(
      testing::SomeIdentity(), schema.id(), testing::FullBody(schema), testing::SomeCells(schema));
  if (!summary.ok()) {
    std::cerr << summary.status() << "\n";
    return 1;
  }
  std::ofstream(base + "summary" + version + ".bin", std::ios::binary) << Canonical(*summary);
  std::ofstream(base + "schema" + version + ".bin", std::ios::binary) << Canonical(schema);
  std::ofstream(base + "summary" + version + ".digest")
      << std::hex << std::setfill('0') << std::setw(16) << Digest(*summary) << "\n";
  return 0;
}
