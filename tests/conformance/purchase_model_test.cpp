// Property: purchases keep their invariants (commerce/purchase.h, commerce/auto_top_up.h), whatever
// happens to payments, in whatever order the nodes hear of it, and however stale a node's view is
// when it writes. I1 to I7 are checked after every step of a case.
//
// A case consists of a payment service, two nodes with their own desks and ledgers on one database,
// and one account that buys, pays, is refunded, disputes, spends and tops up automatically. At the
// end of a case the service is available and the nodes look up everything that is due; the books
// must then match the service exactly.
//
// Cases share a database; each has its own account. TURNPIKE_PROPERTY_CASES sets their number. The
// seed is printed; RC_PARAMS="seed=..." repeats a run.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "base/metrics.h"
#include "commerce/reconciler.h"
#include "commerce/shop.h"
#include "conformance/payment_service.h"
#include "ledger/escrow/escrow_ledger.h"
#include "runtime/pool.h"
#include "support/stores.h"

namespace turnpike::commerce {
namespace {

enum class Act : std::uint8_t {
  buy,
  pay,
  decline,
  expire,
  refund,
  dispute,
  win,
  lose,
  deliver,       // delivers any waiting hint
  deliver_kept,  // delivers one that may be delivered again
  drop,
  poll,
  look,   // asks the service; its answer is stored by
  write,  // a write, perhaps much later
  hold,
  settle,
  release,
  go_away,
  come_back,
  lose_answer,
  unlock,
  save_method,
  remove_method,
  turn_on,
  turn_off,
  scan,
  note_charge,  // a node notes that it will charge a run
  send_charge,  // sends a noted charge, perhaps a day later
  judge,        // chooses the results of the next charges
  resume,
};
constexpr const char* act_names[] = {
    "buy",  "pay",   "decline", "expire", "refund", "dispute", "win",       "lose",
    "deliver", "deliver_kept", "drop", "poll", "look", "write", "hold", "settle",
    "release", "go_away", "come_back", "lose_answer", "unlock", "save_method",
    "remove_method", "turn_on", "turn_off", "scan", "note_charge", "send_charge", "judge",
    "resume"};

struct Deed {
  Act act = Act::buy;
  int node = 0;
  int pick = 0;
  std::int64_t units = 1;
};

std::ostream& operator<<(std::ostream& out, const Deed& deed) {
  return out << act_names[static_cast<int>(deed.act)] << "(node " << deed.node << ", pick "
             << deed.pick << ", units " << deed.units << ")";
}

constexpr int nodes_of_bed = 2;
constexpr int keys_of_case = 3;
constexpr std::int64_t patient_ms = 60'000;  // a slow machine must not look like an outage
constexpr char service_name[] = "service";
constexpr std::int64_t run_minor = 100;
constexpr Credits run_threshold = 800;
constexpr std::int64_t monthly_limit_minor = 6 * run_minor;

// Only processes die in this test, not machines, so no write has to wait for the disk.
storage::Settings model_settings() {
  storage::Settings settings = support::patient_settings(1);
  settings.is_durability_relaxed = true;
  return settings;
}

struct ModelBed {
  explicit ModelBed(storage::Engine engine) : store(engine, model_settings()) {
    for (int at = 0; at < nodes_of_bed; ++at) {
      nodes[at] = store.open(storage::Role::gateway, "node" + std::to_string(at));
    }
  }
  support::TestStore store;
  std::array<std::unique_ptr<storage::Node>, nodes_of_bed> nodes;
  PaymentService service;
};

// Counts the states that the cases reached. Printed, since a model that never reaches them finds
// nothing.
struct Reached {
  int purchases = 0;
  int credited = 0;
  int taken_back = 0;
  int runs = 0;
  int runs_credited = 0;
  int runs_declined = 0;
  int runs_cancelled = 0;
};

class PurchaseWorld {
 public:
  PurchaseWorld(ModelBed& bed, runtime::BlockingPool& pool, Reached& reached)
      : bed_(bed), reached_(reached), service_(bed.service) {
    ledger::LedgerSettings settings;
    settings.heartbeat_ms = 1;
    settings.recall_wait_ms = 1;
    settings.refusal_memo_ms = 0;
    settings.believed_ms = settings.commit_budget_ms = patient_ms;
    const ProcessorTraits traits{
        .name = service_name, .hosts_checkout = true, .charges_saved = true,
        .lists_changes = true};
    processors_ = Processors({{service_name, "Service", traits, &service_}});
    for (int at = 0; at < nodes_of_bed; ++at) {
      Node& node = nodes_[at];
      AutoTopUpStore& top_ups = bed.nodes[at]->auto_top_ups();
      node.desk.emplace(Desk::Parts{bed.nodes[at]->purchases(), top_ups, processors_, pool,
                                    bed.store.clock, random_, *log_,
                                    {"https://shop.example/", "https://shop.example/no"}});
      node.auto_top_ups.emplace(*node.desk, top_ups, *metrics_);
      node.shop.emplace(*node.desk, *node.auto_top_ups);
      node.reconciler.emplace(*node.desk, *metrics_);
      node.ledger = std::make_unique<ledger::EscrowLedger>(
          bed.nodes[at]->ledger(), settings,
          ledger::EscrowLedger::Sources{*log_, *metrics_, pool, nullptr});
      RC_ASSERT(node.ledger->start().ok());
    }
    account_ = bed.nodes[0]->accounts().create("Model")->id;
    RC_ASSERT(bed.nodes[0]->accounts().activate(account_, {0, 1}).ok());
    service_.current_account = account_;
    service_.verdict = PaymentService::Verdict::pays;
    service_.on_charge = [this](const Order& order, std::string_view reference) {
      check_charge(order, reference);
    };
    offer_ = nodes_[0].shop->offers(account_)->front().id;
  }

