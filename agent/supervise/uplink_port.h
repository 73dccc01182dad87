// The sensor process's side of the uplink: what the disk thread has to tell goes over the link,
// what the uplink answers comes back. One uplink process at a time; when it has ended another one
// is opened, which is told everything anew.
//
// The SpoolObserver methods, PostStop and PostSecond may be called from any thread; all else
// belongs to the sensor process's main thread.

#ifndef TELLTALE_AGENT_SUPERVISE_UPLINK_PORT_H_
#define TELLTALE_AGENT_SUPERVISE_UPLINK_PORT_H_

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/spool/disk_writer.h"
#include "agent/supervise/link.h"
#include "agent/supervise/mailbox.h"

namespace telltale::agent {

class UplinkPort : public SpoolObserver {
 public:
  // As last told; verdicts are counted over all uplink processes of this sensor process.
  struct Status {
    std::string state = "starting";
    uint64_t pending = 0, in_flight = 0, stored = 0, too_late = 0, refused = 0;
    uint64_t apart = 0;            // of those stored: in no answer until a clone conflict is ended
    uint64_t names_left_out = 0;   // in messages larger than the collector takes
    uint64_t next_attempt_ns = 0;  // to connect, CLOCK_MONOTONIC; 0: none is due
    std::string error;
  };

  void OnSpooled(uint64_t sequence, TimeRange time, uint64_t bytes, v1::EpochKind kind) override;
  void OnHeld(uint64_t sequence, TimeRange time, std::string record, v1::EpochKind kind) override;
  void OnLost(const v1::Lost& lost) override;
  void OnAnnounced() override;
  // Behind everything told before: send what is fresh, say goodbye, end.
  void PostStop();
  // What nobody takes now is gone.
  void PostSecond(const v1::Live& second);

  // A new uplink process is at the other end of `link`. It knows nothing yet.
  void Open(OwnedFd link);
  bool open() const { return link_.has_value(); }
  // Left out while no uplink is there.
  void Send(const LinkMessage& message, OwnedFd fd = {});
  // Moves messages both ways; what the uplink said. When it is gone the port closes.
  std::vector<LinkMessage> Exchange();

  // What poll(2) waits for: news of the disk thread, the link.
  pollfd news_poll() const { return {news_.fd(), POLLIN, 0}; }
  pollfd link_poll() const;

  Status status() const;

 private:
  static constexpr size_t kMaxNews = 200'000;

  void Post(LinkParcel parcel);
  void Close(const absl::Status& why);

  Mailbox<LinkParcel> news_{kMaxNews};
  std::optional<Link> link_;
  LinkMessage told_;   // the present uplink's last kUplinkStatus
  Status before_;      // counts of the uplinks that ended
  std::string ended_;  // why the last one is gone; empty: one is there
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_UPLINK_PORT_H_
