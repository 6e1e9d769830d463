#include <algorithm>
#include <utility>

#include "hosts/account_query.h"
#include "hosts/dashboard/pages.h"
#include "hosts/dashboard/purchase_words.h"
#include "hosts/dashboard/words.h"
#include "hosts/purchase_json.h"
#include "site/terms_text.h"
#include "text/time_text.h"

namespace turnpike::hosts::dashboard {

using base::Error;
using ledger::Granularity;
using ledger::Movement;

namespace {

// A line of the statement: a change of the balance, and the balance after it.
struct Line {
  std::int64_t at_ms = 0;  // of daily charges: the end of the day
  std::string what = {};
  std::string id = {};     // of the allocation; empty: a line of charges
  std::string calls = {};  // link to the charged calls
  ledger::Credits change = 0;
};

struct Statement {
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;
  ledger::Credits opening = 0;
  ledger::Credits closing = 0;
  std::vector<Line> lines = {};
  bool is_whole = true;
};

Error bad_month() {
  Error error{base::ErrorCode::request_query_rejected,
              "The query is not one that this page takes."};
  error.fields.push_back({"query.month", "it is no month since 1970",
                          "Pass month=2026-11, or leave it out for this month."});
  return error;
}

// Returns the first moment of the month in a query.
Result<std::int64_t, Error> read_month(const NamedValues& query, std::int64_t now_ms) {
  const auto text = query.find("month");
  if (!text) return ledger::bucket_start(now_ms, Granularity::month);
  const auto start_ms = text::parse_rfc3339(*text + "-01T00:00:00Z");
  if (text->size() != 7 || !start_ms || *start_ms < 0 || *start_ms > now_ms) return bad_month();
  return *start_ms;
}

std::string movement_words(const Movement& movement) {
  const std::string origin(origin_text(movement.origin));
  switch (movement.kind) {
    case Movement::Kind::granted:
      return "Credited: " + origin;
    case Movement::Kind::expired:
      return "Expired, from " + origin;
    case Movement::Kind::voided:
      break;
  }
  return "Withdrawn, from " + origin;
}

void add_charges(const AccountPage& page, const ledger::UsageSummary& summary,
                 std::vector<Line>& lines) {
  for (const auto& day : summary.series) {
    if (day.sums.credits == 0) continue;
    const std::int64_t end_ms = ledger::bucket_end(day.start_ms, Granularity::day);
    Line line{.at_ms = end_ms - 1, .change = -day.sums.credits};
    line.what = "Charged for " + counted(day.sums.charged, "call");
    line.calls = Href(path_of(page.account_id(), "/calls"))
                     .add("outcome", "charged")
                     .add("from", query_time(day.start_ms))
                     .add("to", query_time(end_ms))
                     .text();
    lines.push_back(std::move(line));
  }
}

Result<Statement, Error> read_statement(const WebRooms& rooms, const AccountPage& page,
                                        std::int64_t from_ms) {
  ledger::Statements& statements = rooms.account.parts().statements;
  const auto deadline = read_deadline();
  Statement read{.from_ms = from_ms, .to_ms = ledger::bucket_end(from_ms, Granularity::month)};
  const auto summary = statements.summary(
      {{page.account_id()}, read.from_ms, read.to_ms, Granularity::day}, deadline);
  if (!summary.ok()) return summary.error();
  const auto moved = statements.statement(page.account_id(), read.from_ms, read.to_ms, deadline);
  if (!moved.ok()) return moved.error();
  read.opening = read.closing = moved->opening;
  read.is_whole = moved->is_whole;
  for (const Movement& movement : moved->movements) {
    const bool is_gain = movement.kind == Movement::Kind::granted;
    read.lines.push_back({.at_ms = movement.at_ms,
                          .what = movement_words(movement),
                          .id = movement.allocation_id,
                          .change = is_gain ? movement.units : -movement.units});
  }
  add_charges(page, *summary, read.lines);
  std::stable_sort(read.lines.begin(), read.lines.end(),
                   [](const Line& a, const Line& b) { return a.at_ms < b.at_ms; });
  for (const Line& line : read.lines) read.closing += line.change;
  return read;
}

std::string signed_figure(ledger::Credits change) {
  return (change > 0 ? "+" : "") + figure(change);
}

void fill_statement(site::Slots slots, const AccountPage& page, const Statement& statement,
                    std::int64_t now_ms) {
  const std::string path = path_of(page.account_id(), "/billing");
  const auto month_of = [](std::int64_t at_ms) { return day_text(at_ms).substr(0, 7); };
  slots.set("MONTH", month_of(statement.from_ms));
  slots.set("PATH", path);
  slots.set("OPENING", figure(statement.opening));
  slots.set("CLOSING", figure(statement.closing));
  slots.show_if(!statement.is_whole, "IS_CUT");
  if (statement.from_ms > 0) {
    slots.set_if("EARLIER", Href(path).add("month", month_of(statement.from_ms - 1)).text());
  }
  if (statement.to_ms <= now_ms) {
    slots.set_if("LATER", Href(path).add("month", month_of(statement.to_ms)).text());
  }
  ledger::Credits balance = statement.opening;
  for (const Line& line : statement.lines) {
    balance += line.change;
    site::Slots row = slots.add("LINE");
    row.set("WHEN", line.calls.empty() ? when(line.at_ms) : day_text(line.at_ms));
    row.set("WHAT", line.what);
    row.set_if("ID", line.id);
    row.set_if("CALLS", line.calls);
    row.set("CHANGE", signed_figure(line.change));
    row.set("BALANCE", figure(balance));
  }
}

void fill_allocations(site::Slots slots, const WebRooms& rooms, const AccountPage& page,
                      const ledger::Page<ledger::Allocation>& allocations) {
  for (const ledger::Allocation& allocation : allocations.items) {
    site::Slots row = slots.add("ALLOCATION");
    row.set("ID", allocation.id);
    row.set("ORIGIN", origin_text(allocation.origin));
    row.set("UNITS", figure(allocation.units));
    row.set("REMAINING", figure(allocation.remaining));
    row.set("EFFECTIVE", when(allocation.effective_at_ms));
    row.set("EXPIRES", when(allocation.expires_at_ms));
    row.set("STATUS", ledger::name_of(allocation.status));
  }
  slots.show_if(allocations.items.empty(), "HAS_NO_ALLOCATION");
  slots.show_if(!allocations.items.empty(), "HAS_ALLOCATIONS");
  if (!allocations.next) return;
  slots.set_if("NEXT", Href(path_of(page.account_id(), "/billing"))
                           .add("after", make_billing_cursor(page.account_id(),
                                                             Collection::allocations,
                                                             *allocations.next,
                                                             rooms.account.cursor_key()))
                           .text());
}

// Reads the query of a page of allocations.
Result<BillingQuery, Error> read_allocations_query(const WebRooms& rooms, const AccountPage& page,
                                                   const NamedValues& query) {
  NamedValues fields;
  fields.add("collection", "allocations");
  if (const auto after = query.find("after")) fields.add("after", *after);
  return read_billing_query(fields, page.account_id(), rooms.account.cursor_key());
}

void fill_invoices(site::Slots slots, const ledger::Page<Invoice>& invoices) {
  slots.show(invoices.items.empty() ? "HAS_NO_INVOICE" : "HAS_INVOICES");
  for (const Invoice& invoice : invoices.items) {
    const commerce::Purchase& purchase = invoice.purchase;
    site::Slots row = slots.add("INVOICE");
    row.set("PAID", when(purchase.paid_at_ms));
    std::string state(hosts::state_of(invoice));
    std::replace(state.begin(), state.end(), '_', ' ');
    row.set("STATE", state);
    row.set("AMOUNT", money(purchase.currency, purchase.minor));
    row.set("TAX", money(purchase.currency, purchase.tax_minor));
    row.set("TOTAL", money(purchase.currency, purchase.minor + purchase.tax_minor));
    row.set("PURCHASE", path_of(purchase.account_id, "/purchases/" + purchase.id));
    row.set("ID", purchase.id);
  }
}

}  // namespace

void show_billing(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto refused = [&](const Error& error) {
    refuse_on(rooms, turn, *page, error, "/billing");
  };
  const NamedValues fields = clean_query(asked.query);
  const std::int64_t now_ms = rooms.pages.clock().now_ms();
  const auto from_ms = read_month(fields, now_ms);
  if (!from_ms.ok()) return refused(from_ms.error());
  const auto query = read_allocations_query(rooms, *page, fields);
  if (!query.ok()) return refused(query.error());
  const AccountReads::Parts& parts = rooms.account.parts();
  const auto allocations = parts.statements.allocations(query->page, read_deadline());
  if (!allocations.ok()) return refused(allocations.error());
  const auto statement = read_statement(rooms, *page, *from_ms);
  if (!statement.ok()) return refused(statement.error());
  const auto balance = parts.ledger.balance(page->account_id(), read_deadline());
  if (!balance.ok()) return refused(balance.error());
  const auto invoices =
      rooms.account.invoices({.account_id = page->account_id(), .after = {}, .limit = 20});
  if (!invoices.ok()) return refused(invoices.error());
  const site::Frame frame = frame_of_account(rooms, *page, "Billing", "/billing");
  send_account_page(rooms, turn, frame, "dashboard/billing.html", [&](site::Slots slots) {
    site::set_credits(slots, "NOW_BALANCE", balance->credits);
    slots.set("NOW", when(balance->generated_at_ms));
    slots.set("PURCHASES", path_of(page->account_id(), "/purchases"));
    fill_statement(slots, *page, *statement, now_ms);
    fill_allocations(slots, rooms, *page, *allocations);
    fill_invoices(slots, *invoices);
  });
}

}  // namespace turnpike::hosts::dashboard
