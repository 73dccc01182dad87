// A new identity takes the place of the old one so that a crash at any moment leaves one that
// works.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/time/clock.h"
#include "agent/enroll/identity_files.h"
#include "agent/enroll/renewer.h"
#include "collector/pki/certificate.h"
#include "collector/pki/request.h"
#include "tests/support/temp_dir.h"

namespace telltale::agent {
namespace {

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

class IdentityFilesTest : public ::testing::Test {
 protected:
  IdentityFilesTest()
      : files_{scratch_.path() + "/pki/ca.crt", scratch_.path() + "/pki/node.crt",
               scratch_.path() + "/pki/node.key"},
        authority_(*pki::MakeAuthority("ca", absl::Now() - absl::Hours(1),
                                       absl::Now() + absl::Hours(100))) {}

  std::string Certify(const std::string& signing_request) const {
    pki::Subject subject;
    subject.common_name = "db-1";
    subject.uris = {"telltale://node/db-1"};
    subject.not_before = absl::Now() - absl::Hours(1);
    subject.not_after = absl::Now() + absl::Hours(1);
    return *pki::Certify(authority_, subject, pki::ReadRequest(signing_request)->public_key_der);
  }
  absl::Status Install(const NodeKey& key) const {
    return InstallIdentity(files_, key.key_pem, Certify(key.signing_request),
                           authority_.certificate, std::nullopt);
  }
  bool Works() const { return ReadTlsFiles(files_, absl::ToUnixSeconds(absl::Now())).ok(); }

  const testing::TempDir scratch_;
  const TlsFiles files_;
  const pki::KeyPair authority_;
};

TEST_F(IdentityFilesTest, AStagedKeyIsAskedForAgainUntilItIsInstalledAndNobodyElseReadsIt) {
  const auto staged = StageKey(files_, std::nullopt);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(ModeOf(files_.key + ".next"), 0600u);
  EXPECT_EQ(ModeOf(scratch_.path() + "/pki"), 0700u);
  EXPECT_EQ(StageKey(files_, std::nullopt)->signing_request, staged->signing_request);
  ASSERT_TRUE(Install(*staged).ok());
  EXPECT_TRUE(Works());
  EXPECT_EQ(ModeOf(files_.key), 0600u);
  EXPECT_NE(StageKey(files_, std::nullopt)->key_pem, staged->key_pem);
  EXPECT_TRUE(Works());  // staging changes nothing of what is in use
}

TEST_F(IdentityFilesTest, ACertificateForAnotherKeyChangesNothing) {
  ASSERT_TRUE(Install(*StageKey(files_, std::nullopt)).ok());
  const std::string before = Read(files_.cert);
  const auto key = MakeNodeKey(), other = MakeNodeKey();
  EXPECT_FALSE(InstallIdentity(files_, key->key_pem, Certify(other->signing_request),
                               authority_.certificate, std::nullopt)
                   .ok());
  EXPECT_EQ(Read(files_.cert), before);
  EXPECT_TRUE(Works());
}

TEST_F(IdentityFilesTest, ACrashBetweenKeyAndCertificateIsFinished) {
  ASSERT_TRUE(Install(*StageKey(files_, std::nullopt)).ok());
  const std::string old_certificate = Read(files_.cert);
  ASSERT_TRUE(Install(*MakeNodeKey()).ok());
  // As if the last rename had not been made.
  std::filesystem::rename(files_.cert, files_.cert + ".next");
  std::ofstream(files_.cert) << old_certificate;
  EXPECT_TRUE(Works());  // even for who may not write there
  FinishIdentity(files_);
  EXPECT_TRUE(Works());
  EXPECT_FALSE(std::filesystem::exists(files_.cert + ".next"));
  EXPECT_NE(Read(files_.cert), old_certificate);
  // And what a crash left before the key changed is not taken.
  std::ofstream(files_.cert + ".next") << old_certificate;
  FinishIdentity(files_);
  EXPECT_NE(Read(files_.cert), old_certificate);
}

TEST_F(IdentityFilesTest, RenewalComesAThirdBeforeTheEndSpreadOverATenth) {
  EXPECT_EQ(RenewAt(1000, 4000, 0), 3000);
  EXPECT_EQ(RenewAt(1000, 4000, 1), 2700);
  // However short it is: after half of what is backdated has passed.
  EXPECT_GT(RenewAt(-10, 20, 1), 0);
}

TEST_F(IdentityFilesTest, OnlyTheAuthorityOfTheDigestIsBelieved) {
  const auto other = *pki::MakeAuthority("ca", absl::Now(), absl::Now() + absl::Hours(1));
  std::string digest = pki::ReadCertificates(authority_.certificate)->front().sha256;
  std::erase(digest, ':');
  for (char& c : digest) c = static_cast<char>(std::tolower(c));
  const auto pinned = PinnedAuthority(other.certificate + authority_.certificate, digest);
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(*pinned, authority_.certificate);
  EXPECT_FALSE(PinnedAuthority(other.certificate, digest).ok());
  EXPECT_FALSE(PinnedAuthority("", digest).ok());
}

}  // namespace
}  // namespace telltale::agent
