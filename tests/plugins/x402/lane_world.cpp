#include "lane_world.h"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>

#include "plugins/x402/payer.h"
#include "runtime/context.h"
#include "support/temporary.h"
#include "x402/lane.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

using nlohmann::json;

constexpr std::int64_t genesis_s = 1'700'000'000;
constexpr std::int64_t begin_s = 1'700'200'000;
constexpr std::int64_t late_s = begin_s + 40'000;  // later than all histories
constexpr std::int64_t validity_s = 300;
constexpr std::int64_t upstream_deadline_ms = 30'000;
constexpr std::uint32_t verify_timeout_ms = 15'000;
constexpr std::int64_t lease_ms = 160'000;  // longer than any lease
constexpr std::int64_t hour_ms = 3'600'000;
constexpr std::uint64_t effects_max = 5'000;  // a history with more effects does not end

constexpr std::string_view network = "eip155:84532";
constexpr std::string_view origin = "https://api.example.org";
constexpr std::string_view path = "/v1/gateway/model";
constexpr std::string_view query = "q=1";

// The nodes' keys and names are the same in every world.
const std::string& data_dir(std::size_t node) {
  static const support::TemporaryDirectory folders[2];
  return folders[node].path();
}

const std::vector<PricedOperation>& operations() {
  static const std::string terms = json::array({{{"scheme", "exact"},
                                                 {"network", network},
                                                 {"asset", "0x" + std::string(40, 'a')},
                                                 {"atomic_amount", "1000"},
                                                 {"pay_to", "0x" + std::string(40, 'c')},
                                                 {"name", "Token"},
                                                 {"version", "1"},
                                                 {"offer_id", "off_model"}}})
                                       .dump();
  static std::vector<std::string> words(std::size(all_flows));
  static const std::vector<PricedOperation> all = [] {
    std::vector<PricedOperation> made(std::size(all_flows));
    for (const Flow flow : all_flows) {
      PricedOperation& operation = made[flow];
      operation.route_id = flow_names[flow];
      operation.path = path;
      operation.media_type = "application/json";
      operation.deadline_ms = upstream_deadline_ms;
      operation.price_policy_key = "model";
      operation.price_version = 1;
      operation.is_offered = true;
      operation.terms = terms;
      CallPolicy policy;
      policy.verifies_first = flow != unverified;
      if (flow >= upfront_retry) policy.flow = PaymentFlow::upfront;
      if (flow == upfront_refund) policy.unearned = UnearnedPayment::refund;
      words[flow] = words_of(policy);
      operation.policy = words[flow];
    }
    return made;
  }();
  return all;
}

const Settings& settings() {
  static const Settings all = [] {
    Settings facilitators;
    facilitators.kind = Settings::Kind::list;
    for (const char* url : {"https://one.example", "https://two.example"}) {
      facilitators.items.push_back(
          map({{"url", scalar(url)},
               {"verify_timeout_ms", scalar(std::to_string(verify_timeout_ms))}}));
    }
    const Settings node = map({{"rpc_url", scalar("https://node.example")}});
    return map({{"facilitators", facilitators}, {"chains", map({{std::string(network), node}})}});
  }();
  return all;
}

