// Accounts: search by name, id or key prefix, and the facts of an account that an operator may see.
// Keys are shown by their prefixes; no shown value lets an operator act for a caller.
#include <algorithm>
#include <utility>
#include <vector>

#include "hosts/operator/console.h"
#include "hosts/operator/console_text.h"
#include "text/time_text.h"

namespace turnpike::hosts::operators {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::uint32_t accounts_shown = 25;
constexpr std::uint32_t calls_shown = 25;
constexpr std::uint32_t allocations_shown = 15;
constexpr std::size_t keys_shown_max = 100;
constexpr int catch_up_steps_max = 4;

constexpr identity::AccountStatus statuses[] = {
    identity::AccountStatus::active, identity::AccountStatus::suspended,
    identity::AccountStatus::closed, identity::AccountStatus::provisioning,
    identity::AccountStatus::provisioning_failed};

std::string_view class_of_status(identity::AccountStatus status) noexcept {
  switch (status) {
    case identity::AccountStatus::active:
      return "ok";
    case identity::AccountStatus::suspended:
      return "warn";
    case identity::AccountStatus::provisioning_failed:
      return "bad";
    case identity::AccountStatus::provisioning:
    case identity::AccountStatus::closed:
      break;
  }
  return "unknown";
}

void set_status(const identity::Account& account, site::Slots slots) {
  slots.set("STATUS", words_of(identity::name_of(account.status)));
  slots.set("CLASS", class_of_status(account.status));
}

identity::AccountQuery query_of(const ConsoleLook& look) {
  identity::AccountQuery query;
  query.text = look.asked.query.find("q").value_or("");
  query.status = identity::account_status(look.asked.query.find("status").value_or(""));
  query.limit = accounts_shown + 1;
  const auto at_ms = text::parse_rfc3339(look.asked.query.find("before").value_or(""));
  if (at_ms) {
    query.before_created_at_ms = *at_ms;
    query.before_id = look.asked.query.find("before_id").value_or("");
  }
  return query;
}

std::optional<Error> show_account_row(const ConsoleLook& look, const identity::Account& account,
                                      site::Slots slots) {
  const auto balance = look.parts.ledger.balance(account.id);
  if (!balance.ok()) return balance.error();
  site::Slots row = slots.add("ACCOUNT");
  row.set("ID", account.id);
  row.set("NAME", account.name);
  set_status(account, row);
  row.set("CREATED", time_text(account.created_at_ms));
  row.set("BALANCE", count_text(balance->credits));
  return std::nullopt;
}

std::string time_or_never(const std::optional<std::int64_t>& time_ms) {
  return time_text(time_ms.value_or(0));
}

std::string cap_text(const std::optional<std::int64_t>& cap) {
  return cap ? count_text(*cap) : std::string("-");
}

std::optional<Error> show_keys(const ConsoleLook& look, const std::string& id,
                               site::Slots slots) {
  const auto keys = look.parts.keys.list(id);
  if (!keys.ok()) return keys.error();
  for (std::size_t at = 0; at < std::min(keys->size(), keys_shown_max); ++at) {
    const identity::ApiKey& key = (*keys)[at];
    site::Slots row = slots.add("KEY");
    row.set("NAME", key.name);
    row.set("PREFIX", key.prefix);
    row.set("CLASS", key.revoked_at_ms ? "unknown" : "ok");
    row.set("STATE", key.revoked_at_ms ? "revoked" : "valid");
    row.set("USED", time_or_never(key.last_used_at_ms));
    row.set("PER_DAY", cap_text(key.caps.per_day));
    row.set("PER_MONTH", cap_text(key.caps.per_month));
  }
  slots.show_if(keys->empty(), "HAS_NO_KEY");
  slots.show_if(!keys->empty(), "HAS_KEY");
  slots.show_if(keys->size() > keys_shown_max, "HAS_MORE_KEYS");
  return std::nullopt;
}

std::optional<Error> show_members(const ConsoleLook& look, const std::string& id,
                                  site::Slots slots) {
  const auto members = look.parts.members.members(id);
  if (!members.ok()) return members.error();
  for (const identity::Member& member : *members) {
    site::Slots row = slots.add("MEMBER");
    row.set("NAME", member.name);
    row.set("EMAIL", member.email);
    row.set("ROLE", identity::name_of(member.role));
    row.set("ID", member.person_id);
  }
  slots.show_if(members->empty(), "HAS_NO_MEMBER");
  slots.show_if(!members->empty(), "HAS_MEMBER");
  return std::nullopt;
}

std::optional<Error> show_allocations(const ConsoleLook& look, const std::string& id,
                                      site::Slots slots) {
  const auto page =
      look.parts.usage.allocations({.account_id = id, .after = {}, .limit = allocations_shown});
  if (!page.ok()) return page.error();
  if (!*page) return std::nullopt;
  for (const ledger::Allocation& one : (*page)->items) {
    site::Slots row = slots.add("ALLOCATION");
    row.set("ORIGIN", words_of(ledger::name_of(one.origin)));
    row.set("UNITS", count_text(one.units));
    row.set("REMAINING", count_text(one.remaining));
    row.set("STATE", ledger::name_of(one.status));
    row.set("CREATED", time_text(one.created_at_ms));
    row.set("EXPIRES", time_text(one.expires_at_ms));
  }
  slots.show_if((*page)->items.empty(), "HAS_NO_ALLOCATION");
  slots.show_if(!(*page)->items.empty(), "HAS_ALLOCATION");
  return std::nullopt;
}

std::optional<Error> show_calls(const ConsoleLook& look, const std::string& id,
                                site::Slots slots) {
  // A call is visible once it has its position, which the newest calls may not have yet.
  for (int step = 0; step < catch_up_steps_max; ++step) {
    const auto has_more = look.parts.usage.catch_up();
    if (!has_more.ok()) return has_more.error();
    if (!*has_more) break;
  }
  const auto page = look.parts.usage.usage({.account_id = id, .after = {}, .limit = calls_shown});
  if (!page.ok()) return page.error();
  if (!*page) return std::nullopt;
  for (const ledger::UsageRow& call : (*page)->items) {
    site::Slots row = slots.add("CALL");
    row.set("AT", time_text(call.occurred_at_ms));
    row.set("MESSAGE", call.message_id);
    row.set("ACCOUNT", id);
    row.set("METHOD", call.method);
    const registry::Route* const route =
        look.facts.view == nullptr ? nullptr : look.facts.view->program().find_route(call.route_id);
    row.set_long_name("ROUTE", route == nullptr ? std::string_view(call.route_id)
                                           : std::string_view(route->matcher.pattern));
    row.set("OUTCOME", words_of(call.outcome_reason));
    row.set("CREDITS", count_text(call.credits_charged));
    if (call.restored) row.add("RESTORED").set("CREDITS", count_text(call.restored->units));
    if (call.credits_charged > 0 && look.visitor.may(identity::Authority::usage_correct)) {
      row.show("CAN_CORRECT");
    }
  }
  slots.show_if((*page)->items.empty(), "HAS_NO_CALL");
  slots.show_if(!(*page)->items.empty(), "HAS_CALL");
  return std::nullopt;
}

}  // namespace

