// Anomalies and diagnoses that belong together, as one incident each. An anomaly belongs to an
// incident that is not resolved and had news within the last ten minutes, or something of which
// still goes on, if it is
//   the same symptom (filter, vital, sub-series, program), on whatever node: a fault of the fleet;
//   or on a node of it and explained by a diagnosis there (incident_match.h);
//   or on a node of it, and of the same program, cgroup, disk or place in the code that waits; or
//   of the same vital, where one of both is of the node as a whole and no diagnosis explains it.
// One that is acknowledged or silenced takes in a node that it does not have only within ten
// minutes of its last news: who hushed it did not know of that node.
// The closest fit counts, then the oldest. Else it begins a new one; but not a hint, which says
// that something is unusual and not that anything is wrong: it waits ten minutes for an incident
// of its node that it belongs to, and stays an anomaly of the log if none begins. A diagnosis that
// comes later takes the incidents that are nothing but its symptoms in. One that somebody
// acknowledged is open again when a diagnosis comes that was not among it by then. An hour without
// news, with nothing of it going on, resolves an incident; not in the first ten minutes after a
// start, in which filters come to know again what goes on.
//
// Who resolves by hand what still goes on is told so in its timeline, and it stays resolved: what
// is known is not told again. Fresh news is. What begins anew begins a new incident, as after every
// other that is resolved. Where a filter tells more of what never ended, as of a leak that has
// doubled, the incident is open again, unless another one has that symptom of that node by now.
// Hints do not open it.
//
// Each change of an incident has a number, the highest of all so far: a follower's cursor. He gets
// each incident that changed since, as it is now, by the number of its latest change.
//
// The book follows the log of anomalies by its cursor; incidents and cursor are durable together,
// so a restart neither loses nor doubles one; hints wait on after it. It keeps `kept` incidents;
// for a new one it forgets the one that is resolved for longest, an open one only where all are
// open.
//
// Thread-safe. Owned by the filter side; the store, the log and the silences outlive it.

#ifndef TELLTALE_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_
#define TELLTALE_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/feed/waiters.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/epoch_source.h"
#include "collector/incident/silence_book.h"
#include "storage/derived.h"
#include "telltale/v1/filter.pb.h"
#include "telltale/v1/incident.pb.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::incident {

// What filters hold open of a symptom.
struct HeldOpen {
  bool any = false;      // something, whether or not its node is heard of now
  uint64_t news_ns = 0;  // when more was told of it last; 0: nothing since it was found
};

struct IncidentBookOptions {
  storage::DerivedStore* store = nullptr;
  const filter::AnomalyLog* log = nullptr;
  const SilenceBook* silences = nullptr;  // nullptr: none
  // Whether the symptom still goes on on one of the nodes (none named: on any); from Advance's
  // thread. May be empty: not known.
  std::function<bool(const v1::StoredSymptom& symptom, const filter::NodeNames& nodes)> goes_on;
  // What is held open of the symptom on these nodes, as goes_on; may be empty: nothing that was
  // resolved by hand is open again by itself.
  std::function<HeldOpen(const v1::StoredSymptom& symptom, const filter::NodeNames& nodes)> held;
  std::set<std::string> hints;              // filters whose anomalies begin no incident
  uint64_t kept = 4'096;                    // the same for the life of a store
  uint64_t together_ns = 600'000'000'000;   // without news, then a new incident begins
  uint64_t resolve_ns = 3'600'000'000'000;  // without news, then it is resolved
  size_t max_waiters = 256;
};

struct IncidentCounts {
  uint64_t open = 0, acknowledged = 0;  // not silenced
  uint64_t silenced = 0;                // of those that are not resolved
};

class IncidentBook {
 public:
  static absl::StatusOr<std::unique_ptr<IncidentBook>> Open(IncidentBookOptions options);

  // Takes in what the log has since, resolves what is over, and puts under silences what is;
  // durable on return.
  absl::Status Advance(uint64_t now_ns);

  // Newest first. NotFound: the one asked for was never there or is no longer kept.
  absl::StatusOr<v1::ListIncidentsAnswer> List(const v1::ListIncidentsRequest& request) const;

  // Durable on return. `who`: as notes show it. InvalidArgument, NotFound; FailedPrecondition: the
  // incident is in that state already; ResourceExhausted: it has as many notes as it may, each
  // change of state being one.
  absl::StatusOr<v1::Incident> Change(const v1::ChangeIncidentRequest& request,
                                      const std::string& who, uint64_t now_ns);

