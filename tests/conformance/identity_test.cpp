// Conformance of AccountStore and KeyStore.
#include <algorithm>
#include <set>
#include <thread>

#include "base/log.h"
#include "base/sources.h"
#include "conformance/engines.h"
#include "identity/accounts.h"
#include "identity/cached_authenticator.h"
#include "identity/token.h"
#include "storage/stores.h"

namespace turnpike::identity {
namespace {

class IdentityStore : public OnEveryEngine {};
TURNPIKE_ON_EVERY_ENGINE(IdentityStore);

TEST_P(IdentityStore, AccountIsHandedOutActiveWithItsStarterGrant) {
  Accounts accounts(node_->accounts(), {1'000, day_ms});
  const auto account = accounts.create("Ada");
  ASSERT_TRUE(account.ok());
  EXPECT_EQ(account->status, AccountStatus::active);
  EXPECT_EQ(node_->ledger().balance(account->id)->credits, 1'000);
  const auto allocations = node_->ledger().allocations(account->id);
  ASSERT_EQ(allocations->size(), 1u);
  EXPECT_EQ(allocations->front().origin, ledger::Origin::starter_grant);
  EXPECT_EQ(allocations->front().expires_at_ms, store_->clock.now_ms() + day_ms);
}

TEST_P(IdentityStore, StarterGrantIsBookedOnceWhoeverActivates) {
  const auto account = node_->accounts().create("Raced");
  const auto other = store_->open(storage::Role::gateway, "other");
  std::thread left([&] {
    EXPECT_TRUE(node_->accounts().activate(account->id, {500, day_ms}).ok());
  });
  std::thread right([&] {
    EXPECT_TRUE(other->accounts().activate(account->id, {500, day_ms}).ok());
  });
  left.join();
  right.join();
  EXPECT_EQ(node_->ledger().balance(account->id)->credits, 500);
}

TEST_P(IdentityStore, ProvisioningAccountsAreResumed) {
  const auto account = node_->accounts().create("Left behind");
  ASSERT_EQ(account->status, AccountStatus::provisioning);
  EXPECT_EQ(*Accounts(node_->accounts(), {10, day_ms}).resume(), 1u);
  EXPECT_EQ((*node_->accounts().find(account->id))->status, AccountStatus::active);
  EXPECT_EQ(*Accounts(node_->accounts(), {10, day_ms}).resume(), 0u);
}

TEST_P(IdentityStore, AnOwnerGetsOneStarterGrantHoweverManyAccountsAndNodes) {
  constexpr int accounts_each = 8;
  const auto other = store_->open(storage::Role::tool, "other");
  const auto create = [&](storage::Node& node, std::vector<std::string>& made) {
    Accounts accounts(node.accounts(), {500, day_ms});
    for (int at = 0; at < accounts_each; ++at) {
      const auto account = accounts.create("Ada", "subject-1");
      ASSERT_TRUE(account.ok()) << account.error().message;
      EXPECT_EQ(account->status, AccountStatus::active);
      EXPECT_EQ(account->owner, "subject-1");
      made.push_back(account->id);
    }
  };
  std::vector<std::string> here;
  std::vector<std::string> there;
  std::thread left([&] { create(*node_, here); });
  std::thread right([&] { create(*other, there); });
  left.join();
  right.join();
  ledger::Credits granted = 0;
  for (const auto* made : {&here, &there}) {
    for (const std::string& id : *made) granted += node_->ledger().balance(id)->credits;
  }
  EXPECT_EQ(granted, 500);
  Accounts accounts(node_->accounts(), {500, day_ms});
  const auto another = accounts.create("Bob", "subject-2");
  EXPECT_EQ(node_->ledger().balance(another->id)->credits, 500);
}

TEST_P(IdentityStore, EligibilityIsAsConfigured) {
  const auto balance_of = [&](const StarterGrant& grant, std::string_view owner) {
    Accounts accounts(node_->accounts(), grant);
    const auto account = accounts.create("Ada", owner);
    EXPECT_EQ(account->status, AccountStatus::active);
    return node_->ledger().balance(account->id)->credits;
  };
  EXPECT_EQ(balance_of({0, day_ms}, ""), 0);
  EXPECT_EQ(balance_of({7, day_ms, false}, ""), 7);
  EXPECT_EQ(balance_of({7, day_ms, true}, ""), 0);
  EXPECT_EQ(balance_of({7, day_ms, true}, "subject-1"), 7);
}

// An account whose set-up was interrupted stays pending, and any node can complete it.
TEST_P(IdentityStore, AccountsLeftBehindAreSetUpByAnyNode) {
  const auto account = node_->accounts().create("Left behind", "subject-1");
  const auto other = store_->open(storage::Role::tool, "other");
  EXPECT_EQ(*Accounts(other->accounts(), {10, day_ms}).resume(), 1u);
  EXPECT_EQ((*node_->accounts().find(account->id))->status, AccountStatus::active);
  EXPECT_EQ((*node_->accounts().find(account->id))->owner, "subject-1");
  EXPECT_EQ(node_->ledger().balance(account->id)->credits, 10);
}

// A closed or failed account gets nothing more; a suspended one can still be granted Credits.
TEST_P(IdentityStore, AClosedAccountIsGivenNoCreditsAndNoKeys) {
  Accounts accounts(node_->accounts(), {10, day_ms});
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  const auto grant_to = [&](const std::string& account) {
    return node_->ledger().grant(
        {account, 5, ledger::Origin::operator_grant, store_->clock.now_ms() + day_ms, 0});
  };
  const auto account = accounts.create("Ada");
  ASSERT_TRUE(accounts.suspend(account->id).ok());
  EXPECT_TRUE(grant_to(account->id).ok());
  const auto key = keys.create(account->id, "before");
  ASSERT_TRUE(key.ok());
  ASSERT_TRUE(accounts.close(account->id).ok());
  EXPECT_EQ(grant_to(account->id).error().code, base::ErrorCode::account_closed);
  EXPECT_EQ(keys.create(account->id, "after").error().code, base::ErrorCode::account_closed);
  EXPECT_EQ(node_->ledger().balance(account->id)->credits, 15);
  EXPECT_EQ(keys.list(account->id)->size(), 1u);

  const auto failed = node_->accounts().create("Broken", "");
  ASSERT_TRUE(
      node_->accounts()
          .set_status(failed->id, AccountStatus::provisioning_failed, {AccountStatus::provisioning})
          .ok());
  EXPECT_EQ(grant_to(failed->id).error().code, base::ErrorCode::account_absent);
  EXPECT_EQ(keys.create(failed->id, "key").error().code, base::ErrorCode::account_absent);

  ASSERT_TRUE(keys.revoke(key->key.id).ok());
  EXPECT_EQ(keys.change(key->key.id, {.caps = SpendCaps{5, 5}}).error().code,
            base::ErrorCode::request_malformed);
  EXPECT_FALSE(keys.list(account->id)->front().caps.per_day.has_value());
}

TEST_P(IdentityStore, AStarterGrantWithoutAnActiveAccountIsATerminalFailure) {
  const auto account = node_->accounts().create("Broken", "subject-1");
  ASSERT_TRUE(node_->ledger()
                  .grant({account->id, 5, ledger::Origin::starter_grant,
                          store_->clock.now_ms() + day_ms, 0})
                  .ok());
  Accounts accounts(node_->accounts(), {10, day_ms});
  EXPECT_EQ(*accounts.resume(), 1u);
  EXPECT_EQ((*node_->accounts().find(account->id))->status, AccountStatus::provisioning_failed);
  EXPECT_EQ(node_->ledger().balance(account->id)->credits, 5);
  EXPECT_EQ(*accounts.resume(), 0u);  // final
  // The owner has not used up the starter grant with the failed account.
  EXPECT_EQ(node_->ledger().balance(accounts.create("Next", "subject-1")->id)->credits, 10);
}

TEST_P(IdentityStore, AccountsAreSuspendedResumedAndClosedForGood) {
  const std::string id = account_with(0);
  Accounts accounts(node_->accounts(), {});
  EXPECT_EQ(accounts.reinstate(id)->status, AccountStatus::active);  // it is active already
  EXPECT_EQ(accounts.suspend(id)->status, AccountStatus::suspended);
  const std::int64_t changes = *node_->keys().last_change();
  EXPECT_EQ(accounts.suspend(id)->status, AccountStatus::suspended);
  EXPECT_EQ(*node_->keys().last_change(), changes);
  EXPECT_EQ(accounts.reinstate(id)->status, AccountStatus::active);
  EXPECT_EQ(accounts.close(id)->status, AccountStatus::closed);
  for (const auto& refused : {accounts.reinstate(id), accounts.suspend(id)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, base::ErrorCode::request_malformed);
  }
  const auto pending = node_->accounts().create("Pending");
  EXPECT_FALSE(accounts.suspend(pending->id).ok());
  EXPECT_FALSE(accounts.close(pending->id).ok()) << "its set-up is still under way";
  EXPECT_EQ(accounts.suspend("acc_none").error().code, base::ErrorCode::account_absent);
}

// Two nodes as in production, each with its own heartbeat. The other node may accept the key only
// in requests that were made less than a second after the revocation.
TEST_P(IdentityStore, RevocationHoldsAtOnceHereAndWithinASecondElsewhere) {
  const std::string account = account_with(0);
  const auto other = store_->open(storage::Role::tool, "other");
  const base::SystemClock clock{};
  const auto log = base::make_silent_log();
  runtime::BlockingPool pool(2, 64);
  CachedAuthenticator here(node_->keys(), {}, {clock, *log, pool});
  CachedAuthenticator there(other->keys(), {}, {clock, *log, pool});
  ApiKeys keys(node_->keys(), Environment::development, store_->random,
               [&](std::string_view id) { here.forget(id); });
  const auto accepts = [](CachedAuthenticator& node, const std::string& secret) {
    return node.authenticate(secret, runtime::Deadline::after_ms(60'000)).ok();
  };
  for (int turn = 0; turn < 3; ++turn) {
    const auto created = keys.create(account, "ci");
    ASSERT_TRUE(accepts(here, created->secret));
    ASSERT_TRUE(accepts(there, created->secret));
    ASSERT_TRUE(keys.revoke(created->key.id).ok());
    const std::int64_t revoked_ns = clock.monotonic_ns();
    EXPECT_FALSE(accepts(here, created->secret));
    std::int64_t last_accepted_ns = revoked_ns;
    for (std::int64_t asked_ns = revoked_ns; accepts(there, created->secret);
         asked_ns = clock.monotonic_ns()) {
      last_accepted_ns = asked_ns;
    }
    EXPECT_LT(last_accepted_ns - revoked_ns, 1'000'000'000);
  }
}

TEST_P(IdentityStore, UnknownAccountsAreAbsentNotErrors) {
  EXPECT_FALSE(node_->accounts().find("acc_none")->has_value());
  EXPECT_EQ(node_->accounts().activate("acc_none", {1, 1}).error().code,
            base::ErrorCode::account_absent);
  EXPECT_EQ(node_->accounts().set_status("acc_none", AccountStatus::closed).error().code,
            base::ErrorCode::account_absent);
}

TEST_P(IdentityStore, AccountsAreListedOldestFirst) {
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(node_->accounts().create(name).ok());
    store_->clock.move_ms(1);
  }
  const auto all = node_->accounts().list(std::nullopt);
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ(all->front().name, "a");
  EXPECT_EQ(all->back().name, "c");
  EXPECT_TRUE(node_->accounts().list(AccountStatus::active)->empty());
}

TEST_P(IdentityStore, NamesAreStoredByteForByte) {
  const std::string name = "O'Brien \\ \"x\" $1 ? \xC3\xA9; --";
  const auto account = node_->accounts().create(name);
  EXPECT_EQ((*node_->accounts().find(account->id))->name, name);
}

TEST_P(IdentityStore, NamesThatAreNoTextAreRefused) {
  Accounts accounts(node_->accounts(), {});
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  const std::string key = keys.create(account_with(0), std::string(200, 'x'))->key.id;
  for (const std::string& name :
       {std::string(), std::string(201, 'x'), std::string("a\nb"), std::string("a\0b", 3),
        std::string("\x7F"), std::string("\xFF"), std::string("\xC3"), std::string("\xC0\x80")}) {
    const auto malformed = base::ErrorCode::request_malformed;
    EXPECT_EQ(accounts.create(name).error().code, malformed) << name;
    EXPECT_EQ(keys.change(key, {.name = name}).error().code, malformed) << name;
  }
}

TEST_P(IdentityStore, KeysAreFoundByDigestAlone) {
  const std::string account = account_with(0);
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  const auto created = keys.create(account, "ci");
  ASSERT_TRUE(created.ok());
  const auto found = node_->keys().find(crypto::sha256(created->secret));
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->key.id, created->key.id);
  EXPECT_EQ((*found)->key.account_id, account);
  EXPECT_EQ((*found)->key.prefix, created->secret.substr(0, 24));
  EXPECT_EQ((*found)->account_status, AccountStatus::active);
  EXPECT_FALSE((*found)->key.revoked_at_ms.has_value());
  EXPECT_FALSE(node_->keys().find(crypto::sha256("other"))->has_value());
}

TEST_P(IdentityStore, KeysOfAnUnknownAccountAreRefused) {
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  EXPECT_EQ(keys.create("acc_none", "x").error().code, base::ErrorCode::account_absent);
  EXPECT_EQ(*node_->keys().last_change(), 0);  // nothing was written
}

TEST_P(IdentityStore, RevokingIsFinalAndRepeatable) {
  const std::string account = account_with(0);
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  const auto created = keys.create(account, "ci");
  const std::int64_t revoked_at = store_->clock.now_ms();
  EXPECT_EQ((*keys.revoke(created->key.id))->revoked_at_ms, revoked_at);
  const std::int64_t changes = *node_->keys().last_change();
  store_->clock.move_ms(1'000);
  EXPECT_EQ((*keys.revoke(created->key.id))->revoked_at_ms, revoked_at);
  EXPECT_EQ(*node_->keys().last_change(), changes);
  EXPECT_FALSE(keys.revoke("key_none")->has_value());
}

TEST_P(IdentityStore, KeysAreRenamedAndListed) {
  const std::string account = account_with(0);
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  const auto created = keys.create(account, "old");
  EXPECT_EQ((*keys.change(created->key.id, {.name = "new"}))->name, "new");
  ASSERT_EQ(keys.list(account)->size(), 1u);
  EXPECT_EQ(keys.list(account)->front().name, "new");
  EXPECT_FALSE(keys.change("key_none", {.name = "x"})->has_value());
  EXPECT_EQ(keys.change(created->key.id, {.name = ""}).error().code,
            base::ErrorCode::request_malformed);
}

TEST_P(IdentityStore, AKeyIsChangedWholeOrNotAtAll) {
  const std::string account = account_with(0);
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  const std::string id = keys.create(account, "old")->key.id;
  const std::int64_t now_ms = store_->clock.now_ms();
  using Expiry = std::optional<std::int64_t>;
  const std::int64_t changes = *node_->keys().last_change();
  for (const std::int64_t past_ms : {now_ms - 1, now_ms}) {
    const auto refused =
        keys.change(id, {.name = "new", .caps = SpendCaps{1, 2}, .expires_at_ms = Expiry(past_ms)});
    EXPECT_EQ(refused.error().code, base::ErrorCode::request_malformed);
  }
  ApiKey key = keys.list(account)->front();
  EXPECT_EQ(key.name, "old");
  EXPECT_FALSE(key.caps.any());
  EXPECT_FALSE(key.expires_at_ms.has_value());
  EXPECT_EQ(*node_->keys().last_change(), changes);

  const Expiry soon(now_ms + 1'000);
  ASSERT_TRUE(
      keys.change(id, {.name = "new", .caps = SpendCaps{1, 2}, .expires_at_ms = soon}).ok());
  key = keys.list(account)->front();
  EXPECT_EQ(key.name, "new");
  EXPECT_EQ(key.caps.per_month, 2);
  EXPECT_EQ(key.expires_at_ms, soon);
  EXPECT_GT(*node_->keys().last_change(), changes) << "other nodes learn of it";

  ASSERT_TRUE(keys.change(id, {.name = "newer"}).ok());
  EXPECT_EQ(keys.list(account)->front().expires_at_ms, soon) << "what is not named stays";
  ASSERT_TRUE(keys.change(id, {.expires_at_ms = Expiry()}).ok());
  EXPECT_FALSE(keys.list(account)->front().expires_at_ms.has_value());
  ASSERT_TRUE(keys.revoke(id).ok());
  EXPECT_EQ(keys.change(id, {.expires_at_ms = soon}).error().code,
            base::ErrorCode::request_malformed);
}

TEST_P(IdentityStore, EveryChangeTakesTheNextNumber) {
  const std::string account = account_with(0);  // its activation is the first change
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  const std::int64_t before = *node_->keys().last_change();
  const auto created = keys.create(account, "ci");
  ASSERT_TRUE(keys.revoke(created->key.id).ok());
  ASSERT_TRUE(node_->accounts().set_status(account, AccountStatus::suspended).ok());
  const auto changes = node_->keys().changes_after(before);
  ASSERT_EQ(changes->size(), 3u);
  EXPECT_EQ((*changes)[0].digest, crypto::sha256(created->secret));
  EXPECT_EQ((*changes)[1].digest, crypto::sha256(created->secret));
  EXPECT_FALSE((*changes)[2].digest.has_value());
  EXPECT_EQ((*changes)[2].account_id, account);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ((*changes)[at].sequence, before + 1 + static_cast<std::int64_t>(at));
  }
}

TEST_P(IdentityStore, ChangesAreReadThoughAllSessionsAreInUse) {
  storage::Database database(one_session());
  const storage::Context context{database, store_->clock, store_->random};
  const auto keys = storage::make_key_store(context);
  database.with([&](storage::Connection&) {
    EXPECT_FALSE(keys->find({}).ok()) << "the session is in use";
    EXPECT_TRUE(keys->last_change().ok());
    EXPECT_TRUE(keys->changes_after(0).ok());
  });
}

TEST_P(IdentityStore, UsesMoveForwardOnly) {
  const std::string account = account_with(0);
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  const std::string key = keys.create(account, "ci")->key.id;
  const KeyUse later[] = {{key, 2'000}};
  const KeyUse earlier[] = {{key, 1'000}, {"key_none", 5}};
  ASSERT_TRUE(node_->keys().record_uses(later).ok());
  ASSERT_TRUE(node_->keys().record_uses(earlier).ok());
  EXPECT_EQ(keys.list(account)->front().last_used_at_ms, 2'000);
}

TEST_P(IdentityStore, UsesOfManyKeysAreRecorded) {
  const std::string account = account_with(0);
  ApiKeys keys(node_->keys(), Environment::development, store_->random);
  std::vector<KeyUse> uses;
  for (int at = 0; at < 20; ++at) uses.push_back({keys.create(account, "ci")->key.id, 1'000 + at});
  // More uses than fit into one transaction, most of them of keys that no longer exist.
  for (int at = 0; at < 2'500; ++at) uses.push_back({"key_gone_" + std::to_string(at), 1});
  std::reverse(uses.begin(), uses.begin() + 15);
  std::rotate(uses.begin(), uses.begin() + 10, uses.end());
  ASSERT_TRUE(node_->keys().record_uses(uses).ok());
  std::set<std::int64_t> recorded;
  const auto all = keys.list(account);
  for (const ApiKey& key : *all) recorded.insert(key.last_used_at_ms.value_or(0));
  EXPECT_EQ(recorded.size(), 20u);
  EXPECT_EQ(*recorded.begin(), 1'000);
  EXPECT_EQ(*recorded.rbegin(), 1'019);
}

}  // namespace
}  // namespace turnpike::identity
