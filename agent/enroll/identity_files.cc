#include "agent/enroll/identity_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxFile = 1 << 20;
constexpr mode_t kSecret = 0600, kPublic = 0644, kDirectory = 0700;

std::string KeyNext(const TlsFiles& files) { return files.key + ".next"; }
std::string KeyRequest(const TlsFiles& files) { return files.key + ".request"; }
std::string CertNext(const TlsFiles& files) { return files.cert + kNextCertificate; }

absl::Status Failed(const char* step, const std::string& path) {
  return absl::PermissionDeniedError(
      absl::StrCat("enrol: ", step, " ", path, ": ", std::strerror(errno),
                   "; it has to be writable for whom the agent's network process runs as"));
}

std::string ReadAll(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(kMaxFile, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  return text;
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

absl::Status SyncDirectory(const std::string& path) {
  const std::string directory = DirectoryOf(path);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  return done ? absl::OkStatus() : Failed("sync", directory);
}

// Whole and on disk under this name, or not there.
absl::Status Write(const std::string& path, const std::string& text, mode_t mode,
                   const std::optional<FileOwner>& owner) {
  const std::string temporary = path + ".part";
  unlink(temporary.c_str());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return Failed("write", path);
  size_t done = 0;
  bool good = fchmod(fd, mode) == 0 && (!owner || fchown(fd, owner->uid, owner->gid) == 0);
  while (good && done < text.size()) {
    const ssize_t wrote = write(fd, text.data() + done, text.size() - done);
    good = wrote > 0;
    if (good) done += static_cast<size_t>(wrote);
  }
  good = good && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  errno = error;
  if (!good || rename(temporary.c_str(), path.c_str()) != 0) {
    absl::Status status = Failed("write", path);
    unlink(temporary.c_str());
    return status;
  }
  return SyncDirectory(path);
}

absl::Status MakeDirectory(const std::string& file, const std::optional<FileOwner>& owner) {
  const std::string directory = DirectoryOf(file);
  if (mkdir(directory.c_str(), kDirectory) != 0) {
    return errno == EEXIST ? absl::OkStatus() : Failed("make directory", directory);
  }
  if (owner && chown(directory.c_str(), owner->uid, owner->gid) != 0) {
    return Failed("give away directory", directory);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NodeKey> StageKey(const TlsFiles& files, const std::optional<FileOwner>& owner) {
  NodeKey staged{ReadAll(KeyNext(files)), ReadAll(KeyRequest(files))};
  if (!staged.signing_request.empty() && PublicKeySha256(staged.key_pem).ok()) return staged;
  for (const std::string& file : {files.key, files.cert, files.ca}) {
    if (absl::Status status = MakeDirectory(file, owner); !status.ok()) return status;
  }
  auto made = MakeNodeKey();
  if (!made.ok()) return made.status();
  absl::Status status = Write(KeyNext(files), made->key_pem, kSecret, owner);
  if (status.ok()) status = Write(KeyRequest(files), made->signing_request, kSecret, owner);
  if (!status.ok()) return status;
  return made;
}

void DropStagedKey(const TlsFiles& files) {
  unlink(KeyRequest(files).c_str());
  unlink(KeyNext(files).c_str());
}

absl::Status InstallIdentity(const TlsFiles& files, const std::string& key,
                             const std::string& certificate_pem, const std::string& authorities_pem,
                             const std::optional<FileOwner>& owner) {
  if (!CertificateFits(certificate_pem, key)) {
    return absl::InternalError(
        "enrol: the certificate that came is not for the key it was asked for; nothing was "
        "changed");
  }
  // New authorities first: they hold the old one too as long as it counts.
  absl::Status status = Write(files.ca, authorities_pem, kPublic, owner);
  if (status.ok()) status = Write(CertNext(files), certificate_pem, kPublic, owner);
  if (status.ok()) status = Write(KeyNext(files), key, kSecret, owner);
  if (!status.ok()) return status;
  if (rename(KeyNext(files).c_str(), files.key.c_str()) != 0) return Failed("replace", files.key);
  if (rename(CertNext(files).c_str(), files.cert.c_str()) != 0) {
    return Failed("replace", files.cert);
  }
  unlink(KeyRequest(files).c_str());
  return SyncDirectory(files.cert);
}

void FinishIdentity(const TlsFiles& files) {
  const std::string key = ReadAll(files.key), next = ReadAll(CertNext(files));
  if (next.empty() || CertificateFits(ReadAll(files.cert), key) || !CertificateFits(next, key)) {
    return;
  }
  if (rename(CertNext(files).c_str(), files.cert.c_str()) == 0) {
    unlink(KeyRequest(files).c_str());
    (void)SyncDirectory(files.cert);
  }
}

}  // namespace telltale::agent