  // Whether a silence may be of this incident alone; 0, of none, may. NotFound; FailedPrecondition:
  // it is resolved.
  absl::Status CheckSilence(uint64_t number) const;

  IncidentCounts Counts() const;
  // What an Alertmanager is to know, whole and ascending by number: those that are not resolved,
  // under silences or not, and those that were resolved at or after `since_ns`.
  std::vector<v1::Incident> Alerts(uint64_t since_ns) const;

  // The cursor behind the latest change.
  std::string NowCursor() const;
  // Incidents that changed after the cursor, by change, at most `limit` and about 1 MB; "0": all
  // kept. InvalidArgument: not a cursor of this store; OutOfRange: incidents that changed after it
  // are no longer kept, says with which cursor to go on.
  absl::StatusOr<std::vector<v1::IncidentNews>> After(const std::string& cursor,
                                                      size_t limit) const;
  // Calls `wake` after each change; as feed::Waiters.
  absl::StatusOr<std::unique_ptr<feed::Waiter>> Wait(std::function<void()> wake) {
    return waiters_.Add(std::move(wake));
  }

 private:
  explicit IncidentBook(IncidentBookOptions options)
      : options_(std::move(options)), waiters_("incidents", options_.max_waiters) {}
  absl::Status Load();
  // Hints that waited when the head was stored.
  absl::Status WaitAgain();
  absl::Status TakeNews(uint64_t now_ns);
  void Take(const v1::Anomaly& anomaly, uint64_t now_ns);
  bool IsHint(const v1::Anomaly& anomaly) const;
  void LetWait(const v1::Anomaly& hint);
  // The hints that wait and belong to it.
  void TakeHints(v1::StoredIncident& incident);
  void ForgetHints(uint64_t now_ns);
  v1::StoredIncident* Match(const v1::Anomaly& anomaly, uint64_t found_ns);
  void RingAgain(v1::StoredIncident& incident, const v1::Anomaly& anomaly);
  void TakeIn(v1::StoredIncident& incident, uint64_t found_ns, uint64_t now_ns);
  void Resolve(v1::StoredIncident& incident, uint64_t now_ns, const std::string& why);
  bool GoesOn(const v1::StoredIncident& incident, const v1::StoredSymptom& symptom) const;
  void SeeWhatGoesOn(uint64_t now_ns, bool settled);
  void SeeWhatIsOver(v1::StoredIncident& incident, uint64_t now_ns);
  void SeeWhetherItGoesOn(const v1::StoredIncident& incident, uint64_t now_ns);
  void ReopenWhatHasNews(uint64_t now_ns, bool settled);
  // Of the nodes of the symptom those on which no other incident has it by now; nullopt: none.
  std::optional<filter::NodeNames> NodesToldHere(const v1::StoredIncident& incident,
                                                 const v1::StoredSymptom& symptom) const;
  void Reopen(v1::StoredIncident& incident, const v1::StoredSymptom& symptom, uint64_t now_ns);
  // `unknown_to`: of incidents up to this number it is not known whether they go on.
  void ResolveAndSilence(uint64_t now_ns, uint64_t unknown_to);
  uint64_t LastSeen(const v1::StoredIncident& incident) const;
  bool IsRecent(const v1::StoredIncident& incident, uint64_t found_ns) const;
  void Forget();
  absl::Status NoNumber(uint64_t number) const;
  absl::Status Store();

  const IncidentBookOptions options_;
  mutable std::mutex mutex_;
  v1::IncidentHead head_;                             // guarded by mutex_, as all below
  std::map<uint64_t, v1::StoredIncident> incidents_;  // by number
  std::map<uint64_t, uint64_t> slots_;                // where each is stored, by number
  std::set<uint64_t> free_slots_;
  std::set<uint64_t> changed_;              // not stored yet
  std::map<uint64_t, uint64_t> by_change_;  // number of those stored, by latest change
  struct GoingOn {
    uint64_t seen_ns = 0;     // when something of it was last seen to go on
    uint64_t counted_ns = 0;  // when the symptoms were, that go on and are no hints
    int symptoms = 0;
  };
  std::map<uint64_t, GoingOn> going_on_;  // by number; known anew after a restart
  // Those resolved by hand, and when something of each was last seen to be held open.
  std::map<uint64_t, uint64_t> watched_;
  std::deque<v1::Anomaly> hints_;  // that wait, in the order of the log
  uint64_t first_look_ns_ = 0;
  feed::Waiters waiters_;
};

}  // namespace telltale::incident

#endif  // TELLTALE_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_
