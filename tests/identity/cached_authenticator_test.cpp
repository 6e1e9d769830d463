#include "identity/cached_authenticator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "identity/accounts.h"
#include "identity/token.h"
#include "runtime/wait.h"
#include "support/kept_log.h"
#include "support/stores.h"

namespace turnpike::identity {
namespace {

using base::ErrorCode;

// Counts lookups and can be made unreachable.
class WatchedKeys final : public KeyStore {
 public:
  explicit WatchedKeys(KeyStore& real) : real_(real) {}
  std::atomic<int> lookups = 0;
  std::atomic<bool> unreachable = false;
  std::atomic<bool> unwritable = false;
  std::function<void()> after_find;  // between the lookup and its answer
  std::function<void()> before_record_uses;

  Result<ApiKey, base::Error> add(const NewKey& key, const KeyEditor& editor = {}) override {
    return real_.add(key, editor);
  }
  Result<std::optional<KeyRecord>, base::Error> find(const crypto::Sha256& digest) override {
    ++lookups;
    if (unreachable) return base::Error{ErrorCode::auth_unavailable, "down"};
    auto found = real_.find(digest);
    if (after_find) after_find();
    return found;
  }
  Result<std::vector<ApiKey>, base::Error> list(std::string_view id) override {
    return real_.list(id);
  }
  Result<std::optional<ApiKey>, base::Error> change(std::string_view id, const KeyEdit& edit,
                                                    const KeyEditor& editor = {}) override {
    return real_.change(id, edit, editor);
  }
  Result<std::optional<ApiKey>, base::Error> revoke(std::string_view id,
                                                    const KeyEditor& editor = {}) override {
    return real_.revoke(id, editor);
  }
  Result<std::vector<KeyChange>, base::Error> changes_after(std::int64_t sequence) override {
    if (unreachable) return base::Error{ErrorCode::auth_unavailable, "down"};
    return real_.changes_after(sequence);
  }
  Result<std::int64_t, base::Error> last_change() override {
    if (unreachable) return base::Error{ErrorCode::auth_unavailable, "down"};
    return real_.last_change();
  }
  Result<Unit, base::Error> record_uses(std::span<const KeyUse> uses) override {
    if (unwritable) return base::Error{ErrorCode::auth_unavailable, "down"};
    if (before_record_uses) before_record_uses();
    return real_.record_uses(uses);
  }

 private:
  KeyStore& real_;
};

// Knows one access token.
class OneGrant final : public GrantTokens {
 public:
  std::optional<GrantRecord> record;
  int lookups = 0;
  crypto::Sha256 digest{};

