// The bodies of the routes of people: camelCase, Credits as canonical whole-number strings, times
// in RFC 3339 UTC with milliseconds. Pure functions; any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>
#include <nlohmann/json.hpp>

#include "identity/audit.h"
#include "identity/external_identity.h"
#include "identity/key_store.h"
#include "identity/members.h"
#include "identity/password_store.h"
#include "identity/person.h"
#include "identity/session.h"
#include "oauth/grant_store.h"

namespace turnpike::hosts::account {

using Json = nlohmann::ordered_json;

Json key_json(const identity::ApiKey& key);
Json account_json(const identity::Membership& membership);
Json membership_json(const identity::Membership& membership);
Json member_json(const identity::Member& member);
Json invitation_json(const identity::Invitation& invitation);
Json session_json(const identity::Session& session, std::string_view current_id);
Json passkey_json(const identity::Passkey& passkey);
// `provider_name`: the display name.
Json external_identity_json(const identity::ExternalIdentity& identity,
                            std::string_view provider_name);
Json grant_json(const oauth::Grant& grant);
// The facts that a person may see of their own session.
struct MeView {
  const identity::Person& person;
  const identity::Session& session;
  const std::vector<identity::Membership>& memberships;
  identity::Credentials credentials;
  std::vector<std::string_view> step_up_methods;
  std::string page_token;  // empty: the session is not of a page
  std::int64_t now_ms;
};
Json me_json(const MeView& me);
// The page of `limit` events; the store was asked for `limit` + 1, to know whether more follow.
Json audit_page_json(const std::vector<identity::AuditEvent>& events, std::size_t limit);

inline constexpr std::int64_t cap_credits_max = 1'000'000'000'000;
// Reads the member `caps` of a body: {"perDay", "perMonth"}, each in Credits or null. Error:
// request.body_rejected.
Result<identity::SpendCaps, base::Error> read_caps(std::string_view json);

// Returns {"items": [...]}.
template <class Item, class F>
std::string list_body(const std::vector<Item>& items, F&& to_json) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(to_json(item));
  return Json{{"items", std::move(list)}}.dump();
}

}  // namespace turnpike::hosts::account
