#include "hosts/web/provider_routes.h"

#include <algorithm>
#include <array>

#include "hosts/account/account_routes.h"
#include "hosts/account/people_json.h"
#include "hosts/form.h"
#include "hosts/page.h"
#include "hosts/web/page_turn.h"
#include "oauth/redirect_uri.h"
#include "text/encoding.h"
#include "text/uri.h"

namespace turnpike::hosts::web {

namespace {

using account::kept_by_nobody;
using base::Error;
using base::ErrorCode;
using identity::Ceremonies;
using identity::CeremonyKind;
using identity::OidcProvider;
using identity::Standing;

constexpr std::int64_t journey_seconds = Ceremonies::valid_ms / 1'000;
constexpr std::size_t browser_characters = 32;
constexpr std::size_t journey_bytes_max = 3'500;  // bytes of a cookie; browsers keep up to 4,096
constexpr std::size_t parameters_max = 32;        // of a provider's answer, with its extensions

identity::ExternalSignIn& providers(const WebRooms& rooms) {
  return rooms.people.parts().external_sign_in;
}

Error no_provider() {
  return {ErrorCode::request_not_found, "There is no provider of this name here."};
}

// The cookie of a browser that is on its way to a provider: random characters, ".", and the page to
// return to. A ceremony is bound to the whole value.
struct Journey {
  std::string text;
  std::string back;
};

Journey new_journey(const WebRooms& rooms, const std::string& back) {
  std::array<std::uint8_t, browser_characters / 2> bytes{};
  rooms.random.fill(bytes);
  Journey journey{text::hex(bytes) + "." + back, back};
  std::string encoded;
  text::append_percent_encoded(encoded, journey.text);
  if (encoded.size() > journey_bytes_max) return new_journey(rooms, std::string(own_path));
  return journey;
}

// Error auth.ceremony_ended: the browser has no such cookie.
Result<Journey, Error> journey_of(const WebRooms& rooms, Turn& turn) {
  const auto cookie = rooms.cookies.provider.read(turn.request.headers());
  if (!cookie.ok()) return cookie.error();
  const auto text = text::percent_decoded(cookie->value_or(""));
  if (!text || text->size() <= browser_characters || (*text)[browser_characters] != '.') {
    return Error{ErrorCode::auth_ceremony_ended,
                 "This was not begun in this browser, or took too long: begin anew."};
  }
  return Journey{*text, known_path(text->substr(browser_characters + 1))};
}

// Browsers name the origin of a request, except for old ones. Another site's page must not be able
// to sign a person in.
bool is_act_of_user(Headers headers) {
  return std::none_of(headers.begin(), headers.end(), [](const HeaderField& field) {
    return same_header_name(field.name, "Sec-Fetch-Site") && field.value != "same-origin" &&
           field.value != "none";
  });
}

std::string login_page_to(const std::string& back) {
  return oauth::RedirectAnswer(login_path).add("return_to", back).text();
}

void refuse_fault(const WebRooms& rooms, Turn& turn, const Caller& caller,
                  const identity::ProviderFault& fault, const std::string& back) {
  refuse(rooms, turn, caller, fault.error, back);
  turn.keep_reason(fault.reason);
}

// GET: a click on a link, which redirects to the provider at once.
void go_to_provider(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  if (was_sent_home(rooms, turn)) return;
  const std::string back = known_path(asked.query.find("return_to").value_or(""));
  const std::string login = login_page_to(back);
  if (!is_act_of_user(turn.request.headers())) return go_to(turn, login);
  OidcProvider* const provider = providers(rooms).find(asked.parameters[0]);
  if (provider == nullptr) return refuse(rooms, turn, nullptr, no_provider(), login);
  const Journey journey = new_journey(rooms, back);
  const auto url = providers(rooms).begin(CeremonyKind::provider_sign_in, *provider,
                                          {.browser = journey.text, .session_id = {}});
  if (!url.ok()) return refuse_fault(rooms, turn, nullptr, url.error(), login);
  send_elsewhere(turn, *url, rooms.cookies.provider.set(journey.text, journey_seconds));
}

// POST: a form of a signed-in person.
void hand_over(const WebRooms& rooms, Turn& turn, const Asked& asked, CeremonyKind kind,
               const std::string& back) {
  OidcProvider* const provider =
      providers(rooms).find(asked.form.find("provider").value_or(""));
  if (provider == nullptr) return refuse(rooms, turn, asked.caller, no_provider(), back);
  const Journey journey = new_journey(rooms, back);
  const auto url = providers(rooms).begin(
      kind, *provider,
      {.browser = journey.text, .session_id = std::string(asked.caller->session_id)});
  if (!url.ok()) return refuse_fault(rooms, turn, asked.caller, url.error(), back);
  ReplyFields more;
  const std::string cookie = rooms.cookies.provider.set(journey.text, journey_seconds);
  more.add("Set-Cookie", cookie);
  const std::string& name = provider->settings().name;
  Frame frame = frame_of(rooms, "To " + name);
  frame.next_url = *url;
  const std::string page = html_of(rooms, frame, HandoverView{name, *url});
  turn.reply({.content_type = page_type, .body = page}, more);
}

void use_provider_step_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = known_path(asked.form.find("return_to").value_or(""));
  if (!stands_for(Standing::signed_in, rooms, turn, asked, back)) return;
  hand_over(rooms, turn, asked, CeremonyKind::provider_step_up, back);
}

// A session that began with a link may link its first identity; any other needs a fresh proof.
void use_link_identity(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (asked.caller->standing == Standing::signed_in &&
      !stands_for(Standing::stepped_up, rooms, turn, asked, back)) {
    return;
  }
  hand_over(rooms, turn, asked, CeremonyKind::provider_link, back);
}

// ---- the callback from the provider

struct Arrival {
  OidcProvider& provider;
  CeremonyKind kind;
  identity::ProviderAnswer answer;
  Journey journey;
  Caller caller;  // null: not signed in
};

Result<Arrival, Error> read_arrival(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  OidcProvider* const provider = providers(rooms).find(asked.parameters[0]);
  if (provider == nullptr) return no_provider();
  const auto query = read_form(turn.request.query(), parameters_max);
  if (!query.ok()) {
    return Error{ErrorCode::request_malformed,
                 "The provider's answer is in no form that is known."};
  }
  const auto value = [&](std::string_view name) { return query->find(name).value_or(""); };
  auto journey = journey_of(rooms, turn);
  if (!journey.ok()) return std::move(journey).error();
  Arrival arrival{*provider, CeremonyKind::provider_sign_in,
                  {.state = value("state"),
                   .code = value("code"),
                   .error = value("error"),
                   .issuer = value("iss")},
                  *std::move(journey), nullptr};
  // The signature check verifies the actual purpose of the state.
  const auto kind = Ceremonies::kind_of(arrival.answer.state);
  if (kind != CeremonyKind::provider_step_up && kind != CeremonyKind::provider_link) {
    return arrival;
  }
  arrival.kind = *kind;
  auto caller = find_caller(
      rooms, {.headers = turn.request.headers(), .account_id = {}, .changes_something = true});
  if (!caller.ok()) return std::move(caller).error();
  turn.keep_principal(*caller);
  arrival.caller = *std::move(caller);
  return arrival;
}

Result<identity::SignedIn, Error> finish(identity::ExternalSignIn& sign_in, const Arrival& arrival,
                                         const identity::ProviderProof& proof,
                                         const identity::Actor& actor) {
  if (arrival.kind == CeremonyKind::provider_sign_in) return sign_in.sign_in(proof, actor);
  if (arrival.kind == CeremonyKind::provider_step_up) return sign_in.step_up(proof, actor);
  return sign_in.link(proof, arrival.caller->standing == Standing::enrolling, actor);
}

void come_back(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto arrival = read_arrival(rooms, turn, asked);
  if (!arrival.ok()) {
    return refuse(rooms, turn, nullptr, arrival.error(), std::string(login_path));
  }
  const Caller& caller = arrival->caller;
  const std::string& back = arrival->journey.back;
  const std::string begin_anew = caller == nullptr ? login_page_to(back) : back;
  identity::ExternalSignIn& sign_in = providers(rooms);
  const identity::Actor actor = rooms.people.actor_of(turn, caller);
  const auto judged = rooms.people.ask([&] { return sign_in.judge(actor); });
  if (!judged.ok()) return refuse(rooms, turn, caller, judged.error(), begin_anew);
  const auto proof = sign_in.redeem(
      arrival->kind, arrival->provider, arrival->answer,
      {.browser = arrival->journey.text,
       .session_id = caller == nullptr ? std::string() : std::string(caller->session_id)});
  if (!proof.ok()) {
    identity::ProviderFault fault = proof.error();
    const Result<Unit, Error> counted = rooms.people.ask(
        [&]() -> Result<Unit, Error> { return sign_in.failed(fault.error, actor); });
    fault.error = counted.error();
    return refuse_fault(rooms, turn, caller, fault, begin_anew);
  }
  const auto signed_in =
      rooms.people.ask([&] { return finish(sign_in, *arrival, *proof, actor); });
  if (!signed_in.ok()) return refuse(rooms, turn, caller, signed_in.error(), begin_anew);
  ReplyFields more;
  const std::string session = session_cookie(rooms, signed_in->token);
  const std::string arrived = rooms.cookies.provider.clear();
  more.add("Set-Cookie", session);
  more.add("Set-Cookie", arrived);
  turn.redirect(Location::read(back).value(), more);
}

// ---- the identities of a person

void list_identities(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto identities = rooms.people.ask(
      [&] { return rooms.people.parts().external_identities.list(asked.caller->id); });
  if (!identities.ok()) return (void)turn.refuse(identities.error());
  turn.reply({.body = account::list_body(*identities, [&](const auto& identity) {
                const OidcProvider* const provider = providers(rooms).find(identity.provider);
                return account::external_identity_json(
                    identity, provider == nullptr ? identity.provider : provider->settings().name);
              })});
}

Result<std::string, Error> unlink(const WebRooms& rooms, Turn& turn, const Asked& asked,
                                  const std::string& id) {
  return rooms.people.ask(
      [&] { return providers(rooms).unlink(id, rooms.people.actor_of(turn, asked.caller)); });
}

void unlink_identity(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto token = unlink(rooms, turn, asked, asked.parameters[0]);
  if (!token.ok()) return (void)turn.refuse(token.error());
  ReplyFields more;
  const std::string cookie = session_cookie(rooms, *token);
  more.add("Set-Cookie", cookie);
  turn.reply({.status = 204}, more);
}

void use_unlink_identity(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const auto token = unlink(rooms, turn, asked, asked.form.find("id").value_or(""));
  if (!token.ok()) return refuse(rooms, turn, asked.caller, token.error(), back);
  go_to(turn, back, session_cookie(rooms, *token));
}

// ---- the table

constexpr Parameter begin_query[] = {
    {.name = "return_to", .description = "A page of this host.", .schema = R"({"type": "string"})"},
};

// Both ways change something, so HEAD is not answered there.
constexpr RouteFacts way(std::string_view path, std::string_view endpoint) {
  RouteFacts facts = page(path, endpoint);
  facts.answers_head = false;
  return facts;
}

constexpr RouteFacts begin_facts = [] {
  RouteFacts facts = way("/login/oidc/{provider}", "provider_sign_in");
  facts.query = begin_query;
  return facts;
}();

constexpr RouteFacts callback_facts = [] {
  RouteFacts facts = way("/login/oidc/{provider}/callback", "provider_callback");
  facts.takes_any_query = true;
  return facts;
}();

constexpr Route<WebRooms> provider_rows[] = {
    {.facts = begin_facts, .answer = go_to_provider},
    {.facts = callback_facts, .answer = come_back},
    {.facts = form("/account/step-up/oidc", "step_up", any_session),
     .answer = use_provider_step_up},
    {.facts = form("/account/external-identities/link", "my_external_identities", any_session),
     .answer = use_link_identity},
    {.facts = form("/account/external-identities/unlink", "my_external_identity", any_session),
     .answer = use_unlink_identity},
    {.facts = {.method = "GET",
               .path = "/v1/me/external-identities",
               .endpoint = "my_external_identities",
               .callers = Callers::person(Standing::enrolling),
               .cache_control = kept_by_nobody},
     .answer = list_identities},
    {.facts = {.method = "DELETE",
               .path = "/v1/me/external-identities/{identity_id}",
               .endpoint = "my_external_identity",
               .callers = Callers::person(Standing::stepped_up),
               .cache_control = kept_by_nobody},
     .answer = unlink_identity},
};

}  // namespace

std::span<const Route<WebRooms>> provider_routes() noexcept { return provider_rows; }

}  // namespace turnpike::hosts::web
