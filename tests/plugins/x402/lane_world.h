// World: the x402 lane in a simulated world: two nodes, each with a real lane, one store, a small
// model of two facilitators and a chain, an upstream, callers, and time. The lane runs in
// coroutines. Before each effect of a node the world asks its plan what happens (`choose`):
// nothing, or one of the possible events: the effect fails, the node dies, another call goes on
// first, time passes, the payer cancels. A plan lists the points at which something happens. Each
// plan is one history, so enumerating all plans enumerates all histories.
//
// After every write of the lane, every movement of money and every answer to a caller, the world
// checks the invariants and collects violations in `faults`.
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
#include "support/sdk_fakes.h"
#include "x402/payment_record.h"
#include "x402/remote/chain.h"

namespace turnpike::x402 {

enum class Event : std::uint8_t {
  nothing,
  dies,           // the node, before the effect
  other_goes_on,  // another call, before the effect
  is_overtaken,   // sleeps past its lease, and another call goes on
  lease_ends,     // time passes; the effect may then be too late
  validity_ends,
  payer_cancels,
  chain_mines,      // waiting transactions
  conflict,         // the store, as if another write had been faster
  unavailable,      // the store
  unknown_applied,  // the store: the answer is lost, the write is done
  unknown_lost,     // the store: the answer is lost, nothing is written
  refuses,          // the facilitator; so are those down to disowns_sent
  hangs,            // until its caller's deadline; sends nothing
  answers_late,     // late, but truthfully
  garbles,          // an HTML page, after it has settled what it can
  is_down,          // no byte was sent
  loses_answer,     // of a payment that is mined
  sends_in_vain,    // loses the answer; the payment is not mined yet
  delays,           // sends, and answers `settlement_pending`
  comes_second,     // a watcher of the chain was faster with the same authorization
  claims_failure,   // of a transaction that is mined
  disowns,          // the same, and denies that it sent anything
  disowns_sent,     // the same, but it is not mined yet
  remembers,        // that it has settled before; otherwise it pays
  is_away,          // the chain's node; so is `lags`
  lags,
  fails,         // the upstream; so are those down to takes_long
  loses_caller,  // the caller leaves
  is_free,       // succeeds, but the call is free
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

// The choice at each point; 0 (nothing happens) for points that are not listed.
using Plan = std::map<std::size_t, std::size_t>;

// The operations of the lane, by index.
enum Flow : std::uint32_t {
  authorization,
  unverified,
  unbound,  // for payments without an echo; so is upfront_unbound
  upfront_retry,
  upfront_refund,
  upfront_unbound,
};
inline constexpr Flow all_flows[] = {authorization, unverified,     unbound,
                                     upfront_retry, upfront_refund, upfront_unbound};
inline constexpr std::string_view flow_names[] = {
    "authorization", "unverified", "unbound", "upfront_retry", "upfront_refund", "upfront_unbound"};
constexpr bool is_bound(Flow flow) noexcept { return flow != unbound && flow != upfront_unbound; }

// A signed payment and its header. It is the same in every world.
struct SignedPayment {
  std::string header;
  std::string key;        // of its record
  std::string signature;  // hex
  std::string nonce;      // hex
  Flow flow = authorization;
  Authorization on_chain;
  std::int64_t valid_before_s = 0;
};
inline constexpr std::size_t payments_of_a_flow = 3;  // the last is signed much later
inline constexpr std::size_t payments_max = payments_of_a_flow * std::size(all_flows);

class World {
 public:
  explicit World(Plan plan);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Begins a call with a payment for its flow. `is_other`: with another query than the payment is
  // for.
  void call(std::size_t node, std::size_t payment, std::string_view idempotency_key = {},
            bool is_other = false);
  // Begins a pass of the lane's background work.
  void reconcile(std::size_t node);
  // Runs until everything that began has ended.
  void go();
  // Chooses which of `events` happens now. Time that it takes has passed when this returns.
  Event choose(std::initializer_list<Event> events);
  void pass_ms(std::int64_t duration_ms) { clock.move_ms(duration_ms); }
  void revive();
  // Repairs everything, lets time pass and the lane finish its work, then checks the end state.
  void come_to_rest();

  // What could have happened at each point of the history so far.
  [[nodiscard]] const std::vector<std::vector<Event>>& points() const noexcept { return points_; }
  // The events so far, as "12 dies, 20 hangs".
  [[nodiscard]] const std::string& history() const noexcept { return history_; }

  std::vector<std::string> faults;
  std::vector<std::string> told;  // answers to callers: "200", or codes
  support::ManualClock clock{1'000};

 private:
  class Node;
  class OwnCall;
  struct Actor;
  // The model's knowledge of a payment.
  struct Facts {
    bool is_sent = false;  // by its payer, to a node
    bool is_moved = false;
    bool is_cancelled = false;
    std::optional<Word> transaction;  // not mined while `is_waiting`
    bool is_waiting = false;
    std::optional<std::uint64_t> submitted_at;  // effect from which on money could move
    std::optional<std::uint64_t> disowned_at;   // the same, but the facilitator denied it
    std::optional<std::uint64_t> moved_at;
    std::int64_t work_until_ms = 0;       // a call has the upstream's work until then
    std::string answer;                   // the body that a caller received
    std::string idempotency_key;          // sent with the payment
    std::optional<PaymentRecord> record;  // as stored
    int settled_entries = 0;
    int owed_entries = 0;
    bool is_begun = false;  // the work has begun
    bool is_owed = false;   // the record w/<key> exists
  };
  using Answer = http::ScriptedHost::Answer;
  using Events = std::initializer_list<Event>;

  static std::vector<SignedPayment> sign_payments();
  static const SignedPayment& payment(std::size_t index);

  Node& node(std::size_t number);
  void begin(std::size_t node, bool is_own_work, std::function<void(Actor&)> work);
  Actor* next_to_go();
  Event choose_of(std::vector<Event> events);
  // Called before each effect of a node: returns which of `troubles` or of the common events
  // happens.
  Event meet(Node& node, Events troubles);
  [[nodiscard]] std::vector<Event> possibilities(Events troubles) const;
  // Lets an event happen that precedes the effect, which may then meet another. False if it is no
  // such event.
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
  // Whether the money has moved or may still move without further action.
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
  Actor* called_upon_ = nullptr;  // runs next
  bool is_resting_ = false;       // no more events happen
  const Plan plan_;
  std::vector<std::vector<Event>> points_;
  std::string history_;
  std::uint64_t effects_ = 0;
  std::uint8_t transactions_ = 0;
  int replies_ = 0;
  std::size_t in_play_ = 0;  // the payment of the latest call
};

}  // namespace turnpike::x402
