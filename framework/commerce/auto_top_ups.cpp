#include "commerce/auto_top_ups.h"

#include <algorithm>
#include <span>
#include <utility>

#include "crypto/digest.h"

namespace turnpike::commerce {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::int64_t scan_each_ms = 2'000;
constexpr std::uint32_t setups_a_pass_max = 5;
constexpr std::int64_t setup_lease_ms = 30'000;
constexpr std::int64_t setup_timeout_ms = 15'000;
constexpr std::int64_t setup_expires_ms = 24ll * 3'600'000;
constexpr std::int64_t setup_given_up_ms = 24ll * 3'600'000;
constexpr std::int64_t counted_each_ns = 15'000'000'000;

Error no_setup() {
  return {ErrorCode::auto_reload_setup_not_found,
          "The billing account has no payment-method setup with this id."};
}

Error nothing_charges() {
  return {ErrorCode::purchase_offer_not_found,
          "No payment service of this name charges saved methods here."};
}

Failure not_loaded() { return {FailureKind::unavailable, "it is not loaded", {}, false}; }

// The request digest of a policy under its Idempotency-Key.
std::string digest_of(const Policy& policy, std::int64_t expected_revision) {
  const auto number = [](std::int64_t value) { return std::to_string(value) + " "; };
  return crypto::sha256_hex(number(expected_revision) + number(policy.is_enabled) +
                            number(policy.threshold) + number(policy.minor) +
                            number(policy.monthly_limit_minor) + policy.currency + " " +
                            policy.setup_id);
}

}  // namespace

std::vector<const ProcessorInService*> AutoTopUps::processors() const {
  std::vector<const ProcessorInService*> list;
  if (!desk_.settings().top_up.is_enabled) return list;
  for (const ProcessorInService& each : desk_.parts().processors.list()) {
    if (each.traits.charges_saved) list.push_back(&each);
  }
  return list;
}

Result<std::vector<Offer>, Error> AutoTopUps::offers() {
  const auto published = desk_.ask([&] { return desk_.store().terms(); });
  if (!published.ok()) return published.error();
  return offers_in_force(*published, desk_.parts().processors);
}

Result<AutoTopUp, Error> AutoTopUps::look(std::string_view account_id) {
  return desk_.ask([&] { return store_.look(account_id); });
}

Result<std::vector<Policy>, Error> AutoTopUps::revisions(std::string_view account_id) {
  return desk_.ask([&] { return store_.revisions(account_id, revisions_shown_max); });
}

Result<WrittenPolicy, Error> AutoTopUps::replace(PolicyWish wish, const identity::Actor& actor) {
  NewPolicy wanted{std::move(wish.policy), wish.expected_revision,
                   crypto::sha256_hex(wish.idempotency_key), {}};
  wanted.request_digest = digest_of(wanted.policy, wanted.expected_revision);
  if (wanted.policy.is_enabled) {
    auto priced = price(wanted);
    if (!priced.ok()) return priced.error();
  }
  return desk_.ask([&] { return store_.replace(wanted, actor); });
}

Result<Unit, Error> AutoTopUps::price(NewPolicy& wanted) {
  const auto setup = find_setup(wanted.policy.account_id, wanted.policy.setup_id);
  if (!setup.ok()) {
    // Not an error here: the store reports a missing method.
    if (setup.error().code == ErrorCode::auto_reload_setup_not_found) return Unit{};
    return setup.error();
  }
  const auto made = offers();
  if (!made.ok()) return made.error();
  const auto offer = std::find_if(made->begin(), made->end(), [&](const Offer& each) {
    return each.processor == setup->processor;
  });
  if (offer == made->end() || processors().empty()) {
    wanted.problem = nothing_charges();
  } else {
    wanted.problem = problem_of(wanted.policy, offer->terms);
  }
  return Unit{};
}

// ---- setups -------------------------------------------------------------------------------------

