// The sending end of one agent's stream, as ingest sees it; gRPC stands behind it, or a test. Calls
// may come from any thread and must not block. Owned by the transport, which detaches it from its
// Session before it goes.

#ifndef TELLTALE_COLLECTOR_INGEST_STREAM_SINK_H_
#define TELLTALE_COLLECTOR_INGEST_STREAM_SINK_H_

#include "absl/status/status.h"
#include "telltale/v1/ingest.pb.h"

namespace telltale::ingest {

class StreamSink {
 public:
  virtual ~StreamSink() = default;
  // Queues a message; what is sent before Close still goes out.
  virtual void Send(v1::CollectorMessage message) = 0;
  // Ends the stream with this status. Later calls do nothing.
  virtual void Close(const absl::Status& status) = 0;
  // Reading may go on after Session::Deliver had said to pause.
  virtual void ResumeReading() = 0;
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_STREAM_SINK_H_