std::string_view header_value(std::span<const OwnedHeader> headers, std::string_view name) {
  for (const OwnedHeader& header : headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

// Whether a refusal says that nothing was charged. A challenge implies it, since its reader pays.
bool says_not_charged(const Refusal& refusal) {
  const auto says = [&refusal](const char* words) {
    return refusal.message.find(words) != std::string::npos;
  };
  return !header_value(refusal.headers, "PAYMENT-REQUIRED").empty() || says("othing was charged") ||
         says("refused to collect") || says("not collected");
}

SignedPayment sign(Flow flow, std::size_t number, std::int64_t now_s, const json& challenge) {
  SignedPayment payment;
  payment.flow = flow;
  payment.valid_before_s = now_s + validity_s;
  Authorization& known = payment.on_chain;
  known.network = network;
  known.nonce = filled<Word>(static_cast<std::uint8_t>(0x10 + number));
  payment.nonce = hex_encode(bytes_of(known.nonce));
  const json& accepted = challenge["accepts"].at(0);
  json payload = {{"x402Version", 2},
                  {"resource", challenge["resource"]},
                  {"accepted", accepted},
                  {"extensions", challenge["extensions"]},
                  {"payload",
                   {{"signature", "0x" + std::string(130, '1')},
                    {"authorization",
                     {{"from", payer_address},
                      {"to", accepted["payTo"]},
                      {"value", accepted["amount"]},
                      {"validAfter", "0"},
                      {"validBefore", std::to_string(payment.valid_before_s)},
                      {"nonce", payment.nonce}}}}}};
  if (!is_bound(flow)) payload.erase("extensions");
  payload = Payer().sign(payload);
  payment.header = header_of(payload);
  payment.signature = payload["payload"]["signature"];
  const auto read = decode_payment(payment.header);
  const auto& transfer = std::get<Eip3009Payment>(read->payment);
  payment.key = digits_of(payment_key(*read));
  known.token = *parse_address(accepted["asset"].get<std::string>());
  known.from = transfer.from;
  known.to = transfer.to;
  known.value = transfer.value;
  return payment;
}

// A coroutine on this Thread. It must end before it is destroyed.
class Coroutine {
 public:
  explicit Coroutine(std::function<void()> work) : work_(std::move(work)), stack_(stacks().take()) {
    context_.prepare(stack_, &Coroutine::enter);
  }
  ~Coroutine() {
    context_.release();
    stacks().give_back(stack_);
  }
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  // Runs it until its next pause or its end.
  void resume() {
    running() = this;
    back_.adopt_thread();
    runtime::Context::switch_from(back_, context_);
    running() = nullptr;
  }
  void pause() { runtime::Context::switch_from(context_, back_); }
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

 private:
  static Coroutine*& running() {
    static Coroutine* now = nullptr;
    return now;
  }
  static runtime::StackPool& stacks() {
    static runtime::StackPool pool(8);
    return pool;
  }
  static void enter() {
    Coroutine& self = *running();
    self.work_();
    self.is_over_ = true;
    runtime::Context::switch_from_finished(self.context_, self.back_);
  }

  std::function<void()> work_;
  runtime::Stack stack_;
  runtime::Context context_, back_;
  bool is_over_ = false;
};

}  // namespace

// A call, or a pass of the lane's background work.
struct World::Actor {
  Node& node;
  bool is_own_work;       // a background pass
  std::uint64_t saw = 0;  // number of the effect at which it last saw the others' state
  std::uint64_t saw_chain = 0;
  bool is_asleep = false;
  bool is_alone = false;  // woken because all others sleep too
  std::unique_ptr<Coroutine> line = nullptr;

  [[nodiscard]] bool is_over() const { return line->is_over(); }
};

// A node with one life at a time. Once it is dead, code that still runs has no effects.
class World::Node final : public Host,
                          public Report,
                          public Random,
                          public Http,
                          public Offload,
                          public Store {
 public:
  Node(World& world, std::size_t number) : world_(world), number_(number) { start(); }

  void start() {
    is_dead = false;
    bound_ = nullptr;
    lane_ = std::make_unique<X402Lane>();
    auto bound =
        lane_->bind({operations(), settings(), "generation", origin, data_dir(number_)}, *this);
    if (!bound.ok()) throw std::runtime_error(bound.error().message);
    bound_ = *std::move(bound);
  }
  [[nodiscard]] BoundLane& bound() { return *bound_; }

  Report& report() noexcept override { return *this; }
  Clock& clock() noexcept override { return world_.clock; }
  Random& random() noexcept override { return *this; }
  Http& http() noexcept override { return *this; }
  Offload& offload() noexcept override { return *this; }
  Store& store() noexcept override { return *this; }

  void log(Severity, std::string_view) noexcept override {}
  void count(std::string_view, std::uint64_t) noexcept override {}
  void set(std::string_view, double) noexcept override {}
  void fill(std::span<std::uint8_t> out) noexcept override {
    static std::minstd_rand drawn;  // static, so the names of all lives differ
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(drawn() >> 8);
  }
  // Offloaded work only concerns files, which play no part here.
  Done run(void (*)(void*) noexcept, void*) noexcept override {
    return Failure{FailureKind::unavailable, "", {}, false};
  }

  Done call(const HttpRequest& request, const HttpOptions&, HttpSink& sink,
            Call& call) noexcept override {
    const http::ScriptedHost::Seen seen{
        request.method,    std::string(request.url), {}, std::string(request.body), {},
        call.deadline_ns()};
    const Answer answer = world_.answer(*this, seen, call);
    if (is_dead) return gone();
    if (answer.failure) return *answer.failure;
    if (sink.head(answer.status, {}, answer.body.size())) (void)sink.body(answer.body);
    return Unit{};
  }

  // The caller waits until its deadline; a later answer counts as unknown.
  StoreApplied apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes,
                     Call& call) noexcept override {
    using enum Event;
    const Event event = world_.meet(*this, {conflict, unavailable, unknown_applied, unknown_lost});
    if (is_dead || event == unavailable) return {};
    if (event == conflict) return {StoreOutcome::conflict, 0};
    if (event == unknown_lost) return {StoreOutcome::unknown, 0};
    const StoreApplied applied = world_.apply(checks, writes);
    const bool is_heard = event != unknown_applied && !is_late(call);
    return is_heard ? applied : StoreApplied{StoreOutcome::unknown, 0};
  }
  Result<std::optional<StoreRecord>> get(std::string_view key, Call& call) noexcept override {
    if (!can_read(call)) return gone();
    return world_.store_.get(key, call);
  }
  Result<std::vector<StoreRecord>> scan(std::string_view prefix, std::string_view after,
                                        std::uint32_t limit, Call& call) noexcept override {
    if (!can_read(call)) return gone();
    return world_.store_.scan(prefix, after, limit, call);
  }
  [[nodiscard]] std::int64_t now_ms() const noexcept override { return world_.clock.now_ms(); }

  bool is_dead = false;

 private:
  [[nodiscard]] bool is_late(const Call& call) const {
    return world_.clock.monotonic_ns() >= call.deadline_ns();
  }
  bool can_read(const Call& call) {
    return world_.meet(*this, {Event::unavailable}) == Event::nothing && !is_dead && !is_late(call);
  }
  static Failure gone() { return {FailureKind::unavailable, "", {}, false}; }

  World& world_;
  const std::size_t number_;
  std::unique_ptr<X402Lane> lane_;
  std::unique_ptr<BoundLane> bound_;
};

