// Tokens, the audit log and the limits of addresses, over a catalog in memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "collector/access/access_keys.h"
#include "collector/access/address_limits.h"
#include "collector/access/audit_log.h"
#include "collector/access/token_book.h"
#include "storage/memory_catalog.h"

namespace telltale::access {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 1'795'000'000 * kSecond;

v1::CreateTokenRequest For(const std::string& name, const std::string& role = "",
                           uint64_t lifetime_s = 3600) {
  v1::CreateTokenRequest request;
  request.set_name(name);
  request.set_role(role);
  request.set_lifetime_s(lifetime_s);
  return request;
}

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() { Reopen(); }

  void Reopen() {
    tokens_ = *TokenBook::Open(&catalog_, [this] { return now_; });
    audit_ = *AuditLog::Open(&catalog_, [this] { return now_; });
  }
  std::string Refusal(const std::string& secret) {
    return std::string(tokens_->Check(secret).status().message());
  }
  absl::StatusOr<v1::ListAuditAnswer> List(uint32_t limit, const std::string& page = "") const {
    v1::ListAuditRequest request;
    request.set_limit(limit);
    request.set_page(page);
    return audit_->List(request);
  }
  std::string AllBytes() {
    std::string bytes;
    EXPECT_TRUE(catalog_.Begin()
                    ->Scan("", "",
                           [&](std::string_view key, std::string_view value) {
                             bytes.append(key).append(value);
                             return true;
                           })
                    .ok());
    return bytes;
  }

  uint64_t now_ = kStart;
  storage::MemoryCatalog catalog_;
  std::unique_ptr<TokenBook> tokens_;
  std::unique_ptr<AuditLog> audit_;
};

TEST_F(AccessTest, ATokenStandsForItsNameAndRoleAlsoAfterARestart) {
  const auto viewer = tokens_->Create(For("grafana"), "olga");
  const auto boss = tokens_->Create(For("robot", "operator"), "olga");
  ASSERT_TRUE(viewer.ok() && boss.ok());
  Reopen();
  EXPECT_EQ(tokens_->Check(viewer->secret)->name, "grafana");
  EXPECT_EQ(tokens_->Check(viewer->secret)->role, collector::Role::kViewer);
  EXPECT_EQ(tokens_->Check(boss->secret)->role, collector::Role::kOperator);
  EXPECT_EQ(tokens_->List().size(), 2u);
  EXPECT_EQ(tokens_->List()[0].uses() + tokens_->List()[1].uses(), 3u);
}

TEST_F(AccessTest, TheSecretIsKeptNowhere) {
  const auto created = tokens_->Create(For("grafana"), "olga");
  const std::string random = created->secret.substr(created->secret.size() - 64);
  EXPECT_THAT(AllBytes(), HasSubstr(created->token.id()));
  EXPECT_THAT(AllBytes(), Not(HasSubstr(random)));
  EXPECT_THAT(tokens_->List()[0].ShortDebugString(), Not(HasSubstr(random)));
}

TEST_F(AccessTest, OneWrongDigitAnywhereIsRefused) {
  const std::string secret = tokens_->Create(For("grafana"), "olga")->secret;
  for (size_t i = 0; i < secret.size(); ++i) {
    std::string wrong = secret;
    wrong[i] = wrong[i] == '0' ? '1' : '0';
    EXPECT_FALSE(tokens_->Check(wrong).ok()) << i;
  }
  EXPECT_FALSE(tokens_->Check(secret + "0").ok());
  EXPECT_FALSE(tokens_->Check(secret.substr(1)).ok());
  EXPECT_FALSE(tokens_->Check("").ok());
}

TEST_F(AccessTest, AnEndedTokenIsRefusedAndSaysWhyToItsHolderOnly) {
  const auto created = tokens_->Create(For("grafana"), "olga");
  now_ += 3599 * kSecond;
  EXPECT_TRUE(tokens_->Check(created->secret).ok());
  now_ += kSecond;
  EXPECT_THAT(Refusal(created->secret), HasSubstr("has expired"));
  std::string guess = created->secret;
  guess.back() = guess.back() == '0' ? '1' : '0';
  EXPECT_THAT(Refusal(guess), HasSubstr("is unknown"));
}

