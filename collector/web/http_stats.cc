#include "collector/web/http_stats.h"

namespace telltale::web {

const char* RefusalName(Refusal refusal) {
  switch (refusal) {
    case Refusal::kAccept:
      return "accept";
    case Refusal::kFull:
      return "full";
    case Refusal::kRate:
      return "rate";
    case Refusal::kTls:
      return "tls";
    case Refusal::kTimeout:
      return "timeout";
    case Refusal::kAborted:
      return "aborted";
    case Refusal::kBadRequest:
      return "bad_request";
    case Refusal::kHeaderLimit:
      return "header_limit";
    case Refusal::kBodyLimit:
      return "body_limit";
    case Refusal::kParameter:
      return "parameter";
    case Refusal::kUnauthenticated:
      return "unauthenticated";
    case Refusal::kToken:
      return "token";
    case Refusal::kForbidden:
      return "forbidden";
    case Refusal::kNotFound:
      return "not_found";
    case Refusal::kMethod:
      return "method";
    case Refusal::kTooLarge:
      return "too_large";
    case Refusal::kFollowers:
      return "followers";
    case Refusal::kNoRoom:
      return "no_room";
    case Refusal::kEnd:
      break;
  }
  return "";
}

std::optional<Refusal> RefusalOf(int http_status) {
  switch (http_status) {
    case 400:
      return Refusal::kParameter;
    case 401:
      return Refusal::kUnauthenticated;
    case 403:
      return Refusal::kForbidden;
    case 404:
      return Refusal::kNotFound;
    case 405:
      return Refusal::kMethod;
    case 429:
      return Refusal::kTooLarge;
    default:
      return std::nullopt;
  }
}

}  // namespace telltale::web
