// What both services do with the desk's answer: count it, write it down, put it into the message.
// Private to them.

#ifndef TELLTALE_COLLECTOR_ENROLL_ENROLL_EDGE_H_
#define TELLTALE_COLLECTOR_ENROLL_ENROLL_EDGE_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/enroll/enroll_service.h"
#include "spdlog/spdlog.h"

namespace telltale::enroll {

inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// "10.0.0.7" of "ipv4:10.0.0.7:51234", "fe80::1" of "ipv6:[fe80::1]:51234" or with %5B and %5D.
inline std::string HostOf(const std::string& peer) {
  const size_t begin = peer.find(':') + 1;
  const size_t end = peer.rfind(':');
  if (begin == 0 || end < begin) return peer;
  std::string host = peer.substr(begin, end - begin);
  for (const char* mark : {"%5B", "%5D", "[", "]"}) {
    if (const size_t at = host.find(mark); at != std::string::npos) {
      host.erase(at, std::char_traits<char>::length(mark));
    }
  }
  return host;
}

// Into `issued` if there is one. What cannot be written down is not given out.
inline grpc::Status Deliver(const EnrollServiceOptions& options, const EnrollDesk::Asked& asked,
                            const char* action, const EnrollDesk::Answer& answer,
                            v1::IssuedCertificate* issued) {
  const std::string who = absl::StrCat("node/", asked.node);
  if (!answer.status.ok()) {
    options.stats->Count(answer.outcome);
    options.audit->Refused(who, asked.address, action, std::string(answer.status.message()));
    spdlog::warn("enrol: refused to {}: {}", asked.address, std::string(answer.status.message()));
    return ToGrpc(answer.status);
  }
  const v1::StoredNodeCertificate& certificate = answer.certificate;
  const auto authorities = options.issuer->Authorities();
  absl::Status noted = authorities.status();
  if (noted.ok()) {
    const std::string detail = absl::StrCat(
        certificate.by(), answer.outcome == Outcome::kRepeated ? " again" : "", ": serial ",
        certificate.serial(), " until ",
        absl::FormatTime("%Y-%m-%d %H:%M UTC",
                         absl::FromUnixNanos(static_cast<int64_t>(certificate.expires_ns())),
                         absl::UTCTimeZone()));
    spdlog::info("audit: {} ({}): {} {}", who, asked.address, action, detail);
    noted = options.audit->Done(who, asked.address, action, detail);
  }
  if (!noted.ok()) {
    options.stats->Count(Outcome::kFailed);
    return ToGrpc(noted);
  }
  options.stats->Count(answer.outcome);
  issued->set_certificate_pem(certificate.certificate_pem());
  issued->set_authorities_pem(*authorities);
  return grpc::Status::OK;
}

}  // namespace telltale::enroll

#endif  // TELLTALE_COLLECTOR_ENROLL_ENROLL_EDGE_H_
