// Goes round a call that fails and does not look at what it is told. usage: scenario_calls
// send|open|read|accept|write [FILE]
//   send    on a stream that never was connected (EPIPE)
//   open    of a file that is not there (ENOENT)
//   read    of an empty pipe that does not wait (EAGAIN)
//   accept  without a file descriptor left, where poll says that somebody waits (EMFILE)
//   write   to FILE, on a file system that is full (ENOSPC)
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

namespace {

void Send() {
  const int stream = socket(AF_INET, SOCK_STREAM, 0);
  for (;;) send(stream, "x", 1, MSG_NOSIGNAL);
}

void Open() {
  for (;;) open("/nonexistent/configuration", O_RDONLY);
}

void Read() {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) return;
  for (char byte;;) (void)!read(ends[0], &byte, 1);
}

void Accept() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  listen(listener, 8);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  connect(client, reinterpret_cast<sockaddr*>(&address), size);
  const rlimit none_left = {static_cast<rlim_t>(client + 1), static_cast<rlim_t>(client + 1)};
  setrlimit(RLIMIT_NOFILE, &none_left);
  for (;;) {
    pollfd waits = {listener, POLLIN, 0};
    poll(&waits, 1, -1);
    accept(listener, nullptr, nullptr);
  }
}

void Write(const char* file) {
  const int out = open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
  static char block[65536];
  for (;;) (void)!write(out, block, sizeof block);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view call = argc > 1 ? argv[1] : "";
  if (call == "send") Send();
  if (call == "open") Open();
  if (call == "read") Read();
  if (call == "accept") Accept();
  if (call == "write" && argc > 2) Write(argv[2]);
  return 2;
}
