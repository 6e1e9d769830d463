#include "hosts/dashboard/pages.h"

namespace turnpike::hosts::dashboard {

void show_overview(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const site::Frame frame = frame_of_account(rooms, *page, "Overview", "");
  send_account_page(rooms, turn, frame, "dashboard/overview.html", [&](site::Slots slots) {
    slots.set("NAME", page->membership.account.name);
  });
}

}  // namespace turnpike::hosts::dashboard
