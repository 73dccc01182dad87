// While this lives, a signal that asks the program to end is taken note of instead of obeyed, for
// whoever has something to remove first; one that the program was started to ignore (nohup, a job
// in the background) stays ignored. One that was not asked for with Came() is obeyed when this
// goes. Made before any other thread, so that none takes it.

#ifndef TELLTALE_COLLECTOR_STOP_SIGNALS_H_
#define TELLTALE_COLLECTOR_STOP_SIGNALS_H_

#include <pthread.h>
#include <signal.h>

namespace telltale::collector {

class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
      struct sigaction action = {};
      if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
      sigaddset(&signals_, number);
      any_ = true;
    }
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool Came() {
    const timespec now = {};
    if (any_ && !came_) came_ = sigtimedwait(&signals_, nullptr, &now) > 0;
    return came_;
  }

 private:
  sigset_t signals_;
  sigset_t before_;
  bool any_ = false;  // signal in signals_
  bool came_ = false;
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_STOP_SIGNALS_H_
