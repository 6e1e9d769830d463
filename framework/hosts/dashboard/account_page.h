// What the pages of a billing account have in common: who may see them, the account and its keys,
// the frame around them, and how they are sent. Called on the fibers of requests; the store is
// asked on the blocking pool.
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

// A member who reads a page of their account.
struct AccountPage {
  Caller caller;
  identity::Person person;
  identity::Membership membership;
  std::vector<identity::ApiKey> keys;  // revoked ones, too
  // Of programs that people gave access, by the ids of their grants, as far as learn_clients() was
  // asked for them.
  std::map<std::string, std::string> clients = {};

  [[nodiscard]] const std::string& account_id() const noexcept { return membership.account.id; }
  // As people call the key, or as the program calls itself; of neither: its id.
  [[nodiscard]] std::string key_name(std::string_view key_id) const;
};

// The page that the path's first parameter names the account of. Nothing: who asks was sent to sign
// in, or refused: no more is told to strangers than that they are not a member.
std::optional<AccountPage> open_account_page(const WebRooms& rooms, Turn& turn,
                                             std::string_view account_id);

// Learns the names of the programs whose grants are among these; 100 of them. While the store does
// not answer, they are shown by their ids.
void learn_clients(const WebRooms& rooms, AccountPage& page, std::vector<std::string> key_ids);

// `here`: the entry of the navigation, as in side_of().
site::Frame frame_of_account(const WebRooms& rooms, const AccountPage& page,
                             std::string_view title, std::string_view here);

// A refusal of what was asked on a page of the account: bad values of a query, books out of reach.
// `here`: the page that leads back.
void refuse_on(const WebRooms& rooms, Turn& turn, const AccountPage& page, const base::Error& error,
               std::string_view here);

// `fill` gets the Slots of the layout.
template <class Fill>
void send_account_page(const WebRooms& rooms, Turn& turn, const site::Frame& frame,
                       std::string_view layout, Fill&& fill) {
  turn.reply({.content_type = page_type,
              .body = rooms.pages.page(frame, layout, std::forward<Fill>(fill))});
}

// The query of a page as the API reads it: fields of forms that were left empty are not there, and
// times are whole.
NamedValues clean_query(const NamedValues& query);

// What a page may take to read the books.
inline constexpr std::int64_t read_timeout_ms = 5'000;
inline runtime::Deadline read_deadline() { return runtime::Deadline::after_ms(read_timeout_ms); }

// The installed program; null: there is none.
std::shared_ptr<const catalog::View> view_of(const WebRooms& rooms);

// The facts of a page with a query.
constexpr RouteFacts page_with(std::string_view path, std::string_view endpoint,
                               std::span<const Parameter> query) {
  RouteFacts facts = web::page(path, endpoint);
  facts.query = query;
  return facts;
}

}  // namespace turnpike::hosts::dashboard
