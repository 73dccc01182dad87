#include "collector/cli/pki_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/files.h"
#include "collector/cli/terminal_text.h"
#include "collector/pki/certificate.h"
#include "collector/pki/revoke.h"
#include "proto/codec.h"

namespace telltale::cli {
namespace {

constexpr int kAuthorityDays = 3650, kIssuingDays = 1095, kListDays = 3650;
constexpr int kIssuedDays = 825;  // 825: the longest browsers accept
// Clocks of a fleet differ; a certificate made now must be valid on a node that is an hour behind.
constexpr absl::Duration kBackdate = absl::Hours(2);

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

absl::Status Refuse(const std::string& path, const char* consequence = "") {
  return absl::AlreadyExistsError(
      absl::StrCat("pki: ", path, " is there already; give --force to replace it", consequence));
}

absl::Status CheckDays(int days) {
  if (days < 0 || days > 36500) {
    return absl::InvalidArgumentError(absl::StrCat("pki: --days ", days, ": must be 1 to 36,500"));
  }
  return absl::OkStatus();
}

absl::Status WritePair(const std::string& base, const pki::KeyPair& pair, bool force) {
  // The key first: a certificate without its key would look finished.
  if (absl::Status status = WriteFile(base + ".key", pair.key, 0600, force); !status.ok())
    return status;
  return WriteFile(base + ".crt", pair.certificate, 0644, force);
}

absl::StatusOr<pki::KeyPair> ReadPair(const std::string& dir, const std::string& name) {
  const std::string base = dir + "/" + name;
  absl::StatusOr<std::string> certificate = ReadFile(base + ".crt", kMaxPem);
  absl::StatusOr<std::string> key = ReadFile(base + ".key", kMaxPem);
  for (const absl::Status& status : {certificate.status(), key.status()}) {
    if (absl::IsNotFound(status)) {
      return absl::NotFoundError(absl::StrCat("pki: ", status.message(),
                                              "; make the authority first: telltale pki ",
                                              name == "ca" ? "init" : name, " --dir ", dir));
    }
    if (!status.ok()) return status;
  }
  return pki::KeyPair{*std::move(certificate), *std::move(key)};
}

// The lists in `lists` with that of the authority in `former` signed by the one that takes its
// place; nothing where it has none.
absl::StatusOr<std::string> SignListAnew(const std::string& lists, const std::string& former,
                                         const pki::KeyPair& authority, absl::Time now) {
  const auto before = ReadFile(lists, kMaxPem), certificate = ReadFile(former, kMaxPem);
  if (absl::IsNotFound(before.status()) || absl::IsNotFound(certificate.status())) return "";
  for (const absl::Status& status : {before.status(), certificate.status()}) {
    if (!status.ok()) return status;
  }
  const auto has = pki::HasListOf(*certificate, *before);
  if (!has.ok()) return has.status();
  if (!*has) return "";
  const auto own = pki::ReadCertificates(authority.certificate);
  const auto was = pki::ReadCertificates(*certificate);
  if (!own.ok()) return own.status();
  if (!was.ok()) return was.status();
  if (own->front().subject != was->front().subject) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pki: ", lists, " holds a list of ", Escaped(was->front().subject),
        ", for which an authority of another name cannot sign; leave --name as it was"));
  }
  return pki::RevokeSerials(authority, *before, {}, now, now + absl::Hours(24) * kListDays);
}

}  // namespace

