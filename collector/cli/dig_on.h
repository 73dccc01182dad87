// Commands to type next, whole and quoted for a shell, and the address of the same in the web.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_DIG_ON_H_
#define TELLTALE_COLLECTOR_CLI_DIG_ON_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "telltale/v1/query.pb.h"

namespace telltale::cli {

// "sched_delay" or "syscall/read".
std::string VitalOf(const v1::Finding& finding);

class DigOn {
 public:
  // `words`: the command as typed, whose connection is kept. `web`: "https://host:port", empty: not
  // known.
  DigOn(const std::vector<std::string>& words, v1::Selection asked, std::string web,
        absl::TimeZone zone);

  std::string Top() const;
  std::string Series() const;
  // What was different, its stacks, single events, and the web page of the unusual while.
  std::vector<std::string> For(const v1::Finding& finding,
                               const v1::InvestigateAnswer& answer) const;

 private:
  std::string OfAll(const char* command) const;  // of all nodes asked for
  std::string Command(const std::vector<std::string>& words, double start_s, double end_s) const;
  std::string Moment(double unix_s) const;

  const v1::Selection asked_;
  const std::string web_;
  const absl::TimeZone zone_;
  std::vector<std::string> connection_;
};

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_DIG_ON_H_
