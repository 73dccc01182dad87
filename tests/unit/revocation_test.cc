// Whom the collector refuses by its authorities' lists, over certificates as `telltale pki` makes
// them.

#include "collector/revocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "collector/pem.h"
#include "collector/pki/certificate.h"
#include "collector/pki/revoke.h"
#include "tests/support/temp_dir.h"

namespace telltale::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

std::string IdOf(const pki::KeyPair& pair) {
  return CertificateId(
      ParseCertificates("certificate", "of the test", pair.certificate)->front().get());
}

class RevocationTest : public ::testing::Test {
 protected:
  pki::KeyPair Leaf(const pki::KeyPair& authority) const {
    return *pki::Issue(authority, {.common_name = "web-1",
                                   .uris = {"telltale://node/web-1"},
                                   .not_before = now_ - absl::Hours(1),
                                   .not_after = now_ + absl::Hours(1)});
  }
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = scratch_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string ListOf(const pki::KeyPair& authority,
                     const std::vector<pki::KeyPair>& revoked) const {
    std::vector<std::string> serials;
    for (const pki::KeyPair& one : revoked) serials.push_back(SerialOf(IdOf(one)));
    return *pki::RevokeSerials(authority, "", serials, now_, now_ + absl::Hours(1));
  }
  absl::Status Load(const std::string& trusted, const std::string& lists) {
    return list_.Load(Write("crl.pem", lists), Write("ca.crt", trusted),
                      Write("issuing.crt", issuing_.certificate));
  }
  bool Passes(const CertificateIds& ids) const { return list_.Check(ids).ok(); }

  const testing::TempDir scratch_;
  const absl::Time now_ = absl::Now();
  const pki::KeyPair root_ =
      *pki::MakeAuthority("root", now_ - absl::Hours(2), now_ + absl::Hours(100));
  const pki::KeyPair issuing_ =
      *pki::MakeIssuing(root_, "issuing", now_ - absl::Hours(2), now_ + absl::Hours(50));
  const pki::KeyPair by_root_ = Leaf(root_), by_issuing_ = Leaf(issuing_), other_ = Leaf(root_);
  RevocationList list_;
};

TEST_F(RevocationTest, OfAPathEachCertificateCounts) {
  ASSERT_TRUE(Load(root_.certificate, ListOf(root_, {other_})).ok());
  EXPECT_FALSE(Passes({IdOf(other_)}));
  EXPECT_TRUE(Passes({IdOf(by_root_)}));
  EXPECT_TRUE(Passes({IdOf(by_root_), IdOf(root_)}));
  EXPECT_TRUE(Passes({IdOf(by_issuing_), IdOf(issuing_)}));
  ASSERT_TRUE(Load(root_.certificate, ListOf(root_, {issuing_})).ok());
  EXPECT_FALSE(Passes({IdOf(by_issuing_), IdOf(issuing_)}));
  EXPECT_FALSE(Passes({IdOf(by_issuing_), IdOf(issuing_), IdOf(root_)}));
  EXPECT_TRUE(Passes({IdOf(by_root_)})) << "it rests on the root alone";
  ASSERT_TRUE(Load(root_.certificate, ListOf(issuing_, {by_issuing_})).ok());
  EXPECT_FALSE(Passes({IdOf(by_issuing_), IdOf(issuing_)}));
}

// As a resumed TLS session has it.
TEST_F(RevocationTest, WhatCameWithoutItsAuthorityPassesOnlyWhereNothingIsRevoked) {
  ASSERT_TRUE(Load(root_.certificate, ListOf(root_, {})).ok());
  EXPECT_TRUE(Passes({IdOf(by_issuing_)}));
  ASSERT_TRUE(Load(root_.certificate, ListOf(root_, {other_})).ok());
  EXPECT_FALSE(Passes({IdOf(by_issuing_)}));
}