Result<BegunSetup, Error> AutoTopUps::begin_setup(std::string_view account_id,
                                                  std::string_view processor_name,
                                                  std::string_view key,
                                                  const identity::Actor& actor,
                                                  const SetupBody& body_of) {
  const runtime::CancelMask mask;  // a begun setup is finished even if the caller left
  const ProcessorInService* const processor = desk_.parts().processors.find(processor_name);
  const bool can_charge = processor != nullptr && processor->traits.charges_saved &&
                          desk_.settings().top_up.is_enabled;
  if (!can_charge) return nothing_charges();
  const NewSetup wanted{.account_id = std::string(account_id),
                        .processor = processor->name,
                        .expires_at_ms = desk_.parts().clock.now_ms() + setup_expires_ms,
                        .key_digest = crypto::sha256_hex(key),
                        .request_digest = crypto::sha256_hex(processor->name),
                        .lease_ms = desk_.lease_ms(*processor)};
  const auto opened = desk_.ask([&] { return store_.open_setup(wanted, actor); });
  if (!opened.ok()) return opened.error();
  MethodSetup setup = opened->setup;
  if (!setup.reply.empty()) return BegunSetup{setup.reply, setup.id, true, true};
  if (setup.standing == SetupStanding::needs_reconciliation) {
    if (!opened->is_leased) {
      return Error{ErrorCode::idempotency_in_progress,
                   "The setup under this Idempotency-Key is being begun; ask again.", 1};
    }
    auto begun = begin(setup);
    if (!begun.ok() && begun.error().code == ErrorCode::purchase_processor_unavailable) {
      return BegunSetup{body_of(setup), setup.id, opened->is_repeat, false};
    }
    if (!begun.ok()) return begun.error();
    setup = *std::move(begun);
  }
  if (setup.reference.empty()) {
    return Error{ErrorCode::purchase_declined, setup_failure_text(setup.failure_code)};
  }
  const auto kept =
      desk_.ask([&] { return store_.keep_setup_reply(setup.id, body_of(setup)); });
  if (!kept.ok()) return kept.error();
  return BegunSetup{*kept, setup.id, opened->is_repeat, true};
}

Result<MethodSetup, Error> AutoTopUps::find_setup(std::string_view account_id,
                                                  std::string_view id) {
  constexpr std::int64_t hastened_max = 20;
  constexpr std::int64_t soon_ms = 3'000;
  const auto found = desk_.ask([&] { return store_.find_setup(id); });
  if (!found.ok()) return found.error();
  if (!*found || (*found)->account_id != account_id) return no_setup();
  const MethodSetup& setup = **found;
  const bool is_due_soon = setup.due_ms < desk_.parts().clock.now_ms() + soon_ms;
  if (setup.standing == SetupStanding::requires_action && !is_due_soon &&
      setup.hints < hastened_max) {
    const Hint hint{Hint::Of::setup, setup.id};
    const auto hurried =
        desk_.ask([&] { return desk_.store().hint(setup.processor, std::span(&hint, 1)); });
    if (!hurried.ok()) return hurried.error();
  }
  return setup;
}

Result<std::vector<MethodSetup>, Error> AutoTopUps::setups(std::string_view account_id) {
  return desk_.ask([&] { return store_.setups(account_id, setups_shown_max); });
}

Result<MethodSetup, Error> AutoTopUps::remove(std::string_view account_id, std::string_view id,
                                              const identity::Actor& actor) {
  return desk_.ask([&] { return store_.remove_method(account_id, id, actor); });
}

Result<MethodSetup, Error> AutoTopUps::write(const MethodSetup& next) {
  auto written = desk_.ask([&] {
    return store_.advance_setup(
        next, setup_due_after(next, desk_.parts().clock.now_ms(), desk_.parts().random));
  });
  if (!written.ok()) return written.error();
  if (*written) return **std::move(written);
  // Another caller or another node took the step meanwhile: its result counts.
  auto found = desk_.ask([&] { return store_.find_setup(next.id); });
  if (!found.ok()) return found.error();
  if (*found) return **std::move(found);
  return no_setup();
}

Result<MethodSetup, Error> AutoTopUps::give_up(const MethodSetup& setup, const Failure& failure,
                                               std::string_view what) {
  desk_.parts().log.write(Severity::warning, "processor_failed",
                          {{"processor", setup.processor},
                           {"setup", setup.id},
                           {"step", what},
                           {"reason", failure.message}});
  MethodSetup next = setup;
  ++next.looks;
  // The processor may repeat its answer to the old step_key forever, so the retry uses a new one.
  const bool is_unbegun = setup.standing == SetupStanding::needs_reconciliation;
  if (is_unbegun && failure.maybe_sent) ++next.begin_number;
  if (auto written = write(next); !written.ok()) return written;
  return Error{ErrorCode::purchase_processor_unavailable,
               "The payment service does not answer now; it is asked again.", 5};
}

