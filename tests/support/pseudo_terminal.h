// A program on a terminal of its own: what it draws, what keys do to it. Whatever happens, the
// program is gone when this is. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_PSEUDO_TERMINAL_H_
#define TELLTALE_TESTS_SUPPORT_PSEUDO_TERMINAL_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace telltale::testing {

class PseudoTerminal {
 public:
  PseudoTerminal(unsigned short columns, unsigned short rows) : columns_(columns), rows_(rows) {}
  ~PseudoTerminal();
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  // `environment` is added to ours; TERM is xterm-256color and NO_COLOR unset unless it says
  // otherwise.
  void Start(const std::string& program, const std::vector<std::string>& arguments,
             const std::vector<std::pair<std::string, std::string>>& environment = {});
  void Send(const std::string& keys) const;
  void Resize(unsigned short columns, unsigned short rows) const;
  // Reads until it is so, at most a minute; false: it never was.
  bool Await(const std::function<bool()>& is_so);
  // Reads to the program's end, which must come within a minute; exit code, or 128 + the signal.
  int AwaitEnd();

  const std::string& output() const { return output_; }
  // Lines of what was last drawn from the top left corner, without colours.
  std::vector<std::string> Frame() const;

 private:
  bool Read(int milliseconds);  // false: there is nothing more to come

  const unsigned short columns_, rows_;
  int terminal_ = -1;
  pid_t pid_ = -1;
  std::string output_;
};

// Without escape sequences of colours and of clearing to the end of the line.
std::string Unpainted(const std::string& text);
std::vector<std::string> LinesOf(const std::string& text);

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_PSEUDO_TERMINAL_H_
