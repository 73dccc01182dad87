// The whole terminal for a while: the alternate screen, keys as they are pressed, and everything as
// it was when this is gone, also after SIGINT, SIGTERM and SIGHUP, which arrive as keys.
//
// One thread, and one at a time. Make it before threads are started: they are to leave the signals
// to it.

#ifndef TELLTALE_COLLECTOR_CLI_FULL_SCREEN_H_
#define TELLTALE_COLLECTOR_CLI_FULL_SCREEN_H_

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace telltale::cli {

enum class Key { kNone, kQuit, kNext, kPrevious, kUp, kDown, kPause, kResized, kOther };

// The key that the bytes at the head of `input` mean, which it takes away; kNone: `input` is empty
// or the beginning of a sequence whose rest has not come.
Key TakeKey(std::string* input);

class FullScreen {
 public:
  // InvalidArgument: stdin or stdout is no terminal, or one that cannot place a cursor.
  static absl::StatusOr<std::unique_ptr<FullScreen>> Open();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  struct Size {
    size_t columns = 80, rows = 24;
  };
  Size size() const;
  // Lines from the top; the rest of the screen is empty then. Lines must fit.
  void Draw(const std::string& lines);
  // The next key, or kNone after this time. kQuit if the terminal is gone.
  Key Await(std::chrono::milliseconds time);

 private:
  FullScreen() = default;

  int signals_ = -1;
  bool entered_ = false;
  termios before_{};
  std::string input_;
};

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_FULL_SCREEN_H_
