// Silences: what operators do not want to hear of, by node, rule and process or by an incident's
// number, until a time, with who and why. Durable as one state value of the derived store
// ("incidents/silences"); those that are over are listed for a week and then forgotten.
//
// Thread-safe. Owned with the incidents; the store outlives it.

#ifndef TELLTALE_COLLECTOR_INCIDENT_SILENCE_BOOK_H_
#define TELLTALE_COLLECTOR_INCIDENT_SILENCE_BOOK_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/derived.h"
#include "telltale/v1/filter.pb.h"
#include "telltale/v1/incident.pb.h"

namespace telltale::incident {

class SilenceBook {
 public:
  static constexpr int kMaxSilences = 500;

  static absl::StatusOr<std::unique_ptr<SilenceBook>> Open(storage::DerivedStore* store);

  // Durable on return; that the incident is there is for the caller to see. InvalidArgument:
  // patterns, time or reason; ResourceExhausted: too many.
  absl::StatusOr<v1::Silence> Add(const v1::AddSilenceRequest& request, const std::string& who,
                                  uint64_t now_ns);
  // NotFound: none with this id is in force.
  absl::StatusOr<v1::Silence> End(const std::string& id, const std::string& who, uint64_t now_ns);
  v1::ListSilencesAnswer List(bool ended, uint64_t now_ns) const;

  // Whether the incident is under a silence in force, or all that stands for itself in it is, on
  // all its nodes; where those are not all stored, under one of any node. What `hints`, filters,
  // found stands for itself only where an incident has nothing else.
  bool Silences(const v1::StoredIncident& incident, const std::set<std::string>& hints,
                uint64_t now_ns) const;

 private:
  explicit SilenceBook(storage::DerivedStore* store) : store_(store) {}
  absl::Status Store(v1::StoredSilences silences);  // with mutex_

  storage::DerivedStore* const store_;
  mutable std::mutex mutex_;
  v1::StoredSilences silences_;  // guarded by mutex_
};

// "node web-*, rule 5, process nginx until 2026-11-22T18:00:00Z: why", for the audit log.
std::string Described(const v1::Silence& silence);

}  // namespace telltale::incident

#endif  // TELLTALE_COLLECTOR_INCIDENT_SILENCE_BOOK_H_