class World::OwnCall final : public Call {
 public:
  OwnCall(World& world, Node& node, std::int64_t timeout_ms)
      : world_(world),
        node_(node),
        deadline_ns_(world.clock.monotonic_ns() + timeout_ms * 1'000'000) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return "request"; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_ns_; }
  [[nodiscard]] bool cancelled() const noexcept override { return node_.is_dead; }
  // If all actors sleep, this takes long: the lane must not rely on being woken in time.
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    constexpr std::uint32_t long_ms = 7'000;
    if (node_.is_dead) return false;
    Actor& actor = *world_.acting_;
    actor.is_asleep = true;
    actor.line->pause();
    actor.is_asleep = false;
    world_.clock.move_ms(actor.is_alone ? std::max(duration_ms, long_ms) : duration_ms);
    return !node_.is_dead && world_.clock.monotonic_ns() < deadline_ns_;
  }

 private:
  World& world_;
  Node& node_;
  const std::int64_t deadline_ns_;
};

World::World(Plan plan) : plan_(std::move(plan)) {
  clock.move_ms(begin_s * 1000 - clock.now_ms());
  chain_.genesis_s = genesis_s;
  // The binding key, as if another node had made it, so that payments are valid in every world.
  const StoreWrite key[] = {
      {"s/binding", "0x5858585858585858585858585858585858585858585858585858585858585858"}};
  http::ScriptedCall nobody(clock, 1);
  (void)store_.apply({}, key, nobody);
}

World::~World() {
  for (const auto& node : nodes_) {
    if (node != nullptr) node->is_dead = true;
  }
  go();
}

const SignedPayment& World::payment(std::size_t index) {
  static const std::vector<SignedPayment> payments = sign_payments();
  return payments[index];
}

std::vector<SignedPayment> World::sign_payments() {
  World world({});
  std::vector<SignedPayment> payments(payments_max);
  for (std::size_t number = 0; number < payments_max; ++number) {
    const bool is_late = number >= (payments_of_a_flow - 1) * std::size(all_flows);
    if (is_late && world.now_s() < late_s) world.pass_ms((late_s - begin_s) * 1000);
    const Flow flow = all_flows[number % std::size(all_flows)];
    OwnCall call(world, world.node(0), upstream_deadline_ms);
    LaneRequest asked;
    asked.operation = flow;
    asked.path = path;
    asked.query = query;
    const Admission admission = world.node(0).bound().admit(asked, call);
    const std::string text(header_value(std::get<Refusal>(admission).headers, "PAYMENT-REQUIRED"));
    payments[flow * payments_of_a_flow + number / std::size(all_flows)] =
        sign(flow, number, world.now_s(), json::parse(*base64_decode(text, text.size())));
  }
  return payments;
}

// ---- who goes on, and what happens --------------------------------------------------------------

World::Node& World::node(std::size_t number) {
  if (nodes_[number] == nullptr) nodes_[number] = std::make_unique<Node>(*this, number);
  return *nodes_[number];
}

void World::begin(std::size_t number, bool is_own_work, std::function<void(Actor&)> work) {
  auto actor = std::make_unique<Actor>(Actor{node(number), is_own_work});
  Actor& made = *actor;
  made.line = std::make_unique<Coroutine>([&made, work = std::move(work)] { work(made); });
  actors_.push_back(std::move(actor));
}

void World::call(std::size_t number, std::size_t index, std::string_view idempotency_key,
                 bool is_other) {
  (void)payment(index);  // signs the payments, outside of a coroutine
  in_play_ = index;
  facts_[index].is_sent = true;
  if (!idempotency_key.empty()) facts_[index].idempotency_key = idempotency_key;
  begin(number, false, [this, index, key = std::string(idempotency_key), is_other](Actor& actor) {
    serve(actor, index, key, is_other);
  });
}

