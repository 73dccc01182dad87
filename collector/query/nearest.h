// "Did you mean": the names closest to a mistyped one.

#ifndef TELLTALE_COLLECTOR_QUERY_NEAREST_H_
#define TELLTALE_COLLECTOR_QUERY_NEAREST_H_

#include <string>
#include <vector>

namespace telltale::query {

// At most `limit` of `names`, closest first (Damerau-Levenshtein on the first 64 bytes; a name that
// contains the wanted one counts as close); names too far off to be meant are left out.
std::vector<std::string> Nearest(const std::string& wanted, const std::vector<std::string>& names,
                                 size_t limit = 3);

// "; nearest: a, b" or, with few names, "; there are: a, b, c"; empty when there is nothing to say.
std::string NearestHint(const std::string& wanted, const std::vector<std::string>& names);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_NEAREST_H_
