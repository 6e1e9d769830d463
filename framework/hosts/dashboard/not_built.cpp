#include "hosts/dashboard/pages.h"

namespace turnpike::hosts::dashboard {

void show_auto_top_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const site::Frame frame = frame_of_account(rooms, *page, "Auto Top-Up", "/auto-top-up");
  send_account_page(rooms, turn, frame, "dashboard/auto_top_up.html", [&](site::Slots slots) {
    slots.set("ACCOUNT", page->account_id());
    slots.set("PURCHASES", path_of(page->account_id(), "/purchases"));
  });
}

}  // namespace turnpike::hosts::dashboard
