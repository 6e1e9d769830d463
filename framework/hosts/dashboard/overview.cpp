#include "hosts/dashboard/auto_top_up_pages.h"
#include "hosts/dashboard/call_rows.h"
#include "hosts/dashboard/chart.h"
#include "hosts/dashboard/own_status.h"
#include "hosts/dashboard/pages.h"
#include "hosts/dashboard/words.h"
#include "site/terms_text.h"

namespace turnpike::hosts::dashboard {

using base::Error;
using ledger::Granularity;

namespace {

constexpr std::int64_t shown_days = 30;
constexpr std::size_t pace_days = 7;
constexpr std::uint32_t latest_calls = 10;

struct Overview {
  ledger::Balance balance;
  std::optional<ledger::Allocation> expiring;
  ledger::UsageSummary summary;  // of 30 days, including today
  ledger::Page<ledger::UsageRow> latest;
};

Result<Overview, Error> read_overview(const AccountReads::Parts& parts,
                                      const std::string& account_id, std::int64_t now_ms) {
  Overview read;
  const auto deadline = read_deadline();
  const std::int64_t to_ms = ledger::bucket_end(now_ms, Granularity::day);
  auto summary = parts.statements.summary(
      {{account_id}, to_ms - shown_days * day_ms, to_ms, Granularity::day}, deadline);
  if (!summary.ok()) return std::move(summary).error();
  auto latest = parts.statements.usage({account_id, std::nullopt, latest_calls}, deadline);
  if (!latest.ok()) return std::move(latest).error();
  auto expiring = parts.statements.expiring_next(account_id, deadline);
  if (!expiring.ok()) return std::move(expiring).error();
  const auto balance = parts.ledger.balance(account_id, deadline);
  if (!balance.ok()) return balance.error();
  read.balance = *balance;
  read.expiring = *std::move(expiring);
  read.summary = *std::move(summary);
  read.latest = *std::move(latest);
  return read;
}

// Returns how long the Credits last at the rate of the last 7 days, including today.
std::string days_left(const Overview& read) {
  ledger::Credits spent = 0;
  const auto& series = read.summary.series;
  for (std::size_t at = series.size() - pace_days; at < series.size(); ++at) {
    spent += series[at].sums.credits;
  }
  if (spent == 0) return "nothing was charged in 7 days";
  const std::int64_t left = read.balance.credits * static_cast<std::int64_t>(pace_days) / spent;
  return counted(left, "day") + " left at the pace of 7 days";
}

void fill_figures(site::Slots slots, const AccountPage& page, const Overview& read,
                  std::int64_t now_ms) {
  const ledger::UsageSums& today = read.summary.series.back().sums;
  const std::int64_t begin_ms = ledger::bucket_start(now_ms, Granularity::day);
  const auto calls = [&](std::string_view outcome) {
    return Href(path_of(page.account_id(), "/calls"))
        .add("outcome", outcome)
        .add("from", query_time(begin_ms))
        .add("to", query_time(begin_ms + day_ms))
        .text();
  };
  slots.set("BILLING", path_of(page.account_id(), "/billing"));
  site::set_credits(slots, "BALANCE", read.balance.credits);
  slots.set("DAYS_LEFT", days_left(read));
  slots.set("EXPIRING", read.expiring ? figure(read.expiring->remaining) : "0");
  slots.set("EXPIRES", read.expiring
                           ? std::string(text::credits_word(read.expiring->remaining)) +
                                 " to expire first, on " + day_text(read.expiring->expires_at_ms)
                           : "Credits expire next");
  site::set_credits(slots, "CHARGED", today.credits);
  slots.set("CHARGED_CALLS", calls("charged"));
  slots.set("RELEASED", figure(today.released));
  slots.set("RELEASED_CALLS", calls("released"));
}

void fill_days(site::Slots slots, const AccountPage& page, const Overview& read) {
  std::vector<Bar> all;
  for (const auto& day : read.summary.series) {
    const std::string label = day_text(day.start_ms);
    all.push_back({label, day.sums.charged, day.sums.requests - day.sums.charged});
    if (day.sums.requests == 0) continue;
    site::Slots row = slots.add("DAY");
    row.set("LABEL", label);
    row.set("REQUESTS", figure(day.sums.requests));
    row.set("CHARGED", figure(day.sums.charged));
    row.set("RELEASED", figure(day.sums.released));
    row.set("CREDITS", figure(day.sums.credits));
    row.set("CALLS", Href(path_of(page.account_id(), "/calls"))
                         .add("from", query_time(day.start_ms))
                         .add("to", query_time(day.start_ms + day_ms))
                         .text());
  }
  slots.show_if(read.summary.totals.requests > 0, "HAS_DAYS");
  slots.set("BARS_SVG", bars(all, "Calls of each of 30 days: charged ones below, others on them. "
                                  "The same figures are in the table."));
}

void fill_incidents(site::Slots slots, const WebRooms& rooms, const Overview& read) {
  const site::Facts facts = rooms.pages.facts();
  const auto open = open_incidents(facts, read.summary.by_operation);
  slots.show_if(open.empty(), "HAS_NO_INCIDENT");
  for (const OpenIncident& incident : open) {
    site::Slots row = slots.add("INCIDENT");
    row.set("SCOPE", incident.scope);
    row.set("SEVERITY", incident.severity);
    row.set("STARTED", incident.started_at);
    row.set("ID", incident.id);
  }
}

}  // namespace

void show_overview(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const std::int64_t now_ms = rooms.pages.clock().now_ms();
  const auto read = read_overview(rooms.account.parts(), page->account_id(), now_ms);
  if (!read.ok()) return refuse_on(rooms, turn, *page, read.error(), "");
  learn_clients(rooms, *page, read->latest.items);
  const auto view = view_of(rooms);
  const std::string alert = top_up_alert(rooms, *page);
  const site::Frame frame = frame_of_account(rooms, *page, "Overview", "");
  send_account_page(rooms, turn, frame, "dashboard/overview.html", [&](site::Slots slots) {
    slots.set("NAME", page->membership.account.name);
    slots.set("STATUS", identity::name_of(page->membership.account.status));
    slots.show_if(page->membership.account.status != identity::AccountStatus::active,
                  "IS_NOT_ACTIVE");
    slots.set_if("TOP_UP_ALERT", alert);
    slots.set("TOP_UP", path_of(page->account_id(), "/auto-top-up"));
    slots.set("USAGE", path_of(page->account_id(), "/usage"));
    slots.set("ALL_CALLS", path_of(page->account_id(), "/calls"));
    slots.set("OWN_STATUS", path_of(page->account_id(), "/status"));
    fill_figures(slots, *page, *read, now_ms);
    fill_days(slots, *page, *read);
    fill_incidents(slots, rooms, *read);
    fill_call_rows(slots.include("CALL_ROWS", "dashboard/call_rows.html"), *page, view.get(),
                   read->latest.items);
  });
}

}  // namespace turnpike::hosts::dashboard