Result<MethodSetup, Error> AutoTopUps::begin(const MethodSetup& setup) {
  const ProcessorInService* const processor = desk_.parts().processors.find(setup.processor);
  if (processor == nullptr) {
    return give_up(setup, not_loaded(), "begin_setup");
  }
  const std::int64_t now_ms = desk_.parts().clock.now_ms();
  if (now_ms - setup.created_at_ms > setup_given_up_ms) {
    return write(after_setup_refusal(setup, "processor_unanswered"));
  }
  const auto customer =
      desk_.ask([&] { return desk_.store().customer(setup.account_id, setup.processor); });
  if (!customer.ok()) return customer.error();
  const std::string url =
      Desk::url_for(desk_.settings().saved_url, setup.account_id, "{setup}", setup.id);
  const std::string key = Desk::step_key(setup.id, "setup", setup.begin_number);
  const Order order{.purchase_id = setup.id,
                    .account_id = setup.account_id,
                    .title = desk_.settings().brand,
                    .customer = *customer,
                    .saved_method = {},
                    .success_url = url,
                    .cancel_url = url,
                    .step_key = key,
                    .price = {Terms().currency, 0},
                    .expires_at_ms = setup.expires_at_ms,
                    .saves_method = true};
  ProcessorCall call("", processor->traits.begin_timeout_ms);
  const auto begun = processor->bound->begin_setup(order, call);
  if (!begun.ok()) return give_up(setup, begun.error(), "begin_setup");
  if (!begun->refusal.empty()) return write(after_setup_refusal(setup, begun->refusal));
  return write(after_setup_begin(setup, *begun));
}

Result<MethodSetup, Error> AutoTopUps::forget(const MethodSetup& setup) {
  const ProcessorInService* const processor = desk_.parts().processors.find(setup.processor);
  if (processor == nullptr) {
    return give_up(setup, not_loaded(), "forget_method");
  }
  ProcessorCall call("", setup_timeout_ms);
  const Done done = processor->bound->forget_method(setup.method.reference, call);
  if (!done.ok()) return give_up(setup, done.error(), "forget_method");
  return write(after_removal(setup));
}

Result<MethodSetup, Error> AutoTopUps::work_on(const MethodSetup& setup) {
  if (setup.reference.empty()) return begin(setup);
  if (setup.removal == Removal::wanted) return forget(setup);
  const ProcessorInService* const processor = desk_.parts().processors.find(setup.processor);
  if (processor == nullptr) {
    return give_up(setup, not_loaded(), "look_up");
  }
  ProcessorCall call("", setup_timeout_ms);
  const auto seen = processor->bound->look_up_setup(setup.reference, call);
  if (!seen.ok()) return give_up(setup, seen.error(), "look_up_setup");
  return write(after_setup_look(setup, *seen));
}

// ---- background work ----------------------------------------------------------------------------

void AutoTopUps::look_at_due() {
  const auto due =
      desk_.ask([&] { return store_.take_due_setups(setup_lease_ms, setups_a_pass_max); });
  if (!due.ok()) return report("take due setups", due.error());
  for (const MethodSetup& setup : *due) {
    const auto done = work_on(setup);
    if (!done.ok() && done.error().code == ErrorCode::purchase_unavailable) {
      report("look at a setup", done.error());
    }
  }
}

void AutoTopUps::pass() {
  look_at_due();
  report_counts();
  if (processors().empty()) return;  // no processor can charge
  const auto made = offers();
  if (!made.ok()) return report("read offers", made.error());
  const RunRules rules{*made, desk_.settings().top_up};
  const auto opened = desk_.ask([&] { return store_.open_runs(rules, scan_each_ms); });
  if (!opened.ok()) return report("open runs", opened.error());
  if (!*opened || **opened == 0) return;
  metrics_
      .counter("turnpike_auto_top_up_runs_total",
               "Purchases that were begun since an account had few Credits.", {})
      .add(**opened);
}

void AutoTopUps::report_counts() {
  const std::int64_t now_ns = runtime::now_ns();
  if (counted_ns_ != 0 && now_ns - counted_ns_ < counted_each_ns) return;
  counted_ns_ = now_ns;
  const auto counts = desk_.ask([&] { return store_.counts(); });
  if (!counts.ok()) return;
  const auto set = [&](const char* state, std::int64_t value) {
    metrics_
        .gauge("turnpike_auto_top_ups", "Accounts whose Credits are topped up, by state.",
               {{"state", state}})
        .set(static_cast<double>(value));
  };
  set("active", counts->active);
  set("paused", counts->paused);
}

void AutoTopUps::report(std::string_view what, const Error& error) {
  desk_.parts().log.write(Severity::error, "auto_top_up_failed",
                          {{"what", what}, {"reason", error.message}});
}

}  // namespace turnpike::commerce
