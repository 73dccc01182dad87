// telltale-collector --check-config: what would keep it from starting is said before it is started.
#include "collector/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/pki.h"
#include "tests/support/temp_dir.h"

namespace telltale::collector {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfigCheckTest : public ::testing::Test {
 protected:
  ConfigCheckTest() : pki_(directory_.path(), "ca") {
    const auto own = pki_.Issue("collector", "DNS:localhost");
    config_.tls_ca = pki_.ca();
    config_.tls_cert = own.cert;
    config_.tls_key = own.key;
    config_.data = directory_.path() + "/not/yet";
  }
  std::vector<std::string> Faults() const {
    std::vector<std::string> messages;
    for (const absl::Status& fault : ConfigFaults(config_, absl::Now())) {
      messages.emplace_back(fault.message());
    }
    return messages;
  }
  std::string Missing(const std::string& name) const { return directory_.path() + "/" + name; }

  testing::TempDir directory_;
  testing::Pki pki_;
  Config config_;
};

TEST_F(ConfigCheckTest, AGoodOneHasNoFaultAndNothingIsMade) {
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(Missing("not")));
}

TEST_F(ConfigCheckTest, AFinerTierThatOutlivesACoarserOneIsAFault) {
  config_.retention_raw_s = 61 * 86400;
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("raw 61 d, 5 min 60 d")));
}

TEST_F(ConfigCheckTest, ARevocationListThatIsNotThereIsAFault) {
  config_.tls_crl = Missing("revoked.pem");
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(config_.tls_crl)));
}

TEST_F(ConfigCheckTest, AnOutdatedRevocationListIsNoFaultButIsSaid) {
  config_.tls_crl = pki_.Revoke({}, 3600);
  EXPECT_THAT(ConfigWarnings(config_, absl::Now()), IsEmpty());
  config_.tls_crl = pki_.Revoke({}, -60);
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_THAT(ConfigWarnings(config_, absl::Now()),
              ElementsAre(AllOf(HasSubstr(config_.tls_crl), HasSubstr("is outdated"))));
}

TEST_F(ConfigCheckTest, AnAuthorityWithoutItsKeyCannotEnrol) {
  config_.enroll_ca_cert = pki_.ca();
  config_.enroll_ca_key = Missing("ca.key");
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(config_.enroll_ca_key)));
}

TEST_F(ConfigCheckTest, AuthoritiesOfAnAlertmanagerThatAreNotThereAreAFault) {
  config_.incidents_alertmanager_ca = Missing("alertmanager.pem");
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(config_.incidents_alertmanager_ca)));
}

TEST_F(ConfigCheckTest, DataBelowAFileCannotBeMade) {
  std::ofstream(Missing("file")) << "no directory";
  config_.data = Missing("file") + "/data";
  EXPECT_THAT(Faults(), ElementsAre(AllOf(HasSubstr(config_.data), HasSubstr("is no directory"))));
}

TEST_F(ConfigCheckTest, AllFaultsAreSaidAtOnce) {
  config_.tls_crl = Missing("revoked.pem");
  config_.retention_raw_s = 61 * 86400;
  EXPECT_EQ(Faults().size(), 2u);
}

}  // namespace
}  // namespace telltale::collector
