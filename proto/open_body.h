// A summary's body that is open, in memory of its own that is given back at once: of the thousands
// of small messages in a body, making and freeing each by itself takes as long as reading it.
//
// Movable; an empty one, as after a move, has no body. One thread at a time.

#ifndef TELLTALE_PROTO_OPEN_BODY_H_
#define TELLTALE_PROTO_OPEN_BODY_H_

#include <google/protobuf/arena.h>

#include <memory>

#include "telltale/v1/summary.pb.h"

namespace telltale::proto {

class OpenBody {
 public:
  OpenBody() = default;  // empty
  // One that nothing was read into yet.
  static OpenBody Make() {
    OpenBody made;
    made.held_ = std::make_unique<Held>();
    return made;
  }

  explicit operator bool() const { return held_ != nullptr; }
  v1::SummaryBody& operator*() { return *held_->body; }
  const v1::SummaryBody& operator*() const { return *held_->body; }
  v1::SummaryBody* operator->() { return held_->body; }
  const v1::SummaryBody* operator->() const { return held_->body; }

 private:
  // Most bodies take some ten blocks.
  static constexpr size_t kFirstBlock = 8 << 10, kLargestBlock = 32 << 10;
  static google::protobuf::ArenaOptions Options() {
    google::protobuf::ArenaOptions options;
    options.start_block_size = kFirstBlock;
    options.max_block_size = kLargestBlock;
    return options;
  }
  struct Held {
    google::protobuf::Arena arena{Options()};
    v1::SummaryBody* const body = google::protobuf::Arena::CreateMessage<v1::SummaryBody>(&arena);
  };

  std::unique_ptr<Held> held_;
};

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_OPEN_BODY_H_
