#include <algorithm>

#include "hosts/dashboard/chart.h"
#include "hosts/dashboard/pages.h"
#include "hosts/dashboard/words.h"
#include "site/directory_pages.h"

namespace turnpike::hosts::dashboard {

namespace {

using Left = catalog::FreeQuotas::Left;

// The remaining quota of one provider, with its name.
struct NamedLeft {
  const Left& left;
  std::string name;
};

std::string provider_title(const catalog::View* view, const std::string& key) {
  if (view == nullptr) return key;
  for (const registry::Provider& provider : view->program().providers()) {
    if (provider.key == key) return site::plain_name(provider);
  }
  return key;
}

void add_limit(site::Slots slots, const NamedLeft& shown, std::string_view what, std::uint64_t used,
               std::uint64_t limit, const std::string& resets) {
  site::Slots row = slots.add("LIMIT");
  const std::string in_words = figure(static_cast<std::int64_t>(std::min(used, limit))) + " of " +
                               figure(static_cast<std::int64_t>(limit));
  row.set("PROVIDER", shown.name);
  row.set("KEY", shown.left.provider_key);
  row.set("SCOPE", shown.left.scope);
  row.set("WHAT", what);
  row.set("USED", in_words);
  row.set("LEFT", static_cast<std::int64_t>(quota::left(limit, used)));
  row.set("RESETS", resets);
  row.set("BAR_SVG", meter(used, limit, in_words + " used"));
}

// Returns the time until a window restarts.
std::string resets_in(std::int64_t start_s, const quota::Window& window, std::int64_t now_ms) {
  return "in " + length_of(quota::end_ms(start_s, window) - now_ms);
}

void add_entry(site::Slots slots, const NamedLeft& shown) {
  const Left& left = shown.left;
  const quota::Limits& limits = left.limits;
  const quota::Counts& counts = left.standing.counts;
  const std::int64_t now_ms = left.standing.now_ms;
  add_limit(slots, shown, each_span(limits.window.seconds), counts.window, limits.window.limit,
            resets_in(counts.window_start_s, limits.window, now_ms));
  if (limits.quota) {
    add_limit(slots, shown, each_span(limits.quota->seconds), counts.quota, limits.quota->limit,
              resets_in(counts.quota_start_s, *limits.quota, now_ms));
  }
  add_limit(slots, shown, "At once", left.standing.in_use, limits.concurrency, "when one ends");
  if (limits.cumulative_limit) {
    add_limit(slots, shown, "In total", counts.cumulative, *limits.cumulative_limit, "never");
  }
}

}  // namespace

void show_free_quotas(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto left = rooms.account.free_quotas_left(page->account_id());
  if (!left.ok()) return refuse_on(rooms, turn, *page, left.error(), "");
  const site::Frame frame = frame_of_account(rooms, *page, "Free quotas", "/free-quotas");
  send_account_page(rooms, turn, frame, "dashboard/free_quotas.html", [&](site::Slots slots) {
    slots.show_if(left->empty(), "HAS_NONE");
    slots.show_if(!left->empty(), "HAS_SOME");
    slots.set("NOW", when(rooms.pages.clock().now_ms()));
    const auto view = view_of(rooms);
    for (const Left& one : *left) {
      add_entry(slots, {one, provider_title(view.get(), one.provider_key)});
    }
  });
}

}  // namespace turnpike::hosts::dashboard
