// What collector and filter host agree on without saying it: descriptors, sizes, and how much a
// filter may emit while it is shown one epoch of one node.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_HOST_LIMITS_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_HOST_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "collector/filter/telltale_filter.h"

namespace telltale::filter {

constexpr uint32_t kHostProtocol = 5;  // another one after each change of filter_host.proto

constexpr int kHostSocket = 3;   // the host's end of the socket pair
constexpr int kHostLibrary = 4;  // the filter's file, a copy in memory

constexpr size_t kMaxRequestBytes = 64 << 20;  // an epoch with its schema is far below
constexpr size_t kMaxReplyBytes = 4 << 20;     // all outputs at their limits are below

// Messages and texts in it: of all outputs at their limits there are fewer.
constexpr size_t kMaxReplyObjects = 60'000;

// Of one epoch; a filter that emits more is disabled.
constexpr int kMaxPoints = 4096;
constexpr int kMaxMarks = 256;
constexpr int kMaxAnomalies = 256;
constexpr int kMaxFacts = TELLTALE_FILTER_FACTS;  // of one anomaly
constexpr int kMaxHours = 2000;                   // of the past it may ask for

// In what a dying host says of itself: it had used up what it may.
constexpr char kOutOfMemory[] = "[out of memory: ";

// Texts are cut to these, as NodeFeed does.
constexpr size_t kMaxHostName = 64;
constexpr size_t kMaxHostSubject = 256;
constexpr size_t kMaxHostText = 512;
constexpr int kMaxHostVitals = 64;
constexpr size_t kMaxDeclaredObjects = 128;  // messages and texts: those vitals, and a few more
constexpr int kMaxHostMuted = 64;            // lines, each as a subject
constexpr size_t kMaxHostMutedBytes = kMaxHostMuted * (kMaxHostSubject + 1);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_HOST_LIMITS_H_
