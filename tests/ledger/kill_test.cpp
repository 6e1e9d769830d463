// kill -9 during concurrent settlements: every settlement that was answered is in the books, at
// most those in flight are charged without an answer, and the next start takes the leases back.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "ledger/fixture.h"
#include "support/paths.h"

namespace turnpike::ledger {
namespace {

constexpr int threads = 16;  // in kill_child.cpp

class KillTest : public testing::TestWithParam<storage::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, KillTest, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

pid_t start_child(const storage::Settings& settings, const std::string& account, int pipe) {
  const bool is_sqlite = settings.engine == storage::Engine::sqlite;
  const std::string program = support::build_path("tests/ledger_kill_child");
  const std::string engine = is_sqlite ? "sqlite" : "postgres";
  const std::string target = is_sqlite ? settings.sqlite_path : settings.postgres_url;
  const std::string descriptor = std::to_string(pipe);
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::execl(program.c_str(), program.c_str(), engine.c_str(), settings.data_dir.c_str(),
          target.c_str(), account.c_str(), descriptor.c_str(), nullptr);
  ::_exit(127);
}

// Reads bytes until `enough` or the end of the pipe; how many came.
int read_replies(int pipe, int enough) {
  int replies = 0;
  char bytes[256];
  while (replies < enough) {
    const ssize_t size = ::read(pipe, bytes, sizeof bytes);
    if (size <= 0) break;
    replies += static_cast<int>(size);
  }
  return replies;
}

// TURNPIKE_KILLS raises it.
int kills_wanted() {
  const char* wanted = std::getenv("TURNPIKE_KILLS");
  return wanted == nullptr ? 3 : std::atoi(wanted);
}

// The start after a kill takes the dead leases back, and the books are right.
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
    // The child lives by the system's clock.
    ASSERT_TRUE(node->ledger()
                    .grant({account, 1'000'000, Origin::operator_grant,
                            store.clock.now_ms() + 365 * 86'400'000ll, 1})
                    .ok());
  }
  AccountSums sums;
  int replies = 0;
  const int kills = kills_wanted();
  for (int turn = 0; turn < kills; ++turn) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    ::fcntl(pipe[0], F_SETFD, FD_CLOEXEC);
    const pid_t child = start_child(store.settings(), account, pipe[1]);
    ::close(pipe[1]);
    const int before_kill = read_replies(pipe[0], 300);
    ::kill(child, SIGKILL);
    replies += before_kill + read_replies(pipe[0], 1 << 30);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(pipe[0]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
    ASSERT_GE(before_kill, 300);
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
