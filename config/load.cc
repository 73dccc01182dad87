#include "config/load.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values.h"
#include "yaml-cpp/yaml.h"

namespace telltale::config {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;

constexpr size_t kMaxMessageBytes = 2000;

// Messages quote what stood in the file: one line, without what a terminal would obey.
absl::Status Readable(const absl::Status& status) {
  if (status.ok()) return status;
  std::string text;
  for (const char c : status.message().substr(0, kMaxMessageBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppend(&text, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      text += c;
    }
  }
  return absl::Status(status.code(), text);
}

absl::Status Set(const Option& option, const std::string& value, const std::string& where,
                 Origin origin, Loaded& loaded) {
  const absl::Status status = option.set(value);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", option.info.key, ": \"", value,
                                                   "\" ", std::string(status.message())));
  }
  loaded.origin[option.info.key] = origin;
  return absl::OkStatus();
}

std::string DidYouMean(const std::string& nearest) {
  return nearest.empty() ? "; --print-config shows all keys"
                         : absl::StrCat("; did you mean ", nearest, "?");
}

absl::Status UnknownKey(const OptionTable& table, const std::string& where,
                        const std::string& key) {
  std::vector<std::string> candidates;
  for (const Option& option : table.options()) {
    const std::string& full = option.info.key;
    candidates.push_back(full);
    if (const size_t dot = full.find('.'); dot != std::string::npos) {
      candidates.push_back(full.substr(0, dot));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": unknown key ", key, DidYouMean(Nearest(key, candidates))));
}

bool IsSection(const OptionTable& table, const std::string& key) {
  for (const Option& option : table.options()) {
    if (absl::StartsWith(option.info.key, absl::StrCat(key, "."))) return true;
  }
  return false;
}

// One mapping of the file; nested ones go down with their path.
absl::Status ReadMapping(const OptionTable& table, const YAML::Node& mapping,
                         const std::string& prefix, const std::string& file, Loaded& loaded) {
  for (const auto& entry : mapping) {
    const std::string where = absl::StrCat("config ", file, ":", entry.first.Mark().line + 1);
    if (!entry.first.IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": a key must be a plain word"));
    }
    const std::string key = prefix + entry.first.Scalar();
    if (const Option* option = table.Find(key)) {
      std::string value;
      if (option->mapping && entry.second.IsMap()) {
        for (const auto& pair : entry.second) {
          if (!pair.first.IsScalar() || !pair.second.IsScalar()) {
            return absl::InvalidArgumentError(
                absl::StrCat(where, ": ", key, ": must hold plain keys and values"));
          }
          absl::StrAppend(&value, value.empty() ? "" : ",", pair.first.Scalar(), "=",
                          pair.second.Scalar());
        }
      } else if (entry.second.IsScalar()) {
        value = entry.second.Scalar();
      } else if (!entry.second.IsNull()) {
        return absl::InvalidArgumentError(
            absl::StrCat(where, ": ", key, ": must be one ", option->info.value_name));
      }
      if (loaded.origin.contains(key)) {
        return absl::InvalidArgumentError(absl::StrCat(where, ": ", key, ": given twice"));
      }
      if (absl::Status status = Set(*option, value, where, Origin::kFile, loaded); !status.ok()) {
        return status;
      }
    } else if (IsSection(table, key)) {
      if (entry.second.IsNull()) continue;
      if (!entry.second.IsMap()) {
        return absl::InvalidArgumentError(
            absl::StrCat(where, ": ", key, ": must hold keys of its own, indented"));
      }
      if (absl::Status status = ReadMapping(table, entry.second, key + ".", file, loaded);
          !status.ok()) {
        return status;
      }
    } else {
      return UnknownKey(table, where, key);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadText(const OptionTable& table, const std::string& text, const std::string& file,
                      Loaded& loaded) {
  // What is no text the YAML reader takes for what it is not: a zero byte for an escape.
  const auto control = std::ranges::find_if(text, [](unsigned char c) {
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
  });
  if (control != text.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "config ", file, ":", 1 + std::count(text.begin(), control, '\n'), ": the byte 0x",
        absl::Hex(static_cast<unsigned char>(*control), absl::kZeroPad2),
        " is no text; remove it"));
  }
  if (!IsUtf8(text)) {
    return absl::InvalidArgumentError(absl::StrCat("config ", file, ": is not UTF-8 text"));
  }
  loaded.file = file;
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) return absl::OkStatus();
    if (!root.IsMap()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "config ", file, ":1: must be YAML keys and values, e.g. data: /var/lib/telltale"));
    }
    return ReadMapping(table, root, "", file, loaded);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("config ", file, ":", error.mark.line + 1, ":",
                                                   error.mark.column + 1,
                                                   ": not valid YAML: ", error.msg));
  }
}

