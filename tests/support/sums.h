// sums_of(): the sums of one account, after verifying all books. A problem in the books fails the
// test. Used by one Thread.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "storage/node.h"

namespace turnpike::support {

inline ledger::AccountSums sums_of(storage::Node& node, const std::string& account_id) {
  const auto verified = node.ledger().verify();
  EXPECT_TRUE(verified.ok());
  if (!verified) return {};
  for (const std::string& problem : verified->problems) ADD_FAILURE() << problem;
  for (const ledger::AccountSums& each : verified->accounts) {
    if (each.account_id == account_id) return each;
  }
  return {};
}

}  // namespace turnpike::support
