#include "identity/cached_authenticator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/flat_map.h"
#include "base/outage.h"
#include "base/thread_name.h"
#include "crypto/digest.h"
#include "identity/token.h"

namespace turnpike::identity {
namespace {

constexpr std::size_t slot_count = 32;
constexpr std::size_t changes_at_a_time = 1'000;
constexpr std::uint32_t lookup_threads_max = 4;
constexpr std::uint32_t lookup_queue_max = 1'024;
constexpr std::int64_t uses_line_interval_ns = 60'000'000'000;
constexpr std::int64_t ns_per_ms = 1'000'000;

struct DigestHash {
  using is_avalanching = void;
  std::size_t operator()(const crypto::Sha256& digest) const noexcept {
    std::size_t value = 0;  // the digest is already uniform
    std::memcpy(&value, digest.data(), sizeof value);
    return value;
  }
};

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct Entry {
  std::shared_ptr<const Principal> principal;  // a copy per slot: no shared count
  std::int64_t expires_at_ms = never;          // wall clock
  bool used = false;                           // since record_uses() last read it

  [[nodiscard]] std::string_view id() const noexcept { return principal->id; }
};

struct alignas(64) Slot {
  std::mutex mutex;
  base::FlatMap<crypto::Sha256, Entry, DigestHash> known;
  std::unordered_set<crypto::Sha256, DigestHash> unknown;
};

// Threads are numbered in the order of their first call, so up to `slot_count` threads never share
// a slot.
std::size_t slot_of_thread() noexcept {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t slot = threads.fetch_add(1) % slot_count;
  return slot;
}

base::Error invalid(TokenKind kind) {
  return {base::ErrorCode::auth_credential_invalid, kind == TokenKind::access
                                                        ? "The access token is not valid."
                                                        : "The API key is not valid."};
}

base::Error expired(TokenKind kind) {
  return {base::ErrorCode::auth_credential_invalid,
          kind == TokenKind::access ? "The access token has expired."
                                    : "The API key has expired: use another one."};
}

base::Error not_taken_here() {
  return {base::ErrorCode::auth_credential_invalid,
          "An OAuth access token is for the MCP endpoint alone: this one takes API keys."};
}

std::shared_ptr<const Principal> principal_of(const KeyRecord& record) {
  return make_principal({.kind = PrincipalKind::api_key,
                         .is_capped = record.key.caps.any(),
                         .account_status = record.account_status,
                         .id = record.key.id,
                         .account_id = record.key.account_id});
}

std::shared_ptr<const Principal> principal_of(const GrantRecord& record) {
  return make_principal({.kind = PrincipalKind::grant,
                         .is_capped = record.caps.any(),
                         .account_status = record.account_status,
                         .id = record.id,
                         .account_id = record.account_id});
}

// The state of a token according to its store; no principal: the token is unknown or not valid.
struct Known {
  std::shared_ptr<const Principal> principal = {};
  std::int64_t expires_at_ms = never;
};

// Outlives a look-up whose caller stopped waiting. Blocks. nullopt: a store could not answer.
struct Stores {
  KeyStore* keys;
  GrantTokens* grants;
  Environment environment;

  [[nodiscard]] std::optional<Known> find(const crypto::Sha256& digest, TokenKind kind) const {
    return kind == TokenKind::access ? find_access(digest) : find_key(digest);
  }

 private:
  [[nodiscard]] std::optional<Known> find_access(const crypto::Sha256& digest) const {
    if (grants == nullptr) return Known();
    const auto record = grants->find_access(digest);
    if (!record.ok()) return std::nullopt;
    if (!record->has_value()) return Known();
    return Known{principal_of(**record), (*record)->expires_at_ms};
  }
  [[nodiscard]] std::optional<Known> find_key(const crypto::Sha256& digest) const {
    const auto record = keys->find(digest);
    if (!record.ok()) return std::nullopt;
    const bool is_good = record->has_value() && !(*record)->key.revoked_at_ms &&
                         (*record)->key.environment == environment;
    if (!is_good) return Known();
    return Known{principal_of(**record), (*record)->key.expires_at_ms.value_or(never)};
  }
};

base::Error unavailable() {
  return {base::ErrorCode::auth_unavailable, "API keys cannot be checked now.", 1};
}

}  // namespace

struct CachedAuthenticator::Machine {
  Machine(KeyStore& keys, const AuthenticatorSettings& given, Sources with)
      : store(keys),
        settings(given),
        sources(with),
        user(sources.pool.add_user("identity", lookup_threads_max, lookup_queue_max)) {}

  // Removes the entries that `matches` selects. Look-ups in progress are not cached, since they may
  // have read the old state.
  template <class F>
  void drop(F&& matches) {
    changes.fetch_add(1);
    for (Slot& slot : slots) {
      const std::lock_guard lock(slot.mutex);
      erase_if(slot.known, [&](const auto& item) {
        if (!matches(item)) return false;
        keep_use(item.second);
        return true;
      });
    }
  }