absl::Status ReadFile(const OptionTable& table, const std::string& file, Loaded& loaded) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return absl::NotFoundError(absl::StrCat("config ", file, ": cannot be read: ",
                                            std::strerror(errno), "; name another with --config"));
  }
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || (stream.gcount() == 0 && !stream.eof())) {
    return absl::InvalidArgumentError(
        absl::StrCat("config ", file, ": cannot be read; is it a plain file?"));
  }
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("config ", file, ": larger than ", kMaxFileBytes, " bytes"));
  }
  return ReadText(table, text, file, loaded);
}

absl::Status ReadEnvironment(const OptionTable& table, const Sources& sources, Loaded& loaded) {
  for (const auto& [name, value] : sources.environment) {
    if (!absl::StartsWith(name, table.prefix()) || name == table.prefix() + "CONFIG") continue;
    const Option* found = nullptr;
    std::vector<std::string> candidates;
    for (const Option& option : table.options()) {
      candidates.push_back(table.Variable(option.info));
      if (table.Variable(option.info) == name) found = &option;
    }
    if (found == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("environment: unknown variable ", name,
                                                     DidYouMean(Nearest(name, candidates))));
    }
    const std::string where = absl::StrCat("environment ", name);
    if (absl::Status status = Set(*found, value, where, Origin::kEnvironment, loaded);
        !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAll(const OptionTable& table, const Sources& sources, Loaded& loaded) {
  std::string file = sources.file;
  struct stat info;
  if (file.empty() && stat(sources.default_file.c_str(), &info) == 0) file = sources.default_file;
  if (!file.empty()) {
    if (absl::Status status = ReadFile(table, file, loaded); !status.ok()) return status;
  }
  if (absl::Status status = ReadEnvironment(table, sources, loaded); !status.ok()) return status;
  for (const auto& [key, value] : sources.flags) {
    const Option* option = table.Find(key);
    if (option == nullptr) return UnknownKey(table, "flag", key);
    const std::string where = absl::StrCat("flag ", table.Flag(option->info));
    if (absl::Status status = Set(*option, value, where, Origin::kFlag, loaded); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

const char* Name(Origin origin) {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kFile:
      return "file";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kFlag:
      return "flag";
  }
  return "";
}

}  // namespace

absl::StatusOr<Loaded> Load(const OptionTable& table, const Sources& sources) {
  Loaded loaded;
  if (absl::Status status = ReadAll(table, sources, loaded); !status.ok()) return Readable(status);
  return loaded;
}

absl::StatusOr<Loaded> LoadText(const OptionTable& table, const std::string& text,
                                const std::string& name) {
  Loaded loaded;
  if (absl::Status status = ReadText(table, text, name, loaded); !status.ok()) {
    return Readable(status);
  }
  return loaded;
}

std::string Print(const OptionTable& table, const Loaded& loaded) {
  std::string text = loaded.file.empty() ? "# no configuration file was read\n"
                                         : absl::StrCat("# read from ", loaded.file, "\n");
  std::string section;
  for (const Option& option : table.options()) {
    const std::string& key = option.info.key;
    const size_t dot = key.find('.');
    std::string name = key;
    if (dot != std::string::npos) {
      if (key.substr(0, dot) != section) {
        section = key.substr(0, dot);
        absl::StrAppend(&text, section, ":\n");
      }
      name = absl::StrCat("  ", key.substr(dot + 1));
    }
    YAML::Emitter quoted;
    quoted << option.get();
    const auto origin = loaded.origin.find(key);
    absl::StrAppend(&text, name, ": ", quoted.c_str(), "  # ",
                    Name(origin == loaded.origin.end() ? Origin::kDefault : origin->second), "; ",
                    option.info.help, option.info.reloadable ? " (reloadable)" : "", "\n");
  }
  return text;
}

Change Compare(const OptionTable& before, const OptionTable& after) {
  Change change;
  for (const Option& option : before.options()) {
    const Option* other = after.Find(option.info.key);
    if (other == nullptr || option.get() == other->get()) continue;
    (option.info.reloadable ? change.reloadable : change.fixed).push_back(option.info.key);
  }
  return change;
}

std::vector<std::pair<std::string, std::string>> Environment(char** environ_block) {
  std::vector<std::pair<std::string, std::string>> result;
  for (char** entry = environ_block; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
      result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return result;
}

}  // namespace telltale::config
