#include "agent/enroll/enroll_command.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <fstream>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "agent/enroll/enroll_client.h"
#include "agent/enroll/node_key.h"
#include "config/values.h"
#include "proto/codec.h"

namespace telltale::agent {
namespace {

constexpr const char* kPort = "7430";
constexpr size_t kMaxToken = 256;
constexpr size_t kDigits = 64;
constexpr uint64_t kLongestWaitS = 7 * 86400;
constexpr absl::Duration kFirstPause = absl::Seconds(1), kLongestPause = absl::Seconds(15);

std::string DateText(int64_t unix_s) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(unix_s), absl::UTCTimeZone());
}

absl::StatusOr<std::string> TokenOf(const EnrollFlags& flags) {
  if (!flags.token.empty() && !flags.token_file.empty()) {
    return absl::InvalidArgumentError("enrol: give --token or --token-file, not both");
  }
  if (flags.token_file.empty()) return flags.token;
  std::ifstream stream(flags.token_file);
  std::string text(kMaxToken + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  absl::StripAsciiWhitespace(&text);
  if (!text.empty() && text.size() <= kMaxToken) return text;
  return absl::InvalidArgumentError(
      absl::StrCat("enrol: --token-file ", flags.token_file, " cannot be read or holds no token"));
}

absl::StatusOr<std::string> DigestOf(const std::string& ca_hash) {
  std::string digits(absl::StripPrefix(ca_hash, "sha256:"));
  digits.erase(std::remove(digits.begin(), digits.end(), ':'), digits.end());
  absl::AsciiStrToLower(&digits);
  const bool hex = std::all_of(digits.begin(), digits.end(),
                               [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (digits.size() == kDigits && hex) return digits;
  return absl::InvalidArgumentError(
      "enrol: --ca-hash must be sha256: and 64 hexadecimal digits, as telltale enroll token and "
      "telltale pki show ca.crt say it; without it anybody could pose as the collector");
}

absl::StatusOr<std::string> NameOf(const EnrollFlags& flags) {
  std::string name = flags.node;
  if (name.empty()) {
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) == 0) name = host;
  }
  if (proto::ValidNodeName(name)) return name;
  return absl::InvalidArgumentError(absl::StrCat(
      "enrol: node ", proto::SanitizeText(name, 64),
      " must be 1 to 128 of a-z A-Z 0-9 . _ - and not begin with . or -; --node NAME"));
}

// What another try may mend: the collector restarts, or is asked by the whole rack at once.
bool MayMend(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsDeadlineExceeded(status);
}

// The authority is fetched once and believed from then on.
absl::StatusOr<v1::EnrollAnswer> AskOnce(const EnrollServer& server, const std::string& sha256,
                                         const v1::EnrollRequest& request, std::string* authority) {
  if (authority->empty()) {
    auto fetched = FetchAuthority(server, sha256);
    if (!fetched.ok()) return fetched.status();
    *authority = *std::move(fetched);
  }
  return AskToEnroll(server, *authority, request);
}

class Pauses {
 public:
  explicit Pauses(absl::Time end) : end_(end) {}
  // False: the time is over.
  bool Wait(absl::Duration usual) {
    const absl::Duration left = end_ - absl::Now();
    if (left <= absl::ZeroDuration()) return false;
    std::uniform_real_distribution<double> share(0.5, 1);
    absl::SleepFor(std::min(usual * share(random_), left));
    return true;
  }
  bool WaitLonger() {
    const bool more = Wait(pause_);
    pause_ = std::min(2 * pause_, kLongestPause);
    return more;
  }

 private:
  const absl::Time end_;
  absl::Duration pause_ = kFirstPause;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace

std::string EnrollAddress(const Config& config) {
  if (!config.enroll_collector.empty()) return config.enroll_collector;
  return absl::StrCat(config.collector.substr(0, config.collector.rfind(':')), ":", kPort);
}

absl::StatusOr<std::string> EnrollNode(const Config& config, const EnrollFlags& flags,
                                       const std::optional<FileOwner>& owner,
                                       const std::function<void(const std::string&)>& tell) {
  const auto node = NameOf(flags);
  if (!node.ok()) return node.status();
  const auto wait_s = config::ParseSeconds(flags.wait, 1, kLongestWaitS);
  if (!wait_s.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("enrol: --wait ", flags.wait, " ", wait_s.status().message()));
  }
  const TlsFiles files = {config.tls_ca, config.tls_cert, config.tls_key};
  FinishIdentity(files);
  if (const auto own = ReadTlsFiles(files, time(nullptr));
      own.ok() && own->node == *node && !flags.again) {
    return absl::StrCat("is enrolled already as ", *node, " until ",
                        DateText(ValidityOf(own->cert).value_or(Validity()).end_s),
                        "; --again has it certified anew\n");
  }
  const auto token = TokenOf(flags);
  if (!token.ok()) return token.status();
  const auto digest = DigestOf(flags.ca_hash);
  if (!digest.ok()) return digest.status();
  if (flags.again) DropStagedKey(files);
  const auto staged = StageKey(files, owner);
  if (!staged.ok()) return staged.status();

  const EnrollServer server = {EnrollAddress(config), config.tls_server_name};
  v1::EnrollRequest request;
  request.set_node(*node);
  request.set_token(*token);
  request.set_signing_request(staged->signing_request);
  Pauses pauses(absl::Now() + absl::Seconds(*wait_s));
  std::string authority, said;
  const auto tell_once = [&](const std::string& line) {
    if (line != said) tell(line);
    said = line;
  };
  while (true) {
    const auto answer = AskOnce(server, *digest, request, &authority);
    if (const absl::Status& trouble = answer.status(); !trouble.ok()) {
      // What was refused for good is asked for with another key the next time.
      if (absl::IsPermissionDenied(trouble)) DropStagedKey(files);
      if (!MayMend(trouble)) return trouble;
      tell_once(absl::StrCat(trouble.message(), "; trying again"));
      if (!pauses.WaitLonger()) return trouble;
      continue;
    }
    if (answer->has_issued()) {
      const v1::IssuedCertificate& issued = answer->issued();
      const absl::Status installed = InstallIdentity(
          files, staged->key_pem, issued.certificate_pem(), issued.authorities_pem(), owner);
      if (!installed.ok()) return installed;
      return absl::StrCat("enrolled as ", *node, " until ",
                          DateText(ValidityOf(issued.certificate_pem()).value_or(Validity()).end_s),
                          config.enroll_renew ? ", renewed by itself before" : "",
                          "; the key was made here: ", files.key, "\n");
    }
    tell_once(absl::StrCat("waits for an operator: telltale enroll approve ",
                           proto::SanitizeText(answer->request(), 16),
                           "\nkey: ", PublicKeySha256(staged->key_pem).value_or("?"),
                           " (SHA-256, telltale enroll list shows the same)"));
    if (!pauses.Wait(absl::Seconds(std::clamp(answer->retry_after_s(), 1.0, 60.0)))) {
      return absl::DeadlineExceededError(
          absl::StrCat("enrol: no operator decided within ", flags.wait,
                       "; the request stays for a day, the same command goes on waiting"));
    }
  }
}

}  // namespace telltale::agent
