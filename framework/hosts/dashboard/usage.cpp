#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "hosts/account_query.h"
#include "hosts/dashboard/chart.h"
#include "hosts/dashboard/pages.h"
#include "hosts/dashboard/words.h"
#include "hosts/row_lines.h"
#include "site/terms_text.h"
#include "text/time_text.h"

namespace turnpike::hosts::dashboard {

using ledger::Granularity;
using ledger::SummaryQuery;
using ledger::UsageSummary;

namespace {

constexpr std::int64_t week_ms = 7 * 86'400'000;
constexpr std::size_t all_rows_max = 62;  // with more rows, those without calls are left out

// Returns a link to the calls of a span.
Href calls_of(const AccountPage& page, std::int64_t from_ms, std::int64_t to_ms) {
  Href href(path_of(page.account_id(), "/calls"));
  href.add("from", query_time(from_ms)).add("to", query_time(to_ms));
  return href;
}

std::string label_of(std::int64_t start_ms, Granularity granularity) {
  const std::string text = text::rfc3339(start_ms);
  if (granularity == Granularity::month) return text.substr(0, 7);
  return granularity == Granularity::day ? text.substr(0, 10)
                                         : text.substr(0, 10) + " " + text.substr(11, 5);
}

void set_sums(site::Slots slots, const ledger::UsageSums& sums) {
  slots.set("REQUESTS", figure(sums.requests));
  slots.set("CHARGED", figure(sums.charged));
  slots.set("RELEASED", figure(sums.released));
  site::set_credits(slots, "CREDITS", sums.credits);
}

void fill_series(site::Slots slots, const AccountPage& page, const SummaryQuery& query,
                 const UsageSummary& summary) {
  std::vector<Bar> all;
  for (const auto& bucket : summary.series) {
    const std::string label = label_of(bucket.start_ms, query.granularity);
    all.push_back({label, bucket.sums.charged, bucket.sums.requests - bucket.sums.charged});
    if (bucket.sums.requests == 0 && summary.series.size() > all_rows_max) continue;
    site::Slots row = slots.add("SPAN");
    row.set("LABEL", label);
    set_sums(row, bucket.sums);
    const std::int64_t from_ms = std::max(bucket.start_ms, query.from_ms);
    const std::int64_t to_ms =
        std::min(ledger::bucket_end(bucket.start_ms, query.granularity), query.to_ms);
    row.set("CALLS", calls_of(page, from_ms, to_ms)
                         .add("route_id", query.filter.route_id)
                         .add("api_key_id", query.filter.api_key_id)
                         .text());
  }
  slots.show_if(summary.series.size() > all_rows_max, "LEAVES_OUT");
  slots.set("BARS_SVG", bars(all, "Calls by time: charged ones below, others on them. The same "
                                  "figures are in the table."));
}

void fill_parts(site::Slots slots, const WebRooms& rooms, const AccountPage& page,
                const SummaryQuery& query, const UsageSummary& summary) {
  const auto view = view_of(rooms);
  for (const auto& operation : summary.by_operation) {
    site::Slots row = slots.add("OPERATION");
    row.set_long_name("LABEL", operation_name(view.get(), operation.route_id, operation.method));
    set_sums(row, operation.sums);
    row.set("CALLS", calls_of(page, query.from_ms, query.to_ms)
                         .add("route_id", operation.route_id)
                         .add("api_key_id", query.filter.api_key_id)
                         .text());
  }
  for (const auto& key : summary.by_key) {
    site::Slots row = slots.add("KEY");
    row.set("LABEL", key.api_key_id.empty() ? "(none)" : page.key_name(key.api_key_id));
    row.set("ID", key.api_key_id);
    set_sums(row, key.sums);
    row.set("CALLS", calls_of(page, query.from_ms, query.to_ms)
                         .add("route_id", query.filter.route_id)
                         .add("api_key_id", key.api_key_id)
                         .text());
  }
}

void fill_filters(site::Slots slots, const AccountPage& page, const SummaryQuery& query) {
  for (const Granularity one : {Granularity::hour, Granularity::day, Granularity::month}) {
    site::Slots row = slots.add("STEP");
    row.set("VALUE", ledger::name_of(one));
    row.show_if(one == query.granularity, "IS_CHOSEN");
  }
  slots.set("FROM", query_time(query.from_ms));
  slots.set("TO", query_time(query.to_ms));
  slots.set_if("ROUTE_ID", query.filter.route_id);
  slots.set_if("API_KEY_ID", query.filter.api_key_id);
  slots.set("PATH", path_of(page.account_id(), "/usage"));
}

// Returns a link to a file with the same sums.
std::string file_of(const AccountPage& page, const SummaryQuery& query, std::string_view end) {
  return Href(path_of(page.account_id(), "/usage") + std::string(end))
      .add("granularity", ledger::name_of(query.granularity))
      .add("from", query_time(query.from_ms))
      .add("to", query_time(query.to_ms))
      .add("route_id", query.filter.route_id)
      .add("api_key_id", query.filter.api_key_id)
      .text();
}

struct UsageRead {
  AccountPage page;
  SummaryQuery query;
  UsageSummary summary;
};

std::optional<UsageRead> read_usage(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return std::nullopt;
  const NamedValues fields = clean_query(asked.query);
  auto query = read_usage_query(fields, page->account_id(), rooms.pages.clock().now_ms());
  if (!query.ok()) {
    refuse_on(rooms, turn, *page, query.error(), "/usage");
    return std::nullopt;
  }
  // Without a time, hours are those of a week: a month of them is more than a chart can show.
  if (query->granularity == Granularity::hour && !fields.find("from")) {
    query->from_ms = std::max(query->from_ms, query->to_ms - week_ms);
  }
  auto summary = rooms.account.parts().statements.summary(*query, read_deadline());
  if (!summary.ok()) {
    refuse_on(rooms, turn, *page, summary.error(), "/usage");
    return std::nullopt;
  }
  std::vector<std::string> key_ids;
  for (const auto& key : summary->by_key) key_ids.push_back(key.api_key_id);
  learn_clients(rooms, *page, std::move(key_ids));
  return UsageRead{*std::move(page), *std::move(query), *std::move(summary)};
}

// Sends one line for each step of the series, with the values of the API.
void send_usage_file(const WebRooms& rooms, Turn& turn, const Asked& asked, LineForm form) {
  constexpr const char* columns[] = {"start", "requests", "charged", "released", "creditsCharged"};
  const auto read = read_usage(rooms, turn, asked);
  if (!read) return;
  std::string text = head_line(form, columns);
  for (const auto& bucket : read->summary.series) {
    text += line_of(form, columns,
                    {{"start", text::rfc3339(bucket.start_ms)},
                     {"requests", bucket.sums.requests},
                     {"charged", bucket.sums.charged},
                     {"released", bucket.sums.released},
                     {"creditsCharged", std::to_string(bucket.sums.credits)}});
  }
  ReplyFields more;
  more.add("Content-Disposition", form == LineForm::csv ? "attachment; filename=\"usage.csv\""
                                                        : "attachment; filename=\"usage.ndjson\"");
  turn.reply({.content_type = form == LineForm::csv ? "text/csv; charset=utf-8"
                                                    : "application/x-ndjson",
              .body = text},
             more);
}

}  // namespace

void show_usage(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto read = read_usage(rooms, turn, asked);
  if (!read) return;
  const AccountPage& page = read->page;
  const SummaryQuery& query = read->query;
  const site::Frame frame = frame_of_account(rooms, page, "Usage", "/usage");
  send_account_page(rooms, turn, frame, "dashboard/usage.html", [&](site::Slots slots) {
    fill_filters(slots, page, query);
    set_sums(slots, read->summary.totals);
    const ledger::UsageSums& totals = read->summary.totals;
    slots.set("CALLS_TEXT", counted(totals.requests, "call"));
    slots.set("REPEATS_TEXT", counted(totals.requests - totals.charged - totals.released,
                                      "repeat"));
    slots.set("TOTAL_CALLS", calls_of(page, query.from_ms, query.to_ms)
                                 .add("route_id", query.filter.route_id)
                                 .add("api_key_id", query.filter.api_key_id)
                                 .text());
    slots.set("BEGIN", when(query.from_ms));
    slots.set("END", when(query.to_ms));
    slots.set("CSV", file_of(page, query, ".csv"));
    slots.set("NDJSON", file_of(page, query, ".ndjson"));
    fill_series(slots, page, query, read->summary);
    fill_parts(slots, rooms, page, query, read->summary);
  });
}

void send_usage_csv(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  send_usage_file(rooms, turn, asked, LineForm::csv);
}

void send_usage_ndjson(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  send_usage_file(rooms, turn, asked, LineForm::ndjson);
}

}  // namespace turnpike::hosts::dashboard
