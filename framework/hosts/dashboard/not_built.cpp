#include "hosts/dashboard/pages.h"

namespace turnpike::hosts::dashboard {

namespace {

void show(const WebRooms& rooms, Turn& turn, const Asked& asked, std::string_view title,
          std::string_view here, std::string_view layout) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const site::Frame frame = frame_of_account(rooms, *page, title, here);
  send_account_page(rooms, turn, frame, layout, [&](site::Slots slots) {
    slots.set("ACCOUNT", page->account_id());
    slots.set("BILLING", path_of(page->account_id(), "/billing"));
  });
}

}  // namespace

void show_purchases(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  show(rooms, turn, asked, "Purchases", "/purchases", "dashboard/purchases.html");
}

void show_auto_top_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  show(rooms, turn, asked, "Auto Top-Up", "/auto-top-up", "dashboard/auto_top_up.html");
}

}  // namespace turnpike::hosts::dashboard
