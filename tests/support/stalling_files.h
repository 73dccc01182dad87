// A file system with one program in it, served through FUSE by a thread of this process, that can
// stop answering as a file server that is gone does. Root.

#ifndef TELLTALE_TESTS_SUPPORT_STALLING_FILES_H_
#define TELLTALE_TESTS_SUPPORT_STALLING_FILES_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace telltale::testing {

class StallingFiles {
 public:
  // Serves the bytes of `program` as the executable `name` in `directory`, which must be there.
  StallingFiles(std::string directory, std::string name, const std::string& program);
  ~StallingFiles();  // whoever waits gets an error
  StallingFiles(const StallingFiles&) = delete;
  StallingFiles& operator=(const StallingFiles&) = delete;

  // Why it serves nothing; empty if it does.
  const std::string& trouble() const { return trouble_; }
  std::string path() const { return directory_ + "/" + name_; }

  // From now on whoever asks waits, until Go.
  void Stall();
  void Go();

 private:
  void Serve();
  void WaitToGo();
  // The answer to one request: 0 or -errno, and what comes behind.
  int AnswerTo(const std::string& request, std::string* out) const;

  const std::string directory_, name_;
  std::string bytes_, trouble_;
  int device_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stalled_ = false;
  std::thread server_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_STALLING_FILES_H_
