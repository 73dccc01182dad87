// Who gets a certificate and under which name: the desk over a catalog in memory, with a clock of
// the test and a real authority.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <map>

#include "absl/time/time.h"
#include "agent/enroll/node_key.h"
#include "collector/enroll/enroll_desk.h"
#include "collector/enroll/issuer.h"
#include "collector/pki/certificate.h"
#include "collector/pki/request.h"
#include "storage/memory_catalog.h"
#include "tests/support/temp_dir.h"

namespace telltale::enroll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 1'795'000'000 * kSecond;

absl::Time At(uint64_t ns) { return absl::FromUnixNanos(static_cast<int64_t>(ns)); }

std::string SigningRequest() { return agent::MakeNodeKey()->signing_request; }

// One that asks for everything it should not get: a name, an operator's URI, to be an authority.
std::string GreedyRequest(int bits = 0) {
  EVP_PKEY* key = bits == 0 ? EVP_EC_gen("P-256") : EVP_RSA_gen(static_cast<unsigned>(bits));
  X509_REQ* request = X509_REQ_new();
  X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("root"), -1, -1, 0);
  STACK_OF(X509_EXTENSION)* extensions = sk_X509_EXTENSION_new_null();
  for (const auto& [nid, value] :
       {std::pair(NID_subject_alt_name, "URI:telltale://operator/root,DNS:collector"),
        std::pair(NID_basic_constraints, "critical,CA:TRUE"),
        std::pair(NID_ext_key_usage, "serverAuth")}) {
    sk_X509_EXTENSION_push(extensions, X509V3_EXT_conf_nid(nullptr, nullptr, nid, value));
  }
  X509_REQ_add_extensions(request, extensions);
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  X509_REQ_set_pubkey(request, key);
  X509_REQ_sign(request, key, EVP_sha256());
  unsigned char* der = nullptr;
  const int size = i2d_X509_REQ(request, &der);
  std::string bytes(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  X509_REQ_free(request);
  EVP_PKEY_free(key);
  return bytes;
}

class EnrollTest : public ::testing::Test {
 protected:
  EnrollTest() {
    const absl::Time from = At(kStart) - absl::Hours(24), to = At(kStart) + absl::Hours(24 * 900);
    root_ = *pki::MakeAuthority("root", from, to);
    issuing_ = *pki::MakeIssuing(root_, "issuing", from, to);
    Write("ca.crt", root_.certificate);
    Write("issuing.crt", issuing_.certificate);
    Write("issuing.key", issuing_.key);
    issuer_ = std::make_unique<Issuer>(Issuer::Options{.cert = scratch_.path() + "/issuing.crt",
                                                       .key = scratch_.path() + "/issuing.key",
                                                       .trusted = scratch_.path() + "/ca.crt",
                                                       .validity = absl::Hours(24)});
    Reopen();
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(scratch_.path() + "/" + name) << text;
  }
  void Reopen(bool by_hand = false) {
    only_.clear();
    desk_ = *EnrollDesk::Open(
        {.catalog = &catalog_,
         .issuer = issuer_.get(),
         .by_hand = by_hand,
         .now_ns = [this] { return now_; },
         .set_only = [this](const std::string& node,
                            const std::vector<std::string>& serials) { only_[node] = serials; },
         .reported =
             [](const std::string& node) {
               return node == "old-1" ? absl::OkStatus() : absl::NotFoundError("no node " + node);
             }});
  }
  void Revoke(const std::string& node) {
    now_ += kSecond;
    const auto revoked = desk_->RevokeNode(node, "olga");
    ASSERT_TRUE(revoked.ok()) << revoked.status();
    EXPECT_TRUE(revoked->changed);
    EXPECT_EQ(revoked->certificate.revoked_by(), "olga");
    now_ += kSecond;
  }
  EnrollDesk::Answer Renew(const std::string& node, const std::string& serial) {
    return desk_->Renew({node, "", SigningRequest(), "10.0.0.7"}, serial);
  }
  std::string Token(const std::string& pattern, uint32_t uses = 1) {
    v1::CreateEnrollTokenRequest request;
    request.set_pattern(pattern);
    request.set_uses(uses);
    const auto created = desk_->CreateToken(request, "olga");
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? created->secret : "";
  }
  EnrollDesk::Answer Ask(const std::string& node, const std::string& token,
                         const std::string& signing_request) {
    return desk_->Enroll({node, token, signing_request, "10.0.0.7"});
  }
  EnrollDesk::Answer Ask(const std::string& node, const std::string& token) {
    return Ask(node, token, SigningRequest());
  }
  pki::CertificateFacts Facts(const EnrollDesk::Answer& answer) {
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    const auto all = pki::ReadCertificates(answer.certificate.certificate_pem());
    EXPECT_TRUE(all.ok());
    EXPECT_EQ(all->size(), 2u);  // and the issuing authority, for who knows only the root
    return all->front();
  }

