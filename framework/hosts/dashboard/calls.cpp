#include <utility>

#include "base/ids.h"
#include "hosts/account_query.h"
#include "hosts/dashboard/call_rows.h"
#include "hosts/dashboard/pages.h"
#include "hosts/dashboard/words.h"
#include "hosts/row_lines.h"
#include "text/time_text.h"

namespace turnpike::hosts::dashboard {

using base::Error;
using base::ErrorCode;

namespace {

constexpr std::uint32_t named_max = 50;
constexpr std::uint32_t file_rows_max = 1'000;
constexpr int file_searches_max = 16;  // each looks at a bounded number of calls

// Returns a link to a list with the same filter.
Href with_filter(std::string path, const NamedValues& query) {
  Href href(std::move(path));
  for (const char* name : {"api_key_id", "route_id", "outcome", "from", "to"}) {
    href.add(name, query.find(name).value_or(""));
  }
  return href;
}

bool is_filtered(const NamedValues& query) {
  for (const char* name : {"api_key_id", "route_id", "outcome", "from", "to"}) {
    if (query.find(name)) return true;
  }
  return false;
}

Result<ledger::Page<ledger::UsageRow>, Error> read_calls(const WebRooms& rooms,
                                                         const CallsQuery& query,
                                                         bool is_filtered) {
  ledger::Statements& statements = rooms.account.parts().statements;
  return is_filtered ? statements.search(query.page, query.filter, read_deadline())
                     : statements.usage(query.page, read_deadline());
}

std::string cursor_of(const WebRooms& rooms, const AccountPage& page, const ledger::Place& place) {
  return make_billing_cursor(page.account_id(), Collection::usage, place,
                             rooms.account.cursor_key());
}

void add_choice(site::Slots slots, std::string_view section, std::string_view value,
                std::string_view label, std::string_view chosen) {
  site::Slots row = slots.add(section);
  row.set("VALUE", value);
  row.set("LABEL", label);
  row.show_if(value == chosen, "IS_CHOSEN");
}

// Adds the chosen value to the choices if it is not among them, such as the grant of an OAuth
// client.
void add_unknown_choice(site::Slots slots, std::string_view section, const std::string& chosen,
                        const std::string& label, bool is_known) {
  if (!chosen.empty() && !is_known) add_choice(slots, section, chosen, label, chosen);
}

void fill_operation_choices(site::Slots slots, const catalog::View* view,
                            const std::string& chosen) {
  bool is_known = false;
  if (view != nullptr) {
    for (const registry::Route& route : view->program().routes()) {
      add_choice(slots, "OPERATION_CHOICE", route.id, route.matcher.pattern, chosen);
      is_known = is_known || route.id == chosen;
    }
  }
  add_unknown_choice(slots, "OPERATION_CHOICE", chosen, chosen, is_known);
}

void fill_filters(site::Slots slots, const AccountPage& page, const catalog::View* view,
                  const NamedValues& query) {
  const std::string key = query.find("api_key_id").value_or("");
  bool is_known = false;
  for (const identity::ApiKey& one : page.keys) {
    add_choice(slots, "KEY_CHOICE", one.id, page.key_name(one.id), key);
    is_known = is_known || one.id == key;
  }
  add_unknown_choice(slots, "KEY_CHOICE", key, page.key_name(key), is_known);
  fill_operation_choices(slots, view, query.find("route_id").value_or(""));
  const std::string outcome = query.find("outcome").value_or("");
  for (const char* one : {"charged", "released", "replayed"}) {
    add_choice(slots, "OUTCOME_CHOICE", one, one, outcome);
  }
  for (const auto& [name, slot] : {std::pair{"from", "FROM"}, std::pair{"to", "TO"}}) {
    const auto at_ms = text::parse_rfc3339(query.find(name).value_or(""));
    slots.set(slot, at_ms ? query_time(*at_ms) : "");
  }
}

struct CallsPage {
  std::vector<ledger::UsageRow> calls;
  std::string find = {};        // the id that was searched for
  std::string next = {};        // link to the next page
  std::string after = {};       // cursor of this page
  bool is_filtered = false;
};

void send_calls(const WebRooms& rooms, Turn& turn, AccountPage& page, const NamedValues& query,
                const CallsPage& shown) {
  learn_clients(rooms, page, shown.calls);
  learn_clients(rooms, page, {query.find("api_key_id").value_or("")});
  const auto view = view_of(rooms);
  const std::string path = path_of(page.account_id(), "/calls");
  const site::Frame frame = frame_of_account(rooms, page, "Calls", "/calls");
  send_account_page(rooms, turn, frame, "dashboard/calls.html", [&](site::Slots slots) {
    slots.set("PATH", path);
    slots.set_if("FIND", shown.find);
    slots.show_if(shown.is_filtered, "IS_FILTERED");
    slots.show_if(shown.calls.empty() && !shown.next.empty(), "SEARCH_GOES_ON");
    slots.set_if("NEXT", shown.next);
    if (!shown.after.empty()) slots.set_if("FIRST", with_filter(path, query).text());
    if (shown.find.empty()) {
      slots.show("HAS_FILES");
      slots.set("ROWS_MAX", figure(file_rows_max));
      slots.set("CSV", with_filter(path + ".csv", query).add("after", shown.after).text());
      slots.set("NDJSON", with_filter(path + ".ndjson", query).add("after", shown.after).text());
    }
    fill_filters(slots, page, view.get(), query);
    fill_call_rows(slots.include("CALL_ROWS", "dashboard/call_rows.html"), page, view.get(),
                   shown.calls);
  });
}

// Searches by the gateway's id of a call or by its caller's id.
void find_call(const WebRooms& rooms, Turn& turn, AccountPage& page, const NamedValues& query,
               const std::string& id) {
  if (base::is_uuid(id) || id.size() == 36) {
    const auto state = rooms.account.call_state(page.account_id(), id, turn.request_id());
    if (state.ok()) {
      const std::string& known = state->is_pending ? id : state->record->usage.message_id;
      if (Location::read(path_of(page.account_id(), "/calls/" + known))) {
        return web::go_to(turn, path_of(page.account_id(), "/calls/" + known));
      }
    } else if (state.error().code != ErrorCode::billing_message_not_found) {
      return refuse_on(rooms, turn, page, state.error(), "/calls");
    }
  }
  auto named = rooms.account.parts().statements.calls_named(page.account_id(), id, named_max,
                                                            read_deadline());
  if (!named.ok()) return refuse_on(rooms, turn, page, named.error(), "/calls");
  send_calls(rooms, turn, page, query, {.calls = *std::move(named), .find = id});
}

// Returns the rows of a file: those of the current page and of the following ones, up to a bound.
Result<std::string, Error> lines_of_file(const WebRooms& rooms, LineForm form, CallsQuery query,
                                         bool is_filtered, std::optional<ledger::Place>& next) {
  std::string text = head_line(form, usage_columns);
  std::uint32_t rows = 0;
  for (int search = 0; search < file_searches_max && rows < file_rows_max; ++search) {
    query.page.limit = file_rows_max - rows;
    const auto page = read_calls(rooms, query, is_filtered);
    if (!page.ok()) return page.error();
    for (const ledger::UsageRow& row : page->items) {
      text += line_of(form, usage_columns, line_json(row));
    }
    rows += static_cast<std::uint32_t>(page->items.size());
    next = query.page.after = page->next;
    if (!next) break;
  }
  return text;
}

void send_calls_file(const WebRooms& rooms, Turn& turn, const Asked& asked, LineForm form) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const NamedValues fields = clean_query(asked.query);
  const auto query = read_calls_query(fields, page->account_id(), rooms.account.cursor_key());
  if (!query.ok()) return refuse_on(rooms, turn, *page, query.error(), "/calls");
  std::optional<ledger::Place> next;
  const auto text = lines_of_file(rooms, form, *query, is_filtered(fields), next);
  if (!text.ok()) return refuse_on(rooms, turn, *page, text.error(), "/calls");
  const std::string end = form == LineForm::csv ? ".csv" : ".ndjson";
  ReplyFields more;
  const std::string name = "attachment; filename=\"calls" + end + "\"";
  more.add("Content-Disposition", name);
  std::string link;
  if (next) {
    const std::string path = path_of(page->account_id(), "/calls" + end);
    link = "<" + with_filter(path, fields).add("after", cursor_of(rooms, *page, *next)).text() +
           ">; rel=\"next\"";
    more.add("Link", link);
  }
  turn.reply({.content_type = form == LineForm::csv ? "text/csv; charset=utf-8"
                                                    : "application/x-ndjson",
              .body = *text},
             more);
}

}  // namespace

void show_calls(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const NamedValues fields = clean_query(asked.query);
  if (const auto id = fields.find("find")) return find_call(rooms, turn, *page, fields, *id);
  const auto query = read_calls_query(fields, page->account_id(), rooms.account.cursor_key());
  if (!query.ok()) return refuse_on(rooms, turn, *page, query.error(), "/calls");
  auto calls = read_calls(rooms, *query, is_filtered(fields));
  if (!calls.ok()) return refuse_on(rooms, turn, *page, calls.error(), "/calls");
  CallsPage shown{.calls = std::move(calls->items),
                  .after = fields.find("after").value_or(""),
                  .is_filtered = is_filtered(fields)};
  if (calls->next) {
    shown.next = with_filter(path_of(page->account_id(), "/calls"), fields)
                     .add("after", cursor_of(rooms, *page, *calls->next))
                     .text();
  }
  send_calls(rooms, turn, *page, fields, shown);
}

void send_calls_csv(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  send_calls_file(rooms, turn, asked, LineForm::csv);
}

void send_calls_ndjson(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  send_calls_file(rooms, turn, asked, LineForm::ndjson);
}

}  // namespace turnpike::hosts::dashboard
