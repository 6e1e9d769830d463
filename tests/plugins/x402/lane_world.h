// World: the x402 lane in a world that a test drives: two nodes with a real lane each, one store,
// two facilitators and a chain that are one little model, an upstream, callers, and time. What the
// lane does runs in coroutines. Before each effect of a node the world asks its plan what happens
// (`choose`): nothing special, or one of what may: the effect goes wrong, the node dies, another
// call goes on first, time passes, the payer cancels. A plan names the points where it is something
// else than nothing special; so a plan is a history, and whoever has all plans has all histories.
//
// After every write of the lane, every movement of money and every word to a caller the world looks
// for what must never be (`faults`).
//
// One Thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/lane.h>

#include "plugins/http/scripted_host.h"
#include "plugins/x402/fake_node.h"
#include "support/memory_store.h"
#include "x402/payment_record.h"
#include "x402/remote/chain.h"

namespace turnpike::x402 {

enum class Event : std::uint8_t {
  nothing,
  dies,           // the node, before the effect
  other_goes_on,  // another call, before the effect
  is_overtaken,   // sleeps until its lease is over, and another call goes on
  lease_ends,     // time passes, and by then the effect may be too late
  validity_ends,
  payer_cancels,
  chain_mines,      // what was sent
  conflict,         // the store, as if another had been faster
  unavailable,      // the store
  unknown_applied,  // the store, and it is done
  unknown_lost,     // the store, and it is not done
  refuses,          // the facilitator, here and below
  hangs,            // until its caller has lost patience; nothing is sent
  answers_late,     // truly
  garbles,          // an HTML page, after it has settled what it can
  is_down,          // no byte was sent
  loses_answer,     // of a payment that is mined
  sends_in_vain,    // the same, but it is not mined yet
  delays,           // sends, and answers `settlement_pending`
  comes_second,     // a watcher of the chain was faster with the same authorization
  claims_failure,   // of a transaction that is mined
  disowns,          // the same, as if it had sent nothing
  disowns_sent,     // and it is not mined yet
  remembers,        // that it is settled, or pays
  is_away,          // the chain's node, here and below
  lags,
  fails,         // the upstream, here and below
  loses_caller,  // the caller leaves
  is_free,       // its success costs nothing
  takes_long,    // within its deadline
  at_other_node,
};
inline constexpr std::string_view event_names[] = {
    "nothing",         "dies",           "other_goes_on", "is_overtaken",  "lease_ends",
    "validity_ends",   "payer_cancels",  "chain_mines",   "conflict",      "unavailable",
    "unknown_applied", "unknown_lost",   "refuses",       "hangs",         "answers_late",
    "garbles",         "is_down",        "loses_answer",  "sends_in_vain", "delays",
    "comes_second",    "claims_failure", "disowns",       "disowns_sent",  "remembers",
    "is_away",         "lags",           "fails",         "loses_caller",  "is_free",
    "takes_long",      "at_other_node"};
static_assert(std::size(event_names) == static_cast<std::size_t>(Event::at_other_node) + 1);
constexpr std::string_view name_of(Event event) noexcept {
  return event_names[static_cast<std::size_t>(event)];
}

// Which of its possibilities each point takes; 0, nothing special, where it says nothing.
using Plan = std::map<std::size_t, std::size_t>;

// Operations of the lane, by index.
enum Flow : std::uint32_t {
  authorization,
  unverified,
  unbound,  // by payments that echo nothing, here and below
  upfront_retry,
  upfront_refund,
  upfront_unbound,
};
inline constexpr Flow all_flows[] = {authorization, unverified,     unbound,
                                     upfront_retry, upfront_refund, upfront_unbound};
inline constexpr std::string_view flow_names[] = {
    "authorization", "unverified", "unbound", "upfront_retry", "upfront_refund", "upfront_unbound"};
constexpr bool is_bound(Flow flow) noexcept { return flow != unbound && flow != upfront_unbound; }

// A signed payment, as its header. The same in every world.
struct SignedPayment {
  std::string header;
  std::string key;        // of its record
  std::string signature;  // hex
  std::string nonce;      // hex
  Flow flow = authorization;
  Authorization on_chain;
  std::int64_t valid_before_s = 0;
};
inline constexpr std::size_t payments_of_a_flow = 3;  // the last one was signed much later
inline constexpr std::size_t payments_max = payments_of_a_flow * std::size(all_flows);

class World {
 public:
  explicit World(Plan plan);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Begins a call with a payment of its flow. `is_other`: with another query than was paid for.
  void call(std::size_t node, std::size_t payment, std::string_view idempotency_key = {},
            bool is_other = false);
  // Begins a pass of the lane's own work.
  void reconcile(std::size_t node);
  // Until all that began is over.
  void go();
  // Which of `events` happens now; the passing of time has happened when it returns.
  Event choose(std::initializer_list<Event> events);
  void pass_ms(std::int64_t duration_ms) { clock.advance_ms(duration_ms); }
  void revive();
  // Everything is mended, time passes, the lane does what is left to do, and nothing is left open.
  void come_to_rest();

