// A command as it was typed, with another time: what to type next.
//
// Pure functions; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_RETYPED_H_
#define TELLTALE_COLLECTOR_CLI_RETYPED_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "collector/formats/shell_word.h"
#include "telltale/v1/query.pb.h"

namespace telltale::cli {

using formats::Quoted;

// `words`: the program and its arguments. Its own time, tier and page give way to the new flags;
// words are quoted for the shell where needed.
std::string Retyped(const std::vector<std::string>& words, const std::vector<std::string>& flags);

// The same comparison with another other side: `range` as NearestRange gives it. Its own time
// stays.
std::string RetypedAgainst(const std::vector<std::string>& words,
                           const std::vector<std::string>& range);

// The same command for the page of its answer that follows: of the time it was about, to the
// microsecond, whatever the clock says when it is typed.
std::string NextPage(const std::vector<std::string>& words, const v1::Selection& asked,
                     const std::string& page, absl::TimeZone zone);

// As long as what was asked for, where data is nearest to it: flags --from and --to; the same time
// where only another tier has it. Empty: there is no data of any time.
std::vector<std::string> NearestRange(const v1::Coverage& coverage, const v1::Selection& asked,
                                      absl::TimeZone zone);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_RETYPED_H_
