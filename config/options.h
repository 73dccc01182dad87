// Options of a program: each binds one key of its configuration to a field of a struct. A program
// builds one OptionTable over its struct; load.h fills the struct through it from flags,
// environment, file and defaults, and prints it back.
//
// A table refers to the struct it was built over, which must outlive it. Main thread.

#ifndef TELLTALE_CONFIG_OPTIONS_H_
#define TELLTALE_CONFIG_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace telltale::config {

struct OptionInfo {
  std::string key;         // path in the file: "tls.ca"; the flag is --tls-ca
  std::string value_name;  // "DURATION", "BYTES", "PATH" ...
  std::string help;
  bool reloadable = false;  // takes effect on SIGHUP
};

struct Option {
  OptionInfo info;
  // InvalidArgument says what is allowed, without the key: the caller knows that.
  std::function<absl::Status(const std::string&)> set;
  std::function<std::string()> get;
  bool mapping = false;  // in the file its value is a mapping of free keys, in text "a=b,c=d"
};

class OptionTable {
 public:
  // `prefix` of the environment variables: "TELLTALE_AGENT_" makes tls.ca TELLTALE_AGENT_TLS_CA.
  explicit OptionTable(std::string prefix) : prefix_(std::move(prefix)) {}

  void Number(OptionInfo info, uint64_t& field, uint64_t low, uint64_t high);
  void Number(OptionInfo info, uint32_t& field, uint64_t low, uint64_t high);
  void Seconds(OptionInfo info, uint64_t& field, uint64_t low, uint64_t high);
  void Seconds(OptionInfo info, uint32_t& field, uint64_t low, uint64_t high);
  void Bytes(OptionInfo info, uint64_t& field, uint64_t low, uint64_t high);
  void Path(OptionInfo info, std::string& field, bool may_be_empty);
  void Address(OptionInfo info, std::string& field);
  void Choice(OptionInfo info, std::string& field, std::vector<std::string> allowed);
  void Switch(OptionInfo info, bool& field);
  // Any text the check accepts.
  void Text(OptionInfo info, std::string& field,
            std::function<absl::Status(const std::string&)> check);
  // Pairs of free keys and values; both 1..64 of [a-zA-Z0-9._/-].
  void Pairs(OptionInfo info, std::map<std::string, std::string>& field);
  // The same of finite numbers, if the check accepts them all.
  void Numbers(OptionInfo info, std::map<std::string, double>& field,
               std::function<absl::Status(const std::map<std::string, double>&)> check);
  void Add(Option option) { options_.push_back(std::move(option)); }

  const std::vector<Option>& options() const { return options_; }
  const Option* Find(const std::string& key) const;  // nullptr: no such option
  const std::string& prefix() const { return prefix_; }
  std::string Flag(const OptionInfo& info) const;
  std::string Variable(const OptionInfo& info) const;

 private:
  std::string prefix_;
  std::vector<Option> options_;
};

}  // namespace telltale::config

#endif  // TELLTALE_CONFIG_OPTIONS_H_
