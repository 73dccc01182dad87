// Files, pipes and sockets that a process opens and does not close: by more than one a minute, and
// of ten that it opens it closes one at most. What the kernel keeps for each is memory that no
// process's resident bytes show, and at its limit the process can open nothing any more. Clients
// that grow in number come and go from minute to minute, so a server closes much of what it opens.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/growth.h"

namespace telltale::filter {
namespace {

constexpr double kAnHour = 60;
constexpr double kLeast = 64;
constexpr double kGivenBack = 0.1;

class DescriptorLeak : public GrowthDetector {
 public:
  static constexpr DetectorFacts kFacts = {
      .name = "descriptor_leak",
      .version = 4,
      .needs = TELLTALE_NEEDS_PROCESSES,
      .about = "a process that opens files and sockets and closes none",
      .history_epochs = kWindow,
      .rule = 2,
      .make = Make<DescriptorLeak>};

  explicit DescriptorLeak(const telltale_filter_host& host)
      : GrowthDetector(host, {.column = TELLTALE_PROCESS_OPEN_FILES,
                              .instead = TELLTALE_PROCESS_OPEN_FILES,
                              .least_grown = kLeast,
                              .least_pace = kAnHour,
                              .most_given_back = kGivenBack}) {}

 private:
  void Describe(const Growth& growth, Finding& found) const override {
    found.vital = "syscall";
    found.text = absl::StrCat(growth.name, " opens ", std::llround(growth.pace),
                              " files, pipes or sockets an hour more than it closes: ",
                              std::llround(growth.level.back()), " are open");
    found.evidence = absl::StrCat("its open descriptors, Theil-Sen over ", growth.judged,
                                  " epochs, p = ", PText(growth.p));
    found.against = "a server whose clients stay and grow in number opens the same";
    found.cause = "descriptor leak";
    found.next = "telltale top --vital syscall --by site";
    found.facts.Figure("pace", growth.pace, "1/h").Figure("open", growth.level.back(), "1");
  }
};

}  // namespace

const telltale_filter* DescriptorLeakFilter() { return FilterOf<DescriptorLeak>(); }

}  // namespace telltale::filter
