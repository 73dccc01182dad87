#include "tests/support/stalling_files.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace telltale::testing {
namespace {

constexpr uint64_t kProgramNode = 2;
constexpr size_t kMostRequest = 1 << 20;
constexpr uint32_t kMostWrite = 64 * 1024;

template <typename T>
T Taken(const std::string& bytes, size_t at) {
  T value = {};
  if (bytes.size() >= at + sizeof value) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void Append(const T& value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

fuse_attr AttributesOf(uint64_t node, size_t bytes) {
  fuse_attr attr = {};
  attr.ino = node;
  attr.size = node == kProgramNode ? bytes : 0;
  attr.blocks = (attr.size + 511) / 512;
  attr.mode = node == kProgramNode ? S_IFREG | 0555 : S_IFDIR | 0555;
  attr.nlink = 1;
  attr.blksize = 4096;
  return attr;
}

}  // namespace

StallingFiles::StallingFiles(std::string directory, std::string name, const std::string& program)
    : directory_(std::move(directory)), name_(std::move(name)) {
  std::ifstream file(program, std::ios::binary);
  bytes_ = {std::istreambuf_iterator<char>(file), {}};
  device_ = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device_ < 0) {
    trouble_ = std::string("opening /dev/fuse: ") + std::strerror(errno);
    return;
  }
  const std::string options =
      "fd=" + std::to_string(device_) +
      ",rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions";
  if (mount("planted", directory_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    trouble_ = std::string("mounting a FUSE file system: ") + std::strerror(errno);
    return;
  }
  server_ = std::thread([this] { Serve(); });
}

StallingFiles::~StallingFiles() {
  if (server_.joinable()) {
    // Unmounted for good, whatever still waits: then the server reads the end.
    umount2(directory_.c_str(), MNT_FORCE);
    umount2(directory_.c_str(), MNT_DETACH);
    Go();
    server_.join();
  }
  if (device_ >= 0) close(device_);
}

void StallingFiles::Stall() {
  const std::lock_guard lock(mutex_);
  stalled_ = true;
}

void StallingFiles::Go() {
  const std::lock_guard lock(mutex_);
  stalled_ = false;
  changed_.notify_all();
}

void StallingFiles::WaitToGo() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !stalled_; });
}

void StallingFiles::Serve() {
  std::string request(kMostRequest, '\0');
  for (;;) {
    const ssize_t got = read(device_, request.data(), request.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
    if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return;  // unmounted
    WaitToGo();
    const auto head = Taken<fuse_in_header>(request, 0);
    if (head.opcode == FUSE_FORGET || head.opcode == FUSE_BATCH_FORGET ||
        head.opcode == FUSE_INTERRUPT) {
      continue;  // want no answer
    }
    std::string out;
    fuse_out_header answer = {};
    answer.error = AnswerTo(request.substr(0, static_cast<size_t>(got)), &out);
    answer.unique = head.unique;
    if (answer.error != 0) out.clear();
    answer.len = static_cast<uint32_t>(sizeof answer + out.size());
    out.insert(0, reinterpret_cast<const char*>(&answer), sizeof answer);
    // Who asked may have given up.
    [[maybe_unused]] const ssize_t put = write(device_, out.data(), out.size());
  }
}

int StallingFiles::AnswerTo(const std::string& request, std::string* out) const {
  const auto head = Taken<fuse_in_header>(request, 0);
  switch (head.opcode) {
    case FUSE_INIT: {
      fuse_init_out init = {};
      init.major = FUSE_KERNEL_VERSION;
      init.minor = std::min<uint32_t>(FUSE_KERNEL_MINOR_VERSION, 31);
      init.max_readahead = kMostWrite;
      init.max_write = kMostWrite;
      Append(init, out);
      return 0;
    }
    case FUSE_LOOKUP: {
      if (request.c_str() + sizeof head != name_) return -ENOENT;
      fuse_entry_out entry = {};  // valid for no time: asked again each time
      entry.nodeid = kProgramNode;
      entry.attr = AttributesOf(kProgramNode, bytes_.size());
      Append(entry, out);
      return 0;
    }
    case FUSE_GETATTR: {
      fuse_attr_out attributes = {};
      attributes.attr = AttributesOf(head.nodeid, bytes_.size());
      Append(attributes, out);
      return 0;
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR: {
      fuse_open_out opened = {};
      opened.open_flags = FOPEN_KEEP_CACHE;
      Append(opened, out);
      return 0;
    }
    case FUSE_READ: {
      const auto wanted = Taken<fuse_read_in>(request, sizeof head);
      if (wanted.offset < bytes_.size()) *out = bytes_.substr(wanted.offset, wanted.size);
      return 0;
    }
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_ACCESS:
      return 0;
    default:
      return -ENOSYS;
  }
}

}  // namespace telltale::testing