  uint64_t now_ = kStart;
  const testing::TempDir scratch_;
  storage::MemoryCatalog catalog_;
  pki::KeyPair root_, issuing_;
  std::unique_ptr<Issuer> issuer_;
  std::unique_ptr<EnrollDesk> desk_;
  std::map<std::string, std::vector<std::string>> only_;  // what the desk said counts
};

TEST_F(EnrollTest, ATokenIsGoodOnceForTheNamesOfItsPattern) {
  const std::string token = Token("web-*");
  EXPECT_EQ(Ask("db-1", token).outcome, Outcome::kToken);
  const auto answer = Ask("web-1", token);
  EXPECT_EQ(answer.outcome, Outcome::kIssued);
  const pki::CertificateFacts facts = Facts(answer);
  EXPECT_THAT(facts.uris, ElementsAre("telltale://node/web-1"));
  EXPECT_EQ(facts.not_after, At(kStart) + absl::Hours(24));
  EXPECT_LT(facts.not_before, At(kStart));
  Reopen();  // not even after a restart
  const auto again = Ask("web-2", token);
  EXPECT_EQ(again.outcome, Outcome::kToken);
  EXPECT_THAT(std::string(again.status.message()), HasSubstr("is used up"));
}

TEST_F(EnrollTest, TheSameRequestGetsTheSameCertificateForAWhileAndThenNone) {
  const std::string token = Token("web-1"), request = SigningRequest();
  const auto first = Ask("web-1", token, request);
  now_ += 300 * kSecond;
  Reopen();
  const auto second = Ask("web-1", token, request);
  EXPECT_EQ(second.outcome, Outcome::kRepeated);
  EXPECT_EQ(second.certificate.certificate_pem(), first.certificate.certificate_pem());
  // A thief of the token has another key.
  EXPECT_EQ(Ask("web-1", token).outcome, Outcome::kToken);
  // Another token does not open what this one got.
  EXPECT_NE(Ask("web-1", Token("web-?"), request).outcome, Outcome::kRepeated);
  now_ += 301 * kSecond;
  EXPECT_EQ(Ask("web-1", token, request).outcome, Outcome::kToken);
}

TEST_F(EnrollTest, TokensEndExpireAndAreRevoked) {
  const std::string token = Token("web-1"), other = Token("web-2");
  EXPECT_THAT(std::string(Ask("web-1", token + "x").status.message()),
              HasSubstr("the form of one"));
  std::string wrong = token;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  EXPECT_THAT(std::string(Ask("web-1", wrong).status.message()), HasSubstr("is unknown"));
  ASSERT_TRUE(desk_->RevokeToken(other.substr(7, 8), "olga").ok());
  EXPECT_THAT(std::string(Ask("web-2", other).status.message()), HasSubstr("is revoked"));
  now_ += 3600 * kSecond;
  EXPECT_THAT(std::string(Ask("web-1", token).status.message()), HasSubstr("has expired"));
  EXPECT_EQ(Ask("web-1", "").outcome, Outcome::kToken);
  std::string kept;
  EXPECT_TRUE(catalog_.Begin()
                  ->Scan("", "",
                         [&](std::string_view, std::string_view value) {
                           kept += value;
                           return true;
                         })
                  .ok());
  EXPECT_THAT(kept, Not(HasSubstr(token.substr(16, 32))));
}

TEST_F(EnrollTest, OnlyTheKeyOfASigningRequestIsUsed) {
  const pki::CertificateFacts facts = Facts(Ask("web-1", Token("web-1"), GreedyRequest()));
  EXPECT_THAT(facts.uris, ElementsAre("telltale://node/web-1"));
  EXPECT_THAT(facts.dns, IsEmpty());
  EXPECT_EQ(facts.subject, "CN=web-1");
  EXPECT_FALSE(facts.authority);
}

