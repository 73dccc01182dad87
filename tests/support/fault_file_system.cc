#include "tests/support/fault_file_system.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

namespace telltale::testing {
namespace {

class FaultFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::string name,
            FaultFileSystem* system)
      : FSWritableFileOwnerWrapper(std::move(file)), name_(std::move(name)), system_(system) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (system_->DiesNow(name_)) {
      const rocksdb::Slice half(data.data(), data.size() / 2);
      FSWritableFileOwnerWrapper::Append(half, options, debug).PermitUncheckedError();
      system_->Die(name_);
    }
    rocksdb::IOStatus fault = system_->Check();
    if (!fault.ok()) return fault;
    rocksdb::IOStatus status = FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (status.ok()) written_ += data.size();
    return status;
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo&,
                           rocksdb::IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override {
    return Synced(options, debug);
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    return Synced(options, debug);
  }

 private:
  rocksdb::IOStatus Synced(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) {
    if (system_->DiesNow(name_)) system_->Die(name_);
    rocksdb::IOStatus fault = system_->Check();
    if (!fault.ok()) return fault;
    const uint64_t written = written_;  // what comes meanwhile may not be in it
    rocksdb::IOStatus status = FSWritableFileOwnerWrapper::Fsync(options, debug);
    if (status.ok()) system_->NoteSynced(name_, written);
    return status;
  }
  const std::string name_;
  FaultFileSystem* const system_;
  std::atomic<uint64_t> written_{0};
};

class FaultDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  FaultDirectory(std::unique_ptr<rocksdb::FSDirectory> directory, std::string name,
                 FaultFileSystem* system)
      : FSDirectoryWrapper(std::move(directory)), name_(std::move(name)), system_(system) {}

  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    if (system_->DiesNow(name_)) system_->Die(name_);
    rocksdb::IOStatus fault = system_->Check();
    if (!fault.ok()) return fault;
    rocksdb::IOStatus status = FSDirectoryWrapper::Fsync(options, debug);
    if (status.ok()) system_->NoteSyncedDirectory(name_);
    return status;
  }
  rocksdb::IOStatus FsyncWithDirOptions(const rocksdb::IOOptions& options,
                                        rocksdb::IODebugContext* debug,
                                        const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, debug);
  }

 private:
  const std::string name_;
  FaultFileSystem* const system_;
};

// The paths of the journal: without what makes two names of one.
std::string Plain(const std::string& path) {
  std::string plain = std::filesystem::path(path).lexically_normal().string();
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  return plain;
}

}  // namespace

FaultFileSystem::FaultFileSystem(const std::string& keep)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), keep_(keep) {
  if (!keep.empty()) journal_ = std::make_unique<DiskJournal>(keep);
}

rocksdb::IOStatus FaultFileSystem::Check() {
  switch (fault_.load()) {
    case Fault::kIoError:
      return rocksdb::IOStatus::IOError("injected write error");
    case Fault::kNoSpace:
      return rocksdb::IOStatus::NoSpace("injected: no space left on device");
    case Fault::kNone:
      break;
  }
  const uint64_t every = fail_every_.load();
  if (every != 0 && ++operations_ % every == 0) {
    return rocksdb::IOStatus::IOError("injected write error, once");
  }
  return rocksdb::IOStatus::OK();
}

void FaultFileSystem::DieIn(uint64_t n, Where at) {
  std::lock_guard<std::mutex> lock(die_mutex_);
  dies_at_ = std::move(at);
  dies_in_ = n;
}

bool FaultFileSystem::DiesNow(const std::string& name) {
  if (dies_in_.load() == 0) return false;
  std::lock_guard<std::mutex> lock(die_mutex_);
  if (dies_in_ == 0 || !dies_at_(name)) return false;
  return --dies_in_ == 0;
}

void FaultFileSystem::Die(const std::string& name) {
  step_mutex_.lock();
  if (on_death_) on_death_(name);
  kill(getpid(), SIGKILL);
  while (true) pause();
}

void FaultFileSystem::NoteSynced(const std::string& name, uint64_t bytes) {
  ++syncs_;
  if (journal_ != nullptr) journal_->Synced(Plain(name), bytes);
}
void FaultFileSystem::NoteSyncedDirectory(const std::string& name) {
  if (journal_ != nullptr) journal_->SyncedDirectory(Plain(name));
}

rocksdb::IOStatus FaultFileSystem::Step(const std::string& name,
                                        const std::function<rocksdb::IOStatus()>& change) {
  if (DiesNow(name)) Die(name);
  std::lock_guard<std::mutex> lock(step_mutex_);
  return change();
}

