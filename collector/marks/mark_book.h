// What operators noted about moments, and what filters noticed (deploys), as one list. Kept in the
// catalog (table 0f), so it survives restarts and is in backups.
//
// Thread-safe. Owned by the collector; the catalog outlives it.

#ifndef TELLTALE_COLLECTOR_MARKS_MARK_BOOK_H_
#define TELLTALE_COLLECTOR_MARKS_MARK_BOOK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/query/engine.h"
#include "storage/catalog.h"
#include "telltale/v1/access.pb.h"
#include "telltale/v1/operate.pb.h"

namespace telltale::marks {

class MarkBook : public query::MarkSource {
 public:
  static constexpr size_t kMaxMarks = 10'000;
  static constexpr size_t kMaxNoticed = 4'000;
  static constexpr size_t kMaxNodes = 256;
  static constexpr size_t kMaxTextBytes = 300;
  static constexpr double kMaxAheadS = 366.0 * 86400;  // a note may be about what is planned

  using Now = std::function<uint64_t()>;  // ns since 1970
  using NodeKnown = std::function<absl::Status(const std::string& node)>;

  // `node_known`: NotFound, with the nearest names, if there is no such node. Notes that cannot be
  // read are lost (storage/catalog_damage.h).
  static absl::StatusOr<std::unique_ptr<MarkBook>> Open(storage::Catalog* catalog, Now now,
                                                        NodeKnown node_known);

  // Durable when it returns. With kMaxMarks the one of the earliest time makes room and is told.
  absl::StatusOr<v1::AddMarkAnswer> Add(const v1::AddMarkRequest& request, const std::string& by);
  absl::StatusOr<v1::Mark> Remove(const std::string& id);

  // What a filter noticed, shown as by "filter NAME". The same again changes nothing. The same on
  // other nodes within an hour, as of a rollout, is one mark of up to kMaxNodes. With kMaxNoticed
  // the earliest of the filter that has most makes room: they drive out no operator's note, and a
  // filter that notices much no other's.
  absl::Status Notice(const std::string& filter, const std::string& node, uint64_t time_ns,
                      const std::string& text);

  std::vector<v1::Mark> Between(double start_s, double end_s,
                                const std::set<std::string>& nodes) const override;
  std::vector<v1::Mark> Between(double start_s, double end_s) const;  // whatever their nodes

 private:
  using Position = std::pair<uint64_t, std::string>;  // time in ns, id

  MarkBook(storage::Catalog* catalog, Now now, NodeKnown node_known)
      : catalog_(catalog), now_(std::move(now)), node_known_(std::move(node_known)) {}
  absl::StatusOr<std::string> NewId() const;
  // Those seen in that time on nodes that are asked about; with mutex_ free.
  std::vector<v1::Mark> List(double start_s, double end_s,
                             const std::function<bool(const std::string& node)>& of) const;
  // With mutex_, as what follows.
  using Marks = std::map<Position, v1::StoredMark>;
  void Keep(v1::StoredMark mark);
  void Forget(Marks::iterator mark);
  Marks::iterator EarliestBy(const std::function<bool(const std::string& by)>& of);
  // The one of another node, or of this one at this very time, that it is the same as; end(): none.
  Marks::iterator SameElsewhere(const v1::StoredMark& noticed);
  std::string WhoNoticedMost() const;

  storage::Catalog* const catalog_;
  const Now now_;
  const NodeKnown node_known_;
  mutable std::mutex mutex_;
  Marks marks_;                               // guarded by mutex_; as are the next
  std::set<std::string> ids_;                 // theirs
  std::map<std::string, size_t> noticed_by_;  // how many of them, by filter
  size_t noticed_ = 0;                        // of all filters
};

}  // namespace telltale::marks

#endif  // TELLTALE_COLLECTOR_MARKS_MARK_BOOK_H_