TEST_F(EnrollTest, BadSigningRequestsAndNamesCostNoUse) {
  const std::string token = Token("*");
  std::string forged = SigningRequest();
  forged[forged.size() - 5] ^= 1;  // in the signature
  std::string longer = SigningRequest() + "x";
  for (const std::string& bad : {std::string(), std::string("MII"), std::string(5000, '\x30'),
                                 forged, longer, GreedyRequest(1024), root_.certificate}) {
    const auto answer = Ask("web-1", token, bad);
    EXPECT_EQ(answer.outcome, Outcome::kRequest) << answer.status;
  }
  for (const std::string name : {"", "..", "web/1", "web-1,URI:telltale://operator/x", "-x"}) {
    EXPECT_EQ(Ask(name, token).outcome, Outcome::kRequest) << name;
  }
  EXPECT_EQ(Ask("web-1", token, GreedyRequest(2048)).outcome, Outcome::kIssued);
}

TEST_F(EnrollTest, ATokenForManyNamesDoesNotTakeANodeOver) {
  Facts(Ask("web-1", Token("web-1")));
  const auto stolen = Ask("web-1", Token("web-*", 10));
  EXPECT_EQ(stolen.outcome, Outcome::kDenied);
  EXPECT_THAT(std::string(stolen.status.message()), HasSubstr("enroll token --node web-1"));
  EXPECT_EQ(Ask("web-1", Token("web-1")).outcome, Outcome::kIssued);
  now_ += 25 * 3600 * kSecond;  // once it has ended the name is free
  EXPECT_EQ(Ask("web-1", Token("web-*")).outcome, Outcome::kIssued);
}

TEST_F(EnrollTest, AnOperatorDecidesByHand) {
  Reopen(/*by_hand=*/true);
  const std::string good = SigningRequest(), bad = SigningRequest();
  const auto waiting = Ask("web-1", "", good), other = Ask("web-2", "", bad);
  EXPECT_EQ(waiting.outcome, Outcome::kWaiting);
  EXPECT_EQ(desk_->Waiting(), 2u);
  ASSERT_TRUE(desk_->Decide(waiting.request, true, "operator/olga").ok());
  ASSERT_TRUE(desk_->Decide(other.request, false, "operator/olga").ok());
  EXPECT_FALSE(desk_->Decide(other.request, true, "operator/olga").ok());
  Reopen(/*by_hand=*/true);
  EXPECT_EQ(desk_->Waiting(), 0u);
  EXPECT_EQ(Ask("web-2", "", bad).outcome, Outcome::kDenied);
  const auto issued = Ask("web-1", "", good);
  EXPECT_EQ(issued.outcome, Outcome::kIssued);
  EXPECT_EQ(issued.certificate.by(), "operator/olga");
  EXPECT_EQ(Ask("web-1", "", good).outcome, Outcome::kRepeated);
  // An approval is for one certificate: later the same has to be approved again.
  now_ += 601 * kSecond;
  EXPECT_EQ(Ask("web-1", "", good).outcome, Outcome::kWaiting);
}

TEST_F(EnrollTest, TheWaitingRoomIsBoundedForEachAddressAndForADay) {
  Reopen(/*by_hand=*/true);
  for (size_t i = 0; i < WaitingRoom::kMaxFromOneAddress; ++i) {
    ASSERT_EQ(Ask("web-" + std::to_string(i), "").outcome, Outcome::kWaiting);
  }
  EXPECT_EQ(Ask("one-more", "").outcome, Outcome::kRate);
  EXPECT_EQ(desk_->Enroll({"other", "", SigningRequest(), "10.0.0.8"}).outcome, Outcome::kWaiting);
  now_ += WaitingRoom::kKeptNs + kSecond;
  EXPECT_EQ(Ask("one-more", "").outcome, Outcome::kWaiting);
  EXPECT_EQ(desk_->List()->waiting_size(), 1);
}

TEST_F(EnrollTest, ANodeRenewsWithTheLatestCertificateOrTheOneBefore) {
  const std::string first = Facts(Ask("web-1", Token("web-1"))).serial;
  const auto renew = [&](const std::string& serial, const std::string& request) {
    return desk_->Renew({"web-1", "", request, "10.0.0.7"}, serial);
  };
  const std::string request = SigningRequest();
  const auto second = renew(first, request);
  EXPECT_EQ(second.outcome, Outcome::kRenewed);
  EXPECT_EQ(renew(first, request).outcome, Outcome::kRepeated);
  // The answer was lost and the node made another key.
  const auto third = renew(first, SigningRequest());
  EXPECT_EQ(third.outcome, Outcome::kRenewed);
  const std::string serial = Facts(third).serial;
  EXPECT_EQ(renew(serial, SigningRequest()).outcome, Outcome::kRenewed);
  // Whoever still has the first one is not the node that went on.
  const auto late = renew(first, SigningRequest());
  EXPECT_EQ(late.outcome, Outcome::kDenied);
  EXPECT_THAT(std::string(late.status.message()), HasSubstr("was replaced"));
  // One that was issued by hand enrols by renewing.
  EXPECT_EQ(desk_->Renew({"old-1", "", SigningRequest(), "10.0.0.7"}, "7F").outcome,
            Outcome::kRenewed);
}