TEST_F(AccessTest, ARevokedTokenIsRefusedAtOnceAndForEver) {
  const auto created = tokens_->Create(For("grafana"), "olga");
  EXPECT_TRUE(tokens_->Revoke(created->token.id(), "otto")->changed);
  EXPECT_FALSE(tokens_->Revoke(created->token.id(), "otto")->changed);
  EXPECT_THAT(Refusal(created->secret), HasSubstr("is revoked"));
  Reopen();
  EXPECT_THAT(Refusal(created->secret), HasSubstr("is revoked"));
  EXPECT_EQ(tokens_->List()[0].revoked_by(), "otto");
  EXPECT_EQ(tokens_->Revoke("00000000", "otto").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(AccessTest, WhetherATokenStandsIsToldWithoutUsingIt) {
  const auto created = tokens_->Create(For("grafana"), "olga");
  EXPECT_TRUE(tokens_->Stands(created->secret).ok());
  EXPECT_EQ(tokens_->List()[0].uses(), 0u);
  EXPECT_FALSE(tokens_->Stands("telltale_").ok());
  EXPECT_TRUE(tokens_->Revoke(created->token.id(), "otto").ok());
  EXPECT_FALSE(tokens_->Stands(created->secret).ok());
}

TEST_F(AccessTest, WhatMakesNoTokenIsRefused) {
  EXPECT_FALSE(tokens_->Create(For("a b"), "olga").ok());
  EXPECT_FALSE(tokens_->Create(For(""), "olga").ok());
  EXPECT_FALSE(tokens_->Create(For("a", "node"), "olga").ok());
  EXPECT_FALSE(tokens_->Create(For("a", "viewer", 59), "olga").ok());
  EXPECT_FALSE(tokens_->Create(For("a", "viewer", 401 * 86400), "olga").ok());
  EXPECT_TRUE(tokens_->List().empty());
}

TEST_F(AccessTest, TokensAreBoundedAndLongEndedOnesMakeRoom) {
  for (size_t i = 0; i < TokenBook::kMaxTokens; ++i) {
    ASSERT_TRUE(tokens_->Create(For("a"), "olga").ok());
  }
  EXPECT_EQ(tokens_->Create(For("a"), "olga").status().code(),
            absl::StatusCode::kResourceExhausted);
  now_ += 3600 * kSecond + TokenBook::kRememberedNs;
  EXPECT_TRUE(tokens_->Create(For("b"), "olga").ok());
  EXPECT_EQ(tokens_->List().size(), 1u);
  Reopen();
  EXPECT_EQ(tokens_->List().size(), 1u);
}

TEST_F(AccessTest, TheAuditLogIsNewestFirstAndSurvivesARestart) {
  ASSERT_TRUE(audit_->Done("operator/olga", "ipv4:1", "token create", "a").ok());
  now_ += kSecond;
  audit_->Refused("", "1.2.3.4", "use a token", "unknown");
  now_ += kSecond;
  Reopen();
  ASSERT_TRUE(audit_->Done("operator/olga", "ipv4:1", "token revoke", "\x1b[2J").ok());
  const auto list = List(0)->entries();
  ASSERT_EQ(list.size(), 3);
  EXPECT_EQ(list[0].action(), "token revoke");
  EXPECT_THAT(list[0].detail(), Not(HasSubstr("\x1b")));
  EXPECT_TRUE(list[1].refused());
  EXPECT_EQ(list[2].action(), "token create");
  EXPECT_EQ(list[2].time(), AuditLog::Moment(list[2].time_s()));
  EXPECT_EQ(AuditLog::Moment(1'763'632'800.9), "2025-11-20T10:00:00Z");
  EXPECT_FALSE(List(1001).ok());
}

TEST_F(AccessTest, PagesOfTheAuditLogReachAllThatIsKeptOnceWhateverIsWrittenMeanwhile) {
  constexpr int kOrders = 2'500, kRefusals = 300;
  for (int i = 0; i < kOrders; ++i) {
    now_ += kSecond * (i % 2);  // two at each moment
    ASSERT_TRUE(audit_->Done("operator/olga", "ipv4:1", "note", std::to_string(i)).ok());
  }
  now_ = kStart;
  for (int i = 0; i < kRefusals; ++i) {
    now_ += 2 * kSecond;
    audit_->Refused("", "1.2.3.4", "use a token", absl::StrCat("r", i));
  }
  std::set<std::string> seen;
  std::vector<double> times;
  std::string page;
  uint32_t left_out = kOrders + kRefusals;
  do {
    const auto answer = List(900, page);
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_LE(static_cast<uint32_t>(answer->entries_size()), left_out);
    left_out -= static_cast<uint32_t>(answer->entries_size());
    EXPECT_EQ(answer->left_out(), left_out);
    for (const v1::AuditEntry& entry : answer->entries()) {
      EXPECT_TRUE(seen.insert(entry.detail()).second) << entry.detail();
      times.push_back(entry.time_s());
    }
    page = answer->next_page();
    EXPECT_EQ(page.empty(), left_out == 0);
    now_ += 5'000 * kSecond;
    ASSERT_TRUE(audit_->Done("operator/olga", "ipv4:1", "note", "meanwhile").ok());
  } while (!page.empty());
  EXPECT_EQ(seen.size(), size_t{kOrders + kRefusals});
  EXPECT_TRUE(std::ranges::is_sorted(times, std::ranges::greater()));
}

TEST_F(AccessTest, OfTheAuditLogATimeIsListed) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(audit_->Done("operator/olga", "ipv4:1", "note", std::to_string(i)).ok());
    now_ += kSecond;
  }
  v1::ListAuditRequest request;
  request.set_start_s(static_cast<double>(kStart / kSecond + 2));
  request.set_end_s(static_cast<double>(kStart / kSecond + 7));
  request.set_limit(2);
  std::string listed;
  for (const size_t left : {3u, 1u, 0u}) {
    const auto answer = audit_->List(request);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->left_out(), left);
    for (const v1::AuditEntry& entry : answer->entries()) listed += entry.detail();
    request.set_page(answer->next_page());
  }
  EXPECT_EQ(listed, "65432");
}

TEST_F(AccessTest, WhatAsksForNoPartOfTheAuditLogIsRefused) {
  for (const std::string page :
       {"1", "1.0", "1.9.1", "1.0.1.1", "a.0.1", "1.0.-1", "\x1b[2J", "18446744073709551616.0.1"}) {
    const auto answer = List(1, page);
    EXPECT_TRUE(absl::IsInvalidArgument(answer.status())) << page;
    EXPECT_THAT(std::string(answer.status().message()), Not(HasSubstr("\x1b")));
  }
  EXPECT_FALSE(List(1, std::string(1 << 20, '.')).ok());
  for (const auto& [start_s, end_s] :
       {std::pair(5.0, 5.0), {6.0, 5.0}, {-1.0, 5.0}, {NAN, 0.0}, {0.0, NAN}, {0.0, -1.0}}) {
    v1::ListAuditRequest request;
    request.set_start_s(start_s);
    request.set_end_s(end_s);
    EXPECT_TRUE(absl::IsInvalidArgument(audit_->List(request).status())) << start_s << " " << end_s;
  }
}

TEST_F(AccessTest, AFloodOfRefusalsIsCountedAndPushesNothingOut) {
  ASSERT_TRUE(audit_->Done("operator/olga", "ipv4:1", "token create", "a").ok());
  for (int i = 0; i < 100'000; ++i) audit_->Refused("", "1.2.3.4", "use a token", "unknown");
  EXPECT_EQ(static_cast<uint64_t>(List(1000)->entries_size()), 1 + AuditLog::kRefusalsAtOnce);
  now_ += 10 * kSecond;
  audit_->Refused("", "1.2.3.4", "use a token", "unknown");
  EXPECT_EQ(List(1)->entries(0).unlisted(), 100'000 - AuditLog::kRefusalsAtOnce);
  for (uint64_t i = 0; i < AuditLog::kKeptRefusals + 10; ++i) {
    now_ += 2 * kSecond;
    audit_->Refused("", "1.2.3.4", "use a token", "unknown");
  }
  size_t kept = 0;
  std::string first;
  EXPECT_TRUE(catalog_.Begin()
                  ->Scan(AuditPrefix(AuditKind::kRefused),
                         storage::PrefixEnd(AuditPrefix(AuditKind::kRefused)),
                         [&](std::string_view, std::string_view) { return ++kept > 0; })
                  .ok());
  EXPECT_EQ(kept, AuditLog::kKeptRefusals);
  size_t orders = 0;
  EXPECT_TRUE(catalog_.Begin()
                  ->Scan(AuditPrefix(AuditKind::kDone),
                         storage::PrefixEnd(AuditPrefix(AuditKind::kDone)),
                         [&](std::string_view, std::string_view) { return ++orders > 0; })
                  .ok());
  EXPECT_EQ(orders, 1u);
}

v1::Selection Of(const std::vector<std::string>& nodes) {
  v1::Selection selection;
  selection.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  return selection;
}

TEST_F(AccessTest, QuestionsOfAnHourAreOneEntryWithTheirCount) {
  for (int i = 0; i < 1'000; ++i) {
    audit_->Asked("viewer/ann", "1.2.3.4", "samples", Of({"db-1", "db-2"}));
  }
  now_ += kSecond;
  audit_->Asked("viewer/ann", "1.2.3.4", "stacks", Of({}));
  audit_->Asked("viewer/bob", "1.2.3.5", "samples", Of({"db-1", "db-2"}));
  EXPECT_EQ(List(0)->entries_size(), 3);
  Reopen();
  const auto listed = List(0)->entries();
  ASSERT_EQ(listed.size(), 3);
  EXPECT_EQ(listed[0].who(), "viewer/bob");
  EXPECT_EQ(listed[1].detail(), "all nodes");
  EXPECT_EQ(listed[2].who(), "viewer/ann");
  EXPECT_EQ(listed[2].action(), "samples");
  EXPECT_EQ(listed[2].detail(), "db-1, db-2");
  EXPECT_EQ(listed[2].count(), 1'000u);
  EXPECT_FALSE(listed[2].refused());
}

TEST_F(AccessTest, AnHourAfterTheFirstAQuestionIsAnotherEntry) {
  const auto ask = [this] { audit_->Asked("viewer/ann", "1.2.3.4", "samples", Of({"db-1"})); };
  for (int i = 0; i < 3; ++i) ask();
  now_ += QuestionCounts::kHourNs - 1;
  ask();
  now_ += 1;
  ask();
  const auto listed = List(0)->entries();
  ASSERT_EQ(listed.size(), 2);
  EXPECT_EQ(listed[0].count(), 1u);
  EXPECT_EQ(listed[1].count(), 4u);
}

TEST_F(AccessTest, ACountIsWrittenAsItDoubles) {
  for (int i = 0; i < 600; ++i) audit_->Asked("viewer/ann", "1.2.3.4", "samples", Of({}));
  const auto crashed = *AuditLog::Open(&catalog_, [this] { return now_; });
  EXPECT_EQ(crashed->List({})->entries(0).count(), 512u);
}

TEST_F(AccessTest, WhoAsksAboutEverOtherNodesFillsNothing) {
  for (int i = 0; i < 5'000; ++i) {
    audit_->Asked("viewer/ann", "1.2.3.4", "samples", Of({absl::StrCat("n-", i)}));
  }
  const auto listed = *List(0);
  EXPECT_EQ(static_cast<size_t>(listed.entries_size()), QuestionCounts::kToldApart + 1);
  uint64_t counted = 0;
  for (const v1::AuditEntry& entry : listed.entries()) counted += entry.count();
  EXPECT_EQ(counted, 5'000u);
  for (size_t i = 0; i < 3 * QuestionCounts::kAskers; ++i) {
    now_ += kSecond;
    audit_->Asked(absl::StrCat("viewer/v-", i), "1.2.3.4", "samples", Of({"db-1"}));
  }
  EXPECT_EQ(List(1)->left_out(), QuestionCounts::kToldApart + 3 * QuestionCounts::kAskers);
}

class AddressLimitsTest : public ::testing::Test {
 protected:
  AddressLimits::Time At(double seconds) const {
    return AddressLimits::Time() + std::chrono::hours(1) +
           std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  }
};

TEST_F(AddressLimitsTest, SoManyAtOnceThenSoManyASecond) {
  AddressLimits limits({.per_second = 2, .at_once = 3, .max_addresses = 10});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limits.Take("1.2.3.4", At(0)));
  EXPECT_FALSE(limits.Take("1.2.3.4", At(0)));
  EXPECT_TRUE(limits.Take("1.2.3.5", At(0)));
  EXPECT_TRUE(limits.Take("1.2.3.4", At(0.5)));
  EXPECT_FALSE(limits.Take("1.2.3.4", At(0.5)));
  limits.GiveBack("1.2.3.4", At(0.5));
  EXPECT_TRUE(limits.Take("1.2.3.4", At(0.5)));
}

TEST_F(AddressLimitsTest, ANetworkOfIPv6CountsAsOne) {
  AddressLimits limits({.per_second = 1, .at_once = 1, .max_addresses = 10});
  EXPECT_TRUE(limits.Take("2001:db8::1", At(0)));
  EXPECT_FALSE(limits.Take("2001:db8::2", At(0)));
  EXPECT_TRUE(limits.Take("2001:db8:0:1::1", At(0)));
  EXPECT_TRUE(limits.Take("1.2.3.4", At(0)));
  EXPECT_FALSE(limits.Take("::ffff:1.2.3.4", At(0)));
}

TEST_F(AddressLimitsTest, MemoryIsBoundedAndWhatDoesNotFitSharesABucket) {
  AddressLimits limits({.per_second = 1, .at_once = 2, .max_addresses = 100});
  int allowed = 0;
  for (int i = 0; i < 10'000; ++i) {
    allowed += limits.Take("host-" + std::to_string(i), At(0)) ? 1 : 0;
  }
  EXPECT_EQ(limits.addresses(), 100u);
  EXPECT_EQ(allowed, 102);
  // Once their buckets are full again they are forgotten.
  EXPECT_TRUE(limits.Take("another", At(10)));
  EXPECT_EQ(limits.addresses(), 1u);
}

}  // namespace
}  // namespace telltale::access
