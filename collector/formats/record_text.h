// How often a filter was right, in the words that all who show it use.

#ifndef TELLTALE_COLLECTOR_FORMATS_RECORD_TEXT_H_
#define TELLTALE_COLLECTOR_FORMATS_RECORD_TEXT_H_

#include <string>

#include "telltale/v1/query.pb.h"

namespace telltale::formats {

// "27 of 29 found (78 to 98 %), 0 false alarms": a share of few is never shown without what it may
// be, Wilson's 95 % interval.
std::string RecordText(const v1::FilterRecord& record);

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_RECORD_TEXT_H_
