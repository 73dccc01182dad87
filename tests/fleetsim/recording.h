// What replay starts from: epochs of real agents, read from their spool directories, or made-up
// ones. Immutable once loaded; any thread.

#ifndef TELLTALE_TESTS_FLEETSIM_RECORDING_H_
#define TELLTALE_TESTS_FLEETSIM_RECORDING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::fleetsim {

// A code location as names travel for it.
struct Place {
  std::string build_id;
  v1::MappingKind kind = v1::MAPPING_KIND_UNSPECIFIED;
  std::string path;
  uint64_t offset = 0;
  std::string name;
};

struct RecordedEpoch {
  uint64_t schema_id = 0;
  v1::SummaryBody body;
  v1::SketchCells cells;
  std::vector<int32_t> frame_place;  // of each frame: index into places(), -1: it has no name
  size_t bytes = 0;                  // of body and cells as recorded, compressed
};

class Recording {
 public:
  // Every whole epoch in these spool directories. Epochs of another length are stretched to
  // `epoch_s`: totals in proportion, seconds repeated. NotFound: there is none; DataLoss: a damaged
  // record.
  static absl::StatusOr<Recording> Load(const std::vector<std::string>& directories,
                                        uint32_t epoch_s);
  // Without recordings: a few epochs of a few made-up nodes.
  static Recording Synthetic(uint32_t epoch_s);

  const std::vector<RecordedEpoch>& epochs() const { return epochs_; }
  const std::vector<Place>& places() const { return places_; }
  const v1::Schema& schema(uint64_t id) const { return schemas_.at(id); }
  double mean_bytes() const;
  bool stretched() const { return stretched_; }

 private:
  absl::Status Read(const std::string& directory, uint32_t epoch_s);
  void FindPlaces();

  std::vector<RecordedEpoch> epochs_;
  std::vector<Place> places_;  // that have names
  std::map<std::tuple<std::string, int, uint64_t>, int32_t> index_;
  std::map<uint64_t, v1::Schema> schemas_;
  bool stretched_ = false;
};

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_RECORDING_H_
