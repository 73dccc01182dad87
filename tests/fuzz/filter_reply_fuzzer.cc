// Feeds arbitrary bytes to what the collector reads from a filter's process: the first byte chooses
// whether they are its first message or a reply. What is taken keeps to all limits: foreign code
// had its hands on it, and it goes to the store as it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "collector/filter/filter_code.h"
#include "collector/filter/host/host_limits.h"
#include "collector/filter/host/host_reply.h"

namespace {

using namespace telltale;
using namespace telltale::filter;

constexpr uint64_t kFrom = 1'000, kTo = 2'000;

void Require(bool fact) {
  if (!fact) std::abort();
}

// Printable, one line, and no longer than it may be.
void RequireText(const std::string& text, size_t limit) {
  Require(text.size() <= limit && text.find('\0') == std::string::npos);
  for (const char c : text) Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

void RequireTimes(uint64_t from_ns, uint64_t start_ns, uint64_t end_ns) {
  Require(from_ns <= start_ns && start_ns <= end_ns && end_ns <= kTo);
}

void CheckDeclared(const std::string& bytes) {
  const auto declared = ReadDeclared(bytes);
  if (!declared.ok()) return;
  const DeclaredFilter filter(*declared);
  Require(ValidFilterName(filter.get().name));
  Require(filter.get().rule <= 10);
  RequireText(filter.get().about, kMaxHostText);
  int vitals = 0;
  for (const char* const* vital = filter.get().vitals; vital != nullptr && *vital != nullptr;
       ++vital) {
    RequireText(*vital, kMaxHostName);
    Require(++vitals <= kMaxHostVitals);
  }
}

void CheckReply(const std::string& bytes) {
  const auto reply = ReadReply(bytes, {.from_ns = kFrom, .to_ns = kTo});
  if (!reply.ok() || reply->wants_hour) return;
  const v1::HostDone& done = reply->done;
  Require(done.points_size() <= kMaxPoints && done.marks_size() <= kMaxMarks &&
          done.anomalies_size() <= kMaxAnomalies);
  Require(done.state().size() <= FilterCode::kMaxStateBytes && done.failed().empty());
  for (const v1::HostPoint& point : done.points()) {
    RequireTimes(kFrom, point.time_ns(), point.time_ns());
    RequireText(point.series(), kMaxHostName);
    RequireText(point.vital(), kMaxHostName);
    RequireText(point.sub(), kMaxHostName);
  }
  for (const v1::HostMark& mark : done.marks()) {
    RequireTimes(kFrom, mark.start_ns(), mark.end_ns());
    RequireText(mark.vital(), kMaxHostName);
    RequireText(mark.sub(), kMaxHostName);
    RequireText(mark.text(), kMaxHostText);
  }
  for (const v1::HostAnomaly& anomaly : done.anomalies()) {
    RequireTimes(0, anomaly.start_ns(), anomaly.end_ns());
    RequireText(anomaly.vital(), kMaxHostName);
    RequireText(anomaly.sub(), kMaxHostName);
    RequireText(anomaly.subject(), kMaxHostSubject);
    for (const std::string* text : {&anomaly.text(), &anomaly.evidence(), &anomaly.against(),
                                    &anomaly.cause(), &anomaly.next()}) {
      RequireText(*text, kMaxHostText);
    }
    Require(anomaly.facts_size() <= kMaxFacts);
    for (const v1::HostFact& fact : anomaly.facts()) {
      RequireText(fact.name(), kMaxHostName);
      RequireText(fact.unit(), kMaxHostName);
      RequireText(fact.text(), kMaxHostSubject);
    }
  }
  RequireText(done.learning().unit(), kMaxHostName);
  for (const char c : done.learning().muted())
    Require(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  Require(done.learning().muted().size() <= kMaxHostMuted * (kMaxHostSubject + 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] % 2 == 0 ? CheckDeclared(bytes) : CheckReply(bytes);
  return 0;
}
