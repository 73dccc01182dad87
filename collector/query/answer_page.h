// Where pages of answers begin: what stands behind `page` and `next_page` of a question and its
// answer. Text that people copy and programs hand back, so each reader checks it.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_ANSWER_PAGE_H_
#define TELLTALE_COLLECTOR_QUERY_ANSWER_PAGE_H_

#include <compare>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

// The place of one thing in a list by time: a page of it goes on behind the last one shown,
// whatever arrived meanwhile. Times in ns since 1970.
struct Place {
  uint64_t time_ns = 0;
  uint32_t node = 0;
  uint64_t epoch_start_ns = 0;
  uint32_t vital = 0;
  int index = 0;

  auto operator<=>(const Place&) const = default;
  std::string Page() const;
};

// InvalidArgument: not one of ours. `what`: the question, for the message.
absl::StatusOr<Place> ParsePlace(const std::string& page, const char* what);

// A page of a ranking: so many rows of each table stand on the pages before. Ranks hold for one
// question about one time, so both are in it: a question up to now goes on with the time that its
// first page was about.
struct RankPage {
  uint32_t first = 0;
  double start_s = 0, end_s = 0;  // 0: a first page
  uint32_t epochs = 0;            // that the page before was made of
};

std::string PageText(const RankPage& page, const v1::TopRequest& request);
// The request's page, a first one if it has none. InvalidArgument: not one of ours, or of another
// question.
absl::StatusOr<RankPage> ParseRankPage(const v1::TopRequest& request);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_ANSWER_PAGE_H_
