// What built-in filters had no room for in their tables, on all nodes together, since the program
// began; what runs over the past had none for is among it. It changes nothing of what a filter
// says: that it may have said more is all that is known.
//
// Thread-safe.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_NO_ROOM_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_NO_ROOM_H_

#include <cstdint>
#include <string_view>

namespace telltale::filter {

// So many labels of one epoch.
void NoteNoRoom(std::string_view filter, uint64_t labels);
// In each epoch those of it; 0: it had room for all, or does not tell.
uint64_t NoRoom(std::string_view filter);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_NO_ROOM_H_