void World::reconcile(std::size_t number) {
  begin(number, true, [this](Actor& actor) {
    OwnCall call(*this, actor.node, 60'000);
    (void)actor.node.bound().run(call);
  });
}

World::Actor* World::next_to_go() {
  const auto is_awake = [](Actor* actor) {
    return actor != nullptr && !actor->is_over() && !actor->is_asleep;
  };
  if (Actor* called = std::exchange(called_upon_, nullptr)) return called;
  if (is_awake(acting_)) return acting_;
  Actor* asleep = nullptr;
  for (const auto& actor : actors_) {
    if (is_awake(actor.get())) return actor.get();
    if (asleep == nullptr && !actor->is_over()) asleep = actor.get();
  }
  if (asleep != nullptr) asleep->is_alone = true;
  return asleep;
}

void World::go() {
  while (Actor* next = next_to_go()) {
    acting_ = next;
    next->line->resume();
    next->is_alone = false;
  }
  acting_ = nullptr;
  actors_.clear();
}

Event World::choose_of(std::vector<Event> events) {
  const auto planned = plan_.find(points_.size());
  const std::size_t chosen = planned == plan_.end() ? 0 : planned->second % events.size();
  const Event event = events[chosen];
  if (event != Event::nothing) {
    history_ += (history_.empty() ? "" : ", ") + std::to_string(points_.size()) + " ";
    history_ += name_of(event);
  }
  points_.push_back(std::move(events));
  return event;
}

Event World::choose(std::initializer_list<Event> events) {
  const Event event = choose_of(events);
  if (event == Event::lease_ends || event == Event::validity_ends) (void)is_interlude(event);
  return event;
}

std::vector<Event> World::possibilities(Events troubles) const {
  std::vector<Event> events = {Event::nothing, Event::dies};
  events.insert(events.end(), troubles);
  events.insert(events.end(), {Event::lease_ends, Event::validity_ends});
  const Facts& facts = facts_[in_play_];
  if (!facts.is_moved && !facts.is_cancelled) events.push_back(Event::payer_cancels);
  if (facts.is_waiting) events.push_back(Event::chain_mines);
  const bool has_other = std::any_of(actors_.begin(), actors_.end(), [this](const auto& actor) {
    return actor.get() != acting_ && !actor->is_over();
  });
  if (has_other) events.insert(events.end(), {Event::other_goes_on, Event::is_overtaken});
  return events;
}

bool World::is_interlude(Event event) {
  switch (event) {
    case Event::is_overtaken:
      pass_ms(lease_ms);
      [[fallthrough]];
    case Event::other_goes_on:
      for (const auto& actor : actors_) {
        if (actor.get() != acting_ && !actor->is_over()) called_upon_ = actor.get();
      }
      acting_->line->pause();
      return true;
    case Event::lease_ends:
      pass_ms(lease_ms);
      return true;
    case Event::validity_ends:
      pass_ms(validity_s * 1000 + 1'000);
      return true;
    case Event::takes_long:
      pass_ms(upstream_deadline_ms - 1'000);
      return true;
    case Event::payer_cancels:
      cancel(in_play_);
      return true;
    case Event::chain_mines:
      mine();
      return true;
    default:
      return false;
  }
}

Event World::meet(Node& node, Events troubles) {
  Event event = Event::nothing;
  const bool is_of_history = acting_ != nullptr && !is_resting_;
  while (is_of_history && !node.is_dead) {
    event = choose_of(possibilities(troubles));
    if (!is_interlude(event)) break;
    event = Event::nothing;
  }
  if (event == Event::dies) node.is_dead = true;
  ++effects_;
  if (acting_ != nullptr) acting_->saw = effects_;
  if (effects_ > effects_max && !node.is_dead) {
    fault(in_play_, "no end is in sight");
    node.is_dead = true;
  }
  return event;
}

void World::revive() {
  for (const auto& node : nodes_) {
    if (node != nullptr && node->is_dead) node->start();
  }
}

// ---- a call -------------------------------------------------------------------------------------

void World::serve(Actor& actor, std::size_t index, std::string_view idempotency_key,
                  bool is_other) {
  const SignedPayment& paid = payment(index);
  OwnCall call(*this, actor.node, upstream_deadline_ms);
  const HeaderField credentials[] = {{"payment-signature", paid.header}};
  LaneRequest asked;
  asked.operation = paid.flow;
  asked.request_id = "request";
  asked.path = path;
  asked.query = is_other ? "q=2" : query;
  asked.credentials = credentials;
  asked.idempotency_key = idempotency_key;
  const Admission admission = actor.node.bound().admit(asked, call);
  if (actor.node.is_dead) return;
  if (const auto* ticket = std::get_if<std::unique_ptr<Ticket>>(&admission)) {
    if (is_other && is_bound(paid.flow)) fault(index, "it was taken for another request");
    return do_work(actor, index, **ticket);
  }
  const std::uint64_t saw = actor.saw;
  (void)meet(actor.node, {});  // on the way to the caller
  actor.saw = saw;
  if (actor.node.is_dead) return;
  if (const auto* refusal = std::get_if<Refusal>(&admission)) {
    return tell(actor, index, *refusal, is_other);
  }
  if (is_other) fault(index, "another request got its reply");
  tell_reply(index, std::get<Replay>(admission));
}

void World::begin_work(Actor& actor, std::size_t index) {
  Facts& facts = facts_[index];
  const Flow flow = payment(index).flow;
  if (flow >= upfront_retry) {
    const bool is_begun = std::exchange(facts.is_begun, true);
    if (is_begun && flow != upfront_retry) fault(index, "work began twice");
    if (!facts.is_moved) fault(index, "work began before it was collected");
  } else if (facts.submitted_at && *facts.submitted_at <= actor.saw) {
    fault(index, "the upstream was asked again after it may have been collected");
  }
  if (clock.now_ms() < facts.work_until_ms) fault(index, "two calls do its work at once");
  facts.work_until_ms = clock.now_ms() + upstream_deadline_ms;
}

// Like the gateway, calls either settle() or release(), with a new Call.
void World::do_work(Actor& actor, std::size_t index, Ticket& ticket) {
  using enum Event;
  Node& node = actor.node;
  begin_work(actor, index);
  std::uint64_t saw = actor.saw;
  const Event event = meet(node, {fails, loses_caller, is_free, takes_long});
  actor.saw = saw;
  facts_[index].work_until_ms = 0;
  if (node.is_dead) return;
  OwnCall call(*this, node, 400'000);
  Replay reply{200, {{"Content-Type", "text/plain"}}, "reply " + std::to_string(++replies_)};
  std::optional<Refusal> refusal;
  if (event != nothing) {
    const Outcome outcome = event == fails     ? Outcome::upstream_status
                            : event == is_free ? Outcome::declared_no_charge
                                               : Outcome::client_gone_before_reply;
    refusal = ticket.release(outcome, event == loses_caller ? 0 : 500, call);
    if (!refusal) refusal = Refusal{"gateway.upstream", "Nothing was charged.", 0, {}, {}, {}};
  } else {
    const HeaderField fields[] = {{"Content-Type", "text/plain"}};
    const Finish finish = ticket.settle({200, fields, reply.body, reply.body.size(), 0}, call);
    if (const auto* charged = std::get_if<Charged>(&finish)) {
      reply.headers.insert(reply.headers.end(), ticket.headers.begin(), ticket.headers.end());
      reply.headers.insert(reply.headers.end(), charged->headers.begin(), charged->headers.end());
    } else if (const auto* unknown = std::get_if<Unknown>(&finish)) {
      refusal = unknown->refusal;
    } else {
      refusal = std::get<NotCharged>(finish).refusal;
      refusal->message += " (nothing was charged)";
    }
  }
  saw = actor.saw;
  if (!node.is_dead) (void)meet(node, {});  // on the way to the caller
  actor.saw = saw;
  if (node.is_dead || event == loses_caller) return;
  if (refusal) return tell(actor, index, *refusal, false);
  tell_reply(index, reply);
}

// A refusal that says that nothing was charged must be true as far as the actor has seen. A payment
// that others submit later does not count.
void World::tell(const Actor& actor, std::size_t index, const Refusal& refusal, bool is_other) {
  told.push_back(refusal.code);
  const Facts& facts = facts_[index];
  if (is_other || !says_not_charged(refusal)) return;
  // If the facilitator denied a settlement, the actor must have asked the chain since.
  if (facts.disowned_at) {
    const bool is_true = *facts.disowned_at < actor.saw_chain &&
                         !(facts.moved_at && *facts.moved_at < actor.saw_chain);
    if (!is_true && may_move(index)) {
      fault(index, "a caller was told \"" + refusal.code + "\" by a liar's word");
    }
    return;
  }
  if (facts.submitted_at && *facts.submitted_at <= actor.saw && may_move(index)) {
    fault(index, "a caller was told \"" + refusal.code + "\" as if nothing was charged");
  }
}

// With an Idempotency-Key, the reply may be the one that another payment paid for.
void World::tell_reply(std::size_t index, const Replay& reply) {
  told.push_back(std::to_string(reply.status));
  if (header_value(reply.headers, "PAYMENT-RESPONSE").empty()) fault(index, "no receipt");
  const std::string& key = facts_[index].idempotency_key;
  for (std::size_t other = 0; other < payments_max; ++other) {
    const bool is_same = other == index || (!key.empty() && facts_[other].idempotency_key == key);
    if (is_same && is_reply_of(other, reply)) return;
  }
  fault(index, "a reply left that is not what is durably paid for and stored");
}

bool World::is_reply_of(std::size_t index, const Replay& reply) {
  Facts& facts = facts_[index];
  const auto& record = facts.record;
  if (!facts.is_moved || !record || record->state != PaymentState::answered) return false;
  if (!is_bound(payment(index).flow)) return std::exchange(facts.answer, reply.body).empty();
  const auto kept = stored(keys::reply(record->claimed_ms, payment(index).key));
  const auto known = kept ? decode_reply(kept->value) : std::nullopt;
  if (!known || known->body != reply.body || known->status != reply.status) return false;
  if (!facts.answer.empty() && facts.answer != reply.body) fault(index, "two replies");
  facts.answer = reply.body;
  return true;
}

// ---- facilitators and chain ---------------------------------------------------------------------

World::Answer World::answer(Node& node, const http::ScriptedHost::Seen& seen, const Call& call) {
  if (seen.url.starts_with("https://node.example")) return ask_chain(node, seen);
  if (seen.url.ends_with("/supported")) {
    const json kind = {{"x402Version", 2}, {"scheme", "exact"}, {"network", network}};
    static const std::string body =
        json{{"kinds", json::array({kind})}, {"signers", json::object()}}.dump();
    return {200, {}, body};
  }
  for (std::size_t index = 0; index < payments_max; ++index) {
    if (seen.body.find(payment(index).nonce) == std::string::npos) continue;
    return seen.url.ends_with("/verify") ? verify(node, index, call) : settle(node, index, call);
  }
  return {500, {}, "unknown payment"};
}

World::Answer World::ask_chain(Node& node, const http::ScriptedHost::Seen& seen) {
  const Event event = meet(node, {Event::is_away, Event::lags});
  if (node.is_dead || event == Event::is_away) return {503, {}, ""};
  const bool lags = event == Event::lags;
  if (acting_ != nullptr && !lags) acting_->saw_chain = effects_;
  chain_.head = head() - (lags ? 30 : 0);
  return chain_.answer(seen);
}

World::Answer World::hang(const Call& call) {
  const std::int64_t left_ns = call.deadline_ns() - clock.monotonic_ns();
  if (left_ns > 0) pass_ms(left_ns / 1'000'000 + 1);
  return {0, {}, {}, Failure{FailureKind::timeout, "", {}, true}};
}

World::Answer World::verify(Node& node, std::size_t index, const Call& call) {
  using enum Event;
  const Event event = meet(node, {refuses, hangs, answers_late, garbles, is_down});
  const Answer unsent = {0, {}, {}, Failure{FailureKind::transport, "", {}, false}};
  const bool is_late = clock.monotonic_ns() >= call.deadline_ns();
  if (node.is_dead || is_late || event == is_down) return unsent;
  if (event == hangs) return hang(call);
  if (event == garbles) return {502, {}, "<html>"};
  if (event == answers_late) pass_ms(verify_timeout_ms - 1'000);
  const Facts& facts = facts_[index];
  const bool is_good =
      event != refuses && !facts.is_moved && !facts.is_cancelled && !facts.is_waiting;
  if (is_good) return {200, {}, R"({"isValid":true})"};
  return {200, {}, R"({"isValid":false,"invalidReason":"invalid_exact_evm_insufficient_balance"})"};
}

World::Answer World::settle(Node& node, std::size_t index, const Call& call) {
  using enum Event;
  const Event event =
      meet(node, {refuses, hangs, garbles, is_down, loses_answer, sends_in_vain, delays,
                  comes_second, claims_failure, disowns, disowns_sent, remembers});
  const Answer unsent = {0, {}, {}, Failure{FailureKind::transport, "", {}, false}};
  const bool is_late = clock.monotonic_ns() >= call.deadline_ns();
  if (node.is_dead || is_late || event == is_down) return unsent;
  Facts& facts = facts_[index];
  const Flow flow = payment(index).flow;
  if (acting_->is_own_work && (flow >= upfront_retry || !is_bound(flow))) {
    fault(index, "it is collected although nobody waits for the work");
  }
  // From here on the facilitator may collect, as far as anyone but the chain can tell.
  const bool is_lie = event == disowns || event == disowns_sent;
  const bool can_lie =
      !facts.is_moved && !facts.is_cancelled && now_s() < payment(index).valid_before_s;
  if (is_lie && can_lie && !facts.submitted_at) facts.disowned_at = effects_;
  if (event != refuses && !is_lie && !facts.submitted_at) facts.submitted_at = effects_;
  return event == hangs ? hang(call) : pay(index, event);
}

World::Answer World::pay(std::size_t index, Event how) {
  using enum Event;
  Facts& facts = facts_[index];
  const auto says = [](std::string_view reason, const std::string& transaction = {}) {
    const json body = {{"success", reason.empty()},
                       {"transaction", transaction},
                       {"network", network},
                       {"errorReason", reason}};
    return Answer{200, {}, body.dump()};
  };
  const Answer lost = {0, {}, {}, Failure{FailureKind::timeout, "", {}, true}};
  if (how == refuses) return says("invalid_exact_evm_insufficient_balance");
  if (facts.is_moved && how == remembers) return says("", hex_of(*facts.transaction));
  if (facts.is_moved || facts.is_cancelled) return says("invalid_exact_evm_nonce_already_used");
  if (now_s() >= payment(index).valid_before_s) {
    return says("invalid_exact_evm_payload_authorization_valid_before");
  }
  if (!facts.is_waiting) facts.transaction = filled<Word>(++transactions_);
  facts.is_waiting = true;
  if (how == sends_in_vain) return lost;
  if (how == delays) return says("settlement_pending", hex_of(*facts.transaction));
  if (how == disowns_sent) return says("insufficient_funds");
  mine();
  if (how == disowns) return says("insufficient_funds");
  if (how == loses_answer) return lost;
  if (how == garbles) return {502, {}, "<html>"};
  if (how == comes_second) return says("invalid_exact_evm_nonce_already_used");
  if (how == claims_failure) return says("invalid_exact_evm_transaction_failed");
  return says("", hex_of(*facts.transaction));
}

std::uint64_t World::head() const {
  return static_cast<std::uint64_t>((now_s() - genesis_s) / chain_.block_s);
}

bool World::may_move(std::size_t index) const {
  const Facts& facts = facts_[index];
  return facts.is_moved ||
         (facts.is_waiting && !facts.is_cancelled && now_s() < payment(index).valid_before_s);
}

// Puts waiting transactions into a block; those that are no longer valid fail.
void World::mine() {
  for (std::size_t index = 0; index < payments_max; ++index) {
    Facts& facts = facts_[index];
    if (!facts.is_waiting) continue;
    const Authorization& by = payment(index).on_chain;
    facts.is_moved = may_move(index);
    if (facts.is_moved) facts.moved_at = effects_;
    facts.is_waiting = false;
    chain_.mine(
        {*facts.transaction, head(), facts.is_moved, {FakeNode::used(by), FakeNode::transfer(by)}});
    if (!facts.is_moved) chain_.transactions.back().events.clear();
    look(index);
  }
}

void World::cancel(std::size_t index) {
  Facts& facts = facts_[index];
  if (facts.is_moved || facts.is_cancelled) return;
  facts.is_cancelled = true;
  const Authorization& by = payment(index).on_chain;
  chain_.mine({filled<Word>(++transactions_), head(), true, {FakeNode::cancelled(by)}});
}

// ---- what must hold -----------------------------------------------------------------------------

void World::fault(std::size_t index, const std::string& what) {
  faults.push_back("payment " + std::to_string(index) + ": " + what);
}

std::optional<StoreRecord> World::stored(std::string_view key) {
  http::ScriptedCall nobody(clock, 1);
  return *store_.get(key, nobody);
}

StoreApplied World::apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes) {
  http::ScriptedCall nobody(clock, 1);
  const bool is_written_anew =
      std::any_of(writes.begin(), writes.end(), [this](const StoreWrite& write) {
        return write.key.starts_with(keys::entries) && stored(write.key);
      });
  const StoreApplied applied = store_.apply(checks, writes, nobody);
  if (applied.outcome != StoreOutcome::applied) return applied;
  if (is_written_anew) faults.push_back("an entry of the ledger is written anew");
  for (const StoreWrite& write : writes) see_write(write);
  for (std::size_t index = 0; acting_ != nullptr && index < payments_max; ++index) {
    if (facts_[index].record) look(index);
  }
  return applied;
}

void World::see_write(const StoreWrite& write) {
  for (std::size_t index = 0; acting_ != nullptr && index < payments_max; ++index) {
    Facts& facts = facts_[index];
    if (!facts.is_sent || write.key.find(payment(index).key) == write.key.npos) continue;
    if (write.key.starts_with(keys::payments)) {
      facts.record = write.value ? record_of_json(*write.value) : std::nullopt;
      if (write.value && !facts.record) fault(index, "its record cannot be read");
    } else if (write.key.starts_with(keys::entries)) {
      if (write.key.ends_with("/settled")) ++facts.settled_entries;
      if (write.key.ends_with("/refund_owed")) ++facts.owed_entries;
    } else if (write.key.starts_with(keys::owed_refunds)) {
      facts.is_owed = write.value.has_value();
    }
  }
}

// Checks what must hold at every moment.
void World::look(std::size_t index) {
  const Facts& facts = facts_[index];
  if (facts.settled_entries > (facts.is_moved ? 1 : 0)) fault(index, "the ledger has too much");
  if (!facts.record) return;
  switch (facts.record->state) {
    case PaymentState::settled:
    case PaymentState::answered:
    case PaymentState::owed:
    case PaymentState::refunded:
      if (!facts.is_moved) fault(index, "it is called paid");
      if (facts.settled_entries != 1) fault(index, "the ledger lacks it");
      break;
    case PaymentState::released:
      if (facts.disowned_at && facts.record->watch_ms != 0) break;
      [[fallthrough]];
    case PaymentState::never_paid:
      if (may_move(index)) fault(index, "it is called unpaid");
      break;
    case PaymentState::claimed:
    case PaymentState::working:
      if (facts.disowned_at && facts.record->watch_ms != 0) break;
      if (facts.is_moved) fault(index, "it was collected before that was on record");
      break;
    case PaymentState::settling:
    case PaymentState::settlement_unknown:
      break;
  }
}

void World::come_to_rest() {
  is_resting_ = true;
  revive();
  mine();
  for (const std::int64_t pause_s : {1, 200, 400, 4'000}) {
    pass_ms(pause_s * 1000);
    reconcile(0);
    go();
  }
  look_at_end();
  pay_late();
  look_at_forgetting();
}

void World::look_at_end() {
  for (const auto& [key, record] : store_.records()) {
    if (key.starts_with(keys::watched)) faults.push_back("a watch is left: " + key);
    if (key.starts_with(keys::open)) faults.push_back("an open settlement is left: " + key);
    for (std::size_t index = 0; index < payments_max; ++index) {
      if (!facts_[index].is_sent) continue;
      if (record.value.find(payment(index).signature) != record.value.npos) {
        fault(index, "its signature is left under " + key);
      }
    }
  }
  for (std::size_t index = 0; index < payments_max; ++index) look_at_end(index);
  look_at_keys();
}

void World::look_at_end(std::size_t index) {
  const Facts& facts = facts_[index];
  if (!facts.record) {
    if (facts.is_moved) fault(index, "collected, and unknown");
    return;
  }
  const PaymentState state = facts.record->state;
  const Flow flow = payment(index).flow;
  const bool may_be_owed = flow >= upfront_retry || !is_bound(flow) || facts.disowned_at;
  const bool is_done =
      state == PaymentState::answered || (may_be_owed && state == PaymentState::owed);
  if (facts.is_moved && !is_done) {
    fault(index, "collected, and left " + std::string(name_of(state)));
  }
  if (state == PaymentState::settling || state == PaymentState::settlement_unknown) {
    fault(index, "its outcome is still open");
  }
  if (facts.is_owed != (state == PaymentState::owed)) fault(index, "the obligation differs");
  if (facts.owed_entries != (facts.is_owed ? 1 : 0)) fault(index, "the ledger owes otherwise");
  const bool has_reply =
      stored(keys::reply(facts.record->claimed_ms, payment(index).key)).has_value();
  if (has_reply != (state == PaymentState::answered && is_bound(flow)))
    fault(index, "its reply is not what is left");
}

// At most one of the payments with one Idempotency-Key may be charged, except for payments that a
// facilitator denied; those are owed back.
void World::look_at_keys() {
  std::map<std::string, int> charged;
  for (const Facts& facts : facts_) {
    if (facts.idempotency_key.empty() || !facts.is_moved || facts.disowned_at) continue;
    if (++charged[facts.idempotency_key] == 2) {
      faults.push_back("two payments were charged under one Idempotency-Key");
    }
  }
}

// A payer who was not charged under an Idempotency-Key can still pay with it; otherwise the earlier
// payment decides the answer.
void World::pay_late() {
  const Facts& facts = facts_[in_play_];
  if (facts.idempotency_key.empty()) return;
  const std::size_t late = payment(in_play_).flow * payments_of_a_flow + payments_of_a_flow - 1;
  pass_ms(late_s * 1000 - clock.now_ms());
  reconcile(0);  // so that the node asks again what is supported
  go();
  std::string expected = "200";
  bool is_disowned = false;  // its id may then be freed before it is found to be paid
  for (const Facts& other : facts_) {
    if (other.is_owed) expected = "x402.refund_owed";
    const bool is_given = !other.answer.empty() || other.settled_entries != 0;
    if (!other.is_owed && is_given && !is_bound(payment(in_play_).flow)) {
      expected = "idempotency.reply_not_stored";
    }
    is_disowned = is_disowned || other.disowned_at;
  }
  call(0, late, facts.idempotency_key);
  go();
  if (told.back() != expected && !is_disowned) {
    fault(late, "under the key of an earlier one its sender was told " + told.back());
  }
  look_at_keys();
}

void World::look_at_forgetting() {
  if (plan_.size() > 1) return;  // the end state alone matters
  pass_ms(25 * hour_ms);
  for (int pass = 0; pass < 40; ++pass) {
    reconcile(0);
    go();
  }
  for (const auto& [key, record] : store_.records()) {
    const bool is_lasting =
        key.starts_with(keys::entries) || key.starts_with("k/") || key.starts_with("s/");
    bool is_of_owed = false;  // the record, or a caller's id, names an owed payment
    for (std::size_t index = 0; index < payments_max; ++index) {
      const std::string& name = payment(index).key;
      is_of_owed =
          is_of_owed || (facts_[index].is_owed && (key.ends_with(name) || record.value == name));
    }
    if (!is_lasting && !is_of_owed) faults.push_back("not forgotten: " + key);
  }
}

}  // namespace turnpike::x402
