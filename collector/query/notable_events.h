// Which discrete events of a time may matter to somebody who asks what happened: all of the rare
// kinds, processes killed by a signal that nobody sends on purpose, and programs that started and
// had not done so in the time before.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_NOTABLE_EVENTS_H_
#define TELLTALE_COLLECTOR_QUERY_NOTABLE_EVENTS_H_

#include <cstddef>
#include <cstdint>

#include "telltale/v1/query.pb.h"

namespace telltale::query {

// What operators noted stands among the events under this type.
inline constexpr const char* kNoteType = "note";

struct NotableEvents {
  google::protobuf::RepeatedPtrField<v1::EventAnswer> events;  // ascending by time, as given
  uint32_t left_out = 0;                                       // of those from `start_s` on
};

// `all`: events ascending by time; those before `start_s` say what is usual. `most`: the rarer
// kinds come first where there are more.
NotableEvents PickEvents(const v1::EventsAnswer& all, double start_s, size_t most);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_NOTABLE_EVENTS_H_