TEST_F(EnrollTest, OfARevokedNodeNothingCountsUntilATokenMadeSinceForItsVeryName) {
  const std::string old = Token("web-1", 5), all = Token("web-*", 5);
  const std::string request = SigningRequest();
  const std::string serial = Facts(Ask("web-1", old, request)).serial;
  EXPECT_THAT(only_, IsEmpty());
  Revoke("web-1");
  for (const bool restarted : {false, true}) {
    if (restarted) Reopen();
    EXPECT_THAT(only_, ElementsAre(Pair("web-1", IsEmpty())));
    EXPECT_EQ(Renew("web-1", serial).outcome, Outcome::kDenied);
    EXPECT_EQ(Ask("web-1", old, request).outcome, Outcome::kDenied);  // the certificate once more
    EXPECT_EQ(Ask("web-1", old).outcome, Outcome::kDenied);
    EXPECT_EQ(Ask("web-1", Token("web-?")).outcome, Outcome::kDenied);
    EXPECT_THAT(std::string(Ask("web-1", all).status.message()),
                HasSubstr("was revoked by olga on "));
    EXPECT_EQ(desk_->List()->certificates(0).revoked_by(), "olga");
  }
  EXPECT_FALSE(desk_->RevokeNode("web-1", "otto")->changed);

  const std::string fresh = Facts(Ask("web-1", Token("web-1"))).serial;
  EXPECT_THAT(only_, ElementsAre(Pair("web-1", ElementsAre(fresh))));
  EXPECT_EQ(desk_->List()->certificates(0).revoked_by(), "");
  const std::string next = Facts(Renew("web-1", fresh)).serial;
  Reopen();
  EXPECT_THAT(only_, ElementsAre(Pair("web-1", ElementsAre(next, fresh))));
  EXPECT_EQ(Renew("web-1", serial).outcome, Outcome::kDenied);
  EXPECT_EQ(Ask("web-1", old).outcome, Outcome::kDenied);  // made before
}

TEST_F(EnrollTest, AnApprovalFromBeforeTheNodeWasRevokedBringsNothing) {
  Reopen(/*by_hand=*/true);
  Facts(Ask("web-1", Token("web-1")));
  const std::string before = SigningRequest(), after = SigningRequest();
  ASSERT_TRUE(desk_->Decide(Ask("web-1", "", before).request, true, "operator/olga").ok());
  Revoke("web-1");
  EXPECT_EQ(Ask("web-1", "", before).outcome, Outcome::kDenied);
  const auto waiting = Ask("web-1", "", after);
  const auto decided = desk_->Decide(waiting.request, true, "operator/olga");
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_EQ(decided->request.revoked_by(), "olga");  // who decides sees it
  EXPECT_EQ(Ask("web-1", "", after).outcome, Outcome::kIssued);
}

TEST_F(EnrollTest, ANodeThatNeverEnrolledButReportedCanBeRevoked) {
  EXPECT_EQ(desk_->RevokeNode("olt-1", "olga").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(desk_->RevokeNode("web/1", "olga").status().code(), absl::StatusCode::kInvalidArgument);
  Revoke("old-1");
  EXPECT_THAT(only_, ElementsAre(Pair("old-1", IsEmpty())));
  EXPECT_EQ(Renew("old-1", "7F").outcome, Outcome::kDenied);
  EXPECT_EQ(Ask("old-1", Token("old-1")).outcome, Outcome::kIssued);
}

TEST_F(EnrollTest, AnAuthorityThatCannotSignCostsNoUse) {
  const std::string token = Token("web-1");
  Write("issuing.key", root_.key);
  EXPECT_EQ(Ask("web-1", token).outcome, Outcome::kFailed);
  EXPECT_FALSE(issuer_->Check(At(now_)).ok());
  Write("issuing.key", issuing_.key);
  EXPECT_TRUE(issuer_->Check(At(now_)).ok());
  EXPECT_EQ(Ask("web-1", token).outcome, Outcome::kIssued);
  // Never beyond the authority's own end.
  now_ = kStart + 900ull * 86400 * kSecond - 3600 * kSecond;
  EXPECT_EQ(Facts(Ask("web-1", Token("web-1"))).not_after, At(kStart) + absl::Hours(24 * 900));
}

}  // namespace
}  // namespace telltale::enroll