absl::StatusOr<std::string> PkiInit(const PkiFlags& flags, absl::Time now) {
  if (absl::Status status = CheckDays(flags.days); !status.ok()) return status;
  if (mkdir(flags.dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::UnavailableError(
        absl::StrCat("pki: create directory ", flags.dir, ": ", strerror(errno)));
  }
  const std::string base = flags.dir + "/ca";
  for (const char* end : {".key", ".crt"}) {
    if (!flags.force && Exists(base + end)) {
      return Refuse(base + end, " (what it signed stops working)");
    }
  }
  const int days = flags.days == 0 ? kAuthorityDays : flags.days;
  const std::string name = flags.name.empty() ? "Telltale CA" : flags.name;
  absl::StatusOr<pki::KeyPair> authority =
      pki::MakeAuthority(name, now - kBackdate, now + absl::Hours(24) * days);
  if (!authority.ok()) return authority.status();
  if (absl::Status status = WritePair(base, *authority, flags.force); !status.ok()) return status;
  return absl::StrCat("wrote ", base, ".crt and ", base, ".key (keep the key to yourself), valid ",
                      days, " days\nnext: telltale pki issue --dir ", flags.dir,
                      " --role collector --name collector --dns localhost --ip 127.0.0.1\n");
}

absl::StatusOr<std::string> PkiIssuing(const PkiFlags& flags, absl::Time now) {
  if (absl::Status status = CheckDays(flags.days); !status.ok()) return status;
  const std::string base = flags.dir + "/issuing";
  for (const char* end : {".key", ".crt"}) {
    if (!flags.force && Exists(base + end)) return Refuse(base + end);
  }
  const auto root = ReadPair(flags.dir, "ca");
  if (!root.ok()) return root.status();
  const int days = flags.days == 0 ? kIssuingDays : flags.days;
  const std::string name = flags.name.empty() ? "Telltale issuing CA" : flags.name;
  const auto issuing = pki::MakeIssuing(*root, name, now - kBackdate, now + absl::Hours(24) * days);
  if (!issuing.ok()) return issuing.status();
  // Before anything is written: the former one's key is gone with it.
  const std::string lists = flags.dir + "/crl.pem";
  const auto signed_anew = SignListAnew(lists, base + ".crt", *issuing, now);
  if (!signed_anew.ok()) return signed_anew.status();
  if (absl::Status status = WritePair(base, *issuing, flags.force); !status.ok()) return status;
  if (!signed_anew->empty()) {
    if (absl::Status status = WriteFile(lists, *signed_anew, 0644, true); !status.ok())
      return status;
  }
  return absl::StrCat(
      "wrote ", base, ".crt and ", base, ".key, valid ", days, " days\n",
      signed_anew->empty() ? "" : absl::StrCat("signed its list in ", lists, " anew\n"),
      "next: both to the collector, as its enroll.ca_cert and enroll.ca_key",
      signed_anew->empty() ? "; then " : ", and the list as its tls.crl; then ", flags.dir,
      "/ca.key to where nobody reaches it\n");
}

absl::StatusOr<std::string> PkiRevoke(const PkiFlags& flags, absl::Time now) {
  const char* const name = flags.issuing ? "issuing" : "ca";
  const auto authority = ReadPair(flags.dir, name);
  if (!authority.ok()) return authority.status();
  const auto own = pki::ReadCertificates(authority->certificate);
  if (!own.ok()) return own.status();
  std::vector<std::string> serials = flags.serials;
  for (const std::string& path : flags.certificates) {
    const auto pem = ReadFile(path, kMaxPem);
    if (!pem.ok()) return pem.status();
    const auto facts = pki::ReadCertificates(*pem);
    if (!facts.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("pki: ", path, ": ", facts.status().message()));
    }
    if (facts->front().issuer != own->front().subject) {
      return absl::InvalidArgumentError(
          absl::StrCat("pki: ", path, " was signed by ", Escaped(facts->front().issuer),
                       ", not by this authority", flags.issuing ? "" : "; is it --issuing's?"));
    }
    serials.push_back(facts->front().serial);
  }
  if (serials.empty()) {
    return absl::InvalidArgumentError("pki: revoke what? give --cert FILE or --serial NUMBER");
  }
  const std::string file = flags.dir + "/crl.pem";
  const auto before = ReadFile(file, kMaxPem);
  if (!before.ok() && !absl::IsNotFound(before.status())) return before.status();
  const auto list = pki::RevokeSerials(*authority, before.ok() ? *before : "", serials, now,
                                       now + absl::Hours(24) * kListDays);
  if (!list.ok()) return list.status();
  if (absl::Status status = WriteFile(file, *list, 0644, true); !status.ok()) return status;
  return absl::StrCat("wrote ", file,
                      "\nnext: to the collector, as its tls.crl; it looks at it "
                      "every second\n");
}