  // Records the use of an entry that is being removed: it may be the last use of a stolen key.
  void keep_use(const Entry& entry) {
    if (entry.used) take_down_use(entry.id());
  }
  void take_down_use(std::string_view id) {
    const std::lock_guard lock(uses_mutex);
    uses[std::string(id)] = sources.clock.now_ms();
  }

  void apply(const KeyChange& change) {
    if (!change.digest) {
      drop(
          [&](const auto& item) { return item.second.principal->account_id == change.account_id; });
      return;
    }
    changes.fetch_add(1);
    for (Slot& slot : slots) {
      const std::lock_guard lock(slot.mutex);
      if (const auto found = slot.known.find(*change.digest); found != slot.known.end()) {
        keep_use(found->second);
        slot.known.erase(found);
      }
      slot.unknown.erase(*change.digest);
    }
  }

  bool catch_up() {
    while (true) {
      const auto next = store.changes_after(last_change);
      if (!next) return false;
      for (const KeyChange& change : *next) {
        apply(change);
        last_change = change.sequence;
      }
      if (next->size() < changes_at_a_time) return true;
    }
  }

  bool has_passed(std::int64_t expires_at_ms) const noexcept {
    return expires_at_ms != never && expires_at_ms <= sources.clock.now_ms();
  }
  bool believed() const noexcept {
    return sources.clock.monotonic_ns() < believed_until_ns.load(std::memory_order_acquire);
  }
  bool is_silent() const noexcept {
    const std::int64_t beyond_ms = settings.silent_ms - settings.believed_ms;
    return sources.clock.monotonic_ns() >=
           believed_until_ns.load(std::memory_order_acquire) + beyond_ms * ns_per_ms;
  }

  Result<std::shared_ptr<const Principal>, base::Error> look_up(const crypto::Sha256& digest,
                                                                TokenKind kind,
                                                                runtime::Deadline deadline);
  void keep(const crypto::Sha256& digest, const Known& known, std::uint64_t seen);

  // Runs `work` every `pause_ms` until the destructor stops it.
  template <class F>
  void repeat(std::int64_t pause_ms, F&& work) {
    const auto pause = std::chrono::milliseconds(pause_ms);
    std::unique_lock lock(stop_mutex);
    while (!stop_wanted.wait_for(lock, pause, [this] { return is_stopping; })) {
      lock.unlock();
      work();
      lock.lock();
    }
  }

