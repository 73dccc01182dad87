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

std::string KeyOf(uint64_t time_ns, const std::string& id) {
  return kMarkTable + storage::EncodeU64(time_ns) + id;
}

// No operator's name has a space.
bool IsNoticed(const v1::StoredMark& mark) { return mark.by().starts_with("filter "); }

v1::Mark Shown(const v1::StoredMark& stored) {
  v1::Mark mark;
  mark.set_id(stored.id());
  mark.set_time_s(static_cast<double>(stored.time_ns()) / kNsPerS);
  mark.set_text(stored.text());
  mark.set_node(stored.node());
  mark.set_by(stored.by());
  mark.set_made_s(static_cast<double>(stored.made_ns()) / kNsPerS);
  return mark;
}

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
        book->noticed_ += IsNoticed(mark) ? 1 : 0;
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
  const Position position{mark.time_ns(), mark.id()};
  marks_[position] = std::move(mark);
}

void MarkBook::Forget(std::map<Position, v1::StoredMark>::iterator mark) {
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
  const auto dropped = full ? Earliest(false) : marks_.end();
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

std::map<MarkBook::Position, v1::StoredMark>::iterator MarkBook::Earliest(bool noticed) {
  return std::ranges::find_if(marks_,
                              [&](const auto& mark) { return IsNoticed(mark.second) == noticed; });
}

absl::Status MarkBook::Notice(const std::string& filter, const std::string& node, uint64_t time_ns,
                              const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  v1::StoredMark stored;
  stored.set_time_ns(time_ns);
  stored.set_text(proto::SanitizeText(text, kMaxTextBytes));
  stored.set_node(node);
  stored.set_by("filter " + filter);
  for (auto it = marks_.lower_bound({time_ns, ""});
       it != marks_.end() && it->first.first == time_ns; ++it) {
    const v1::StoredMark& known = it->second;
    if (known.node() == node && known.by() == stored.by() && known.text() == stored.text()) {
      return absl::OkStatus();
    }
  }
  absl::StatusOr<std::string> id = NewId();
  if (!id.ok()) return id.status();
  stored.set_id(*id);
  stored.set_made_ns(now_());
  auto transaction = catalog_->Begin();
  const bool full = noticed_ >= kMaxNoticed;
  const auto dropped = full ? Earliest(true) : marks_.end();
  if (full) transaction->Delete(KeyOf(dropped->first.first, dropped->first.second));
  transaction->Put(KeyOf(time_ns, *id), proto::Canonical(stored));
  if (absl::Status status = transaction->Commit(storage::Durability::kBuffered); !status.ok()) {
    return status;
  }
  if (full) {
    Forget(dropped);
  } else {
    ++noticed_;
  }
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
  noticed_ -= IsNoticed(found->second) ? 1 : 0;
  Forget(found);
  return removed;
}

std::vector<v1::Mark> MarkBook::Between(double start_s, double end_s) const {
  std::vector<v1::Mark> list;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [position, stored] : marks_) {
    v1::Mark mark = Shown(stored);
    if (mark.time_s() >= start_s && mark.time_s() < end_s) list.push_back(std::move(mark));
  }
  return list;
}

}  // namespace telltale::marks