  Result<std::optional<GrantRecord>, base::Error> find_access(
      const crypto::Sha256& asked) override {
    ++lookups;
    return asked == digest ? record : std::nullopt;
  }
};

class CachedAuthenticatorTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto account = accounts_.create("Test");
    ASSERT_TRUE(account.ok());
    account_ = account->id;
    auto created = keys_.create(account_, "ci");
    ASSERT_TRUE(created.ok());
    key_ = created->key.id;
    token_ = created->secret;
    start();
  }
  void start() {
    settings_.heartbeat_ms = 0;  // beats only if the test says so
    authenticator_.reset();
    authenticator_ = std::make_unique<CachedAuthenticator>(
        watched_, settings_, CachedAuthenticator::Sources{store_.clock, log_, pool_, &grants_});
  }
  Result<std::shared_ptr<const Principal>, base::Error> authenticate(std::string_view token) {
    return authenticator_->authenticate(token, runtime::Deadline::after_ms(60'000));
  }

  support::TestStore store_{storage::Engine::sqlite};
  std::unique_ptr<storage::Node> node_ = store_.open();
  std::unique_ptr<storage::Node> other_ = store_.open(storage::Role::tool);
  WatchedKeys watched_{node_->keys()};
  OneGrant grants_;
  Accounts accounts_{node_->accounts(), {}};
  ApiKeys keys_{node_->keys(), Environment::development, store_.random};
  support::KeptLog log_;
  runtime::BlockingPool pool_{2, 64};
  AuthenticatorSettings settings_;
  std::unique_ptr<CachedAuthenticator> authenticator_;
  std::string account_;
  std::string key_;
  std::string token_;
};

TEST_F(CachedAuthenticatorTest, KnownKeyIsLookedUpOnce) {
  for (int turn = 0; turn < 3; ++turn) {
    const auto principal = authenticate(token_);
    ASSERT_TRUE(principal.ok());
    EXPECT_EQ((*principal)->kind, PrincipalKind::api_key);
    EXPECT_EQ((*principal)->id, key_);
    EXPECT_EQ((*principal)->account_id, account_);
    EXPECT_EQ((*principal)->account_status, AccountStatus::active);
  }
  EXPECT_EQ(watched_.lookups, 1);
}

TEST_F(CachedAuthenticatorTest, AnAccessTokenIsItsGrantUntilItExpires) {  // O20, O23
  const std::string token = make_token(Environment::development, store_.random, TokenKind::access);
  grants_.digest = crypto::sha256(token);
  grants_.record = GrantRecord{.id = "ogr_1",
                               .account_id = account_,
                               .caps = {5, std::nullopt},
                               .expires_at_ms = store_.clock.now_ms() + 500};
  const auto deadline = runtime::Deadline::after_ms(60'000);
  const auto ask = [&](Accepts accepts) {
    return authenticator_->authenticate(token, deadline, accepts);
  };
  const auto both = Accepts::api_keys_and_access_tokens;
  EXPECT_EQ(ask(Accepts::api_keys).error().code, ErrorCode::auth_credential_invalid);
  EXPECT_EQ(grants_.lookups, 0) << "where it is not taken it is not looked up";
  for (int turn = 0; turn < 3; ++turn) {
    const auto principal = ask(both);
    ASSERT_TRUE(principal.ok());
    EXPECT_EQ((*principal)->kind, PrincipalKind::grant);
    EXPECT_EQ((*principal)->id, "ogr_1");
    EXPECT_EQ((*principal)->account_id, account_);
    EXPECT_TRUE((*principal)->is_capped);
  }
  EXPECT_EQ(grants_.lookups, 1);
  EXPECT_EQ(ask(Accepts::api_keys).error().code, ErrorCode::auth_credential_invalid)
      << "known from another endpoint, it still is not taken here";
  store_.clock.move_ms(500);
  EXPECT_EQ(ask(both).error().code, ErrorCode::auth_credential_invalid);
  const std::string elsewhere =
      make_token(Environment::production, store_.random, TokenKind::access);
  EXPECT_EQ(authenticator_->authenticate(elsewhere, deadline, both).error().code,
            ErrorCode::auth_wrong_environment);
  EXPECT_TRUE(authenticator_->authenticate(token_, deadline, both).ok());
}

TEST_F(CachedAuthenticatorTest, CapsAreKnownFromTheNextHeartbeatOn) {
  EXPECT_FALSE((*authenticate(token_))->is_capped);
  ASSERT_TRUE(watched_.change(key_, {.caps = SpendCaps{std::nullopt, 10}})->has_value());
  ASSERT_TRUE(authenticator_->beat());
  EXPECT_TRUE((*authenticate(token_))->is_capped);
}

TEST_F(CachedAuthenticatorTest, AKeyIsGoodUntilItExpires) {
  const std::optional<std::int64_t> soon(store_.clock.now_ms() + 500);
  ASSERT_TRUE(watched_.change(key_, {.expires_at_ms = soon})->has_value());
  ASSERT_TRUE(authenticator_->beat());
  store_.clock.move_ms(499);
  EXPECT_TRUE(authenticate(token_).ok());
  store_.clock.move_ms(1);
  EXPECT_EQ(authenticate(token_).error().message, "The API key has expired: use another one.");
  start();  // a node that never saw it while valid
  EXPECT_EQ(authenticate(token_).error().code, ErrorCode::auth_credential_invalid);
  const std::optional<std::int64_t> later(store_.clock.now_ms() + 500);
  ASSERT_TRUE(watched_.change(key_, {.expires_at_ms = later})->has_value());
  ASSERT_TRUE(authenticator_->beat());
  EXPECT_TRUE(authenticate(token_).ok()) << "an expiry can be moved, a revocation cannot";
}

TEST_F(CachedAuthenticatorTest, MalformedTokenIsRefusedBeforeAnyLookUp) {
  std::string wrong = token_;
  wrong.back() = wrong.back() == 'a' ? 'b' : 'a';
  EXPECT_EQ(authenticate(wrong).error().code, ErrorCode::auth_credential_invalid);
  EXPECT_EQ(authenticate("").error().code, ErrorCode::auth_credential_invalid);
  EXPECT_EQ(watched_.lookups, 0);
}

TEST_F(CachedAuthenticatorTest, AnotherEnvironmentsKeyIsSaidSo) {
  const std::string production = make_token(Environment::production, store_.random);
  EXPECT_EQ(authenticate(production).error().code, ErrorCode::auth_wrong_environment);
  EXPECT_EQ(watched_.lookups, 0);
}

TEST_F(CachedAuthenticatorTest, UnknownTokenIsLookedUpOnce) {
  const std::string unknown = make_token(Environment::development, store_.random);
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(authenticate(unknown).error().code, ErrorCode::auth_credential_invalid);
  }
  EXPECT_EQ(watched_.lookups, 1);
}

TEST_F(CachedAuthenticatorTest, RevocationHereHoldsAtOnce) {
  ApiKeys keys(node_->keys(), Environment::development, store_.random,
               [&](std::string_view id) { authenticator_->forget(id); });
  ASSERT_TRUE(authenticate(token_).ok());
  ASSERT_TRUE(keys.revoke(key_).ok());
  EXPECT_EQ(authenticate(token_).error().code, ErrorCode::auth_credential_invalid);
}

TEST_F(CachedAuthenticatorTest, RevocationElsewhereHoldsAfterAHeartbeat) {
  ASSERT_TRUE(authenticate(token_).ok());
  ASSERT_TRUE(other_->keys().revoke(key_).ok());
  ASSERT_TRUE(authenticator_->beat());
  EXPECT_EQ(authenticate(token_).error().code, ErrorCode::auth_credential_invalid);
}

TEST_F(CachedAuthenticatorTest, RevocationElsewhereHoldsWithinASecondWithoutAHeartbeat) {
  ASSERT_TRUE(authenticate(token_).ok());
  ASSERT_TRUE(other_->keys().revoke(key_).ok());
  store_.clock.move_ms(1'000);
  EXPECT_EQ(authenticate(token_).error().code, ErrorCode::auth_credential_invalid);
}

TEST_F(CachedAuthenticatorTest, HeartbeatThreadDropsWhatChanged) {
  settings_.heartbeat_ms = 10;
  authenticator_ = std::make_unique<CachedAuthenticator>(
      watched_, settings_, CachedAuthenticator::Sources{store_.clock, log_, pool_});
  ASSERT_TRUE(authenticate(token_).ok());
  ASSERT_TRUE(other_->keys().revoke(key_).ok());
  const auto until = runtime::Deadline::after_ms(60'000);
  while (authenticate(token_).ok() && !until.passed()) std::this_thread::yield();
  EXPECT_FALSE(authenticate(token_).ok());
}

TEST_F(CachedAuthenticatorTest, NewKeyOfATokenThatWasUnknownIsSeenAfterAHeartbeat) {
  const std::string early = make_token(Environment::development, store_.random);
  ASSERT_FALSE(authenticate(early).ok());
  ASSERT_TRUE(other_->keys()
                  .add({account_, "late", Environment::development, early.substr(0, 24),
                        crypto::sha256(early)})
                  .ok());
  ASSERT_TRUE(authenticator_->beat());
  EXPECT_TRUE(authenticate(early).ok());
}

TEST_F(CachedAuthenticatorTest, AccountStatusIsReportedAndFollowsChanges) {
  ASSERT_TRUE(authenticate(token_).ok());
  ASSERT_TRUE(other_->accounts().set_status(account_, AccountStatus::suspended).ok());
  ASSERT_TRUE(authenticator_->beat());
  EXPECT_EQ((*authenticate(token_))->account_status, AccountStatus::suspended);
}

TEST_F(CachedAuthenticatorTest, LookUpThatRacedWithARevocationIsNotKept) {
  watched_.after_find = [&] {
    watched_.after_find = nullptr;
    ASSERT_TRUE(other_->keys().revoke(key_).ok());
    ASSERT_TRUE(authenticator_->beat());
  };
  EXPECT_TRUE(authenticate(token_).ok());  // it was valid at the lookup
  EXPECT_EQ(authenticate(token_).error().code, ErrorCode::auth_credential_invalid);
  authenticator_->record_uses();
  EXPECT_TRUE(keys_.list(account_)->front().last_used_at_ms.has_value());
}

TEST_F(CachedAuthenticatorTest, StoreOutOfReachIsUnavailableNotInvalid) {
  ASSERT_TRUE(authenticate(token_).ok());
  watched_.unreachable = true;
  EXPECT_TRUE(authenticate(token_).ok());  // still cached
  store_.clock.move_ms(1'000);
  EXPECT_FALSE(authenticator_->beat());
  EXPECT_EQ(authenticate(token_).error().code, ErrorCode::auth_unavailable);
  watched_.unreachable = false;
  EXPECT_TRUE(authenticator_->beat());
  EXPECT_TRUE(authenticate(token_).ok());
}

TEST_F(CachedAuthenticatorTest, StoreThatStaysSilentIsNotWaitedFor) {
  ASSERT_TRUE(authenticate(token_).ok());
  const int lookups = watched_.lookups;
  store_.clock.move_ms(settings_.silent_ms);
  EXPECT_EQ(authenticate(token_).error().code, ErrorCode::auth_unavailable);
  EXPECT_EQ(watched_.lookups, lookups);
  EXPECT_TRUE(authenticator_->beat());
  EXPECT_TRUE(authenticate(token_).ok());
}

TEST_F(CachedAuthenticatorTest, StoreOutOfReachAtStartIsCaughtUpWith) {
  watched_.unreachable = true;
  start();
  EXPECT_EQ(authenticate(token_).error().code, ErrorCode::auth_unavailable);
  watched_.unreachable = false;
  ASSERT_TRUE(authenticator_->beat());
  EXPECT_TRUE(authenticate(token_).ok());
}

TEST_F(CachedAuthenticatorTest, UnknownTokensAreBounded) {
  settings_.unknown_max = 4;
  start();
  for (int turn = 0; turn < 50; ++turn) {
    EXPECT_FALSE(authenticate(make_token(Environment::development, store_.random)).ok());
  }
  ASSERT_TRUE(authenticate(token_).ok());
  const int before = watched_.lookups;
  ASSERT_TRUE(authenticate(token_).ok());
  EXPECT_EQ(watched_.lookups, before);
}

TEST_F(CachedAuthenticatorTest, KnownKeysAreBounded) {
  settings_.entries_max = 2;
  start();
  std::vector<std::string> tokens;
  for (int made = 0; made < 5; ++made) tokens.push_back(keys_.create(account_, "k")->secret);
  ASSERT_TRUE(authenticator_->beat());
  for (const std::string& token : tokens) EXPECT_TRUE(authenticate(token).ok());
  for (const std::string& token : tokens) EXPECT_TRUE(authenticate(token).ok());
}

TEST_F(CachedAuthenticatorTest, LastUseIsWrittenLazily) {
  ASSERT_TRUE(authenticate(token_).ok());
  EXPECT_FALSE(keys_.list(account_)->front().last_used_at_ms.has_value());
  authenticator_->record_uses();
  EXPECT_EQ(keys_.list(account_)->front().last_used_at_ms, store_.clock.now_ms());
}

TEST_F(CachedAuthenticatorTest, LastUseIsWrittenAtTheEnd) {
  ASSERT_TRUE(authenticate(token_).ok());
  authenticator_.reset();
  EXPECT_EQ(keys_.list(account_)->front().last_used_at_ms, store_.clock.now_ms());
}

TEST_F(CachedAuthenticatorTest, LastUseOfARevokedKeyIsWritten) {
  ASSERT_TRUE(authenticate(token_).ok());
  ASSERT_TRUE(other_->keys().revoke(key_).ok());
  ASSERT_TRUE(authenticator_->beat());
  const std::int64_t dropped_ms = store_.clock.now_ms();
  store_.clock.move_ms(5'000);
  authenticator_->record_uses();
  EXPECT_EQ(keys_.list(account_)->front().last_used_at_ms, dropped_ms);
}

TEST_F(CachedAuthenticatorTest, LastUseThatCouldNotBeWrittenIsWrittenLater) {
  ASSERT_TRUE(authenticate(token_).ok());
  const std::int64_t noted_ms = store_.clock.now_ms();
  watched_.unwritable = true;
  authenticator_->record_uses();
  authenticator_->record_uses();
  EXPECT_FALSE(keys_.list(account_)->front().last_used_at_ms.has_value());
  // Logged with its reason, and once while it lasts.
  EXPECT_EQ(log_.take(),
            R"({"time":"","severity":"warning","event":"key_uses_not_recorded","reason":"down",)"
            R"("keys":1,"failures":1})"
            "\n");
  watched_.unwritable = false;
  store_.clock.move_ms(5'000);
  authenticator_->record_uses();
  EXPECT_EQ(keys_.list(account_)->front().last_used_at_ms, noted_ms);
  EXPECT_EQ(log_.take(),
            R"({"time":"","severity":"info","event":"key_uses_recorded_again","failures":2})"
            "\n");
}

// For example because the rows of keys are locked for long.
TEST_F(CachedAuthenticatorTest, AHeartbeatDoesNotWaitUntilUsesAreRecorded) {
  settings_.heartbeat_ms = settings_.record_uses_ms = 1;
  runtime::Event entered, released;
  watched_.before_record_uses = [&] {
    entered.set();
    released.wait(runtime::Deadline::after_ms(60'000));
  };
  authenticator_ = std::make_unique<CachedAuthenticator>(
      watched_, settings_, CachedAuthenticator::Sources{store_.clock, log_, pool_});
  ASSERT_TRUE(authenticate(token_).ok());
  ASSERT_EQ(entered.wait(runtime::Deadline::after_ms(60'000)), runtime::Wake::ready);
  ASSERT_TRUE(authenticate(token_).ok());
  ASSERT_TRUE(other_->keys().revoke(key_).ok());
  const auto until = runtime::Deadline::after_ms(30'000);
  while (authenticate(token_).ok() && !until.passed()) std::this_thread::yield();
  EXPECT_FALSE(until.passed());
  released.set();
  authenticator_.reset();
}

TEST_F(CachedAuthenticatorTest, ManyThreadsAndRevocationsDoNotCollide) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      while (!is_over) (void)authenticate(token_);
    });
  }
  for (int turn = 0; turn < 50; ++turn) {
    authenticator_->forget(key_);
    ASSERT_TRUE(authenticator_->beat());
  }
  ASSERT_TRUE(other_->keys().revoke(key_).ok());
  ASSERT_TRUE(authenticator_->beat());
  EXPECT_FALSE(authenticate(token_).ok());
  is_over = true;
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace turnpike::identity
