// The throw-away authority of pki.h with what tests of the HTTPS side need besides: a directory of
// its own, certificates good for the server name 127.0.0.1. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_WEB_PKI_H_
#define TELLTALE_TESTS_SUPPORT_WEB_PKI_H_

#include <string>
#include <vector>

#include "tests/support/pki.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {

class WebPki {
 public:
  std::string ca_file() const { return pki_.ca(); }
  const std::string& dir() const { return directory_.path(); }

  // `uris`: URI subject alternative names. NAME.crt and NAME.key are replaced by rename, so that a
  // server never reads half of one.
  IssuedFiles Issue(const std::string& name, const std::vector<std::string>& uris) const {
    std::string names = "IP:127.0.0.1";
    for (const std::string& uri : uris) names += ",URI:" + uri;
    return pki_.Issue(name, names);
  }

 private:
  const TempDir directory_;
  mutable Pki pki_{directory_.path(), "ca"};
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_WEB_PKI_H_
