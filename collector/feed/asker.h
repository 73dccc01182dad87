// Who asks over gRPC, for as long as his call lasts. A value; any thread.

#ifndef TELLTALE_COLLECTOR_FEED_ASKER_H_
#define TELLTALE_COLLECTOR_FEED_ASKER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace telltale::feed {

struct Asker {
  std::string who;  // "viewer/ann": whose questions wait for each other
  // Whether he may still: his certificate may be revoked while a stream is open. Any thread, also
  // when the call is over. Empty: he may.
  std::function<absl::Status()> still;

  absl::Status MayStill() const { return still ? still() : absl::OkStatus(); }
};

}  // namespace telltale::feed

#endif  // TELLTALE_COLLECTOR_FEED_ASKER_H_
