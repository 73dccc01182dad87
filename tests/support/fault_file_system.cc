#include "tests/support/fault_file_system.h"

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
    return Synced(FSWritableFileOwnerWrapper::Sync(options, debug));
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    return Synced(FSWritableFileOwnerWrapper::Fsync(options, debug));
  }

 private:
  rocksdb::IOStatus Synced(rocksdb::IOStatus status) {
    rocksdb::IOStatus fault = system_->Check();
    if (!fault.ok()) return fault;
    if (status.ok()) system_->NoteSynced(name_, written_);
    return status;
  }
  const std::string name_;
  FaultFileSystem* const system_;
  std::atomic<uint64_t> written_{0};
};

}  // namespace

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

void FaultFileSystem::NoteSynced(const std::string& name, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = synced_.find(name);
  if (it != synced_.end()) it->second = bytes;
}

rocksdb::IOStatus FaultFileSystem::NewWritableFile(const std::string& name,
                                                   const rocksdb::FileOptions& options,
                                                   std::unique_ptr<rocksdb::FSWritableFile>* result,
                                                   rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus fault = Check();
  if (!fault.ok()) return fault;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, &file, debug);
  if (!status.ok()) return status;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    synced_[name] = 0;
  }
  *result = std::make_unique<FaultFile>(std::move(file), name, this);
  return status;
}

rocksdb::IOStatus FaultFileSystem::RenameFile(const std::string& from, const std::string& to,
                                              const rocksdb::IOOptions& options,
                                              rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus fault = Check();
  if (!fault.ok()) return fault;
  rocksdb::IOStatus status = FileSystemWrapper::RenameFile(from, to, options, debug);
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = synced_.find(from);
  if (status.ok() && it != synced_.end()) {
    synced_[to] = it->second;
    synced_.erase(from);
  }
  return status;
}

rocksdb::IOStatus FaultFileSystem::DeleteFile(const std::string& name,
                                              const rocksdb::IOOptions& options,
                                              rocksdb::IODebugContext* debug) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    synced_.erase(name);
  }
  return FileSystemWrapper::DeleteFile(name, options, debug);
}

void FaultFileSystem::ForgetUnsynced() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, bytes] : synced_) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(name, error);
    if (!error && size > bytes) std::filesystem::resize_file(name, bytes, error);
  }
  synced_.clear();
}

}  // namespace telltale::testing
