#include <algorithm>
#include <map>
#include <optional>

#include "hosts/account/grant_routes.h"
#include "hosts/account/people_json.h"
#include "hosts/dashboard/account_form.h"
#include "hosts/dashboard/people_routes.h"
#include "hosts/dashboard/words.h"
#include "hosts/web/views.h"
#include "site/terms_text.h"
#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::hosts::dashboard {

namespace {

using base::Error;
using base::ErrorCode;
using identity::ApiKey;
using identity::Role;
using site::Slots;

constexpr std::int64_t ms_per_day = 24 * 3'600'000ll;
constexpr std::string_view keys_page = "/keys";

std::string path_of_key(const AccountPage& page, std::string_view key_id) {
  return path_of(page.account_id(), keys_page) + "/" + std::string(key_id);
}

// ---- the bounds of a key, as forms have them

struct BoundsForm {
  std::string cap_per_day = {};
  std::string cap_per_month = {};
  std::string last_day = {};
};

BoundsForm bounds_form_of(const Asked& asked) {
  return {field_of(asked, "cap_per_day"), field_of(asked, "cap_per_month"),
          field_of(asked, "last_day")};
}

std::string text_of(const std::optional<std::int64_t>& credits) {
  return credits ? std::to_string(*credits) : std::string();
}

// Returns the last day in UTC before the expiry; empty: the key does not expire.
std::string last_day_of(const ApiKey& key) {
  return key.expires_at_ms ? text::day_text(*key.expires_at_ms - 1) : std::string();
}

BoundsForm bounds_form_of(const ApiKey& key) {
  return {text_of(key.caps.per_day), text_of(key.caps.per_month), last_day_of(key)};
}

Result<identity::KeyBounds, Error> read_bounds(const BoundsForm& form) {
  identity::KeyBounds bounds;
  const auto per_day = account::read_cap(form.cap_per_day);
  if (!per_day.ok()) return per_day.error();
  const auto per_month = account::read_cap(form.cap_per_month);
  if (!per_month.ok()) return per_month.error();
  bounds.caps = {*per_day, *per_month};
  if (form.last_day.empty()) return bounds;
  const auto begins_ms = text::parse_rfc3339(form.last_day + "T00:00:00Z");
  if (!begins_ms) {
    return Error{ErrorCode::request_malformed,
                 "The last day is no day such as 2027-12-31: write it so, or leave it empty."};
  }
  bounds.expires_at_ms = *begins_ms + ms_per_day;
  return bounds;
}

void fill_bounds(Slots slots, const BoundsForm& form) {
  slots.set("CAP_PER_DAY", form.cap_per_day);
  slots.set("CAP_PER_MONTH", form.cap_per_month);
  slots.set("LAST_DAY", form.last_day);
}

// ---- spending of keys

struct KeySpending {
  std::map<std::string, ledger::Credits> spent;  // Credits of 30 days, by key
  std::map<std::string, std::vector<ledger::CapRoom>> caps;
};

// Both are read from the books, which also decide whether calls may be charged.
Result<KeySpending, Error> read_spending(const WebRooms& rooms, const std::string& account_id) {
  KeySpending spending;
  const auto usage = rooms.account.usage(account_id, NamedValues());
  if (!usage.ok()) return usage.error();
  const auto body = text::parse_json(*usage);
  for (const auto& sums : body.at("byKey")) {
    if (!sums["apiKeyId"].is_string()) continue;
    spending.spent[sums["apiKeyId"]] = std::stoll(sums["creditsCharged"].get<std::string>());
  }
  auto capped = rooms.account.key_caps(account_id);
  if (!capped.ok()) return std::move(capped).error();
  for (ledger::CapsOfKey& key : *capped) spending.caps[key.key_id] = std::move(key.caps);
  return spending;
}

void fill_key(Slots row, const ApiKey& key, const KeySpending& spending, std::int64_t now_ms) {
  row.set("ID", key.id);
  row.set("NAME", key.name);
  row.set("PREFIX", key.prefix);
  row.set("ENVIRONMENT", name_of(key.environment));
  row.set("ADDED", text::day_text(key.created_at_ms));
  row.set("USED", key.last_used_at_ms ? text::minute_text(*key.last_used_at_ms) : "never");
  const bool is_expired = key.expires_at_ms && *key.expires_at_ms <= now_ms;
  if (key.revoked_at_ms) {
    row.set("ENDS", "");
    row.set("REVOKED", text::minute_text(*key.revoked_at_ms));
    row.show("IS_REVOKED");
  } else {
    row.set("ENDS", key.expires_at_ms ? text::minute_text(*key.expires_at_ms) : "never");
    row.show(is_expired ? "IS_EXPIRED" : "IS_LIVE");
  }
  const auto spent = spending.spent.find(key.id);
  site::set_credits(row, "SPENT", spent == spending.spent.end() ? 0 : spent->second);
  const auto caps = spending.caps.find(key.id);
  if (caps == spending.caps.end()) return row.show("NO_CAP");
  for (const ledger::CapRoom& cap : caps->second) {
    Slots line = row.add("CAP");
    line.set("SPAN", cap.span);
    line.set("USED_OF_CAP", figure(cap.cap - cap.left));
    site::set_credits(line, "CAP_CREDITS", cap.cap);
    const std::int64_t held = cap.left - cap.free;
    line.set_if("HELD", held > 0 ? figure(held) : std::string());
    line.set("RESETS", text::minute_text(cap.resets_at_ms));
    line.show_if(cap.left <= 0, "IS_REACHED");
  }
}

// ---- the list

struct NewKeyForm {
  std::string name = {};
  BoundsForm bounds = {};
  web::Problem problem = {};
};

std::string headline_of(const std::vector<ApiKey>& keys, std::int64_t now_ms) {
  const auto live = static_cast<std::size_t>(
      std::count_if(keys.begin(), keys.end(), [&](const ApiKey& key) {
        return !key.revoked_at_ms && (!key.expires_at_ms || *key.expires_at_ms > now_ms);
      }));
  if (live == 0) return "No API key can call";
  return web::count_of(live, "API key can call", "API keys can call");
}

Result<std::string, Error> keys_html(const WebRooms& rooms, const AccountPage& page,
                                     const NewKeyForm& form) {
  const bool is_admin = page.membership.role >= Role::admin;
  const std::int64_t now_ms = rooms.pages.clock().now_ms();
  Result<KeySpending, Error> spending = KeySpending();
  if (is_admin) spending = read_spending(rooms, page.account_id());
  if (!spending.ok()) return std::move(spending).error();
  const site::Frame frame = frame_of_account(rooms, page, "API keys", keys_page);
  return rooms.pages.page(frame, "dashboard/keys.html", [&](Slots slots) {
    slots.set("ACCOUNT_ID", page.account_id());
    slots.set("HEADLINE", headline_of(page.keys, now_ms));
    slots.show(is_admin ? "FOR_ADMINS" : "NOT_FOR_MEMBERS");
    if (!is_admin) return;
    slots.set("NEW_NAME", form.name);
    fill_bounds(slots, form.bounds);
    web::fill_problem(slots, form.problem);
    slots.show(page.keys.empty() ? "NO_KEYS" : "KEYS");
    for (const ApiKey& key : page.keys) fill_key(slots.add("KEY"), key, *spending, now_ms);
  });
}

void show_keys(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto html = keys_html(rooms, *page, {});
  if (!html.ok()) return refuse_on(rooms, turn, *page, html.error(), "");
  turn.reply({.content_type = page_type, .body = *html});
}

// ---- a new key

// "Acme Data" becomes "ACME_DATA", for names of variables.
std::string variable_of(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'a' && c <= 'z') {
      text += static_cast<char>(c - 'a' + 'A');
    } else if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && !text.empty())) {
      text += c;
    } else if (!text.empty() && text.back() != '_') {
      text += '_';
    }
  }
  while (text.ends_with('_')) text.pop_back();
  return text.empty() ? "GATEWAY" : text;
}

