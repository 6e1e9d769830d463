// offer, purchase, commerce: the operator's commands on purchases of Credits. Only a running
// gateway asks processors; these commands record that a request is due.
#include <algorithm>
#include <functional>
#include <iostream>

#include "app/commands/command_database.h"
#include "app/plugins/bound_processors.h"
#include "app/plugins/plugin_process.h"
#include "commerce/offer.h"
#include "commerce/store.h"
#include "text/json_text.h"
#include "text/time_text.h"
#include "text/words.h"

namespace turnpike::app {
namespace {

using commerce::amount_text;
using commerce::PublishedTerms;
using commerce::Purchase;
using commerce::Refund;
using nlohmann::json;

constexpr std::int64_t processor_timeout_ms = 30'000;

json time_json(std::int64_t at_ms) {
  return at_ms < 0 ? json() : json(text::rfc3339(at_ms));
}

json money_json(const std::string& currency, std::int64_t minor) {
  return {{"currency", currency}, {"amount", amount_text(minor)}};
}

json terms_json(const PublishedTerms& published) {
  const commerce::Terms& terms = published.terms;
  const std::int64_t published_ms = published.published_at_ms;
  return {{"revision", published.revision},
          {"processor", published.processor.empty() ? json() : json(published.processor)},
          {"unitAmount", money_json(terms.currency, terms.unit_minor)},
          {"unitCredits", std::to_string(terms.unit_credits)},
          {"minimumAmount", money_json(terms.currency, terms.minimum_minor)},
          {"maximumAmount", money_json(terms.currency, terms.maximum_minor)},
          {"amountStep", money_json(terms.currency, terms.step_minor)},
          {"validityDays", terms.validity_days},
          // The base offer was created with the schema, so it has no time of publication.
          {"publishedAt", time_json(published_ms > 0 ? published_ms : -1)},
          {"retiredAt", time_json(published.retired_at_ms)}};
}

std::string terms_text(const PublishedTerms& published) {
  const commerce::Terms& terms = published.terms;
  return std::to_string(published.revision) + "  " +
         (published.retired_at_ms < 0 ? "in force" : "retired") + "  " +
         std::to_string(terms.unit_credits) + " Credits for " + amount_text(terms.unit_minor) +
         " " + terms.currency + ", " + amount_text(terms.minimum_minor) + " to " +
         amount_text(terms.maximum_minor) + " in steps of " + amount_text(terms.step_minor) +
         ", valid " + text::counted(terms.validity_days, "day") + ", " +
         (published.processor.empty() ? "every processor" : published.processor);
}

json refund_json(const Refund& refund, const std::string& currency) {
  return {{"id", refund.id},
          {"amount", money_json(currency, refund.minor)},
          {"credits", std::to_string(refund.wanted)},
          {"state", commerce::name_of(refund.state)},
          {"refusal", refund.refusal.empty() ? json() : json(refund.refusal)},
          {"note", refund.note},
          {"createdAt", time_json(refund.created_at_ms)}};
}

json purchase_json(const Purchase& purchase) {
  return {{"id", purchase.id},
          {"billingAccountId", purchase.account_id},
          {"origin", ledger::name_of(purchase.origin)},
          {"processor", purchase.processor},
          {"state", commerce::name_of(purchase.state)},
          {"amount", money_json(purchase.currency, purchase.minor)},
          {"tax", money_json(purchase.currency, purchase.tax_minor)},
          {"credits", std::to_string(purchase.credits)},
          {"reference", purchase.reference},
          {"payment", purchase.payment},
          {"refundedAmount", money_json(purchase.currency, purchase.refunded_minor)},
          {"creditsWanted", std::to_string(purchase.wanted)},
          {"creditsClawed", std::to_string(purchase.clawed)},
          {"creditsLost", std::to_string(purchase.lost)},
          {"locksAccount", purchase.locks_account},
          {"failure", purchase.failure_code.empty() ? json() : json(purchase.failure_code)},
          {"conflict", purchase.conflict.empty() ? json() : json(purchase.conflict)},
          {"nextLookAt", time_json(purchase.due_ms)},
          {"createdBy", purchase.created_by},
          {"createdAt", time_json(purchase.created_at_ms)},
          {"paidAt", time_json(purchase.paid_at_ms)},
          {"creditedAt", time_json(purchase.credited_at_ms)}};
}

std::string purchase_text(const Purchase& purchase) {
  std::string text = purchase.id + "  " + std::string(commerce::name_of(purchase.state)) + "  " +
                     amount_text(purchase.minor) + " " + purchase.currency + "  " +
                     std::to_string(purchase.credits) + " Credits  " + purchase.processor + "  " +
                     purchase.account_id + "  " + text::rfc3339(purchase.created_at_ms);
  if (!purchase.failure_code.empty()) text += "  " + purchase.failure_code;
  if (!purchase.conflict.empty()) text += "  CONFLICT: " + purchase.conflict;
  if (purchase.lost > 0) text += "  lost " + std::to_string(purchase.lost) + " Credits";
  return text;
}

template <class T, class Encode, class Describe>
int print_list(const CommonOptions& options, const Result<std::vector<T>, base::Error>& list,
               const Encode& encode, const Describe& describe, const char* none) {
  if (!list.ok()) return print_failure(options, list.error().message);
  if (options.json) {
    json all = json::array();
    for (const T& each : *list) all.push_back(encode(each));
    std::cout << all.dump() << '\n';
    return exit_done;
  }
  if (list->empty()) std::cout << none << '\n';
  for (const T& each : *list) std::cout << describe(each) << '\n';
  return exit_done;
}

// Returns the purchase; nothing: there is none, or the error was printed.
std::optional<Purchase> find(Tools& tools, const CommonOptions& options, const std::string& id,
                             int& code) {
  auto found = tools.node.purchases().find(id);
  code = exit_failed;
  if (!found.ok()) {
    (void)print_failure(options, found.error().message);
    return std::nullopt;
  }
  if (!*found) {
    (void)print_failure(options, "there is no purchase with this id");
    return std::nullopt;
  }
  code = exit_done;
  return *std::move(found);
}

int refuse_amount(const CommonOptions& options, const std::string& what) {
  (void)print_failure(options, what + " takes an amount such as 10.00");
  return exit_usage;
}

// The part of the payment whose Credits are unspent.
std::int64_t unspent_minor(Tools& tools, const Purchase& purchase) {
  const auto allocations = tools.node.ledger().allocations(purchase.account_id);
  if (!allocations.ok()) return 0;
  const std::string id = commerce::allocation_of(purchase.id);
  const auto own = std::find_if(allocations->begin(), allocations->end(),
                                [&](const auto& each) { return each.id == id; });
  if (own == allocations->end()) return 0;
  const std::int64_t total = purchase.minor + purchase.tax_minor;
  return std::min(total * own->remaining / purchase.credits, total - purchase.refunded_minor);
}

}  // namespace

int run_offer_list(const CommonOptions& options) {
  return with_database(options, [&](Tools& tools) {
    return print_list(options, tools.node.purchases().terms(), terms_json, terms_text,
                      "nothing is sold");
  });
}

int run_offer_publish(const CommonOptions& options, const CommerceWords& words) {
  const auto unit = commerce::parse_amount(words.unit_amount);
  const auto minimum = commerce::parse_amount(words.minimum);
  const auto maximum = commerce::parse_amount(words.maximum);
  const auto step = commerce::parse_amount(words.step);
  if (!unit || !minimum || !maximum || !step) {
    return refuse_amount(options, "each of --unit-amount, --minimum, --maximum and --step");
  }
  const commerce::Terms terms{"USD", *unit, words.credits, *minimum, *maximum, *step, words.days};
  if (const std::string problem = commerce::problem_of(terms); !problem.empty()) {
    (void)print_failure(options, problem);
    return exit_usage;
  }
  return with_database(options, [&](Tools& tools) {
    return print(
        options,
        tools.node.purchases().publish(terms, words.processor, identity::operator_actor()),
        terms_json, terms_text);
  });
}

int run_offer_retire(const CommonOptions& options, const CommerceWords& words) {
  return with_database(options, [&](Tools& tools) {
    auto retired = tools.node.purchases().retire(words.revision, identity::operator_actor());
    if (!retired.ok()) return print_failure(options, retired.error().message);
    if (!*retired) return print_failure(options, "there are no terms of this revision");
    return print(options, Result<PublishedTerms, base::Error>(**std::move(retired)), terms_json,
                 terms_text);
  });
}

int run_purchase_list(const CommonOptions& options, const CommerceWords& words) {
  const auto state = commerce::state(words.state);
  if (!words.state.empty() && !state) {
    (void)print_failure(options, "--state takes the state of a purchase, such as paid");
    return exit_usage;
  }
  return with_database(options, [&](Tools& tools) {
    return print_list(
        options,
        tools.node.purchases().list(
            {.account_id = words.account, .limit = words.limit, .state = state}),
        purchase_json, purchase_text, "there is no purchase");
  });
}

int run_purchase_show(const CommonOptions& options, const CommerceWords& words) {
  return with_database(options, [&](Tools& tools) {
    int code = exit_done;
    const auto purchase = find(tools, options, words.id, code);
    if (!purchase) return code;
    const auto refunds = tools.node.purchases().refunds(purchase->id);
    if (!refunds.ok()) return print_failure(options, refunds.error().message);
    if (options.json) {
      json shown = purchase_json(*purchase);
      shown["refunds"] = json::array();
      for (const Refund& each : *refunds) {
        shown["refunds"].push_back(refund_json(each, purchase->currency));
      }
      std::cout << shown.dump() << '\n';
      return exit_done;
    }
    std::cout << purchase_text(*purchase) << '\n';
    if (!purchase->payment.empty()) std::cout << "payment " << purchase->payment << '\n';
    for (const Refund& each : *refunds) {
      std::cout << each.id << "  " << commerce::name_of(each.state) << "  "
                << amount_text(each.minor) << " " << purchase->currency << "  " << each.refusal
                << each.note << '\n';
    }
    return exit_done;
  });
}

int run_purchase_reconcile(const CommonOptions& options, const CommerceWords& words) {
  if (words.id.empty() != words.all) {
    (void)print_failure(options, "name one purchase, or give --all");
    return exit_usage;
  }
  return with_database(options, [&](Tools& tools) {
    commerce::PurchaseStore& store = tools.node.purchases();
    std::vector<std::string> ids{words.id};
    if (words.all) {
      constexpr std::uint32_t open_max = 100'000;
      const auto open = store.list({.limit = open_max, .open_only = true});
      if (!open.ok()) return print_failure(options, open.error().message);
      ids.clear();
      for (const Purchase& each : *open) ids.push_back(each.id);
    }
    for (const std::string& id : ids) {
      const auto hurried = store.hurry(id);
      if (!hurried.ok()) return print_failure(options, hurried.error().message);
      if (!*hurried) return print_failure(options, "there is no purchase with this id");
    }
    std::cout << (options.json
                      ? json({{"due", ids.size()}}).dump()
                      : std::to_string(ids.size()) + " due now: a running gateway looks at them")
              << '\n';
    return exit_done;
  });
}

int run_purchase_confirm(const CommonOptions& options, const CommerceWords& words) {
  const auto minor = commerce::parse_amount(words.amount);
  if (!minor) return refuse_amount(options, "--amount");
  const auto config = load_config(options);
  if (!config) return exit_failed;
  PluginProcess process(*config, options);
  return process.run([&](const PluginSet& plugins, storage::Node& node) {
    const auto purchase = node.purchases().find(words.id);
    if (!purchase.ok()) return print_failure(options, purchase.error().message);
    if (!*purchase) return print_failure(options, "there is no purchase with this id");
    const BoundProcessors bound(*config, plugins, api_origin(*config), "");
    const auto* const processor = bound.processors().find((*purchase)->processor);
    if (processor == nullptr) {
      return print_failure(options, "its processor, " + (*purchase)->processor +
                                        ", is not in service: see `turnpike check`");
    }
    if (!processor->traits.is_confirmed_by_operator) {
      return print_failure(options, "the processor " + processor->name +
                                        " sees by itself what was paid; nobody confirms it");
    }
    commerce::ProcessorCall call("", processor_timeout_ms);
    const auto confirmed = processor->bound->confirm(
        (*purchase)->reference, {(*purchase)->currency, *minor}, words.note, call);
    if (!confirmed.ok()) return print_failure(options, confirmed.error().message);
    const auto hurried = node.purchases().hurry(words.id);
    if (!hurried.ok()) return print_failure(options, hurried.error().message);
    std::cout << (options.json ? json({{"confirmed", words.id}}).dump()
                               : "confirmed: a running gateway credits " +
                                     std::to_string((*purchase)->credits) + " Credits to " +
                                     (*purchase)->account_id)
              << '\n';
    return static_cast<int>(exit_done);
  });
}

int run_purchase_refund(const CommonOptions& options, const CommerceWords& words) {
  const auto asked = commerce::parse_amount(words.amount);
  if (!words.amount.empty() && !asked) return refuse_amount(options, "--amount");
  return with_database(options, [&](Tools& tools) {
    int code = exit_done;
    const auto purchase = find(tools, options, words.id, code);
    if (!purchase) return code;
    const std::int64_t left = purchase->minor + purchase->tax_minor - purchase->refunded_minor;
    const std::int64_t minor =
        asked ? *asked : (words.full ? left : unspent_minor(tools, *purchase));
    if (minor < 1) {
      return print_failure(options,
                           "nothing of it is unspent; --amount or --full refunds all the same");
    }
    return print(
        options,
        tools.node.purchases().request_refund({purchase->id, minor, words.note},
                                              identity::operator_actor()),
        [&](const Refund& refund) { return refund_json(refund, purchase->currency); },
        [&](const Refund& refund) {
          return refund.id + ": a running gateway sends " + amount_text(refund.minor) + " " +
                 purchase->currency + " back; " + std::to_string(refund.wanted) +
                 " Credits are taken back, as far as they are not spent";
        });
  });
}

int run_purchase_resolve(const CommonOptions& options, const CommerceWords& words) {
  return with_database(options, [&](Tools& tools) {
    return print(options, tools.node.purchases().resolve(words.id, identity::operator_actor()),
                 purchase_json, purchase_text);
  });
}

int run_purchase_unlock(const CommonOptions& options, const CommerceWords& words) {
  return with_database(options, [&](Tools& tools) {
    return print(
        options, tools.node.purchases().unlock(words.account, identity::operator_actor()),
        [](std::uint32_t count) { return json{{"unlocked", count}}; },
        [](std::uint32_t count) {
          return count == 0 ? std::string("the account was not locked")
                            : "the account may buy again";
        });
  });
}

int run_commerce_check(const CommonOptions& options) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  PluginProcess process(*config, options);
  return process.run([&](const PluginSet& plugins, storage::Node& node) {
    const BoundProcessors bound(*config, plugins, api_origin(*config), "");
    json findings = json::array();
    bool is_wrong = false;
    const auto report = [&](const std::string& whose, bool wrong, const std::string& text) {
      is_wrong = is_wrong || wrong;
      findings.push_back({{"processor", whose}, {"isWrong", wrong}, {"text", text}});
      if (options.json) return;
      std::cout << (wrong ? "WRONG  " : "ok     ") << whose << ": " << text << '\n';
    };
    for (const auto& problem : bound.problems()) report("configuration", true, problem.text());
    for (const auto& secret : bound.missing_secrets()) report("configuration", true, secret.text());
    for (const auto& processor : bound.processors().list()) {
      commerce::ProcessorCall call("", processor_timeout_ms);
      const auto found = processor.bound->check(call);
      for (const Finding& each : found) report(processor.name, each.is_wrong, each.text);
      if (found.empty()) report(processor.name, false, "is in service");
    }
    const auto standing = node.purchases().standing();
    if (!standing.ok()) return print_failure(options, standing.error().message);
    report("purchases", standing->paid_not_credited > 0,
           std::to_string(standing->open) + " open, " +
               std::to_string(standing->paid_not_credited) + " paid and not credited, " +
               text::counted(standing->locked_accounts, "account") + " locked, " +
               text::credits_text(standing->lost) + " lost");
    if (options.json) std::cout << findings.dump() << '\n';
    return static_cast<int>(is_wrong ? exit_failed : exit_done);
  });
}

}  // namespace turnpike::app
