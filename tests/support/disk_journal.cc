#include "tests/support/disk_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <vector>

namespace telltale::testing {
namespace {

namespace fs = std::filesystem;

std::string ParentOf(const std::string& path) { return fs::path(path).parent_path().string(); }
std::string JournalIn(const std::string& keep) { return keep + "/journal"; }

struct File {
  std::string at;  // where its content is now
  uint64_t synced = UINT64_MAX;
};

// One change of a directory: entries taken out and put in, together.
struct Change {
  std::vector<std::string> out;
  std::vector<std::pair<std::string, int>> in;
  std::string made_directory;
};

class Disk {
 public:
  explicit Disk(uint64_t seed)
      : random_(seed * 2862933555777941757 + 3037000493), all_(seed == 0) {}

  void Replay(const std::string& line) {
    std::vector<std::string> part;
    size_t at = 1;
    while (at < line.size()) {  // each part is preceded by a tab
      const size_t end = std::min(line.find('\t', at + 1), line.size());
      part.push_back(line.substr(at + 1, end - at - 1));
      at = end;
    }
    part.resize(3);
    switch (line[0]) {
      case 'M':
        Aside(part[0], part[1]);
        Put(part[0], Add({part[0], 0}), {});
        break;
      case 'L':
        Put(part[0], Add({part[0], UINT64_MAX}), {});
        break;
      case 'S':
        files_[static_cast<size_t>(Known(part[0]))].synced =
            std::strtoull(part[1].c_str(), nullptr, 10);
        break;
      case 'R': {
        const int file = Known(part[0]);
        Aside(part[1], part[2]);
        now_.erase(part[0]);
        files_[static_cast<size_t>(file)].at = part[1];
        Put(part[1], file, {part[0]});
        break;
      }
      case 'D':
        Aside(part[0], part[1]);
        now_.erase(part[0]);
        Pend(part[0], {{part[0]}, {}, {}});
        break;
      case 'T':
        RenameDirectory(part[0], part[1]);
        break;
      case 'X':
        Forget(part[0]);
        break;
      case 'N':
        Pend(part[0], {{}, {}, part[0]});
        break;
      case 'F':
        for (const Change& change : pending_[part[0]]) Apply(change);
        pending_.erase(part[0]);
        break;
      default:
        std::abort();
    }
  }

  void Cut() {
    std::set<std::string> gone_directories;
    for (auto& [directory, changes] : pending_) {
      const size_t kept = all_ ? 0 : Random(changes.size() + 1);
      for (size_t i = 0; i < kept; ++i) Apply(changes[i]);
      for (size_t i = kept; i < changes.size(); ++i) {
        if (!changes[i].made_directory.empty()) gone_directories.insert(changes[i].made_directory);
      }
    }
    for (const auto& [path, file] : now_) {
      const auto stays = durable_.find(path);
      if (stays != durable_.end() && stays->second == file) continue;
      const std::string away = path + ".away";
      fs::rename(path, away);
      files_[static_cast<size_t>(file)].at = away;
      away_.push_back(away);
    }
    for (const auto& [path, id] : durable_) {
      File& file = files_[static_cast<size_t>(id)];
      if (file.at != path) fs::rename(file.at, path);
      file.at = path;
      const uint64_t size = fs::file_size(path);
      if (size <= file.synced) continue;
      const uint64_t more = all_ ? 0 : Random(size - file.synced + 1);
      fs::resize_file(path, file.synced + more);
    }
    for (const std::string& path : away_) fs::remove(path);
    for (const std::string& path : gone_directories) fs::remove_all(path);
  }

