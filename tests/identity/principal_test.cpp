#include "identity/principal.h"

#include <gtest/gtest.h>

namespace turnpike::identity {
namespace {

TEST(PrincipalTest, KeepsItsTextsAndNamesItself) {
  std::string id = "key_01";
  std::string account = "acc_01";
  const auto made = make_principal({.is_capped = true,
                                    .account_status = AccountStatus::suspended,
                                    .id = id,
                                    .account_id = account});
  id = "xxxxxx";
  account = "yyyyyy";
  EXPECT_EQ(made->id, "key_01");
  EXPECT_EQ(made->account_id, "acc_01");
  EXPECT_TRUE(made->is_capped);
  EXPECT_EQ(made->account_status, AccountStatus::suspended);
  EXPECT_EQ(text_of(*made), "key:key_01");
}

TEST(PrincipalTest, WhatSpendsIsAKeyOrAGrant) {
  EXPECT_EQ((Principal{.id = "key_01"}).key_id(), "key_01");
  EXPECT_EQ((Principal{.kind = PrincipalKind::grant, .id = "ogr_01"}).key_id(), "ogr_01");
  for (const PrincipalKind kind : {PrincipalKind::person, PrincipalKind::operator_credential,
                                   PrincipalKind::system}) {
    const Principal principal{.kind = kind, .id = "x"};
    EXPECT_EQ(principal.key_id(), "") << name_of(kind);
    EXPECT_EQ(text_of(principal), std::string(name_of(kind)) + ":x");
  }
}

// An authority that a credential was not given is not implied by anything else.
TEST(PrincipalTest, HasTheAuthoritiesThatItWasGiven) {
  EXPECT_FALSE(Principal{}.authorities.has(Authority::usage_correct));
  const Principal who{.authorities = {Authority::usage_correct}, .id = "o"};
  EXPECT_TRUE(who.authorities.has(Authority::usage_correct));
  EXPECT_EQ(text_of(who.authorities), "usage.correct");
  EXPECT_EQ(text_of(Authorities{}), "");
}

}  // namespace
}  // namespace turnpike::identity
