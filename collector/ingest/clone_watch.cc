#include "collector/ingest/clone_watch.h"

#include <algorithm>

namespace telltale::ingest {
namespace {

bool Contains(const std::vector<uint64_t>& ids, uint64_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

bool CloneWatch::OneMachine(const Stream& a, const Stream& b) {
  return a.incarnation == b.incarnation &&
         (a.fingerprint == b.fingerprint || a.fingerprint.empty() || b.fingerprint.empty());
}

std::vector<uint64_t> CloneWatch::Add(const Stream& stream) {
  std::vector<uint64_t> replaced;
  for (const Stream& other : streams_) {
    if (OneMachine(other, stream)) replaced.push_back(other.id);
  }
  for (const uint64_t id : replaced) Remove(id);
  streams_.push_back(stream);
  return replaced;
}

void CloneWatch::Remove(uint64_t id) {
  std::erase_if(streams_, [id](const Stream& stream) { return stream.id == id; });
  std::erase(settled_, id);
}

bool CloneWatch::Contested(uint64_t id) const {
  if (Contains(settled_, id)) return false;
  return streams_.size() > 1 && streams_.front().id != id;
}

std::vector<storage::Incarnation> CloneWatch::Proof(const Stream& older,
                                                    const Stream& newer) const {
  std::vector<storage::Incarnation> both = {older.incarnation};
  if (newer.incarnation != older.incarnation) both.push_back(newer.incarnation);
  return both;
}

std::vector<storage::Incarnation> CloneWatch::Spoke(uint64_t id, uint64_t received_mono_ns) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].id != id) continue;
    for (size_t j = i + 1; j < streams_.size(); ++j) {
      const bool known = Contains(settled_, id) && Contains(settled_, streams_[j].id);
      if (!known && received_mono_ns > streams_[j].begun_mono_ns + options_.margin_ns) {
        return Proof(streams_[i], streams_[j]);
      }
    }
  }
  return {};
}

std::vector<storage::Incarnation> CloneWatch::Tick(uint64_t mono_ns) {
  for (size_t j = 1; j < streams_.size(); ++j) {
    const Stream& newer = streams_[j];
    if (Contains(settled_, newer.id)) continue;
    if (mono_ns > newer.begun_mono_ns + options_.contest_ns) return Proof(streams_[0], newer);
  }
  return {};
}

void CloneWatch::Settle() {
  settled_.clear();
  for (const Stream& stream : streams_) settled_.push_back(stream.id);
}

}  // namespace telltale::ingest
