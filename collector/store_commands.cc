#include "collector/store_commands.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "collector/access/audit_log.h"
#include "collector/control_socket.h"
#include "collector/stop_signals.h"
#include "collector/verify_copy.h"
#include "storage/backup.h"
#include "storage/salvage.h"
#include "storage/verify.h"
#include "storage/verify_damage.h"

namespace telltale::collector {
namespace {

constexpr double kMiB = 1 << 20;
constexpr size_t kVerifyMemory = 256 << 20;
constexpr char kSalvager[] = "telltale-collector salvage";
constexpr size_t kMostRecorded = 50;  // ranges; the command prints all

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "telltale-collector: %s\n", std::string(status.message()).c_str());
  return 1;
}

// One line on a terminal that says how far it is, once it takes longer than a second; gone at the
// end.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void Show(std::string_view what, uint64_t done, uint64_t total) {
    if (!Due()) return;
    const double share =
        total == 0 ? 0 : 100.0 * static_cast<double>(done) / static_cast<double>(total);
    std::fprintf(stderr, "\r\033[K%s",
                 absl::StrFormat("%s  %.0f %%", std::string(what), std::min(share, 100.0)).c_str());
  }
  // Of what nobody knows the end of.
  void ShowCount(std::string_view what, uint64_t done, std::string_view unit) {
    if (!Due()) return;
    std::fprintf(stderr, "\r\033[K%s",
                 absl::StrFormat("%s  %d %s", std::string(what), done, std::string(unit)).c_str());
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool Due() {
    const auto now = Clock::now();
    if (!terminal_ || now - begun_ < std::chrono::seconds(1) ||
        now - told_ < std::chrono::milliseconds(100)) {
      return false;
    }
    told_ = now;
    return shown_ = true;
  }
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point told_;
  bool shown_ = false;
};

std::string Absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

std::string Copied(const storage::CopyResult& copied) {
  return absl::StrFormat("%d files, %.1f MiB", copied.files,
                         static_cast<double>(copied.bytes) / kMiB);
}

// Tells faults, what is lost by them and what to do next. The exit code.
int TellFaults(const storage::VerifyReport& report, const std::string& data, bool opens) {
  for (const storage::VerifyFault& fault : report.faults) {
    absl::PrintF("FAULT  %s: %s\n", fault.place, fault.what);
  }
  for (const auto& [family, loss] : report.losses) {
    absl::PrintF(
        "LOST   %s: %d ranges, about %d rows%s: %s\n", family, loss.ranges, loss.rows,
        loss.epochs == 0 ? "" : absl::StrFormat(", %d acknowledged epochs not read", loss.epochs),
        std::string(storage::LossOf(family)));
  }
  absl::PrintF(
      "%d faults%s; restore a backup: telltale-collector restore DIR --data EMPTY\n",
      report.fault_count,
      report.fault_count > report.faults.size() ? ", the first of each family are shown" : "");
  if (opens && !report.losses.empty() && !report.needed_lost) {
    absl::PrintF(
        "  or go on without what is lost: telltale-collector salvage --data %s takes the damaged "
        "files out; until then a collector starts, and stops acknowledging when it has to rewrite "
        "one of them\n",
        data);
  }
  return 1;
}

// All that was found. The exit code.
int TellReport(const storage::VerifyReport& report, const std::string& data, bool opens) {
  if (!opens) {
    std::puts("  it cannot be opened: its rows were read, and not held against each other");
    return TellFaults(report, data, opens);
  }
  absl::PrintF("  epochs    %d of %d nodes; %d declared lost, %d missing, %d kept apart\n",
               report.epochs, report.nodes, report.lost, report.missing, report.apart);
  if (report.unlisted != 0) {
    absl::PrintF(
        "            %d more were written and never acknowledged; they count for nothing\n",
        report.unlisted);
  }
  absl::PrintF(
      "  tiers     %d rows equal what they are made of, %d wait to be computed, of %d the "
      "source has expired\n",
      report.recomputed, report.pending, report.sealed);
  absl::PrintF("  names     %d stand where windows need them\n", report.names);
  if (report.blobs != 0) {
    absl::PrintF("  blobs     %d have the digest they were put with\n", report.blobs);
  }
  for (const auto& [family, rows] : report.told) {
    absl::PrintF("  salvaged  %d rows of %s say that what stood there was lost\n", rows, family);
  }
  if (report.fault_count != 0) return TellFaults(report, data, opens);
  std::puts("good");
  return 0;
}