 private:
  uint64_t Random(uint64_t below) {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return (random_ >> 33) % below;
  }
  int Add(File file) {
    files_.push_back(std::move(file));
    return static_cast<int>(files_.size()) - 1;
  }
  // A file that was there before the journal is durable as it is.
  int Known(const std::string& path) {
    const auto there = now_.find(path);
    if (there != now_.end()) return there->second;
    const int file = Add({path, UINT64_MAX});
    durable_[path] = file;
    return now_[path] = file;
  }
  // What stood under `path` went to `aside`.
  void Aside(const std::string& path, const std::string& aside) {
    if (aside.empty()) return;
    files_[static_cast<size_t>(Known(path))].at = aside;
  }
  void Put(const std::string& path, int file, std::vector<std::string> out) {
    now_[path] = file;
    Pend(path, {std::move(out), {{path, file}}, {}});
  }
  void Pend(const std::string& path, Change change) {
    pending_[ParentOf(path)].push_back(std::move(change));
  }
  void Apply(const Change& change) {
    for (const std::string& path : change.out) durable_.erase(path);
    for (const auto& [path, file] : change.in) durable_[path] = file;
  }
  void RenameDirectory(const std::string& from, const std::string& to) {
    const auto renamed = [&](const std::string& path) {
      const bool below = path == from || path.rfind(from + "/", 0) == 0;
      return below ? to + path.substr(from.size()) : path;
    };
    for (auto* names : {&now_, &durable_}) {
      std::map<std::string, int> moved;
      for (const auto& [path, file] : *names) moved[renamed(path)] = file;
      *names = std::move(moved);
    }
    for (File& file : files_) file.at = renamed(file.at);
    std::map<std::string, std::vector<Change>> moved;
    for (auto& [directory, changes] : pending_) {
      for (Change& change : changes) {
        for (std::string& path : change.out) path = renamed(path);
        for (auto& [path, file] : change.in) path = renamed(path);
        if (change.made_directory == from) change.made_directory.clear();
        change.made_directory = renamed(change.made_directory);
      }
      moved[renamed(directory)] = std::move(changes);
    }
    pending_ = std::move(moved);
  }

  void Forget(const std::string& directory) {
    const auto below = [&](const auto& entry) {
      return entry.first == directory || entry.first.rfind(directory + "/", 0) == 0;
    };
    std::erase_if(now_, below);
    std::erase_if(durable_, below);
    std::erase_if(pending_, below);
  }

  uint64_t random_;
  const bool all_;
  std::vector<File> files_;
  std::map<std::string, int> now_, durable_;            // path -> file
  std::map<std::string, std::vector<Change>> pending_;  // by directory, since it was last synced
  std::vector<std::string> away_;
};

}  // namespace

DiskJournal::DiskJournal(std::string keep) : keep_(std::move(keep)) {
  fs::create_directories(keep_);
  file_ = open(JournalIn(keep_).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) std::abort();
}
DiskJournal::~DiskJournal() { close(file_); }

std::string DiskJournal::PutAside(const std::string& path) {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string aside = keep_ + "/" + std::to_string(++aside_);
  return link(path.c_str(), aside.c_str()) == 0 ? aside : "";
}

// One write each: whole, whenever the process is killed.
void DiskJournal::Note(char what, const std::string& a, const std::string& b,
                       const std::string& c) {
  const std::string line = std::string(1, what) + "\t" + a + "\t" + b + "\t" + c + "\n";
  std::lock_guard<std::mutex> lock(mutex_);
  if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

void DiskJournal::Made(const std::string& path, const std::string& aside) {
  Note('M', path, aside);
}
void DiskJournal::Linked(const std::string& path) { Note('L', path); }
void DiskJournal::Synced(const std::string& path, uint64_t bytes) {
  Note('S', path, std::to_string(bytes));
}
void DiskJournal::Renamed(const std::string& from, const std::string& to,
                          const std::string& aside) {
  Note('R', from, to, aside);
}
void DiskJournal::Deleted(const std::string& path, const std::string& aside) {
  Note('D', path, aside);
}
void DiskJournal::RenamedDirectory(const std::string& from, const std::string& to) {
  Note('T', from, to);
}
void DiskJournal::RemovedDirectory(const std::string& path) { Note('X', path); }
void DiskJournal::MadeDirectory(const std::string& path) { Note('N', path); }
void DiskJournal::SyncedDirectory(const std::string& path) { Note('F', path); }

void DiskJournal::CutPower(const std::string& keep, uint64_t seed) {
  {
    Disk disk(seed);
    std::ifstream journal(JournalIn(keep));
    for (std::string line; std::getline(journal, line);) disk.Replay(line);
    disk.Cut();
  }
  Settle(keep);
}

void DiskJournal::Settle(const std::string& keep) {
  for (const auto& entry : fs::directory_iterator(keep)) {
    if (entry.path() != JournalIn(keep)) fs::remove(entry.path());
  }
  fs::resize_file(JournalIn(keep), 0);
}

}  // namespace telltale::testing
