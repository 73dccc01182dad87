// Memory of a process that only grows, by more than 1 MB an hour: its anonymous pages, resident or
// swapped out. No file stands behind them, neither in the page cache nor mapped; nor are they
// shared, as those of a database's buffers, which each of its processes touches by and by. Of an
// agent that does not tell them, resident bytes.

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/growth.h"

namespace telltale::filter {
namespace {

constexpr double kBytesPerHour = 1e6;
constexpr double kPages = 16 * 4096;  // how an allocator breathes
constexpr double kNothing = 0.02;     // of what it took, given back

class Leak : public GrowthDetector {
 public:
  static constexpr DetectorFacts kFacts = {.name = "leak",
                                           .version = 8,
                                           .needs = TELLTALE_NEEDS_PROCESSES,
                                           .about = "a process whose memory only grows",
                                           .history_epochs = kWindow,
                                           .rule = 2,
                                           .make = Make<Leak>};

  explicit Leak(const telltale_filter_host& host)
      : GrowthDetector(host, {.column = TELLTALE_PROCESS_OWN_BYTES,
                              .instead = TELLTALE_PROCESS_RSS_BYTES,
                              .least_grown = kPages,
                              .least_pace = kBytesPerHour,
                              .most_given_back = std::numeric_limits<double>::infinity()}) {}

 private:
  void Describe(const Growth& growth, Finding& found) const override {
    found.vital = "user_page";
    found.text = absl::StrCat(growth.name, " grows by ", BytesText(growth.pace), " an hour",
                              growth.given_back < kNothing ? " and gives nothing back" : "", ": ",
                              BytesText(growth.grown), " so far");
    found.evidence = absl::StrCat(
        "its own memory, Theil-Sen over ", growth.judged, " epochs, p = ", PText(growth.p),
        absl::StrFormat("; %.0f %% of what it took came back", 100 * growth.given_back));
    found.against = "a cache that fills up grows the same until it is full";
    found.cause = "memory leak";
    found.next = "telltale top --vital user_page --by site";
    found.facts.Figure("pace", growth.pace, "bytes/h")
        .Figure("grown", growth.grown, "bytes")
        .Figure("given_back", growth.given_back, "1");
  }
};

}  // namespace

const telltale_filter* LeakFilter() { return FilterOf<Leak>(); }

}  // namespace telltale::filter