std::optional<Error> fill_accounts(const ConsoleLook& look, site::Slots slots) {
  const identity::AccountQuery query = query_of(look);
  auto accounts = look.parts.accounts.search(query);
  if (!accounts.ok()) return accounts.error();
  const bool has_more = accounts->size() > accounts_shown;
  if (has_more) accounts->pop_back();
  slots.set("QUERY", query.text);
  for (const identity::AccountStatus status : statuses) {
    site::Slots row = slots.add("STATUS_CHOICE");
    row.set("VALUE", identity::name_of(status));
    row.set("LABEL", words_of(identity::name_of(status)));
    row.show_if(query.status == status, "IS_CHOSEN");
  }
  for (const identity::Account& account : *accounts) {
    if (auto problem = show_account_row(look, account, slots)) return problem;
  }
  slots.show_if(accounts->empty(), "HAS_NO_ACCOUNT");
  slots.show_if(!accounts->empty(), "HAS_ACCOUNT");
  if (has_more) {
    site::Slots older = slots.add("OLDER");
    older.set("QUERY", query.text);
    older.set("STATUS", query.status ? identity::name_of(*query.status) : "");
    older.set("BEFORE", text::rfc3339(accounts->back().created_at_ms));
    older.set("BEFORE_ID", accounts->back().id);
  }
  return std::nullopt;
}

std::optional<Error> fill_account(const ConsoleLook& look, site::Slots slots) {
  const std::string& id = look.asked.parameters[0];
  const auto account = look.parts.accounts.find(id);
  if (!account.ok()) return account.error();
  if (!*account) {
    return Error{ErrorCode::request_not_found, "There is no account with this id."};
  }
  const auto balance = look.parts.ledger.balance(id);
  if (!balance.ok()) return balance.error();
  slots.set("ID", id);
  slots.set("NAME", (*account)->name);
  set_status(**account, slots);
  slots.set("BALANCE", count_text(balance->credits));
  slots.set("CREATED", time_text((*account)->created_at_ms));
  slots.set_if("OWNER", (*account)->owner);
  for (const auto part : {show_members, show_keys, show_allocations, show_calls}) {
    if (auto problem = part(look, id, slots)) return problem;
  }
  return std::nullopt;
}

}  // namespace turnpike::hosts::operators
