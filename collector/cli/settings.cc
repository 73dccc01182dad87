#include "collector/cli/settings.h"

#include <dirent.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/files.h"

namespace telltale::cli {
namespace {

constexpr char kDefaultCollector[] = "localhost:7410";
constexpr char kDefaultDir[] = "/etc/telltale/pki";
constexpr size_t kMaxFile = 64 * 1024;

struct Found {
  Settings settings;
  std::string dir;  // of certificates
};

void FillFrom(const Settings& from, Settings& to) {
  if (to.collector.empty()) to.collector = from.collector;
  if (to.ca.empty()) to.ca = from.ca;
  if (to.cert.empty()) to.cert = from.cert;
  if (to.key.empty()) to.key = from.key;
}

absl::Status BadKey(const std::string& file, const YAML::Mark& mark, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("settings: ", file, " line ", mark.line + 1, ": ", what));
}

absl::Status SetKey(const std::string& file, const std::string& path, const YAML::Node& value,
                    Found& found) {
  std::string* target = path == "collector"  ? &found.settings.collector
                        : path == "tls.ca"   ? &found.settings.ca
                        : path == "tls.cert" ? &found.settings.cert
                        : path == "tls.key"  ? &found.settings.key
                        : path == "tls.dir"  ? &found.dir
                                             : nullptr;
  if (target == nullptr) {
    return BadKey(
        file, value.Mark(),
        absl::StrCat("key \"", path.substr(0, 64),
                     "\" is unknown; there are collector, tls.ca, tls.cert, tls.key, tls.dir"));
  }
  if (!value.IsScalar())
    return BadKey(file, value.Mark(), absl::StrCat("key \"", path, "\" must be one text"));
  *target = value.Scalar();
  return absl::OkStatus();
}

absl::StatusOr<Found> ReadSettings(const std::string& file) {
  absl::StatusOr<std::string> text = ReadFile(file, kMaxFile);
  if (!text.ok()) return text.status();
  Found found;
  try {
    const YAML::Node root = YAML::Load(*text);
    if (root.IsNull()) return found;
    if (!root.IsMap()) return BadKey(file, root.Mark(), "must be a list of keys with values");
    for (const auto& entry : root) {
      const std::string key = entry.first.Scalar();
      if (key == "tls" && entry.second.IsMap()) {
        for (const auto& inner : entry.second) {
          if (absl::Status status =
                  SetKey(file, "tls." + inner.first.Scalar(), inner.second, found);
              !status.ok())
            return status;
        }
      } else if (absl::Status status = SetKey(file, key, entry.second, found); !status.ok()) {
        return status;
      }
    }
  } catch (const YAML::Exception& error) {
    return BadKey(file, error.mark, error.msg);
  }
  return found;
}

// The one certificate of a person in the directory. Empty if there is none; InvalidArgument if
// there are several.
absl::StatusOr<std::string> PersonIn(const std::string& dir) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(dir.c_str()), &closedir);
  while (const dirent* entry = listing ? readdir(listing.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (!absl::EndsWith(name, ".crt")) continue;
    if (absl::StartsWith(name, "operator-") || absl::StartsWith(name, "viewer-")) {
      names.push_back(name.substr(0, name.size() - 4));
    }
  }
  std::sort(names.begin(), names.end());
  if (names.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("settings: ", dir, " has several certificates of people (",
                     absl::StrJoin(names, ", "), "); choose with --cert and --key"));
  }
  return names.empty() ? std::string() : names.front();
}

}  // namespace

std::vector<std::string> SettingsFiles(const std::string& home) {
  std::vector<std::string> files;
  if (!home.empty()) files.push_back(home + "/.config/telltale.yaml");
  files.push_back("/etc/telltale/cli.yaml");
  return files;
}

std::string WithPort(const std::string& address) {
  constexpr char kPort[] = ":7410";
  if (absl::StartsWith(address, "["))
    return absl::StrContains(address, "]:") ? address : address + kPort;
  const auto colons = std::count(address.begin(), address.end(), ':');
  if (colons == 0) return address + kPort;
  return colons == 1 ? address : absl::StrCat("[", address, "]", kPort);
}

absl::StatusOr<Settings> LoadSettings(const SettingsSources& sources) {
  Settings settings = sources.flags;
  std::string dir;
  FillFrom({sources.environment("TELLTALE_COLLECTOR"), sources.environment("TELLTALE_TLS_CA"),
            sources.environment("TELLTALE_TLS_CERT"), sources.environment("TELLTALE_TLS_KEY")},
           settings);
  dir = sources.environment("TELLTALE_TLS_DIR");
  for (const std::string& file : sources.files) {
    if (access(file.c_str(), F_OK) != 0) continue;
    absl::StatusOr<Found> found = ReadSettings(file);
    if (!found.ok()) return found.status();
    FillFrom(found->settings, settings);
    if (dir.empty()) dir = found->dir;
  }
  if (settings.collector.empty()) settings.collector = kDefaultCollector;
  settings.collector = WithPort(settings.collector);
  if (dir.empty()) dir = kDefaultDir;
  if (settings.ca.empty()) settings.ca = dir + "/ca.crt";
  if (settings.cert.empty()) {
    absl::StatusOr<std::string> person = PersonIn(dir);
    if (!person.ok()) return person.status();
    if (!person->empty()) {
      settings.cert = absl::StrCat(dir, "/", *person, ".crt");
      if (settings.key.empty()) settings.key = absl::StrCat(dir, "/", *person, ".key");
    }
  }
  if (settings.key.empty() && absl::EndsWith(settings.cert, ".crt")) {
    settings.key = settings.cert.substr(0, settings.cert.size() - 4) + ".key";
  }
  if (settings.cert.empty() || settings.key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("settings: no certificate of yours given and none in ", dir,
                     "; give --cert and --key, set TELLTALE_TLS_DIR, or make one: telltale pki "
                     "issue --dir PKI --role operator --name YOU"));
  }
  return settings;
}

}  // namespace telltale::cli
