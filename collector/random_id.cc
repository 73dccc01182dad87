#include "collector/random_id.h"

#include <openssl/rand.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace telltale::collector {

absl::StatusOr<std::string> RandomHex(const char* step, size_t bytes) {
  std::string random(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), static_cast<int>(bytes)) != 1) {
    return absl::UnavailableError(
        absl::StrCat(step, ": the machine gives no random numbers; try again"));
  }
  return std::string(absl::BytesToHexString(random));
}

absl::StatusOr<std::string> NewId(const char* step,
                                  const std::function<bool(const std::string&)>& taken) {
  absl::StatusOr<std::string> id = RandomHex(step, kIdDigits / 2);
  while (id.ok() && taken(*id)) id = RandomHex(step, kIdDigits / 2);
  return id;
}

}  // namespace telltale::collector