  // What could have happened at each point of the history so far.
  [[nodiscard]] const std::vector<std::vector<Event>>& points() const noexcept { return points_; }
  // Of what was not nothing special: "12 dies, 20 settles late".
  [[nodiscard]] const std::string& history() const noexcept { return history_; }

  std::vector<std::string> faults;
  std::vector<std::string> told;  // to callers: "200", or codes
  http::ScriptedClock clock;

 private:
  class Node;
  class OwnCall;
  struct Actor;
  // What the model knows of a payment.
  struct Facts {
    bool is_sent = false;  // by its payer, to us
    bool is_moved = false;
    bool is_cancelled = false;
    std::optional<Word> transaction;  // not mined while `is_waiting`
    bool is_waiting = false;
    std::optional<std::uint64_t> submitted_at;  // when money may first have begun to move
    std::optional<std::uint64_t> disowned_at;   // when it began to, and was said not to
    std::optional<std::uint64_t> moved_at;
    std::int64_t work_until_ms = 0;       // some call has the upstream work for it
    std::string answer;                   // the body that a caller got
    std::string idempotency_key;          // that came with it
    std::optional<PaymentRecord> record;  // as it is stored
    int settled_entries = 0;
    int owed_entries = 0;
    bool is_begun = false;  // the work
    bool is_owed = false;   // w/<key> is there
  };
  using Answer = http::ScriptedHost::Answer;
  using Events = std::initializer_list<Event>;

  static std::vector<SignedPayment> sign_payments();
  static const SignedPayment& payment(std::size_t index);

  Node& node(std::size_t number);
  void begin(std::size_t node, bool is_own_work, std::function<void(Actor&)> work);
  Actor* next_to_go();
  Event choose_of(std::vector<Event> events);
  // Before an effect of a node: what befalls it of `troubles`.
  Event meet(Node& node, Events troubles);
  [[nodiscard]] std::vector<Event> possibilities(Events troubles) const;
  // Whether it is one that comes before the effect, which then may meet another.
  bool is_interlude(Event event);
  [[nodiscard]] std::int64_t now_s() const { return clock.now_ms() / 1000; }

  void serve(Actor& actor, std::size_t index, std::string_view idempotency_key, bool is_other);
  void do_work(Actor& actor, std::size_t index, Ticket& ticket);
  void begin_work(Actor& actor, std::size_t index);
  void tell(const Actor& actor, std::size_t index, const Refusal& refusal, bool is_other);
  void tell_reply(std::size_t index, const Replay& reply);
  bool is_reply_of(std::size_t index, const Replay& reply);

  Answer answer(Node& node, const http::ScriptedHost::Seen& seen, const Call& call);
  Answer ask_chain(Node& node, const http::ScriptedHost::Seen& seen);
  Answer verify(Node& node, std::size_t index, const Call& call);
  Answer settle(Node& node, std::size_t index, const Call& call);
  Answer pay(std::size_t index, Event how);
  Answer hang(const Call& call);
  void mine();
  void cancel(std::size_t index);
  [[nodiscard]] std::uint64_t head() const;
  // Whether it has moved, or yet may without anybody's doing.
  [[nodiscard]] bool may_move(std::size_t index) const;

  StoreApplied apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes);
  void see_write(const StoreWrite& write);
  std::optional<StoreRecord> stored(std::string_view key);
  void look(std::size_t index);
  void look_at_end();
  void look_at_end(std::size_t index);
  void look_at_keys();
  void pay_late();
  void look_at_forgetting();
  void fault(std::size_t index, const std::string& what);

  support::MemoryStore store_{[this] { return clock.now_ms(); }};
  FakeNode chain_;
  std::array<Facts, payments_max> facts_;
  std::array<std::unique_ptr<Node>, 2> nodes_;
  std::vector<std::unique_ptr<Actor>> actors_;
  Actor* acting_ = nullptr;
  Actor* called_upon_ = nullptr;  // goes on next
  bool is_resting_ = false;       // nothing befalls anybody any more
  const Plan plan_;
  std::vector<std::vector<Event>> points_;
  std::string history_;
  std::uint64_t effects_ = 0;
  std::uint8_t transactions_ = 0;
  int replies_ = 0;
  std::size_t in_play_ = 0;  // the payment of the latest call
};

}  // namespace turnpike::x402
