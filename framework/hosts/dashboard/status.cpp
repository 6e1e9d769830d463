#include <cstdio>

#include "hosts/dashboard/own_status.h"
#include "hosts/dashboard/pages.h"
#include "hosts/dashboard/words.h"

namespace turnpike::hosts::dashboard {

using base::Error;
using ledger::Granularity;

namespace {

constexpr std::string_view spans_of_days[] = {"1", "7", "30"};
constexpr std::size_t rows_max = 100;

Result<std::int64_t, Error> read_days(const NamedValues& query) {
  const std::string text = query.find("days").value_or("7");
  for (const std::string_view known : spans_of_days) {
    if (text == known) return std::stoll(text);
  }
  Error error{base::ErrorCode::request_query_rejected,
              "The query is not one that this page takes."};
  error.fields.push_back({"query.days", "it is none of 1, 7 and 30",
                          "Pass days=7, or leave it out for 7 days."});
  return error;
}

std::string_view state_of_level(std::string_view level) noexcept {
  if (level == "operational") return "ok";
  if (level == "degraded") return "warn";
  return level == "major_outage" ? "bad" : "unknown";
}

std::string percentage(double value) {
  char text[16];
  std::snprintf(text, sizeof text, "%.4g %%", value);
  return text;
}

void fill_operation(site::Slots row, const site::Facts& facts, const AccountPage& page,
                    const ledger::UsageSummary::Operation& operation,
                    const ledger::SummaryQuery& query) {
  const ledger::UsageSums& sums = operation.sums;
  row.set_long_name("LABEL",
                    operation_name(facts.view.get(), operation.route_id, operation.method));
  row.set("CHARGED", figure(sums.charged));
  row.set("RELEASED", figure(sums.released));
  row.set("OWN", percent(sums.charged, sums.charged + sums.released));
  row.set("FAILED_CALLS", Href(path_of(page.account_id(), "/calls"))
                              .add("outcome", "released")
                              .add("route_id", operation.route_id)
                              .add("from", query_time(query.from_ms))
                              .add("to", query_time(query.to_ms))
                              .text());
  const auto published = published_status(facts, operation.route_id, operation.method);
  const std::string level = published && !published->level.empty() ? published->level : "unknown";
  row.set("LEVEL", level);
  row.set("STATE", state_of_level(level));
  if (!published || !published->good_percentage) {
    row.set("PUBLISHED", "not published");
    return;
  }
  row.set("PUBLISHED", percentage(*published->good_percentage) + " in " +
                           length_of(published->window_s * 1'000));
}

}  // namespace

void show_status(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto days = read_days(clean_query(asked.query));
  if (!days.ok()) return refuse_on(rooms, turn, *page, days.error(), "/status");
  const std::int64_t to_ms =
      ledger::bucket_end(rooms.pages.clock().now_ms(), Granularity::day);
  const ledger::SummaryQuery query{
      {page->account_id()}, to_ms - *days * day_ms, to_ms, Granularity::day};
  const auto summary = rooms.account.parts().statements.summary(query, read_deadline());
  if (!summary.ok()) return refuse_on(rooms, turn, *page, summary.error(), "/status");
  const site::Facts facts = rooms.pages.facts();
  const site::Frame frame = frame_of_account(rooms, *page, "Status for me", "/status");
  send_account_page(rooms, turn, frame, "dashboard/status.html", [&](site::Slots slots) {
    slots.set("PATH", path_of(page->account_id(), "/status"));
    slots.set("BEGIN", when(query.from_ms));
    for (const std::string_view one : spans_of_days) {
      site::Slots row = slots.add("DAYS");
      row.set("VALUE", one);
      row.show_if(one == std::to_string(*days), "IS_CHOSEN");
    }
    std::size_t shown = 0;
    for (const auto& operation : summary->by_operation) {
      if (shown++ == rows_max) break;
      fill_operation(slots.add("OPERATION"), facts, *page, operation, query);
    }
    slots.show_if(summary->by_operation.empty(), "HAS_NONE");
    slots.show_if(!summary->by_operation.empty(), "HAS_SOME");
    slots.show_if(summary->by_operation.size() > rows_max, "IS_CUT");
  });
}

}  // namespace turnpike::hosts::dashboard
