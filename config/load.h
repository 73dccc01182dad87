// Fills a program's configuration: flag > environment > file > default, through its OptionTable.
// Read at the start and again on SIGHUP (into a fresh struct, then compared). Main thread.

#ifndef TELLTALE_CONFIG_LOAD_H_
#define TELLTALE_CONFIG_LOAD_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/options.h"

namespace telltale::config {

// Where a value came from, for --print-config.
enum class Origin { kDefault, kFile, kEnvironment, kFlag };

struct Sources {
  std::string file;          // empty: default_file if it exists
  std::string default_file;  // "/etc/telltale/agent.yaml"
  std::vector<std::pair<std::string, std::string>> environment =
      {};                                                  // all of it; others' are ignored
  std::vector<std::pair<std::string, std::string>> flags;  // key ("tls.ca") and value
};

struct Loaded {
  std::string file;                      // that was read; empty: none
  std::map<std::string, Origin> origin;  // by key; not there: default
};

// InvalidArgument or NotFound with one line: what was read, line, key, value, what is allowed,
// nearest key. The variable <prefix>CONFIG is not an option: the program reads it to find the file.
absl::StatusOr<Loaded> Load(const OptionTable& table, const Sources& sources);

// The same of a file's text alone; `name` is what errors call it.
absl::StatusOr<Loaded> LoadText(const OptionTable& table, const std::string& text,
                                const std::string& name);

// The effective configuration as YAML, each key with where its value came from and what it means.
std::string Print(const OptionTable& table, const Loaded& loaded);

// What differs between two configurations of one program, by key; those in `fixed` need a restart.
struct Change {
  std::vector<std::string> reloadable;
  std::vector<std::string> fixed;
};
Change Compare(const OptionTable& before, const OptionTable& after);

// The process's environment as Sources wants it.
std::vector<std::pair<std::string, std::string>> Environment(char** environ_block);

}  // namespace telltale::config

#endif  // TELLTALE_CONFIG_LOAD_H_