absl::StatusOr<std::string> PkiIssue(const PkiFlags& flags, absl::Time now) {
  if (absl::Status status = CheckDays(flags.days); !status.ok()) return status;
  const std::vector<std::string> roles = {"node", "operator", "viewer", "collector"};
  if (std::find(roles.begin(), roles.end(), flags.role) == roles.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pki: role \"", flags.role, "\": must be one of ", absl::StrJoin(roles, ", ")));
  }
  if (!proto::ValidNodeName(flags.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("pki: name \"", Escaped(flags.name.substr(0, 128)),
                     "\": must be 1 to 128 of a-z A-Z 0-9 . _ - and not begin with . or -"));
  }
  const std::string base = absl::StrCat(flags.dir, "/", flags.role, "-", flags.name);
  for (const char* end : {".key", ".crt"}) {
    if (!flags.force && Exists(base + end)) return Refuse(base + end);
  }
  const auto authority = ReadPair(flags.dir, "ca");
  if (!authority.ok()) return authority.status();
  pki::Subject subject;
  subject.common_name = flags.name.substr(0, 64);  // the longest a CN may be; identity is the URI
  subject.server = flags.role == "collector";
  if (!subject.server)
    subject.uris.push_back(absl::StrCat("telltale://", flags.role, "/", flags.name));
  subject.dns = flags.dns;
  subject.ips = flags.ips;
  if (subject.server && subject.dns.empty() && subject.ips.empty())
    subject.dns.push_back(flags.name);
  for (const std::string& dns : subject.dns) {
    const bool good = !dns.empty() && dns.size() <= 253 &&
                      dns.find_first_not_of(
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-*") ==
                          std::string::npos;
    if (!good) {
      return absl::InvalidArgumentError(
          absl::StrCat("pki: --dns \"", Escaped(dns.substr(0, 128)), "\": is not a host name"));
    }
  }
  for (const std::string& ip : subject.ips) {
    if (ip.empty() || ip.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("pki: --ip \"", Escaped(ip.substr(0, 64)), "\": is not an IP address"));
    }
  }
  const int days = flags.days == 0 ? kIssuedDays : flags.days;
  subject.not_before = now - kBackdate;
  subject.not_after = now + absl::Hours(24) * days;
  absl::StatusOr<pki::KeyPair> issued = pki::Issue(*authority, subject);
  if (!issued.ok()) return issued.status();
  if (absl::Status status = WritePair(base, *issued, flags.force); !status.ok()) return status;
  return absl::StrCat("wrote ", base, ".crt and ", base, ".key, valid ", days, " days\n");
}

absl::StatusOr<std::string> PkiShow(const std::string& path, absl::Time now) {
  absl::StatusOr<std::string> pem = ReadFile(path, kMaxPem);
  if (!pem.ok()) return pem.status();
  absl::StatusOr<std::vector<pki::CertificateFacts>> all = pki::ReadCertificates(*pem);
  if (!all.ok())
    return absl::InvalidArgumentError(absl::StrCat("pki: ", path, ": ", all.status().message()));
  std::string text;
  for (const pki::CertificateFacts& facts : *all) {
    Table table({{""}, {""}});
    const auto row = [&](const std::string& name, const std::string& value) {
      if (!value.empty()) table.Add({name, Escaped(value)});
    };
    row("subject", facts.subject);
    row("issuer", facts.issuer + (facts.subject == facts.issuer ? " (itself)" : ""));
    row("identity", absl::StrJoin(facts.uris, ", "));
    row("DNS names", absl::StrJoin(facts.dns, ", "));
    row("IP addresses", absl::StrJoin(facts.ips, ", "));
    row("kind", facts.authority ? "authority" : "leaf");
    row("valid from",
        absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", facts.not_before, absl::UTCTimeZone()));
    std::string until =
        absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", facts.not_after, absl::UTCTimeZone());
    if (facts.not_after < now) until += " (EXPIRED)";
    if (facts.not_before > now) until += " (NOT VALID YET)";
    row("valid until", until);
    row("serial", facts.serial);
    row("SHA-256", facts.sha256);
    absl::StrAppend(&text, text.empty() ? "" : "\n", table.Render(Style{}));
  }
  return text;
}

}  // namespace telltale::cli
