#include "collector/cli/dig_on.h"

#include <array>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/cli/retyped.h"
#include "collector/cli/terminal_text.h"

namespace telltale::cli {
namespace {

constexpr std::array<std::string_view, 4> kConnection = {"--collector", "--ca", "--cert", "--key"};

std::string UrlEncoded(const std::string& text) {
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += static_cast<char>(c);
    } else {
      absl::StrAppendFormat(&out, "%%%02X", c);
    }
  }
  return out;
}

}  // namespace

std::string VitalOf(const v1::Finding& finding) {
  return finding.sub().empty() ? finding.vital()
                               : absl::StrCat(finding.vital(), "/", finding.sub());
}

DigOn::DigOn(const std::vector<std::string>& words, v1::Selection asked, std::string web,
             absl::TimeZone zone)
    : asked_(std::move(asked)), web_(std::move(web)), zone_(zone) {
  for (size_t i = 1; i < words.size(); ++i) {
    for (const std::string_view flag : kConnection) {
      if (words[i] == flag && i + 1 < words.size()) {
        connection_.push_back(words[i]);
        connection_.push_back(words[++i]);
        break;
      }
      if (words[i].starts_with(std::string(flag) + "=")) connection_.push_back(words[i]);
    }
  }
}

std::string DigOn::Moment(double unix_s) const {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%S%Ez", absl::FromUnixSeconds(std::llround(unix_s)),
                          zone_);
}

std::string DigOn::Command(const std::vector<std::string>& words, double start_s,
                           double end_s) const {
  std::string out = "telltale";
  for (const std::string& word : words) absl::StrAppend(&out, " ", Quoted(word));
  absl::StrAppend(&out, " --from ", Moment(std::floor(start_s)), " --to ",
                  Moment(std::ceil(end_s)));
  for (const std::string& word : connection_) absl::StrAppend(&out, " ", Quoted(word));
  return out;
}

std::string DigOn::OfAll(const char* command) const {
  std::vector<std::string> words = {command};
  for (const std::string& node : asked_.nodes()) words.insert(words.end(), {"--node", node});
  for (const std::string& label : asked_.label_matches()) {
    words.insert(words.end(), {"--label", label});
  }
  return Command(words, asked_.start_s(), asked_.end_s());
}

std::string DigOn::Top() const { return OfAll("top"); }
std::string DigOn::Series() const { return OfAll("series"); }

std::vector<std::string> DigOn::For(const v1::Finding& finding,
                                    const v1::InvestigateAnswer& answer) const {
  const std::string vital = VitalOf(finding);
  const auto about = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--node", finding.node(), "--vital", vital});
    return words;
  };
  std::vector<std::string> against;
  if (!answer.past().empty()) {
    against = {"--against", Moment(answer.past(0).start_s()), "--against-to",
               Moment(answer.past(0).end_s())};
  }
  std::vector<std::string> diff = about({"diff", "--by", "stack"}), flame = about({"flame"});
  for (std::vector<std::string>* words : {&diff, &flame}) {
    words->insert(words->end(), against.begin(), against.end());
  }
  std::vector<std::string> lines = {Command(diff, finding.start_s(), finding.end_s()),
                                    Command(flame, finding.start_s(), finding.end_s())};
  std::vector<std::string> samples = about({"samples"});
  if (!finding.processes().rows().empty()) {
    const v1::TopRow& row = finding.processes().rows(0).row();
    const std::string process = row.pid() > 0 ? absl::StrCat(row.pid()) : row.exe();
    if (!process.empty()) samples.push_back("--process=" + process);
  }
  lines.push_back(Command(samples, finding.start_s(), finding.end_s()));
  if (!web_.empty()) {
    lines.push_back(absl::StrFormat("%s/selection?node=%s&vital=%s&from=%d&to=%d", web_,
                                    UrlEncoded(finding.node()), UrlEncoded(finding.vital()),
                                    std::llround(std::floor(finding.start_s())),
                                    std::llround(std::ceil(finding.end_s()))));
  }
  return lines;
}

}  // namespace telltale::cli