  void begin_with_top_up() {
    take({.act = Act::save_method});
    take({.act = Act::scan, .units = 20});
    take({.act = Act::turn_on});
  }

  void take(const Deed& deed) {
    switch (deed.act) {
      case Act::buy: return buy(deed);
      case Act::deliver: return deliver(deed, false);
      case Act::deliver_kept: return deliver(deed, true);
      case Act::drop: return drop(deed);
      case Act::poll: return poll(deed.node, deed.units);
      case Act::look: return look(deed);
      case Act::write: return write(deed);
      case Act::hold: return hold(deed);
      case Act::settle: return end_hold(deed, true);
      case Act::release: return end_hold(deed, false);
      case Act::go_away: service_.is_away = true; return;
      case Act::come_back: service_.is_away = false; return;
      case Act::lose_answer: service_.loses_answer = true; return;
      case Act::unlock:
        RC_ASSERT(purchases().unlock(account_, identity::operator_actor()).ok());
        return;
      case Act::save_method: return save_method(deed);
      case Act::remove_method: return remove_method(deed);
      case Act::turn_on: return replace_policy(deed.node, true);
      case Act::turn_off: return replace_policy(deed.node, false);
      case Act::scan: return scan(deed);
      case Act::note_charge: return note_charge(deed);
      case Act::send_charge: return send_charge(deed);
      case Act::judge: service_.verdict = verdicts[deed.pick % std::ssize(verdicts)]; return;
      case Act::resume:
        RC_ASSERT(top_ups().resume(account_, identity::operator_actor()).ok());
        return;
      default: return happen(deed);
    }
  }

  // Checks the invariants that hold at every moment.
  void check() {
    std::set<std::string> expected;
    Credits paid_for = 0;
    bool is_locked = false;
    const auto allocations = allocations_now();
    const auto purchases_now = all();
    check_runs(purchases_now);
    for (const Purchase& purchase : purchases_now) {
      check_one(purchase);
      is_locked = is_locked || purchase.locks_account;
      if (purchase.credited_at_ms < 0) continue;
      paid_for += purchase.credits;
      check_allocation(purchase, allocations);
      expected.insert(allocation_of(purchase.id));
      for (const std::string& restored : restored_of(purchase)) expected.insert(restored);
    }
    for (const auto& [id, allocation] : allocations) RC_ASSERT(expected.contains(id));  // I1
    RC_ASSERT(*purchases().is_locked(account_) == is_locked);
    const Credits balance = balance_now();
    RC_ASSERT(balance >= 0);
    RC_ASSERT(balance + charged_ <= paid_for);
  }

