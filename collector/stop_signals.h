// While this lives, a signal that asks the program to end is taken note of instead of obeyed, for
// whoever has something to remove first. Made before any other thread, so that none takes it.

#ifndef TELLTALE_COLLECTOR_STOP_SIGNALS_H_
#define TELLTALE_COLLECTOR_STOP_SIGNALS_H_

#include <pthread.h>
#include <signal.h>

namespace telltale::collector {

class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals_, number);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool Came() {
    const timespec now = {};
    if (!came_) came_ = sigtimedwait(&signals_, nullptr, &now) > 0;
    return came_;
  }

 private:
  sigset_t signals_;
  sigset_t before_;
  bool came_ = false;
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_STOP_SIGNALS_H_
