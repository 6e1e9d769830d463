#include <algorithm>
#include <vector>

#include "hosts/dashboard/account_page.h"
#include "hosts/dashboard/people_routes.h"
#include "hosts/web/events.h"
#include "text/uri.h"

namespace turnpike::hosts::dashboard {

namespace {

using base::Error;
using site::Slots;

constexpr std::string_view log_page = "/security-log";

struct LogPage {
  web::EventsPage events;
  web::NamesById names;
  std::vector<identity::Member> members;
};

Result<LogPage, Error> read_log(const account::PooledPeople::Parts& parts, const AccountPage& page,
                                const identity::AuditQuery& query) {
  LogPage log;
  auto members = parts.members.members(page.account_id());
  if (!members.ok()) return std::move(members).error();
  log.members = *std::move(members);
  for (const identity::Member& member : log.members) log.names[member.person_id] = member.name;
  for (const identity::ApiKey& key : page.keys) log.names[key.id] = key.name;
  auto events = web::read_events(parts.audit, query);
  if (!events.ok()) return std::move(events).error();
  log.events = *std::move(events);
  return log;
}

// Returns the page with these filters, starting behind the event `after`; 0: from the newest.
std::string path_with(const AccountPage& page, const identity::AuditQuery& query,
                      std::int64_t after) {
  std::string path = path_of(page.account_id(), log_page);
  const auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    path += path.find('?') == path.npos ? '?' : '&';
    path.append(name).append("=");
    text::append_percent_encoded(path, value);
  };
  add("actor", query.actor);
  add("action", query.action);
  if (after > 0) add("after", std::to_string(after));
  return path;
}

void fill_filters(Slots slots, const LogPage& log, const identity::AuditQuery& query) {
  bool is_offered = query.actor.empty();
  const auto add_actor = [&](const std::string& principal) {
    Slots row = slots.add("ACTOR");
    row.set("ID", principal);
    row.set("NAME", web::who_is(principal, log.names));
    row.show_if(principal == query.actor, "IS_CHOSEN");
    is_offered = is_offered || principal == query.actor;
  };
  for (const identity::Member& member : log.members) add_actor("user:" + member.person_id);
  add_actor("operator:cli");
  if (!is_offered) add_actor(query.actor);  // a former member
  for (const std::string_view action : web::actions_of_accounts()) {
    Slots row = slots.add("ACTION_CHOICE");
    row.set("ID", action);
    row.set("NAME", web::words_of(action));
    row.show_if(action == query.action, "IS_CHOSEN");
  }
}

std::string headline_of(const LogPage& log, const identity::AuditQuery& query) {
  const bool is_whole = query.before == 0 && !log.events.next;
  if (log.events.events.empty()) return "No events";
  if (!is_whole) return "Who did what";
  return web::count_of(log.events.events.size(), "event", "events");
}

void show_security_log(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const site::Frame frame = frame_of_account(rooms, *page, "Security log", log_page);
  constexpr std::string_view layout = "dashboard/security_log.html";
  if (page->membership.role < identity::Role::admin) {
    return send_account_page(rooms, turn, frame, layout, [](Slots slots) {
      slots.set("HEADLINE", "Who did what");
      slots.show("NOT_FOR_MEMBERS");
    });
  }
  const auto before = web::read_after(asked);
  if (!before.ok()) return refuse_on(rooms, turn, *page, before.error(), log_page);
  const identity::AuditQuery query{.account_id = page->account_id(),
                                   .actor = asked.query.find("actor").value_or(""),
                                   .action = asked.query.find("action").value_or(""),
                                   .before = *before};
  const auto log = rooms.people.ask([&] { return read_log(rooms.people.parts(), *page, query); });
  if (!log.ok()) return refuse_on(rooms, turn, *page, log.error(), "");
  send_account_page(rooms, turn, frame, layout, [&](Slots slots) {
    slots.set("ACCOUNT_ID", page->account_id());
    slots.set("HEADLINE", headline_of(*log, query));
    slots.show("FOR_ADMINS");
    fill_filters(slots, *log, query);
    slots.show(log->events.events.empty() ? "NONE" : "SOME");
    web::fill_events(slots, log->events.events, log->names);
    slots.set_if("FIRST", query.before > 0 ? path_with(*page, query, 0) : std::string());
    slots.set_if("NEXT", log->events.next ? path_with(*page, query, *log->events.next)
                                          : std::string());
  });
}

constexpr Parameter log_query[] = {
    {.name = "actor",
     .description = "Who, as the log names them: `user:usr_...`.",
     .schema = R"({"type": "string"})"},
    {.name = "action", .description = "What: `key.create`.", .schema = R"({"type": "string"})"},
    web::after_parameter,
};

constexpr Route<WebRooms> log_rows[] = {
    {.facts = page_with("/dashboard/{billing_account_id}/security-log", "dashboard_security_log",
                        log_query),
     .answer = show_security_log},
};

}  // namespace

std::span<const Route<WebRooms>> security_log_routes() noexcept { return log_rows; }

}  // namespace turnpike::hosts::dashboard