  // Makes the service available, ends all holds, and lets a node look up everything that is due.
  void finish() {
    service_.is_away = service_.loses_answer = false;
    service_.verdict = PaymentService::Verdict::pays;
    for (const std::string& reference : service_.of(account_)) {
      Payment& payment = service_.truths.at(reference).payment;
      if (payment.progress == Progress::processing) payment.progress = Progress::paid;
    }
    noted_.clear();
    for (Node& node : nodes_) {
      node.held.clear();
      node.ledger->stop();
    }
    for (int pass = 0; pass < 3 && !removed_.empty(); ++pass) scan({.units = 2 * 3'600});
    for (const std::string& id : removed_) {
      const auto setup = top_ups().find_setup(id);
      RC_ASSERT((*setup)->removal == Removal::done);
      RC_ASSERT(service_.forgotten.contains((*setup)->method.reference));
    }
    // A new reconciler reads at once what the service lists as changed.
    nodes_[0].reconciler.emplace(*nodes_[0].desk, *metrics_);
    poll(0, 30 * 60);
    poll(0, 1);  // looks these purchases up
    for (int pass = 0; pass < 50 && !is_at_rest(); ++pass) poll(0, 600);
    check();
    Credits there = 0;
    for (const Purchase& purchase : all()) {
      check_end(purchase);
      count(purchase);
      if (purchase.credited_at_ms >= 0) there += purchase.credits - purchase.clawed;
    }
    RC_ASSERT(balance_now() == there - charged_);
    const auto verified = bed_.nodes[0]->ledger().verify();
    RC_ASSERT(verified.ok());
    for (const std::string& problem : verified->problems) RC_FAIL(problem);
    leave_nothing_open();
  }

 private:
  struct Held {
    ledger::Hold hold;
    Credits units = 0;
  };
  struct Node {
    std::optional<Desk> desk;
    std::optional<AutoTopUps> auto_top_ups;
    std::optional<Shop> shop;
    std::optional<Reconciler> reconciler;
    std::unique_ptr<ledger::EscrowLedger> ledger;
    std::vector<Held> held;
  };
  struct Told {  // an answer of the service that is not written yet
    Purchase seen;
    Payment payment;
  };
  static constexpr PaymentService::Verdict verdicts[] = {
      PaymentService::Verdict::pays,          PaymentService::Verdict::takes_time,
      PaymentService::Verdict::tries_later,   PaymentService::Verdict::tries_later,
      PaymentService::Verdict::asks_customer, PaymentService::Verdict::never};
  using Truth = PaymentService::Truth;

  PurchaseStore& purchases() { return bed_.nodes[0]->purchases(); }
  AutoTopUpStore& top_ups() { return bed_.nodes[0]->auto_top_ups(); }
  std::vector<Purchase> all() { return *purchases().list({.account_id = account_}); }
  Credits balance_now() { return bed_.nodes[0]->ledger().balance(account_)->credits; }
  std::map<std::string, ledger::Allocation> allocations_now() {
    std::map<std::string, ledger::Allocation> by_id;
    const auto allocations = bed_.nodes[0]->ledger().allocations(account_);
    for (const auto& each : *allocations) by_id.emplace(each.id, each);
    return by_id;
  }
  static std::int64_t of_key(int pick) { return pick % keys_of_case; }

  template <class Items>
  static auto picked(Items& items, int pick) {
    return std::next(items.begin(), pick % static_cast<std::ptrdiff_t>(items.size()));
  }

  // ---- what happens

  void buy(const Deed& deed) {
    const std::string key = account_ + std::to_string(of_key(deed.pick));
    const std::int64_t minor = 100 + 10 * (deed.units % 2);
    const bool was_locked = *purchases().is_locked(account_);
    const auto bought = nodes_[deed.node].shop->buy(
        {account_, offer_, minor, key}, identity::operator_actor(), [](const Purchase& purchase) {
          return purchase.id + " " + purchase.url + " " + std::string(name_of(purchase.state));
        });
    const auto known = replies_.find(key);
    if (!bought.ok()) {
      using base::ErrorCode;
      switch (bought.error().code) {
        case ErrorCode::idempotency_conflict: {
          const auto first = minors_.find(key);
          RC_ASSERT(first != minors_.end() && first->second != minor);
          return;
        }
        case ErrorCode::purchase_account_locked:
          RC_ASSERT(was_locked && !minors_.contains(key));
          return;
        case ErrorCode::purchase_processor_unavailable:
          minors_.emplace(key, minor);
          RC_ASSERT(known == replies_.end());
          return;
        default:
          RC_FAIL("it may not be refused so: " + bought.error().message);
      }
    }
    RC_ASSERT(minors_.emplace(key, minor).first->second == minor);
    if (known != replies_.end()) RC_ASSERT(bought->body == known->second);  // I7
    replies_.emplace(key, bought->body);
    // I3: a caller that has a payment URL has a purchase that is durable.
    const auto durable = purchases().find(bought->id);
    RC_ASSERT(durable.ok() && durable->has_value());
    RC_ASSERT(!(*durable)->reference.empty());
    RC_ASSERT(bought->body.find(" https://pay.example/" + (*durable)->reference + " ") !=
              std::string::npos);
  }

  void happen(const Deed& deed) {
    const auto references = service_.of(account_);
    if (references.empty()) return;
    const std::string reference = *picked(references, deed.pick);
    Truth& truth = service_.truths.at(reference);
    if (!change(reference, truth, deed)) return;
    hints_.push_back({Hint::Of::reference, reference});
    hints_.push_back({Hint::Of::payment, truth.payment.payment});
  }

  // Returns false if this cannot happen now.
  static bool change(const std::string& reference, Truth& truth, const Deed& deed) {
    Payment& payment = truth.payment;
    const bool is_paid = payment.progress == Progress::paid;
    const bool is_final = payment.dispute == Dispute::open || payment.dispute == Dispute::lost;
    // A customer cannot pay what only a saved method is charged for.
    const bool is_charging = payment.progress == Progress::processing;
    if (truth.is_of_saved_method && !is_paid && !is_charging) return false;
    switch (deed.act) {
      case Act::pay:  // money can also arrive after a decline or an expiry
        payment.progress = Progress::paid;
        return !is_paid;
      case Act::decline:
        if (is_paid) return false;
        payment.progress = Progress::declined;
        payment.code = "card_declined";
        return true;
      case Act::expire:
        if (is_paid || is_charging) return false;
        payment.progress = Progress::expired;
        return true;
      case Act::refund:
        if (!is_paid || is_final) return false;
        payment.refunded = std::min(payment.total, payment.refunded + deed.units * 4);
        return true;
      case Act::dispute:
        if (!is_paid || is_final || payment.refunded == payment.total) return false;
        payment.dispute = Dispute::open;
        payment.dispute_id = "dp_" + reference + "_" + std::to_string(++truth.disputes);
        return true;
      case Act::win:
      case Act::lose:
        if (payment.dispute != Dispute::open) return false;
        payment.dispute = deed.act == Act::win ? Dispute::won : Dispute::lost;
        return true;
      default:
        return false;
    }
  }

  void deliver(const Deed& deed, bool stays) {
    if (hints_.empty()) return;
    const auto at = picked(hints_, deed.pick);
    const Hint hint = *at;
    if (!stays) hints_.erase(at);
    const Hint told[] = {hint, {Hint::Of::reference, "cs_of_nobody"}};
    RC_ASSERT(nodes_[deed.node].reconciler->take(processors_.list().front(), told).ok());
  }

  void drop(const Deed& deed) {
    if (!hints_.empty()) hints_.erase(picked(hints_, deed.pick));
  }

  void poll(int node, std::int64_t seconds) {
    bed_.store.clock.move_ms(seconds * 1'000);
    while (nodes_[node].reconciler->pass()) {
    }
  }

  void look(const Deed& deed) {
    const auto list = all();
    if (list.empty() || service_.is_away) return;
    const Purchase& seen = list[static_cast<std::size_t>(deed.pick) % list.size()];
    if (!seen.reference.empty()) told_.push_back({seen, service_.told(seen.reference)});
  }

  void write(const Deed& deed) {
    if (told_.empty()) return;
    const auto at = picked(told_, deed.pick);
    const Told told = *at;
    told_.erase(at);
    const std::int64_t now_ms = bed_.store.clock.now_ms();
    const Step step = after_look(told.seen, told.payment, now_ms);
    const auto written = bed_.nodes[deed.node]->purchases().advance(
        step, due_after(step.next, now_ms, random_));
    RC_ASSERT(written.ok());
  }

  // ---- Auto Top-Up

  void save_method(const Deed& deed) {
    const auto begun = nodes_[deed.node].auto_top_ups->begin_setup(
        account_, service_name, "save " + std::to_string(of_key(deed.pick)),
        identity::operator_actor(), [](const MethodSetup& setup) { return setup.id; });
    if (begun.ok()) {
      setup_id_ = begun->id;
      return;
    }
    RC_ASSERT(begun.error().code == base::ErrorCode::purchase_account_locked ||
              begun.error().code == base::ErrorCode::idempotency_in_progress);
  }

  void remove_method(const Deed& deed) {
    if (setup_id_.empty()) return;
    const auto removed = nodes_[deed.node].auto_top_ups->remove(account_, setup_id_,
                                                               identity::operator_actor());
    if (removed.ok()) {
      RC_ASSERT(!removed->is_usable());
      removed_.insert(setup_id_);
    } else {
      RC_ASSERT(removed.error().code == base::ErrorCode::auto_reload_method_conflict);
    }
  }

  void replace_policy(int node, bool is_enabled) {
    const auto seen = top_ups().look(account_);
    PolicyWish wish;
    wish.policy.account_id = account_;
    wish.policy.is_enabled = is_enabled;
    wish.policy.threshold = run_threshold;
    wish.policy.minor = run_minor;
    wish.policy.monthly_limit_minor = monthly_limit_minor;
    wish.policy.setup_id = is_enabled ? setup_id_ : "";
    wish.expected_revision = seen->policy.revision;
    wish.idempotency_key = account_ + std::to_string(wish.expected_revision);
    const auto written =
        nodes_[node].auto_top_ups->replace(wish, identity::operator_actor());
    if (written.ok()) {
      is_on_ = is_enabled;
      return;
    }
    RC_ASSERT(is_enabled);  // it can always be turned off
    RC_ASSERT(written.error().code == base::ErrorCode::purchase_account_locked ||
              written.error().code == base::ErrorCode::auto_reload_method_conflict);
  }

  void scan(const Deed& deed) {
    bed_.store.clock.move_ms(deed.units * 1'000);
    nodes_[deed.node].auto_top_ups->pass();
  }

  // The first half of Desk::charge(). The other half follows later or never.
  void note_charge(const Deed& deed) {
    for (const Purchase& run : all()) {
      const bool is_charged_next = is_run(run) && run.state == State::awaiting_payment;
      if (!is_charged_next || service_.is_away) continue;
      if (service_.told(run.reference).progress != Progress::never_ran) continue;
      const auto noted = bed_.nodes[deed.node]->auto_top_ups().note_charge(run, 30'000);
      RC_ASSERT(noted.ok());
      RC_ASSERT((is_on_ && !removed_.contains(run.setup_id)) || !*noted);  // I6
      if (*noted) noted_.push_back(**noted);
    }
  }

  void send_charge(const Deed& deed) {
    if (noted_.empty() || service_.is_away) return;
    const auto at = picked(noted_, deed.pick);
    const Purchase run = *at;
    noted_.erase(at);
    const std::string key = Desk::step_key(run.id, "charge", run.charge_number - 1);
    Order order;
    order.purchase_id = run.id;
    order.account_id = run.account_id;
    order.step_key = key;
    order.price = {run.currency, run.minor};
    const bool was_on = std::exchange(is_on_, true);  // as when the charge began
    const auto removed = std::exchange(removed_, {});
    ProcessorCall call("", patient_ms);
    const auto payment = service_.charge(order, run.reference, call);
    is_on_ = was_on;
    removed_ = removed;
    if (payment.ok()) told_.push_back({run, *payment});
  }

  // Checks each charge when it reaches the service.
  void check_charge(const Order& order, std::string_view reference) {
    const auto run = purchases().find(order.purchase_id);
    RC_ASSERT(run.ok() && run->has_value());
    RC_ASSERT((*run)->reference == reference);  // I3
    RC_ASSERT((*run)->account_id == account_);  // no case leaves a run to the next
    RC_ASSERT(is_on_);                          // I6
    RC_ASSERT(!removed_.contains((*run)->setup_id));
    RC_ASSERT(order.price.minor == run_minor);
  }

  void check_runs(const std::vector<Purchase>& list) {
    int open = 0;
    int declines = 0;
    std::int64_t spent_minor = 0;
    const std::int64_t now_ms = bed_.store.clock.now_ms();
    for (const Purchase& each : list) {
      if (!is_run(each)) continue;
      if (is_open(each.state)) ++open;
      const bool is_unpaid = !is_open(each.state) && !was_paid(each.state);
      if (!is_unpaid && each.created_at_ms >= month_start_ms(now_ms)) spent_minor += each.minor;
      if (each.state == State::failed && each.created_at_ms > now_ms - card_window_ms) ++declines;
    }
    RC_ASSERT(open <= 1);  // I4
    RC_ASSERT(spent_minor <= monthly_limit_minor);
    RC_ASSERT(declines <= card_declines_max);
    RC_ASSERT(top_ups().look(account_)->policy.is_enabled == is_on_);
  }

  // ---- spending

  // The fact refers to `id` and is valid as long as it.
  ledger::UsageFact fact_of(const std::string& id, bool is_success) {
    ledger::UsageFact fact;
    fact.message_id = fact.request_id = id;
    fact.account_id = account_;
    fact.charged = is_success;
    fact.outcome_reason = is_success ? "success" : "upstream_failure";
    return fact;
  }

  void hold(const Deed& deed) {
    Node& node = nodes_[deed.node];
    const Credits units = deed.units * 10;
    auto answer = node.ledger->hold({account_}, units, runtime::Deadline::after_ms(patient_ms));
    if (answer) node.held.push_back({*std::move(answer), units});
  }

  void end_hold(const Deed& deed, bool is_success) {
    Node& node = nodes_[deed.node];
    if (node.held.empty()) return;
    const auto at = picked(node.held, deed.pick);
    Held held = std::move(*at);
    node.held.erase(at);
    const std::string id = account_ + "-" + std::to_string(++calls_);
    const auto fact = fact_of(id, is_success);
    if (!is_success) return node.ledger->release(std::move(held.hold), fact);
    const auto settled = node.ledger->settle(std::move(held.hold), fact);
    if (const auto* const charge = std::get_if<ledger::Settled>(&settled)) {
      RC_ASSERT(charge->charged == held.units);
      charged_ += charge->charged;
    } else {
      RC_ASSERT(std::get<ledger::SettlementRefused>(settled).error.code ==
                base::ErrorCode::billing_lease_lost);
    }
  }

  // ---- what must be so

  void check_one(const Purchase& purchase) {
    RC_ASSERT(purchase.conflict.empty());
    RC_ASSERT(purchase.url.empty() || !purchase.reference.empty());  // I3
    const bool is_credited = purchase.credited_at_ms >= 0;
    RC_ASSERT(is_credited == was_paid(purchase.state));
    if (is_credited) RC_ASSERT(service_.truths.at(purchase.reference).was_told_paid);  // I2
    RC_ASSERT(purchase.clawed >= 0 && purchase.lost >= 0);  // I5
    RC_ASSERT(purchase.clawed + purchase.lost <= purchase.wanted);
    RC_ASSERT(purchase.wanted <= purchase.credits);
    if (purchase.is_claw_settled) RC_ASSERT(purchase.clawed + purchase.lost == purchase.wanted);
    RC_ASSERT(purchase.locks_account == false || purchase.state == State::disputed);
  }

  void check_allocation(const Purchase& purchase,
                        const std::map<std::string, ledger::Allocation>& allocations) {
    const auto own = allocations.find(allocation_of(purchase.id));  // I1
    RC_ASSERT(own != allocations.end());
    RC_ASSERT(own->second.units == purchase.credits);
    RC_ASSERT(own->second.origin == purchase.origin);
  }

  // The possible allocations of all disputes that may have been won.
  std::vector<std::string> restored_of(const Purchase& purchase) {
    std::vector<std::string> ids;
    const Truth& truth = service_.truths.at(purchase.reference);
    for (int number = 1; number <= truth.disputes; ++number) {
      const std::string dispute = "dp_" + purchase.reference + "_" + std::to_string(number);
      ids.push_back(restoring_allocation_of(purchase.id, dispute));
      for (int late = 1; late < 20; ++late) {  // for units that nodes returned after the win
        ids.push_back(restoring_allocation_of(purchase.id, dispute + "." + std::to_string(late)));
      }
    }
    return ids;
  }

  bool is_at_rest() {
    const auto list = all();
    return std::all_of(list.begin(), list.end(), [&](const Purchase& purchase) {
      const bool has_ended = !is_run(purchase) || !is_open(purchase.state);
      return purchase.is_claw_settled && !purchase.reference.empty() && is_as_told(purchase) &&
             has_ended;
    });
  }
  bool is_as_told(const Purchase& purchase) {
    const Payment& payment = service_.truths.at(purchase.reference).payment;
    return was_paid(purchase.state) == (payment.progress == Progress::paid);
  }

  // Closes everything that the next case could still see.
  void leave_nothing_open() {
    if (is_on_) replace_policy(0, false);
    std::vector<Hint> ended;
    for (const std::string& reference : service_.of(account_)) {
      Payment& payment = service_.truths.at(reference).payment;
      if (payment.progress != Progress::open) continue;
      payment.progress = Progress::expired;
      ended.push_back({Hint::Of::reference, reference});
    }
    RC_ASSERT(nodes_[0].reconciler->take(processors_.list().front(), ended).ok());
    poll(0, 1);
  }

  void count(const Purchase& purchase) {
    const bool is_credited = purchase.credited_at_ms >= 0;
    ++(is_run(purchase) ? reached_.runs : reached_.purchases);
    if (is_credited) ++(is_run(purchase) ? reached_.runs_credited : reached_.credited);
    if (purchase.clawed > 0) ++reached_.taken_back;
    if (is_run(purchase) && purchase.state == State::failed) ++reached_.runs_declined;
    if (is_run(purchase) && purchase.state == State::cancelled) ++reached_.runs_cancelled;
  }

  void check_end(const Purchase& purchase) {
    RC_ASSERT(!purchase.reference.empty());
    RC_ASSERT(purchase.is_claw_settled);
    const Payment& payment = service_.truths.at(purchase.reference).payment;
    if (payment.progress != Progress::paid) {
      const State ends[] = {is_run(purchase) ? State::cancelled : State::awaiting_payment,
                            State::failed, State::expired};
      RC_ASSERT(std::find(std::begin(ends), std::end(ends), purchase.state) != std::end(ends));
      return;
    }
    const bool is_demanded =
        payment.dispute == Dispute::open || payment.dispute == Dispute::lost;
    const Credits by_refunds = purchase.credits * payment.refunded / payment.total;
    RC_ASSERT(purchase.wanted == (is_demanded ? purchase.credits : by_refunds));
    RC_ASSERT(purchase.refunded_minor == payment.refunded);
    RC_ASSERT(purchase.lost <= charged_);
    RC_ASSERT((purchase.state == State::disputed) == is_demanded);
    if (!is_demanded) {
      const bool is_all = payment.refunded == payment.total;
      RC_ASSERT(purchase.state == (is_all ? State::refunded : State::credited));
    }
  }

  ModelBed& bed_;
  Reached& reached_;
  support::SeededRandom random_{1};  // for the times of looks; repeats with the case
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  PaymentService& service_;
  Processors processors_;
  std::array<Node, nodes_of_bed> nodes_;
  std::string account_;
  std::string offer_;
  std::map<std::string, std::int64_t> minors_;  // by key, of the first purchase under it
  std::map<std::string, std::string> replies_;  // by key
  std::vector<Hint> hints_;
  std::vector<Told> told_;
  std::vector<Purchase> noted_;  // runs that a node is about to charge
  std::string setup_id_;         // the latest
  std::set<std::string> removed_;  // setups whose method was removed
  bool is_on_ = false;           // the policy according to replies
  Credits charged_ = 0;
  int calls_ = 0;
};

rc::Gen<Deed> any_deed() {
  return rc::gen::build<Deed>(
      rc::gen::set(&Deed::act, rc::gen::weightedElement<Act>(
                                   {{8, Act::buy},     {12, Act::pay},         {1, Act::decline},
                                    {1, Act::expire},  {5, Act::refund},       {4, Act::dispute},
                                    {3, Act::win},     {1, Act::lose},         {8, Act::deliver},
                                    {3, Act::drop},    {3, Act::deliver_kept}, {8, Act::poll},
                                    {6, Act::look},    {6, Act::write},        {6, Act::hold},
                                    {3, Act::settle},  {2, Act::release},      {1, Act::go_away},
                                    {2, Act::come_back}, {1, Act::lose_answer}, {1, Act::unlock},
                                    {3, Act::save_method}, {1, Act::remove_method},
                                    {4, Act::turn_on}, {1, Act::turn_off},
                                    {6, Act::scan}, {2, Act::note_charge}, {2, Act::send_charge},
                                    {2, Act::judge}, {1, Act::resume}})),
      rc::gen::set(&Deed::node, rc::gen::inRange(0, nodes_of_bed)),
      rc::gen::set(&Deed::pick, rc::gen::inRange(0, 100)),
      rc::gen::set(&Deed::units, rc::gen::inRange<std::int64_t>(1, 40)));
}

int cases_of_model(int otherwise) {
  const char* const wanted = std::getenv("TURNPIKE_PROPERTY_CASES");
  return wanted == nullptr ? otherwise : std::atoi(wanted);
}

constexpr int cases_per_model_bed = 50;  // verify() reads the whole database

class PurchaseModel : public testing::TestWithParam<storage::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, PurchaseModel, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(PurchaseModel, KeepsItsInvariantsInEveryOrder) {
  if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  runtime::BlockingPool pool(1, 16);
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSize = 60;  // most deeds in a case
  params.maxSuccess = cases_of_model(GetParam() == storage::Engine::sqlite ? 500 : 50);
  const rc::detail::TestMetadata metadata{.id = "purchases",
                                          .description = "purchases keep their invariants"};
  std::printf("%d cases on %s, seed %llu\n", params.maxSuccess,
              support::name_of(GetParam()).c_str(), static_cast<unsigned long long>(params.seed));
  std::unique_ptr<ModelBed> bed;
  int cases_on_bed = 0;
  Reached reached;
  const auto result = rc::detail::checkTestable(
      [&] {
        const bool tops_up = *rc::gen::arbitrary<bool>();
        const auto deeds = *rc::gen::container<std::vector<Deed>>(any_deed());
        if (bed == nullptr || ++cases_on_bed % cases_per_model_bed == 0) {
          bed = std::make_unique<ModelBed>(GetParam());
        }
        try {
          PurchaseWorld world(*bed, pool, reached);
          if (tops_up) world.begin_with_top_up();
          for (const Deed& deed : deeds) {
            world.take(deed);
            world.check();
          }
          world.finish();
        } catch (...) {
          bed.reset();  // the next case must not see what this one broke
          throw;
        }
      },
      metadata, params);
  std::printf("%d purchases, %d credited; %d top-ups, %d credited, %d declined, %d cancelled; "
              "of %d something was taken back\n",
              reached.purchases, reached.credited, reached.runs, reached.runs_credited,
              reached.runs_declined, reached.runs_cancelled, reached.taken_back);
  if (!result.is<rc::detail::SuccessResult>()) {
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    FAIL() << text.str() << "\nseed " << params.seed;
  }
}

}  // namespace
}  // namespace turnpike::commerce