  KeyStore& store;
  const AuthenticatorSettings settings;
  const Sources sources;
  const runtime::PoolUser user;
  std::array<Slot, slot_count> slots;
  std::atomic<std::uint64_t> changes{0};  // counts the changes that may invalidate an answer
  std::atomic<std::int64_t> believed_until_ns{0};
  std::mutex uses_mutex;                               // locked while holding a slot's mutex
  std::unordered_map<std::string, std::int64_t> uses;  // key id -> last use that is not yet written
  base::Outage recording{uses_line_interval_ns, 0};
  std::mutex beat_mutex;  // guards last_change
  std::int64_t last_change = -1;
  std::mutex stop_mutex;
  std::condition_variable stop_wanted;
  bool is_stopping = false;
  std::thread heart;
  std::thread recorder;
};

CachedAuthenticator::CachedAuthenticator(KeyStore& store, const AuthenticatorSettings& settings,
                                         Sources sources)
    : machine_(std::make_unique<Machine>(store, settings, sources)) {
  beat();
  if (settings.heartbeat_ms == 0) return;
  machine_->heart = std::thread([this] {
    base::name_this_thread("key-heartbeat");
    machine_->repeat(machine_->settings.heartbeat_ms, [this] { beat(); });
  });
  machine_->recorder = std::thread([this] {
    base::name_this_thread("key-uses");
    machine_->repeat(machine_->settings.record_uses_ms, [this] { record_uses(); });
  });
}

CachedAuthenticator::~CachedAuthenticator() {
  {
    const std::lock_guard lock(machine_->stop_mutex);
    machine_->is_stopping = true;
  }
  machine_->stop_wanted.notify_all();
  for (std::thread* thread : {&machine_->heart, &machine_->recorder}) {
    if (thread->joinable()) thread->join();
  }
  record_uses();
}

Result<std::shared_ptr<const Principal>, base::Error> CachedAuthenticator::authenticate(
    std::string_view token, runtime::Deadline deadline, Accepts accepts) {
  if (token.size() != token_bytes) return invalid(TokenKind::api_key);
  const TokenKind kind =
      starts_as(token, TokenKind::access) ? TokenKind::access : TokenKind::api_key;
  if (kind == TokenKind::access && accepts == Accepts::api_keys) return not_taken_here();
  const crypto::Sha256 digest = crypto::sha256(token);
  const bool is_believed = machine_->believed();
  if (is_believed) {
    Slot& slot = machine_->slots[slot_of_thread()];
    const std::lock_guard lock(slot.mutex);
    if (const auto found = slot.known.find(digest); found != slot.known.end()) {
      Entry& entry = found->second;
      if (machine_->has_passed(entry.expires_at_ms)) return expired(kind);
      entry.used = true;
      return entry.principal;
    }
    if (slot.unknown.contains(digest)) return invalid(kind);
  }
  // The cache holds well-formed tokens only, so the form is checked after a miss.
  const std::optional<Environment> environment = token_environment(token, kind);
  if (!environment) return invalid(kind);
  if (*environment != machine_->settings.environment) {
    return base::Error{base::ErrorCode::auth_wrong_environment,
                       "The credential belongs to another environment."};
  }
  if (!is_believed && machine_->is_silent()) return unavailable();
  return machine_->look_up(digest, kind, deadline);
}

Result<std::shared_ptr<const Principal>, base::Error> CachedAuthenticator::Machine::look_up(
    const crypto::Sha256& digest, TokenKind kind, runtime::Deadline deadline) {
  const std::uint64_t seen = changes.load();
  const Stores stores{&store, sources.grants, settings.environment};
  const auto reply = sources.pool.call(
      user, [stores, digest, kind] { return stores.find(digest, kind); }, deadline);
  if (reply.outcome != runtime::PoolOutcome::done || !*reply.value) return unavailable();
  const Known& known = **reply.value;
  if (known.principal != nullptr && has_passed(known.expires_at_ms)) return expired(kind);
  keep(digest, known, seen);
  if (known.principal == nullptr) return invalid(kind);
  return known.principal;
}

void CachedAuthenticator::Machine::keep(const crypto::Sha256& digest, const Known& known,
                                        std::uint64_t seen) {
  Slot& slot = slots[slot_of_thread()];
  const std::lock_guard lock(slot.mutex);
  if (changes.load() != seen) {  // the answer may be stale, but the token was used
    if (known.principal != nullptr) take_down_use(known.principal->id);
    return;
  }
  if (known.principal == nullptr) {
    if (slot.unknown.size() >= settings.unknown_max) slot.unknown.clear();
    slot.unknown.insert(digest);
    return;
  }
  if (slot.known.size() >= settings.entries_max) {
    keep_use(slot.known.begin()->second);
    slot.known.erase(slot.known.begin());
  }
  slot.known.insert_or_assign(digest, Entry{known.principal, known.expires_at_ms, true});
}

void CachedAuthenticator::forget(std::string_view key_id) noexcept {
  machine_->drop([&](const auto& item) { return item.second.id() == key_id; });
}

bool CachedAuthenticator::beat() {
  Machine& machine = *machine_;
  const std::lock_guard lock(machine.beat_mutex);
  const std::int64_t began_ns = machine.sources.clock.monotonic_ns();
  if (machine.last_change < 0) {
    const auto last = machine.store.last_change();  // the cache is empty: nothing to drop
    if (!last) return false;
    machine.last_change = *last;
  }
  if (!machine.catch_up()) return false;
  machine.believed_until_ns.store(began_ns + machine.settings.believed_ms * ns_per_ms,
                                  std::memory_order_release);
  return true;
}

void CachedAuthenticator::record_uses() {
  Machine& machine = *machine_;
  const std::int64_t now_ms = machine.sources.clock.now_ms();
  for (Slot& slot : machine.slots) {
    const std::lock_guard lock(slot.mutex);
    const std::lock_guard uses_lock(machine.uses_mutex);
    for (auto& [digest, entry] : slot.known) {
      if (std::exchange(entry.used, false)) machine.uses[std::string(entry.id())] = now_ms;
    }
  }
  std::vector<KeyUse> taken;
  {
    const std::lock_guard lock(machine.uses_mutex);
    for (const auto& [key_id, at_ms] : machine.uses) taken.push_back({key_id, at_ms});
  }
  if (taken.empty()) return;
  const std::int64_t now_ns = machine.sources.clock.monotonic_ns();
  if (const auto recorded = machine.store.record_uses(taken); !recorded.ok()) {
    if (const auto failures = machine.recording.failed(now_ns)) {
      machine.sources.log.write(
          Severity::warning, "key_uses_not_recorded",
          {{"reason", recorded.error().message}, {"keys", taken.size()}, {"failures", failures}});
    }
    return;  // the uses stay queued for the next run
  }
  if (const auto failures = machine.recording.worked(now_ns)) {
    machine.sources.log.write(Severity::info, "key_uses_recorded_again", {{"failures", failures}});
  }
  const std::lock_guard lock(machine.uses_mutex);
  for (const KeyUse& use : taken) {
    const auto found = machine.uses.find(use.key_id);
    if (found != machine.uses.end() && found->second == use.at_ms) machine.uses.erase(found);
  }
}

}  // namespace turnpike::identity
