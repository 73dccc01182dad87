// Two answers to one question about two selections, side by side: differences with what the bounds
// of both leave open. Figures of the second are brought to the watched node time of the first, so
// that an hour compares with a day and one node with ten.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_COMPARISON_H_
#define TELLTALE_COLLECTOR_QUERY_COMPARISON_H_

#include <cstdint>

#include "telltale/v1/query.pb.h"

namespace telltale::query {

// The second selection where its time was left out: as long as the first and just before it.
// `now_s`: what an end that was left out means.
v1::Selection AgainstOf(const v1::Selection& selected, v1::Selection against, double now_s);

// By what figures of `against` are multiplied. 0: one of them stands for no watched time.
double ScaleOf(const v1::Coverage& selected, const v1::Coverage& against);

// An interval that holds a weight, and its likely value.
struct Weighed {
  double value = 0, low = 0, high = 0;
};
// Whether two weights differ by more than what is open about them: their intervals do not meet.
// Sums of doubles that were added in another order differ a little and mean the same.
bool DifferForCertain(const Weighed& a, const Weighed& b);

// Tables and rows that both answers have, or one of them; `limit` rows a table. Both answers are to
// hold all rows there are (AnswerTopWhole), since a row that is only in one is taken to weigh at
// most unlisted_most in the other. Rows of code match by names, so that an upgrade does not make
// everything new.
v1::DiffAnswer CompareTops(const v1::TopAnswer& selected, const v1::TopAnswer& against,
                           uint32_t limit);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_COMPARISON_H_