std::string server_of(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    if (c == '_') return '-';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

void show_new_key(const WebRooms& rooms, Turn& turn, const AccountPage& page,
                  const std::string& secret) {
  const site::Frame frame = frame_of_account(rooms, page, "Your new API key", keys_page);
  const std::string variable = variable_of(rooms.pages.site()->brand().name);
  turn.reply({.status = 201,
              .content_type = page_type,
              .body = rooms.pages.page(frame, "dashboard/new_key.html", [&](Slots slots) {
                slots.set("ACCOUNT_ID", page.account_id());
                slots.set("SECRET", secret);
                slots.set("VARIABLE", variable);
                slots.set("SERVER", server_of(variable));
                slots.set("API_URL", rooms.pages.urls().api);
                slots.set_if("MCP_URL", rooms.pages.urls().mcp);
              })});
}

void use_create_key(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = path_of(asked.parameters[0], keys_page);
  if (!web::stands_for(identity::Standing::stepped_up, rooms, turn, asked, back)) return;
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  NewKeyForm form{field_of(asked, "name"), bounds_form_of(asked)};
  const identity::KeyEditor editor{rooms.people.actor_of(turn, asked.caller), page->account_id()};
  const auto created = rooms.people.ask([&]() -> Result<identity::CreatedKey, Error> {
    const auto bounds = read_bounds(form.bounds);
    if (!bounds.ok()) return bounds.error();
    return rooms.people.parts().keys.create(page->account_id(), form.name, editor, *bounds);
  });
  if (created.ok()) return show_new_key(rooms, turn, *page, created->secret);
  form.problem = {&created.error(), turn.request_id()};
  const auto html = keys_html(rooms, *page, form);
  if (!html.ok()) return refuse_on(rooms, turn, *page, created.error(), keys_page);
  web::send_refusal(turn, created.error(), *html);
}

// ---- one key

struct KeyPage {
  AccountPage page;
  ApiKey key;
};

std::optional<KeyPage> open_key_page(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return std::nullopt;
  const auto key = std::find_if(page->keys.begin(), page->keys.end(), [&](const ApiKey& one) {
    return one.id == asked.parameters[1];
  });
  std::optional<Error> problem = identity::role_refusal(page->membership.role, Role::admin);
  if (!problem && key == page->keys.end()) {
    problem = Error{ErrorCode::request_not_found, "The account has no API key with this id."};
  }
  if (problem) {
    refuse_on(rooms, turn, *page, *problem, keys_page);
    return std::nullopt;
  }
  ApiKey found = *key;
  return KeyPage{*std::move(page), std::move(found)};
}

Result<std::string, Error> key_html(const WebRooms& rooms, const KeyPage& one,
                                    const BoundsForm& bounds, const web::Problem& problem) {
  auto spending = read_spending(rooms, one.page.account_id());
  if (!spending.ok()) return std::move(spending).error();
  const site::Frame frame = frame_of_account(rooms, one.page, one.key.name, keys_page);
  return rooms.pages.page(frame, "dashboard/key.html", [&](Slots slots) {
    slots.set("ACCOUNT_ID", one.page.account_id());
    fill_key(slots, one.key, *spending, rooms.pages.clock().now_ms());
    slots.show("MAY_CHANGE");
    slots.show_if(!one.key.revoked_at_ms, "IS_OPEN");
    fill_bounds(slots, bounds);
    web::fill_problem(slots, problem);
  });
}

void show_key(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto one = open_key_page(rooms, turn, asked);
  if (!one) return;
  const auto html = key_html(rooms, *one, bounds_form_of(one->key), {});
  if (!html.ok()) return refuse_on(rooms, turn, one->page, html.error(), keys_page);
  turn.reply({.content_type = page_type, .body = *html});
}

// Handles a form on the page of one key. `work` takes the key and its editor.
template <class Work>
void change_key(const WebRooms& rooms, Turn& turn, const Asked& asked, Work&& work) {
  const std::string back =
      path_of(asked.parameters[0], keys_page) + "/" + asked.parameters[1];
  if (!web::stands_for(identity::Standing::stepped_up, rooms, turn, asked, back)) return;
  const auto one = open_key_page(rooms, turn, asked);
  if (!one) return;
  const identity::KeyEditor editor{rooms.people.actor_of(turn, asked.caller),
                                   one->page.account_id()};
  const Result<std::optional<ApiKey>, Error> done =
      rooms.people.ask([&]() -> Result<std::optional<ApiKey>, Error> {
        return work(rooms.people.parts().keys, one->key, editor);
      });
  if (done.ok()) return web::go_to(turn, path_of_key(one->page, one->key.id));
  const bool has_bounds = asked.form.find("last_day").has_value();
  const auto html =
      key_html(rooms, *one, has_bounds ? bounds_form_of(asked) : bounds_form_of(one->key),
               {&done.error(), turn.request_id()});
  if (!html.ok()) return refuse_on(rooms, turn, one->page, done.error(), keys_page);
  web::send_refusal(turn, done.error(), *html);
}

void use_rename_key(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  change_key(rooms, turn, asked,
             [&](identity::ApiKeys& keys, const ApiKey& key, const identity::KeyEditor& editor) {
               return keys.change(key.id, {.name = field_of(asked, "name")}, editor);
             });
}

void use_bound_key(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  change_key(rooms, turn, asked,
             [&](identity::ApiKeys& keys, const ApiKey& key, const identity::KeyEditor& editor)
                 -> Result<std::optional<ApiKey>, Error> {
               const BoundsForm form = bounds_form_of(asked);
               const auto bounds = read_bounds(form);
               if (!bounds.ok()) return bounds.error();
               identity::KeyEdit edit{.caps = bounds->caps};
               // The time of day of an expiry that was set by JSON stays, unless the form changes
               // the day.
               if (form.last_day != last_day_of(key)) edit.expires_at_ms = bounds->expires_at_ms;
               return keys.change(key.id, edit, editor);
             });
}

void use_revoke_key(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  change_key(rooms, turn, asked,
             [&](identity::ApiKeys& keys, const ApiKey& key, const identity::KeyEditor& editor)
                 -> Result<std::optional<ApiKey>, Error> {
               if (field_of(asked, "confirm") != key.name) {
                 return Error{ErrorCode::request_malformed,
                              "What you typed is not the key's name, so it was not revoked."};
               }
               return keys.revoke(key.id, editor);
             });
}

#define KEYS "/dashboard/{billing_account_id}/keys"
#define KEY KEYS "/{api_key_id}"

constexpr Route<WebRooms> key_rows[] = {
    {.facts = web::page(KEYS, "dashboard_keys"), .answer = show_keys},
    {.facts = web::form(KEYS, "api_keys", form_of_admins), .answer = use_create_key},
    {.facts = web::page(KEY, "dashboard_key"), .answer = show_key},
    {.facts = web::form(KEY "/name", "api_key", form_of_admins), .answer = use_rename_key},
    {.facts = web::form(KEY "/bounds", "api_key", form_of_admins), .answer = use_bound_key},
    {.facts = web::form(KEY "/revoke", "api_key", form_of_admins), .answer = use_revoke_key},
};
#undef KEY
#undef KEYS

}  // namespace

std::span<const Route<WebRooms>> key_routes() noexcept { return key_rows; }

}  // namespace turnpike::hosts::dashboard