// In the audit, where whoever misses something looks for who took it.
absl::Status RecordSalvage(storage::Catalog& catalog, const storage::SalvageReport& report) {
  const auto now = [] { return static_cast<uint64_t>(absl::GetCurrentTimeNanos()); };
  const auto audit = access::AuditLog::Open(&catalog, now);
  if (!audit.ok()) return audit.status();
  absl::Status done = (*audit)->Done(
      kSalvager, "", "take damaged files out of the store",
      absl::StrCat(report.files.size(), " files, ", report.lost.size(), " ranges of rows and ",
                   report.told.epochs, " acknowledged epochs lost with them"));
  for (size_t i = 0; i < report.lost.size() && i < kMostRecorded && done.ok(); ++i) {
    done = (*audit)->Done(kSalvager, "", "lose rows that cannot be read",
                          absl::StrCat(report.lost[i].place, ": ", report.lost[i].what));
  }
  return done;
}

}  // namespace

int RunBackup(const Config& config, const std::string& to) {
  const std::string to_data = Absolute(to);
  absl::StatusOr<storage::CopyResult> copied;
  bool running = true;
  double seconds = 0;
  {
    ProgressLine progress;
    const auto watch = [&progress](uint64_t done, uint64_t total) {
      progress.Show("backup", done, total);
      return true;
    };
    copied = AskForBackup(config.data, to_data, watch);
    if (absl::IsNotFound(copied.status())) {
      running = false;
      copied = storage::BackUpStopped(nullptr, Absolute(config.data), to_data, watch);
    }
    seconds = progress.seconds();
  }
  if (!copied.ok()) return Complain(copied.status());
  std::printf("%s: whole, %s, in %.1f s, of the %s collector's %s\n", to_data.c_str(),
              Copied(*copied).c_str(), seconds, running ? "running" : "stopped",
              config.data.c_str());
  if (copied->linked_bytes != 0) {
    std::printf(
        "  it lies on the same file system and shares %.1f MiB with the original: it outlives "
        "mistakes, not the disk\n",
        static_cast<double>(copied->linked_bytes) / kMiB);
  }
  std::printf("  check it: telltale-collector verify --data %s\n", to_data.c_str());
  return 0;
}

int RunRestore(const Config& config, const std::string& from) {
  const std::string from_data = Absolute(from);
  absl::StatusOr<storage::CopyResult> copied;
  double seconds = 0;
  {
    ProgressLine progress;
    copied = storage::Restore(nullptr, from_data, Absolute(config.data),
                              [&progress](uint64_t done, uint64_t total) {
                                progress.Show("restore", done, total);
                                return true;
                              });
    seconds = progress.seconds();
  }
  if (!copied.ok()) return Complain(copied.status());
  std::printf("%s: restored from %s, %s, in %.1f s\n", config.data.c_str(), from_data.c_str(),
              Copied(*copied).c_str(), seconds);
  std::printf("  check it: telltale-collector verify --data %s\n", config.data.c_str());
  return 0;
}

