#include "collector/marks/mark_book.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "collector/random_id.h"
#include "proto/codec.h"
#include "sketch/time_units.h"
#include "storage/catalog_damage.h"
#include "storage/keys.h"

namespace telltale::marks {
namespace {

constexpr char kMarkTable = '\x0f';
constexpr uint64_t kRolloutNs = 3'600 * kNsPerS;

std::string KeyOf(uint64_t time_ns, const std::string& id) {
  return kMarkTable + storage::EncodeU64(time_ns) + id;
}

// No operator's name has a space.
bool IsFilter(const std::string& by) { return by.starts_with("filter "); }

bool IsOf(const v1::StoredMark& mark, const std::string& node, uint64_t time_ns) {
  return mark.node() == node && mark.time_ns() == time_ns;
}

double Seconds(uint64_t ns) { return static_cast<double>(ns) / kNsPerS; }

using Seen = std::pair<double, std::string>;  // when, on which node

std::vector<Seen> SeenOn(const v1::StoredMark& stored) {
  std::vector<Seen> all = {{Seconds(stored.time_ns()), stored.node()}};
  for (const auto& elsewhere : stored.elsewhere()) {
    all.emplace_back(Seconds(elsewhere.time_ns()), elsewhere.node());
  }
  return all;
}

// With what is told of where it was seen: at least one.
v1::Mark Shown(const v1::StoredMark& stored, std::vector<Seen> seen) {
  std::ranges::stable_sort(seen, {}, &Seen::first);
  v1::Mark mark;
  mark.set_id(stored.id());
  mark.set_time_s(seen.front().first);
  mark.set_text(stored.text());
  mark.set_node(seen.front().second);
  mark.set_by(stored.by());
  mark.set_made_s(Seconds(stored.made_ns()));
  for (size_t i = 1; i < seen.size(); ++i) mark.add_more_nodes(std::move(seen[i].second));
  return mark;
}

v1::Mark Shown(const v1::StoredMark& stored) { return Shown(stored, SeenOn(stored)); }

absl::StatusOr<uint64_t> TimeOf(const v1::AddMarkRequest& request, uint64_t now_ns) {
  const double time_s = request.time_s();
  if (time_s == 0) return now_ns;
  const double most_s = static_cast<double>(now_ns) / kNsPerS + MarkBook::kMaxAheadS;
  if (!std::isfinite(time_s) || time_s < 1 || time_s > most_s) {
    return absl::InvalidArgumentError(absl::StrCat(
        "note: time ", time_s, " must be seconds since 1970, at most a year from now"));
  }
  return static_cast<uint64_t>(std::llround(time_s * 1e6)) * 1000;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MarkBook>> MarkBook::Open(storage::Catalog* catalog, Now now,
                                                         NodeKnown node_known) {
  std::unique_ptr<MarkBook> book(new MarkBook(catalog, std::move(now), std::move(node_known)));
  const auto read = storage::ReadReadable(
      *catalog, std::string(1, kMarkTable), "notes", "they are no longer shown",
      [&](std::string_view key, std::string_view value) {
        v1::StoredMark mark;
        if (!mark.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
            KeyOf(mark.time_ns(), mark.id()) != key) {
          return absl::DataLossError("it is no note");
        }
        book->Keep(std::move(mark));
        return absl::OkStatus();
      });
  if (!read.ok()) return read.status();
  return book;
}

absl::StatusOr<std::string> MarkBook::NewId() const {
  return collector::NewId("note", [this](const std::string& id) { return ids_.contains(id); });
}

void MarkBook::Keep(v1::StoredMark mark) {
  ids_.insert(mark.id());
  if (IsFilter(mark.by())) {
    ++noticed_;
    ++noticed_by_[mark.by()];
  }
  const Position position{mark.time_ns(), mark.id()};
  marks_[position] = std::move(mark);
}

void MarkBook::Forget(Marks::iterator mark) {
  const auto by = noticed_by_.find(mark->second.by());
  if (by != noticed_by_.end()) {
    --noticed_;
    if (--by->second == 0) noticed_by_.erase(by);
  }
  ids_.erase(mark->first.second);
  marks_.erase(mark);
}

absl::StatusOr<v1::AddMarkAnswer> MarkBook::Add(const v1::AddMarkRequest& request,
                                                const std::string& by) {
  if (request.text().empty() || request.text().size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(absl::StrCat("note: text of ", request.text().size(),
                                                   " bytes must be 1 to ", kMaxTextBytes));
  }
  const absl::StatusOr<uint64_t> time_ns = TimeOf(request, now_());
  if (!time_ns.ok()) return time_ns.status();
  if (!request.node().empty()) {
    if (absl::Status known = node_known_(request.node()); !known.ok()) return known;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::StatusOr<std::string> id = NewId();
  if (!id.ok()) return id.status();
  v1::StoredMark stored;
  stored.set_id(*id);
  stored.set_time_ns(*time_ns);
  stored.set_text(proto::SanitizeText(request.text(), kMaxTextBytes));
  stored.set_node(request.node());
  stored.set_by(by);
  stored.set_made_ns(now_());
  auto transaction = catalog_->Begin();
  v1::AddMarkAnswer answer;
  const bool full = marks_.size() - noticed_ >= kMaxMarks;
  const auto dropped =
      full ? EarliestBy([](const std::string& who) { return !IsFilter(who); }) : marks_.end();
  if (full) {
    *answer.mutable_dropped() = Shown(dropped->second);
    transaction->Delete(KeyOf(dropped->first.first, dropped->first.second));
  }
  transaction->Put(KeyOf(*time_ns, *id), proto::Canonical(stored));
  if (absl::Status status = transaction->Commit(storage::Durability::kDurable); !status.ok()) {
    return status;
  }
  if (full) Forget(dropped);
  *answer.mutable_mark() = Shown(stored);
  Keep(std::move(stored));
  return answer;
}

MarkBook::Marks::iterator MarkBook::EarliestBy(
    const std::function<bool(const std::string& by)>& of) {
  return std::ranges::find_if(marks_, [&](const auto& mark) { return of(mark.second.by()); });
}

std::string MarkBook::WhoNoticedMost() const {
  return std::ranges::max_element(noticed_by_, {}, [](const auto& of) { return of.second; })->first;
}

MarkBook::Marks::iterator MarkBook::SameElsewhere(const v1::StoredMark& noticed) {
  const uint64_t time_ns = noticed.time_ns();
  const auto from = marks_.lower_bound({time_ns - std::min(time_ns, kRolloutNs), ""});
  const auto to = marks_.upper_bound({time_ns + kRolloutNs, ""});
  auto merges = marks_.end();
  for (auto it = from; it != to; ++it) {
    const v1::StoredMark& known = it->second;
    if (known.by() != noticed.by() || known.text() != noticed.text()) continue;
    bool has_node = known.node() == noticed.node();
    bool is_it = IsOf(known, noticed.node(), time_ns);
    for (const auto& elsewhere : known.elsewhere()) {
      if (elsewhere.node() != noticed.node()) continue;
      has_node = true;
      is_it = is_it || elsewhere.time_ns() == time_ns;
    }
    if (is_it) return it;
    const bool has_room = static_cast<size_t>(known.elsewhere_size()) + 1 < kMaxNodes;
    if (!has_node && has_room && merges == marks_.end()) merges = it;
  }
  return merges;
}

absl::Status MarkBook::Notice(const std::string& filter, const std::string& node, uint64_t time_ns,
                              const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  v1::StoredMark stored;
  stored.set_time_ns(time_ns);
  stored.set_text(proto::SanitizeText(text, kMaxTextBytes));
  stored.set_node(node);
  stored.set_by("filter " + filter);
  if (const auto same = SameElsewhere(stored); same != marks_.end()) {
    const bool is_it = IsOf(same->second, node, time_ns) ||
                       std::ranges::any_of(same->second.elsewhere(), [&](const auto& elsewhere) {
                         return elsewhere.node() == node;
                       });
    if (is_it) return absl::OkStatus();
    v1::StoredMark more = same->second;
    v1::StoredMark::Elsewhere& elsewhere = *more.add_elsewhere();
    elsewhere.set_node(node);
    elsewhere.set_time_ns(time_ns);
    auto transaction = catalog_->Begin();
    transaction->Put(KeyOf(more.time_ns(), more.id()), proto::Canonical(more));
    auto status = transaction->Commit(storage::Durability::kBuffered);
    if (status.ok()) same->second = std::move(more);
    return status;
  }
  absl::StatusOr<std::string> id = NewId();
  if (!id.ok()) return id.status();
  stored.set_id(*id);
  stored.set_made_ns(now_());
  auto transaction = catalog_->Begin();
  const bool full = noticed_ >= kMaxNoticed;
  const auto dropped =
      full ? EarliestBy([most = WhoNoticedMost()](const std::string& by) { return by == most; })
           : marks_.end();
  if (full) transaction->Delete(KeyOf(dropped->first.first, dropped->first.second));
  transaction->Put(KeyOf(time_ns, *id), proto::Canonical(stored));
  if (absl::Status status = transaction->Commit(storage::Durability::kBuffered); !status.ok()) {
    return status;
  }
  if (full) Forget(dropped);
  Keep(std::move(stored));
  return absl::OkStatus();
}

absl::StatusOr<v1::Mark> MarkBook::Remove(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::ranges::find_if(marks_, [&](const auto& mark) { return mark.first.second == id; });
  if (found == marks_.end()) {
    return absl::NotFoundError(absl::StrCat("note: there is none with the id ",
                                            proto::SanitizeText(id, 64),
                                            "; telltale note lists them"));
  }
  auto transaction = catalog_->Begin();
  transaction->Delete(KeyOf(found->first.first, found->first.second));
  if (absl::Status status = transaction->Commit(storage::Durability::kDurable); !status.ok()) {
    return status;
  }
  v1::Mark removed = Shown(found->second);
  Forget(found);
  return removed;
}

std::vector<v1::Mark> MarkBook::Between(double start_s, double end_s,
                                        const std::set<std::string>& nodes) const {
  return List(start_s, end_s, [&](const std::string& node) { return nodes.contains(node); });
}

std::vector<v1::Mark> MarkBook::Between(double start_s, double end_s) const {
  return List(start_s, end_s, [](const std::string&) { return true; });
}

std::vector<v1::Mark> MarkBook::List(double start_s, double end_s,
                                     const std::function<bool(const std::string& node)>& of) const {
  const double reach_s = Seconds(kRolloutNs) + 1;
  std::vector<v1::Mark> list;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [position, stored] : marks_) {
    // Most lie far from what is asked for; all that one was seen on, within an hour of the first.
    const double first_s = Seconds(stored.time_ns());
    if (first_s < start_s - reach_s || first_s > end_s + reach_s) continue;
    std::vector<Seen> seen = SeenOn(stored);
    std::erase_if(seen, [&](const Seen& one) {
      const bool in_time = one.first >= start_s && one.first < end_s;
      return !in_time || !(one.second.empty() || of(one.second));
    });
    if (!seen.empty()) list.push_back(Shown(stored, std::move(seen)));
  }
  std::ranges::stable_sort(list, {}, [](const v1::Mark& mark) { return mark.time_s(); });
  return list;
}

}  // namespace telltale::marks
