#include "hosts/web/consent.h"

#include <algorithm>

#include "hosts/account/account_routes.h"
#include "hosts/account/grant_routes.h"
#include "hosts/web/page_turn.h"
#include "oauth/redirect_uri.h"
#include "text/json_text.h"
#include "text/words.h"

namespace turnpike::hosts::web {

namespace {

using base::Error;
using base::ErrorCode;
using identity::Role;
using identity::Standing;

constexpr std::uint64_t form_bytes_max = 16'384;

// page_policy without form-action, which browsers apply to each redirect of a form: the answer
// redirects to the client's own address, and the client may redirect further.
constexpr std::string_view consent_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

// The error of a gateway without an authorization server.
Error no_server() {
  return {ErrorCode::request_not_found, "This gateway gives no access to OAuth clients."};
}

std::string page_of_request(std::string_view request) {
  return std::string(consent_path) + "?request=" + std::string(request);
}

// Returns the accounts whose use the person may grant.
Result<std::vector<identity::Membership>, Error> accounts_to_grant(
    const account::PooledPeople::Parts& parts, std::string_view person_id) {
  auto memberships = parts.members.memberships(person_id);
  if (!memberships.ok()) return memberships;
  std::erase_if(*memberships, [](const identity::Membership& one) {
    return one.role < Role::admin || one.account.status != identity::AccountStatus::active;
  });
  return memberships;
}

// Returns the only verified fact about a client: the host of its document.
std::string document_host_of(const oauth::Client& client) {
  return client.kind == oauth::ClientKind::document ? oauth::redirect_target(client.id) : "";
}

struct ConsentPage {
  oauth::PendingRequest request;
  identity::Person person;
  std::vector<identity::Membership> accounts;
};

Result<ConsentPage, Error> read_consent(const account::PooledPeople::Parts& parts,
                                        std::string_view text, std::string_view person_id) {
  if (parts.authorization == nullptr) return no_server();
  auto request = parts.authorization->read_request(text);
  if (!request.ok()) return std::move(request).error();
  auto person = parts.person_store.find(person_id);
  if (!person.ok()) return std::move(person).error();
  if (!person->has_value()) return Error{ErrorCode::auth_session_ended, "Sign in again."};
  auto accounts = accounts_to_grant(parts, person_id);
  if (!accounts.ok()) return std::move(accounts).error();
  return ConsentPage{*std::move(request), **std::move(person), *std::move(accounts)};
}

// Adds the balances; the ledger answers on the calling fiber.
Result<std::vector<GrantableAccount>, Error> with_balances(
    const AccountReads& reads, const std::vector<identity::Membership>& memberships) {
  std::vector<GrantableAccount> accounts;
  for (const identity::Membership& one : memberships) {
    const auto balance = reads.credit_balance(one.account.id);
    if (!balance.ok()) return balance.error();
    const auto credits = text::parse_json(*balance).at("creditBalance").get<std::string>();
    accounts.push_back(
        {one.account.id, one.account.name, text::credits_text(std::stoll(credits))});
  }
  return accounts;
}

void show_consent(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const Caller caller = caller_of_page(rooms, turn);
  if (caller == nullptr) return;
  const std::string text = asked.query.find("request").value_or("");
  const auto page =
      rooms.people.ask([&] { return read_consent(rooms.people.parts(), text, caller->id); });
  if (!page.ok()) return refuse(rooms, turn, caller, page.error(), std::string(own_path));
  const auto accounts = with_balances(rooms.account, page->accounts);
  if (!accounts.ok()) return refuse(rooms, turn, caller, accounts.error(), std::string(own_path));
  const auto& lifetimes = rooms.people.parts().authorization->settings().lifetimes;
  const ConsentView view{.client_name = page->request.client.metadata.name,
                         .client_uri = page->request.client.metadata.uri,
                         .document_host = document_host_of(page->request.client),
                         .target = oauth::redirect_target(page->request.redirect_uri),
                         .request = text,
                         .back = page_of_request(text),
                         .accounts = *accounts,
                         .standing = caller->standing,
                         .ways = ways_of(rooms, caller),
                         .idle_days = lifetimes.refresh_idle_ms / 86'400'000,
                         .days_max = lifetimes.grant_ms / 86'400'000};
  send_page(rooms, turn, frame_of(rooms, "Give access", page->person, caller), view);
}

Result<std::string, Error> decide(const WebRooms& rooms, const Asked& asked,
                                  const identity::Actor& actor, bool is_approved) {
  oauth::Server* const server = rooms.people.parts().authorization;
  if (server == nullptr) return no_server();
  const auto request = server->read_request(asked.form.find("request").value_or(""));
  if (!request.ok()) return request.error();
  if (!is_approved) return server->deny(*request, actor);
  const auto cap = account::read_cap(asked.form.find("cap_per_day").value_or(""));
  if (!cap.ok()) return cap.error();
  return server->approve(*request, asked.form.find("account").value_or(""), {*cap, std::nullopt},
                         actor);
}

void use_consent(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = page_of_request(asked.form.find("request").value_or(""));
  const std::string decision = asked.form.find("decision").value_or("");
  if (decision != "approve" && decision != "deny") {
    return refuse(rooms, turn, asked.caller,
                  {ErrorCode::request_malformed, "The decision is approve or deny."}, back);
  }
  const bool is_approved = decision == "approve";
  if (is_approved && !stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
  const auto next = rooms.people.ask([&] { return decide(rooms, asked, actor, is_approved); });
  if (!next.ok()) {
    const bool is_over = next.error().code == ErrorCode::oauth_request_ended;
    return refuse(rooms, turn, asked.caller, next.error(), is_over ? std::string(own_path) : back);
  }
  // Redirects to the address that the client registered, whatever its scheme.
  send_elsewhere(turn, *next);
}

void use_revoke_grant(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (!stands_for(Standing::signed_in, rooms, turn, asked, back)) return;
  const auto revoked = rooms.people.ask([&] {
    return rooms.people.parts().grants.revoke(asked.form.find("id").value_or(""), asked.caller->id,
                                              {}, rooms.people.actor_of(turn, asked.caller));
  });
  if (!revoked.ok()) return refuse(rooms, turn, asked.caller, revoked.error(), back);
  go_to(turn, back);
}

constexpr Parameter consent_query[] = {
    {.name = "request",
     .description = "What a client asks for.",
     .schema = R"({"type": "string"})"},
};

constexpr RouteFacts consent_facts = [] {
  RouteFacts facts = page(consent_path, "consent_page");
  facts.query = consent_query;
  facts.page_policy = consent_policy;
  return facts;
}();

constexpr RouteFacts decision_facts = [] {
  RouteFacts facts = form(consent_path, "consent", any_session);
  facts.body_bytes_max = form_bytes_max;
  facts.page_policy = consent_policy;
  return facts;
}();

constexpr Route<WebRooms> consent_rows[] = {
    {.facts = consent_facts, .answer = show_consent},
    {.facts = decision_facts, .answer = use_consent},
    {.facts = form("/account/grants/revoke", "my_grant", any_session), .answer = use_revoke_grant},
};

}  // namespace

std::span<const Route<WebRooms>> consent_routes() noexcept { return consent_rows; }

}  // namespace turnpike::hosts::web
