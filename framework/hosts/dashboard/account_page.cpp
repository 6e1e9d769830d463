#include "hosts/dashboard/account_page.h"

#include <algorithm>

#include "hosts/dashboard/words.h"

namespace turnpike::hosts::dashboard {

using base::Error;

namespace {

Result<AccountPage, Error> read_account(const account::PooledPeople::Parts& parts,
                                        const Caller& caller) {
  AccountPage page;
  page.caller = caller;
  const auto memberships = parts.members.memberships(caller->id);
  if (!memberships.ok()) return memberships.error();
  const auto own = std::find_if(memberships->begin(), memberships->end(), [&](const auto& one) {
    return one.account.id == caller->account_id;
  });
  if (own == memberships->end()) {
    return *identity::role_refusal(std::nullopt, identity::Role::member);
  }
  page.membership = *own;
  auto person = parts.person_store.find(caller->id);
  if (!person.ok()) return std::move(person).error();
  if (!person->has_value()) {
    return Error{base::ErrorCode::auth_session_ended, "The session has ended: sign in again."};
  }
  page.person = **std::move(person);
  auto keys = parts.keys.list(caller->account_id);
  if (!keys.ok()) return std::move(keys).error();
  page.keys = *std::move(keys);
  return page;
}

}  // namespace

std::string AccountPage::key_name(std::string_view key_id) const {
  const auto key =
      std::find_if(keys.begin(), keys.end(), [&](const auto& one) { return one.id == key_id; });
  if (key != keys.end() && !key->name.empty()) return key->name;
  const auto client = clients.find(std::string(key_id));
  return client == clients.end() ? std::string(key_id) : client->second;
}

void learn_clients(const WebRooms& rooms, AccountPage& page, std::vector<std::string> key_ids) {
  constexpr std::size_t asked_max = 100;
  std::erase_if(key_ids, [](const std::string& id) { return !id.starts_with("ogr_"); });
  std::sort(key_ids.begin(), key_ids.end());
  key_ids.erase(std::unique(key_ids.begin(), key_ids.end()), key_ids.end());
  if (key_ids.empty()) return;
  if (key_ids.size() > asked_max) key_ids.resize(asked_max);
  auto names = rooms.people.ask(
      [&] { return rooms.people.parts().grants.client_names(page.account_id(), key_ids); });
  if (names.ok()) page.clients.merge(*names);
}

std::optional<AccountPage> open_account_page(const WebRooms& rooms, Turn& turn,
                                             std::string_view account_id) {
  const Caller caller = web::caller_of_page(rooms, turn, account_id);
  if (caller == nullptr) return std::nullopt;
  if (caller->standing == identity::Standing::enrolling) {
    web::go_to(turn, web::own_path);
    return std::nullopt;
  }
  auto page = rooms.people.ask([&] { return read_account(rooms.people.parts(), caller); });
  if (page.ok()) return *std::move(page);
  web::refuse(rooms, turn, caller, page.error(), std::string(web::own_path));
  return std::nullopt;
}

site::Frame frame_of_account(const WebRooms& rooms, const AccountPage& page,
                             std::string_view title, std::string_view here) {
  site::Frame frame = web::frame_of(rooms, title, page.person, page.caller);
  frame.scripts.clear();
  frame.side = side_of(page.account_id(), here);
  frame.side_title = page.membership.account.name;
  return frame;
}

void refuse_on(const WebRooms& rooms, Turn& turn, const AccountPage& page, const Error& error,
               std::string_view here) {
  web::refuse(rooms, turn, page.caller, error, path_of(page.account_id(), here));
}

NamedValues clean_query(const NamedValues& query) {
  NamedValues clean;
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    const bool is_time = name == "from" || name == "to";
    clean.add(name, is_time ? full_time(value) : value);
  }
  return clean;
}

std::shared_ptr<const catalog::View> view_of(const WebRooms& rooms) {
  return rooms.account.parts().backend.view();
}

}  // namespace turnpike::hosts::dashboard