rocksdb::IOStatus FaultFileSystem::NewWritableFile(const std::string& name,
                                                   const rocksdb::FileOptions& options,
                                                   std::unique_ptr<rocksdb::FSWritableFile>* result,
                                                   rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus fault = Check();
  if (!fault.ok()) return fault;
  return Step(name, [&] {
    std::string aside;
    if (journal_ != nullptr) {
      // What stood there is not to be overwritten: it may come back.
      aside = journal_->PutAside(name);
      if (!aside.empty()) unlink(name.c_str());
    }
    std::unique_ptr<rocksdb::FSWritableFile> file;
    rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, &file, debug);
    if (!status.ok()) return status;
    if (journal_ != nullptr) journal_->Made(Plain(name), aside);
    *result = std::make_unique<FaultFile>(std::move(file), name, this);
    return status;
  });
}

rocksdb::IOStatus FaultFileSystem::NewDirectory(const std::string& name,
                                                const rocksdb::IOOptions& options,
                                                std::unique_ptr<rocksdb::FSDirectory>* result,
                                                rocksdb::IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  rocksdb::IOStatus status = FileSystemWrapper::NewDirectory(name, options, &directory, debug);
  if (!status.ok()) return status;
  *result = std::make_unique<FaultDirectory>(std::move(directory), name, this);
  return status;
}

rocksdb::IOStatus FaultFileSystem::CreateDir(const std::string& name,
                                             const rocksdb::IOOptions& options,
                                             rocksdb::IODebugContext* debug) {
  return Step(name, [&] {
    rocksdb::IOStatus status = FileSystemWrapper::CreateDir(name, options, debug);
    if (status.ok() && journal_ != nullptr) journal_->MadeDirectory(Plain(name));
    return status;
  });
}

rocksdb::IOStatus FaultFileSystem::CreateDirIfMissing(const std::string& name,
                                                      const rocksdb::IOOptions& options,
                                                      rocksdb::IODebugContext* debug) {
  return Step(name, [&] {
    const bool there = std::filesystem::exists(name);
    rocksdb::IOStatus status = FileSystemWrapper::CreateDirIfMissing(name, options, debug);
    if (status.ok() && !there && journal_ != nullptr) journal_->MadeDirectory(Plain(name));
    return status;
  });
}

rocksdb::IOStatus FaultFileSystem::DeleteDir(const std::string& name,
                                             const rocksdb::IOOptions& options,
                                             rocksdb::IODebugContext* debug) {
  return Step(name, [&] {
    rocksdb::IOStatus status = FileSystemWrapper::DeleteDir(name, options, debug);
    if (status.ok() && journal_ != nullptr) journal_->RemovedDirectory(Plain(name));
    return status;
  });
}

rocksdb::IOStatus FaultFileSystem::RenameFile(const std::string& from, const std::string& to,
                                              const rocksdb::IOOptions& options,
                                              rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus fault = Check();
  if (!fault.ok()) return fault;
  return Step(to, [&] {
    const bool directory = std::filesystem::is_directory(from);
    std::string aside;
    if (journal_ != nullptr && !directory) aside = journal_->PutAside(to);
    rocksdb::IOStatus status = FileSystemWrapper::RenameFile(from, to, options, debug);
    if (!status.ok() || journal_ == nullptr) return status;
    if (directory) {
      journal_->RenamedDirectory(Plain(from), Plain(to));
    } else {
      journal_->Renamed(Plain(from), Plain(to), aside);
    }
    return status;
  });
}

rocksdb::IOStatus FaultFileSystem::LinkFile(const std::string& from, const std::string& to,
                                            const rocksdb::IOOptions& options,
                                            rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus fault = Check();
  if (!fault.ok()) return fault;
  return Step(to, [&] {
    rocksdb::IOStatus status = FileSystemWrapper::LinkFile(from, to, options, debug);
    if (status.ok() && journal_ != nullptr) journal_->Linked(Plain(to));
    return status;
  });
}

rocksdb::IOStatus FaultFileSystem::DeleteFile(const std::string& name,
                                              const rocksdb::IOOptions& options,
                                              rocksdb::IODebugContext* debug) {
  return Step(name, [&] {
    std::string aside;
    if (journal_ != nullptr) aside = journal_->PutAside(name);
    rocksdb::IOStatus status = FileSystemWrapper::DeleteFile(name, options, debug);
    if (status.ok() && journal_ != nullptr) journal_->Deleted(Plain(name), aside);
    return status;
  });
}

}  // namespace telltale::testing
