// kill -9 during concurrent settlements: every answered settlement is in the books, at most those
// in flight are charged without an answer, and the next start reclaims the leases.
#include <cstdlib>

#include "ledger/fixture.h"
#include "support/victim.h"

namespace turnpike::ledger {
namespace {

constexpr int threads = 16;  // as in kill_child.cpp

class KillTest : public testing::TestWithParam<storage::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, KillTest, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

// TURNPIKE_KILLS sets the number.
int kills_wanted() {
  const char* wanted = std::getenv("TURNPIKE_KILLS");
  return wanted == nullptr ? 3 : std::atoi(wanted);
}

// Starts after a kill, which reclaims the dead leases, and checks the books.
void check_books(const support::TestStore& store, int replies, int in_flight, AccountSums& sums) {
  const auto node = store.open();
  ASSERT_TRUE(node->ledger().start().ok());
  const auto verified = node->ledger().verify();
  ASSERT_TRUE(verified.ok());
  for (const std::string& problem : verified->problems) ADD_FAILURE() << problem;
  ASSERT_EQ(verified->accounts.size(), 1u);
  sums = verified->accounts[0];
  EXPECT_LE(replies, sums.charged);
  EXPECT_LE(sums.charged, replies + in_flight);
  EXPECT_EQ(sums.leased, 0);
}

TEST_P(KillTest, NoAnswerWithoutAChargeAndNoDrift) {
  if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  const support::TestStore store(GetParam());
  std::string account;
  {
    const auto node = store.open(storage::Role::tool);
    account = node->accounts().create("Killed")->id;
    ASSERT_TRUE(node->accounts().activate(account, {0, 1}).ok());
    // The child uses the system's clock.
    ASSERT_TRUE(node->ledger()
                    .grant({account, 1'000'000, Origin::operator_grant,
                            store.clock.now_ms() + 365 * 86'400'000ll, 1})
                    .ok());
  }
  AccountSums sums;
  int replies = 0;
  const int kills = kills_wanted();
  for (int turn = 0; turn < kills; ++turn) {
    support::Victim victim("ledger_kill_child", store.settings(), {account});
    EXPECT_GE(victim.wait_for(300), 300);
    const int promises = victim.kill();
    ASSERT_GE(promises, 300) << "the child ended by itself";
    replies += promises;
    check_books(store, replies, (turn + 1) * threads, sums);
    if (HasFailure()) return;
  }
  RecordProperty("replies", replies);
  RecordProperty("charged", static_cast<int>(sums.charged));
  std::printf("%d kills, replies %d, charged %ld\n", kills, replies,
              static_cast<long>(sums.charged));
}

}  // namespace
}  // namespace turnpike::ledger
