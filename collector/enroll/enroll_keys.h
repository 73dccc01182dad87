// Keys of the catalog's table of enrolment (storage/FORMAT.md, table 14).

#ifndef TELLTALE_COLLECTOR_ENROLL_ENROLL_KEYS_H_
#define TELLTALE_COLLECTOR_ENROLL_ENROLL_KEYS_H_

#include <string>

namespace telltale::enroll {

enum class Kind : char { kToken = 0, kWaiting = 1, kCertificate = 2 };

inline std::string Prefix(Kind kind) { return std::string({'\x14', static_cast<char>(kind)}); }
// `name`: the id of a token or a request, the name of a node.
inline std::string Key(Kind kind, const std::string& name) { return Prefix(kind) + name; }

}  // namespace telltale::enroll

#endif  // TELLTALE_COLLECTOR_ENROLL_ENROLL_KEYS_H_
