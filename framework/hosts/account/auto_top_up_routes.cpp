#include "hosts/account/auto_top_up_routes.h"

#include <string>
#include <utility>

#include "base/strict_object.h"
#include "hosts/account/account_routes.h"
#include "hosts/account/money_body.h"
#include "hosts/account/pooled_people.h"
#include "hosts/auto_top_up_json.h"

namespace turnpike::hosts::account {

namespace {

using base::Error;
using base::ErrorCode;
using base::StrictObject;
using commerce::AutoTopUps;
using identity::Role;

constexpr std::uint64_t policy_bytes_max = 4'096;
constexpr std::size_t id_characters_max = 100;

Error not_here() {
  return {ErrorCode::purchase_offer_not_found,
          "Nothing is sold here that a saved method could be charged for."};
}

AutoTopUps* top_ups_of(const PurchaseRooms& rooms) {
  commerce::Shop* const shop = rooms.account.parts().shop;
  return shop == nullptr ? nullptr : &shop->auto_top_ups();
}

void show_policy(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  AutoTopUps* const top_ups = top_ups_of(rooms);
  if (top_ups == nullptr) return (void)turn.refuse(not_here());
  const auto seen = top_ups->look(asked.parameters[0]);
  if (!seen.ok()) return (void)turn.refuse(seen.error());
  if (seen->policy.revision == 0 && top_ups->processors().empty()) {
    return (void)turn.refuse(not_here());
  }
  if (seen->last_run && seen->last_run->state == commerce::State::paid) {
    return (void)turn.refuse(
        {ErrorCode::purchase_settlement_conflict,
         "Money came for the last top-up, and it could not be credited: an operator judges it."});
  }
  turn.reply({.body = auto_top_up_body(*seen)});
}

Result<commerce::PolicyWish, Error> read_policy(std::string_view json) {
  StrictObject body(json, {"enabled", "thresholdCredits", "amount", "monthlyLimit",
                           "paymentMethodId", "expectedRevision"});
  commerce::PolicyWish wish;
  commerce::Policy& policy = wish.policy;
  policy.is_enabled = body.boolean("enabled");
  policy.threshold = body.units("thresholdCredits", commerce::threshold_max);
  const std::string amount = body.object("amount");
  const std::string limit = body.object("monthlyLimit");
  const auto method = body.text_or_null("paymentMethodId", {1, id_characters_max});
  wish.expected_revision = body.integer("expectedRevision", 0, 1'000'000'000);
  if (!body.problems().empty()) return body.refusal();
  if (policy.is_enabled && !method) {
    return Error{ErrorCode::request_body_rejected,
                 "A policy that is on names the method it charges.",
                 0,
                 {{"/paymentMethodId", "it is null",
                   "Send the id of a payment-method setup whose state is succeeded."}}};
  }
  policy.setup_id = method.value_or("");
  const auto minor = read_money(amount, "amount");
  if (!minor.ok()) return minor.error();
  const auto limit_minor =
      read_money(limit, "monthlyLimit", commerce::monthly_limit_digits_max);
  if (!limit_minor.ok()) return limit_minor.error();
  for (const auto& [value, name] : {std::pair{*minor, "/amount"},
                                    std::pair{*limit_minor, "/monthlyLimit"}}) {
    if (value > 0) continue;
    return Error{ErrorCode::purchase_amount_invalid,
                 "Nothing is bought for nothing.",
                 0,
                 {{name, "it is zero", "Send \"amount\": \"10.00\"."}}};
  }
  policy.minor = *minor;
  policy.monthly_limit_minor = *limit_minor;
  return wish;
}

void replace_policy(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  auto wish = read_policy(asked.body);
  if (!wish.ok()) return (void)turn.refuse(wish.error());
  AutoTopUps* const top_ups = top_ups_of(rooms);
  if (top_ups == nullptr) return (void)turn.refuse(not_here());
  wish->policy.account_id = asked.parameters[0];
  wish->idempotency_key = turn.idempotency_key();
  const auto written =
      top_ups->replace(*std::move(wish), account::actor_of(turn, asked.caller, rooms.clients));
  if (!written.ok()) return (void)turn.refuse(written.error());
  ReplyFields more;
  if (written->is_repeat) more.add("Idempotent-Replayed", "true");
  turn.reply({.body = policy_body(written->policy)}, more);
}

void begin_setup(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"processor"});
  const std::string processor = body.text("processor", {1, id_characters_max});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  AutoTopUps* const top_ups = top_ups_of(rooms);
  if (top_ups == nullptr) return (void)turn.refuse(not_here());
  const auto begun = top_ups->begin_setup(asked.parameters[0], processor, turn.idempotency_key(),
                                          account::actor_of(turn, asked.caller, rooms.clients),
                                          setup_body);
  if (!begun.ok()) return (void)turn.refuse(begun.error());
  ReplyFields more;
  if (begun->is_repeat) more.add("Idempotent-Replayed", "true");
  turn.reply({.status = begun->is_begun ? 201 : 202, .body = begun->body}, more);
}

// Null: the request was refused.
AutoTopUps* top_ups_for_setup(const PurchaseRooms& rooms, Turn& turn, std::string_view id) {
  AutoTopUps* const top_ups = top_ups_of(rooms);
  if (!id.starts_with("pms_")) {
    (void)turn.refuse({ErrorCode::request_path_malformed,
                       "Ids of payment-method setups begin with pms_."});
    return nullptr;
  }
  if (top_ups == nullptr) (void)turn.refuse(not_here());
  return top_ups;
}

void show_setup(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string& id = asked.parameters[1];
  AutoTopUps* const top_ups = top_ups_for_setup(rooms, turn, id);
  if (top_ups == nullptr) return;
  const auto setup = top_ups->find_setup(asked.parameters[0], id);
  if (!setup.ok()) return (void)turn.refuse(setup.error());
  if (setup->is_gone) {
    return (void)turn.refuse({ErrorCode::auto_reload_method_conflict,
                              commerce::setup_failure_text(commerce::setup_failure_code(*setup))});
  }
  turn.reply({.body = setup_body(*setup)});
}

void remove_method(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string& id = asked.parameters[1];
  AutoTopUps* const top_ups = top_ups_for_setup(rooms, turn, id);
  if (top_ups == nullptr) return;
  const auto removed = top_ups->remove(asked.parameters[0], id,
                                       account::actor_of(turn, asked.caller, rooms.clients));
  if (!removed.ok()) return (void)turn.refuse(removed.error());
  turn.reply({.status = 204, .content_type = {}});
}

// ---- the table

constexpr Parameter setup_path[] = {
    account_path[0],
    {.name = "setup_id",
     .description = "As it was answered when the setup was begun. Another account's is 404.",
     .schema = R"({"type": "string", "pattern": "^pms_"})"}};

constexpr DescribedReply view_replies[] = {
    {.status = 200, .description = "The policy, and what becomes of it.", .schema = "AutoTopUp"}};
constexpr DescribedReply policy_replies[] = {
    {.status = 200, .description = "The revision.", .schema = "AutoTopUpPolicy"}};
constexpr DescribedReply begun_replies[] = {
    {.status = 201, .description = "It was begun.", .schema = "PaymentMethodSetup"},
    {.status = 202,
     .description = "It stands, and the payment service has not answered yet: it is asked again. "
                    "Look at it, or repeat the request under the same key.",
     .schema = "PaymentMethodSetup"}};
constexpr DescribedReply setup_replies[] = {
    {.status = 200, .description = "The setup as it is now.", .schema = "PaymentMethodSetup"}};
constexpr DescribedReply removed_method_replies[] = {
    {.status = 204, .description = "Done.", .content_type = {}}};

#define RELOAD "/v1/billing-accounts/{billing_account_id}/credit-auto-reload"
#define SETUPS RELOAD "/payment-method-setups"

constexpr Route<PurchaseRooms> auto_top_up_rows[] = {
    {.facts = {.method = "GET",
               .path = RELOAD,
               .endpoint = "auto_top_up",
               .callers = Callers::members(Role::member),
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "getAutoTopUp",
                    .tag = "Purchases",
                    .summary = "Show the Auto Top-Up of an account",
                    .description =
                        "An account that never had a policy has revision 0, which is off. 404 "
                        "where nothing is sold that a saved method could be charged for; 409 "
                        "while money has come for the last top-up that could not be credited.",
                    .path_parameters = account_path,
                    .replies = view_replies,
                    .refusals = "400 401 403 404 409 503"}},
     .answer = show_policy},
    {.facts =
         {.method = "PUT",
          .path = RELOAD,
          .endpoint = "auto_top_up",
          .callers = Callers::members(Role::admin),
          .needs_idempotency_key = true,
          .body = BodyForm::json,
          .body_bytes_max = policy_bytes_max,
          .cache_control = kept_by_nobody,
          .described =
              {.operation_id = "replaceAutoTopUp",
               .tag = "Purchases",
               .summary = "Replace the policy of Auto Top-Up",
               .description =
                   "Each replacement is a revision that never changes; it is in force at once, and "
                   "counts declines anew. `expectedRevision` is that of the policy it replaces, 0 "
                   "for the first. Once a policy that is off was answered, no charge is begun; "
                   "one that is under way comes to its end.",
               .path_parameters = account_path,
               .body_schema = "NewAutoTopUpPolicy",
               .replies = policy_replies,
               .refusals = "400 401 403 404 409 413 415 502 503"}},
     .answer = replace_policy},
    {.facts =
         {.method = "POST",
          .path = SETUPS,
          .endpoint = "payment_method_setups",
          .callers = Callers::members(Role::admin),
          .needs_idempotency_key = true,
          .body = BodyForm::json,
          .body_bytes_max = policy_bytes_max,
          .cache_control = kept_by_nobody,
          .described =
              {.operation_id = "beginPaymentMethodSetup",
               .tag = "Purchases",
               .summary = "Begin to save a method of payment",
               .description = "A person goes on at `setupUrl`. Nothing is charged by this. The "
                              "same key is the same setup for ever.",
               .path_parameters = account_path,
               .body_schema = "NewPaymentMethodSetup",
               .replies = begun_replies,
               .refusals = "400 401 403 404 409 413 415 502 503"}},
     .answer = begin_setup},
    {.facts = {.method = "GET",
               .path = SETUPS "/{setup_id}",
               .endpoint = "payment_method_setup",
               .callers = Callers::members(Role::member),
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "getPaymentMethodSetup",
                    .tag = "Purchases",
                    .summary = "Show what became of a setup",
                    .description = "Its id is what a policy names as `paymentMethodId`. 409 once "
                                   "the method was removed, here or at the payment service.",
                    .path_parameters = setup_path,
                    .replies = setup_replies,
                    .refusals = "400 401 403 404 409 503"}},
     .answer = show_setup},
    {.facts = {.method = "DELETE",
               .path = SETUPS "/{setup_id}",
               .endpoint = "payment_method_setup",
               .callers = Callers::members(Role::admin),
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "removePaymentMethod",
                    .tag = "Purchases",
                    .summary = "Remove a saved method of payment",
                    .description = "Once this was answered, no charge of it is begun, and a policy "
                                   "that names it is paused; the payment service is asked until it "
                                   "has forgotten the method. 409 where none was saved. Repeats "
                                   "change nothing.",
                    .path_parameters = setup_path,
                    .replies = removed_method_replies,
                    .refusals = "400 401 403 404 409 503"}},
     .answer = remove_method},
};
#undef SETUPS
#undef RELOAD

}  // namespace

std::span<const Route<PurchaseRooms>> auto_top_up_routes() noexcept { return auto_top_up_rows; }

}  // namespace turnpike::hosts::account