// gRPC then believes a certificate that comes alone.
TEST_F(RevocationTest, AnAuthorityInTheTrustedFileThatIsRevokedVouchesForNobody) {
  const std::string both = root_.certificate + issuing_.certificate;
  ASSERT_TRUE(Load(both, ListOf(root_, {other_})).ok());
  EXPECT_TRUE(Passes({IdOf(by_issuing_)}));
  ASSERT_TRUE(Load(both, ListOf(root_, {issuing_})).ok());
  EXPECT_FALSE(Passes({IdOf(by_issuing_)}));
  EXPECT_TRUE(Passes({IdOf(by_root_)}));
}

TEST_F(RevocationTest, ANewAuthorityIsTrustedAlsoWhereAListCannotBeRead) {
  ASSERT_TRUE(Load(root_.certificate, ListOf(root_, {other_})).ok());
  const pki::KeyPair next =
      *pki::MakeAuthority("next root", now_ - absl::Hours(2), now_ + absl::Hours(100));
  EXPECT_FALSE(Passes({IdOf(Leaf(next))}));
  EXPECT_FALSE(Load(next.certificate, "damaged").ok());
  EXPECT_TRUE(Passes({IdOf(Leaf(next))}));
  EXPECT_FALSE(Passes({IdOf(other_)})) << "the list read before stays in force";
  ASSERT_TRUE(list_.Load("", "", "").ok());
  EXPECT_TRUE(Passes({IdOf(other_)})) << "no list is wanted any more";
}

TEST_F(RevocationTest, AnOutdatedListStaysInForceAndSaysSo) {
  EXPECT_EQ(list_.next_update_s(), std::nullopt);
  ASSERT_TRUE(Load(root_.certificate, ListOf(root_, {other_})).ok());
  const int64_t due_s = absl::ToUnixSeconds(now_ + absl::Hours(1));
  EXPECT_EQ(list_.next_update_s(), due_s);
  EXPECT_EQ(list_.Outdated(due_s), std::nullopt);
  EXPECT_THAT(list_.Outdated(due_s + 1),
              Optional(HasSubstr(scratch_.path() + "/crl.pem: the list of CN=root is outdated")));
  EXPECT_FALSE(Passes({IdOf(other_)}));
  EXPECT_FALSE(Load(root_.certificate, "damaged").ok());
  EXPECT_EQ(list_.next_update_s(), due_s) << "of the list that stays in force";
  ASSERT_TRUE(list_.Load("", "", "").ok());
  EXPECT_EQ(list_.next_update_s(), std::nullopt);
}

TEST_F(RevocationTest, OfAnAuthorityItsLatestListCountsAndOfAllTheFirstToBeReplaced) {
  const auto until = [this](const pki::KeyPair& authority, int hours) {
    return *pki::RevokeSerials(authority, "", {}, now_, now_ + absl::Hours(hours));
  };
  const auto due = [this](int hours) { return absl::ToUnixSeconds(now_ + absl::Hours(hours)); };
  ASSERT_TRUE(Load(root_.certificate, until(root_, 2) + until(root_, 5) + until(root_, 3)).ok());
  EXPECT_EQ(list_.next_update_s(), due(5));
  ASSERT_TRUE(Load(root_.certificate, until(root_, 5) + until(issuing_, 4)).ok());
  EXPECT_EQ(list_.next_update_s(), due(4));
  EXPECT_THAT(list_.Outdated(due(6)), Optional(HasSubstr("the list of CN=issuing is")));
}

TEST_F(RevocationTest, ItIsKnownWhoseListsAFileHolds) {
  const std::string lists = ListOf(root_, {other_});
  EXPECT_TRUE(*pki::HasListOf(root_.certificate, lists));
  EXPECT_FALSE(*pki::HasListOf(issuing_.certificate, lists));
  EXPECT_FALSE(*pki::HasListOf(root_.certificate, ""));
  EXPECT_FALSE(pki::HasListOf("no certificate", lists).ok());
}

}  // namespace
}  // namespace telltale::collector
