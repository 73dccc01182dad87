#include "agent/supervise/bundle.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/spool/file_system.h"
#include "agent/spool/record.h"
#include "agent/spool/spool_state.h"
#include "agent/supervise/link.h"
#include "agent/supervise/status_server.h"
#include "config/bundle/archive.h"
#include "config/bundle/free_name.h"
#include "config/bundle/log_tail.h"
#include "telltale_version.h"

namespace telltale::agent {
namespace {

std::string TimeText(uint64_t unix_ns) {
  return absl::FormatTime(absl::RFC3339_sec, absl::FromUnixNanos(static_cast<int64_t>(unix_ns)),
                          absl::UTCTimeZone());
}

std::string RangeText(TimeRange time) {
  if (time.start_unix_ns == 0) return "time unknown";
  return absl::StrCat(TimeText(time.start_unix_ns), " to ", TimeText(time.end_unix_ns));
}

// The newer of the two slots.
std::optional<SpoolState> ReadState(const std::string& directory, FileSystem& files) {
  std::optional<SpoolState> newest;
  for (const char* slot : {"/state.0", "/state.1"}) {
    const auto bytes = files.Read(directory + slot, SpoolState::kSlotBytes);
    if (!bytes.ok()) continue;
    auto state = SpoolState::Decode(*bytes);
    if (state.ok() && (!newest || state->generation > newest->generation)) {
      newest = *std::move(state);
    }
  }
  return newest;
}

std::string StateText(const SpoolState& state) {
  std::string text = absl::StrCat("next sequence ", state.next, " or above\n");
  for (const auto& [sequence, time] : state.held) {
    absl::StrAppend(&text, "in memory only ", sequence, ": ", RangeText(time), "\n");
  }
  for (const v1::Lost& lost : state.lost) {
    absl::StrAppend(&text, "lost ", lost.first_sequence(), " to ", lost.last_sequence(), ": ",
                    v1::Lost::Reason_Name(lost.reason()), " ", lost.detail(), ", ",
                    RangeText({lost.start_unix_ns(), lost.end_unix_ns()}), "\n");
  }
  return text;
}

// Records by sequence: which, how long, of what time.
std::string RecordsText(const char* what, const std::string& directory, FileSystem& files) {
  const auto entries = files.List(directory);
  if (absl::IsNotFound(entries.status())) return absl::StrCat(what, ": none\n");
  if (!entries.ok()) return absl::StrCat(what, ": ", std::string(entries.status().message()), "\n");
  std::map<uint64_t, uint64_t> records;
  for (const FileSystem::Entry& entry : *entries) {
    const uint64_t sequence = SequenceOfFileName(entry.name);
    if (sequence != 0) records[sequence] = entry.bytes;
  }
  std::string text = absl::StrCat(what, ": ", records.size(), "\n");
  for (const auto& [sequence, bytes] : records) {
    const auto read =
        files.Read(absl::StrCat(directory, "/", RecordFileName(sequence)), kMaxRecordBytes);
    const auto record = read.ok() ? DecodeRecord(*read) : read.status();
    absl::StrAppend(
        &text, "  ", sequence, ": ", bytes, " bytes, ",
        record.ok() ? RangeText({record->summary.start_unix_ns(), record->summary.end_unix_ns()})
                    : std::string(record.status().message()),
        "\n");
  }
  return text;
}

}  // namespace

std::string SpoolLedger(const std::string& directory) {
  PosixFileSystem files;
  const auto incarnation = files.Read(directory + "/incarnation", 64);
  std::string text =
      absl::StrCat("spool ", directory, "\nincarnation ",
                   incarnation.ok() ? std::string(absl::StripAsciiWhitespace(*incarnation))
                                    : std::string(incarnation.status().message()),
                   "\n");
  const auto state = ReadState(directory, files);
  text += state ? StateText(*state) : "state: missing or damaged\n";
  text += RecordsText("not acknowledged", directory, files);
  text += RecordsText("refused for good", directory + "/refused", files);
  return text;
}

absl::StatusOr<std::string> WriteBundle(const BundleOptions& options) {
  const auto status = AskStatus(options.config.status_socket);
  std::map<std::string, std::string> files = {
      {"agent.txt",
       absl::StrCat("telltale-agent ", TELLTALE_VERSION, "\nmade ",
                    absl::FormatTime(absl::RFC3339_sec, options.now, absl::UTCTimeZone()), "\n")},
      {"status.json",
       status.ok()
           ? *status
           : absl::StrCat("not in the bundle: ", std::string(status.status().message()), "\n")},
      {"agent.yaml", options.config_text},
      {"spool-ledger.txt", SpoolLedger(options.config.spool_dir)},
  };
  bundle::AddLogs(options.logs, files);
  const std::string name = bundle::FreeName(
      absl::StrCat("telltale-agent-bundle-",
                   absl::FormatTime("%Y%m%d-%H%M%S", options.now, absl::UTCTimeZone())));
  bundle::Archive archive(name, options.now);
  for (const auto& [file, data] : files) {
    if (absl::Status added = archive.Add(file, data); !added.ok()) return added;
  }
  const auto packed = archive.Compress();
  if (!packed.ok()) return packed.status();
  const std::string path = options.path.empty() ? name + ".tar.gz" : options.path;
  const OwnedFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid() ||
      write(fd.get(), packed->data(), packed->size()) != static_cast<ssize_t>(packed->size())) {
    return absl::UnavailableError(absl::StrCat("bundle: write ", path, ": ", std::strerror(errno),
                                               "; choose another --file",
                                               errno == EEXIST ? ", or remove that one" : ""));
  }
  return absl::StrCat("wrote ", path, " (", packed->size(), " bytes, ", files.size(),
                      " files); it holds node and label names, no samples and no keys",
                      options.logs.empty() ? "; --log FILE puts a log in" : "", "\n");
}

}  // namespace telltale::agent
