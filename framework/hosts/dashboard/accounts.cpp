#include "hosts/dashboard/pages.h"

namespace turnpike::hosts::dashboard {

namespace {

void fill_accounts(site::Slots slots, const std::vector<identity::Membership>& memberships) {
  for (const identity::Membership& membership : memberships) {
    site::Slots row = slots.add("ACCOUNT");
    row.set("PATH", overview_path(membership.account.id));
    row.set("NAME", membership.account.name);
    row.set("ID", membership.account.id);
    row.set("ROLE", identity::name_of(membership.role));
    row.set("STATUS", identity::name_of(membership.account.status));
  }
  slots.show_if(memberships.empty(), "HAS_NONE");
  slots.show_if(!memberships.empty(), "HAS_SOME");
}

}  // namespace

void show_accounts(const WebRooms& rooms, Turn& turn, const Asked&) {
  const Caller caller = web::caller_of_page(rooms, turn);
  if (caller == nullptr) return;
  if (caller->standing == identity::Standing::enrolling) return web::go_to(turn, web::own_path);
  const std::string back(web::own_path);
  const auto memberships =
      rooms.people.ask([&] { return rooms.people.parts().members.memberships(caller->id); });
  if (!memberships.ok()) return web::refuse(rooms, turn, caller, memberships.error(), back);
  if (memberships->size() == 1) {
    return web::go_to(turn, overview_path(memberships->front().account.id));
  }
  const auto person = web::person_of(rooms, caller);
  if (!person.ok()) return web::refuse(rooms, turn, caller, person.error(), back);
  site::Frame frame = web::frame_of(rooms, "Your billing accounts", *person, caller);
  frame.scripts.clear();
  send_account_page(rooms, turn, frame, "dashboard/accounts.html",
                    [&](site::Slots slots) { fill_accounts(slots, *memberships); });
}

}  // namespace turnpike::hosts::dashboard
