// Who asks much waits behind himself: of one asker so many requests are worked on at once, further
// ones wait until one of his own is done. The server's I/O thread only.

#ifndef TELLTALE_COLLECTOR_WEB_TURNS_H_
#define TELLTALE_COLLECTOR_WEB_TURNS_H_

#include <utility>  // awaitable.hpp of Boost 1.74 needs it and does not say so

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace telltale::web {

class Turns {
 public:
  // `each`: of one asker.
  explicit Turns(size_t each) : each_(each) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Returns when it is his turn, in the order asked. Done ends it.
  boost::asio::awaitable<void> Take(std::string asker);
  void Done(const std::string& asker);

  // A turn that was taken; ends with it.
  class Held {
   public:
    Held(Turns& turns, std::string asker) : turns_(turns), asker_(std::move(asker)) {}
    ~Held() { turns_.Done(asker_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    Turns& turns_;
    const std::string asker_;
  };

 private:
  struct Share {
    size_t running = 0;
    std::deque<std::shared_ptr<boost::asio::steady_timer>> waiting;  // cancelled: it is his turn
  };
  const size_t each_;
  std::map<std::string, Share> shares_;  // of those who have a request here
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_TURNS_H_