int RunVerify(const Config& config) {
  std::optional<StopSignals> stop(std::in_place);
  std::unique_ptr<VerifyCopy> copy;  // outlives the store that is read of it
  storage::StoreOptions options = {
      .path = config.data + "/store", .memory_bytes = kVerifyMemory, .read_only = true};
  auto store = storage::Store::Open(options);
  if (absl::IsUnavailable(store.status())) {
    ProgressLine progress;
    auto asked =
        VerifyCopy::Ask(Absolute(config.data), [&progress, &stop](uint64_t done, uint64_t total) {
          progress.Show("copy", done, total);
          return !stop->Came();
        });
    // Who holds it is no collector.
    if (absl::IsNotFound(asked.status())) return Complain(store.status());
    if (absl::IsFailedPrecondition(asked.status()) || absl::IsCancelled(asked.status())) {
      return Complain(asked.status());
    }
    if (!asked.ok()) {
      return Complain(absl::UnavailableError(absl::StrCat(
          std::string(store.status().message()),
          "; nor is there a copy of it to read: ", std::string(asked.status().message()),
          "; verify an earlier backup, or stop the collector and verify again")));
    }
    copy = *std::move(asked);
    options.path = copy->path() + "/store";
    store = storage::Store::Open(options);
  } else {
    stop.reset();
  }
  if (!store.ok() && !absl::IsDataLoss(store.status())) return Complain(store.status());
  absl::StatusOr<storage::VerifyReport> read;
  double seconds = 0;
  {
    ProgressLine progress;
    const storage::VerifyOptions verifying = {
        .watch = [&progress, &stop](std::string_view step, uint64_t done, uint64_t total) {
          progress.Show(absl::StrCat("verify ", std::string(step)), done, total);
          return !stop.has_value() || !stop->Came();
        }};
    read =
        store.ok() ? storage::Verify(**store, verifying) : storage::VerifyRows(options, verifying);
    seconds = progress.seconds();
  }
  if (!store.ok()) Complain(store.status());
  if (!read.ok()) return store.ok() ? Complain(read.status()) : 1;
  absl::PrintF("%s/store: %d rows read in %.1f s\n", config.data, read->rows, seconds);
  if (copy != nullptr) {
    std::puts("  of the running collector's, as of the moment this began; files have their names");
  }
  const int code = TellReport(*read, config.data, store.ok());
  // A signal that came after all was read ends the program as `stop` goes, before it would be
  // written by itself.
  std::fflush(stdout);
  return code;
}

int RunSalvage(const Config& config) {
  absl::StatusOr<storage::SalvageReport> salvaged;
  double seconds = 0;
  {
    ProgressLine progress;
    salvaged = storage::Salvage(
        {.data = Absolute(config.data),
         .memory_bytes = kVerifyMemory,
         .watch =
             [&progress](std::string_view step, uint64_t rows) {
               progress.ShowCount(absl::StrCat("salvage ", std::string(step)), rows, "rows");
               return true;
             },
         .record = RecordSalvage});
    seconds = progress.seconds();
  }
  if (absl::IsUnavailable(salvaged.status())) {
    return Complain(absl::UnavailableError(
        absl::StrCat(std::string(salvaged.status().message()),
                     "; stop the collector first: systemctl stop telltale-collector")));
  }
  if (!salvaged.ok()) return Complain(salvaged.status());
  const storage::SalvageReport& report = *salvaged;
  if (report.families.empty()) {
    absl::PrintF("%s: no file is damaged; nothing was changed\n", config.data);
    return 0;
  }
  absl::PrintF("%s: salvaged in %.1f s\n", config.data, seconds);
  if (!report.files.empty()) {
    absl::PrintF("  %d damaged files taken out, kept in %s\n", report.files.size(), report.aside);
  }
  for (const storage::DamagedFile& file : report.files) {
    absl::PrintF("  %s of %s, %.1f MiB: %s\n", file.name, file.family,
                 static_cast<double>(file.bytes) / kMiB, file.fault);
  }
  if (report.bodies != 0) {
    absl::PrintF(
        "  %d rows taken out whose bodies in .blob files are damaged; those files stop nothing and "
        "stay until all they hold has expired\n",
        report.bodies);
  }
  for (const storage::VerifyFault& lost : report.lost) {
    absl::PrintF("LOST   %s: %s\n", lost.place, lost.what);
  }
  for (const std::string& family : report.families) {
    absl::PrintF("LOST   %s: %s\n", family, std::string(storage::LossOf(family)));
  }
  absl::PrintF(
      "  %d acknowledged epochs are lost; %d rows say in answers what is, %d windows, series and "
      "graphs are made again when the collector runs\n",
      report.told.epochs, report.told.rows, report.told.windows);
  absl::PrintF("  check it: telltale-collector verify --data %s; then start the collector\n",
               config.data);
  return 0;
}

}  // namespace telltale::collector
