// The whole epochs that a collector's store holds of some of its nodes: what
// tests/bench/stored_bytes fills a day with.

#ifndef TELLTALE_TESTS_BENCH_RECORDED_EPOCHS_H_
#define TELLTALE_TESTS_BENCH_RECORDED_EPOCHS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/store.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::bench {

// Of each node's whole epochs, counted from 1.
struct Chosen {
  uint64_t first = 1;
  uint64_t last = UINT64_MAX;
  // Neither: the node that has most epochs.
  std::vector<std::string> nodes;
  bool all_nodes = false;
};

struct RecordedEpoch {
  uint64_t schema_id = 0;
  uint64_t sent_bytes = 0;  // of the body, as it travels
  v1::SummaryBody body;
  v1::SketchCells cells;
};

struct RecordedNode {
  std::string name;
  std::vector<RecordedEpoch> epochs;  // never empty
};

struct Recording {
  std::vector<RecordedNode> nodes;
  std::map<uint64_t, std::shared_ptr<const v1::Schema>> schemas;
  // By build id and offset; "": nobody told it.
  std::map<std::string, std::map<uint64_t, std::string>> names;

  // One epoch of each node, then the next one of each, until no node has one left.
  std::vector<const RecordedEpoch*> InTurn() const;
};

// NotFound: a node of that name, or a whole epoch of one, is not there. Of all nodes those without
// a whole epoch are left out, as long as there is one.
absl::StatusOr<Recording> ReadRecording(const storage::Reader& reader, const Chosen& chosen);

}  // namespace telltale::bench

#endif  // TELLTALE_TESTS_BENCH_RECORDED_EPOCHS_H_
