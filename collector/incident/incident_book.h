// Anomalies and diagnoses that belong together, as one incident each. An anomaly belongs to an
// incident that is not resolved and had news within the last ten minutes if it is
//   the same symptom (filter, vital, sub-series, program), on whatever node: a fault of the fleet;
//   or on a node of it, and of the same program or the same vital, or one of both is of no program.
// Else it begins a new one. After an hour without news an incident is resolved by itself.
//
// The book follows the log of anomalies by its cursor; incidents and cursor are durable together,
// so a restart neither loses nor doubles one. It keeps the latest `kept` incidents.
//
// Thread-safe. Owned by main; the store and the log outlive it.

#ifndef TELLTALE_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_
#define TELLTALE_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/filter/anomaly_log.h"
#include "storage/derived.h"
#include "telltale/v1/filter.pb.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::incident {

struct IncidentBookOptions {
  storage::DerivedStore* store = nullptr;
  const filter::AnomalyLog* log = nullptr;
  uint64_t kept = 4'096;                    // the same for the life of a store
  uint64_t together_ns = 600'000'000'000;   // without news, then a new incident begins
  uint64_t resolve_ns = 3'600'000'000'000;  // without news, then it is resolved
};

class IncidentBook {
 public:
  static absl::StatusOr<std::unique_ptr<IncidentBook>> Open(IncidentBookOptions options);

  // Takes in what the log has since, and resolves what is over; durable on return.
  absl::Status Advance(uint64_t now_ns);

  // Newest first. NotFound: the one asked for was never there or is no longer kept.
  absl::StatusOr<v1::ListIncidentsAnswer> List(const v1::ListIncidentsRequest& request) const;

  // Durable on return. `who`: as notes show it. InvalidArgument, NotFound; FailedPrecondition: the
  // incident is in that state already.
  absl::StatusOr<v1::Incident> Change(const v1::ChangeIncidentRequest& request,
                                      const std::string& who, uint64_t now_ns);

 private:
  explicit IncidentBook(IncidentBookOptions options) : options_(options) {}
  absl::Status Load();
  void Take(const v1::Anomaly& anomaly);
  v1::StoredIncident* Match(const v1::Anomaly& anomaly, uint64_t found_ns);
  absl::Status Store();
  std::string SlotName(uint64_t number) const;

  const IncidentBookOptions options_;
  mutable std::mutex mutex_;
  v1::IncidentHead head_;                             // guarded by mutex_, as all below
  std::map<uint64_t, v1::StoredIncident> incidents_;  // by number
  std::set<uint64_t> changed_;                        // not stored yet
};

// "postgres" of "postgres (pid 812, uid 26)": the same program on other nodes and in other lives.
std::string ProgramOfSubject(const std::string& subject);

}  // namespace telltale::incident

#endif  // TELLTALE_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_
