// The common parts of a billing account's pages: access control, the account and its keys, the
// frame, and sending. Called on the fibers of requests; the store is asked on the blocking pool.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/view.h"
#include "hosts/dashboard/navigation.h"
#include "hosts/page.h"
#include "hosts/route.h"
#include "hosts/web/page_turn.h"
#include "identity/account.h"
#include "identity/members.h"
#include "identity/person.h"
#include "runtime/deadline.h"

namespace turnpike::hosts::dashboard {

using web::WebRooms;

// A member who reads a page of the account.
struct AccountPage {
  Caller caller;
  identity::Person person;
  identity::Membership membership;
  std::vector<identity::ApiKey> keys;  // including revoked ones
  // Names of OAuth clients by the ids of their grants, for the grants that learn_clients() was
  // asked for.
  std::map<std::string, std::string> clients = {};

  [[nodiscard]] const std::string& account_id() const noexcept { return membership.account.id; }
  // Returns the name of the key, or of the OAuth client; without either, the id.
  [[nodiscard]] std::string key_name(std::string_view key_id) const;
};

// Opens the page of the account that the path's first parameter names. Nothing: the caller was
// redirected to sign in, or refused; the refusal tells only that they are not a member.
std::optional<AccountPage> open_account_page(const WebRooms& rooms, Turn& turn,
                                             std::string_view account_id);

// Reads the names of the OAuth clients whose grants are among `key_ids`, at most 100. While the
// store does not answer, ids are shown instead.
void learn_clients(const WebRooms& rooms, AccountPage& page, std::vector<std::string> key_ids);

// `here`: the entry of the navigation, as in side_of().
site::Frame frame_of_account(const WebRooms& rooms, const AccountPage& page,
                             std::string_view title, std::string_view here);

// Refuses a request on a page of the account, such as invalid query values or an unavailable
// ledger. `here`: the page that the refusal links back to.
void refuse_on(const WebRooms& rooms, Turn& turn, const AccountPage& page, const base::Error& error,
               std::string_view here);

// `fill`: gets the Slots of the layout.
template <class Fill>
void send_account_page(const WebRooms& rooms, Turn& turn, const site::Frame& frame,
                       std::string_view layout, Fill&& fill) {
  turn.reply({.content_type = page_type,
              .body = rooms.pages.page(frame, layout, std::forward<Fill>(fill))});
}

// Returns the query as the API reads it: without empty form fields, and with complete times.
NamedValues clean_query(const NamedValues& query);

// The longest time that a page may read the books.
inline constexpr std::int64_t read_timeout_ms = 5'000;
inline runtime::Deadline read_deadline() { return runtime::Deadline::after_ms(read_timeout_ms); }

// Returns the View of the installed program; null: there is none.
std::shared_ptr<const catalog::View> view_of(const WebRooms& rooms);

// The row of a page with a query.
constexpr RouteFacts page_with(std::string_view path, std::string_view endpoint,
                               std::span<const Parameter> query) {
  RouteFacts facts = web::page(path, endpoint);
  facts.query = query;
  return facts;
}

}  // namespace turnpike::hosts::dashboard
