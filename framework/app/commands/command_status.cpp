// status: shows the leader and the incidents, and publishes operators' statements, which change no
// state.
#include <algorithm>

#include "app/commands/command_database.h"
#include "hosts/operator/status_words.h"
#include "text/time_text.h"

namespace turnpike::app {
namespace {

using hosts::operators::document_of;
using nlohmann::json;
using status::Maintenance;
using status::ShownIncident;

constexpr std::uint32_t listed_max = 10'000;
// The age up to which closed incidents are shown without --all.
constexpr std::int64_t recent_ms = 86'400'000;

// Prints the problems by the options that caused them.
int refuse(const CommonOptions& options, const base::Error& error) {
  std::string text = error.message;
  for (const base::FieldProblem& field : error.fields) {
    const std::string option = field.location == "/starts_at" ? "from"
                               : field.location == "/ends_at" ? "to"
                                                              : field.location.substr(1);
    text += " --" + option + ": " + field.problem + ". " + field.fix + ".";
  }
  (void)print_failure(options, text);
  return exit_usage;
}

std::string line_of(const ShownIncident& shown) {
  const status::Incident& incident = shown.incident;
  std::string line = incident.id + "  " + text::rfc3339(incident.started_at_ms) + "  " +
                     std::string(name_of(incident.state)) + "  " +
                     std::string(name_of(incident.severity)) + "  " + incident.scope + "  " +
                     std::string(name_of(shown.source));
  for (const status::IncidentNote& note : shown.notes) {
    line += "\n    " + text::rfc3339(note.at_ms) + "  " + note.operator_id + "  " + note.text;
  }
  return line;
}

std::string line_of(const Maintenance& each) {
  return each.id + "  " + text::rfc3339(each.starts_at_ms) + " to " +
         text::rfc3339(each.ends_at_ms) + "  " + each.scope + "  " + each.text;
}

template <class Item>
json items_json(const std::vector<Item>& all) {
  json items = json::array();
  for (const Item& each : all) items.push_back(document_of(each));
  return {{"items", std::move(items)}};
}

template <class Item>
std::string status_lines(const std::vector<Item>& all) {
  std::string lines;
  for (const Item& each : all) lines += (lines.empty() ? "" : "\n") + line_of(each);
  return lines.empty() ? std::string("none") : lines;
}

// Prints the current incident; `missing`: the error if the statement was not accepted.
int print_incident(const CommonOptions& options, Tools& tools,
                   const Result<bool, base::Error>& is_done, const std::string& id,
                   const base::Error& missing) {
  if (!is_done.ok()) return print_failure(options, is_done.error().message);
  if (!*is_done) return print_failure(options, missing.message);
  const auto shown = tools.node.status().incident(id);
  if (shown.ok() && !*shown) return print_failure(options, missing.message);
  return print(
      options, shown, [](const std::optional<ShownIncident>& each) { return document_of(*each); },
      [](const std::optional<ShownIncident>& each) { return line_of(*each); });
}

using Taking = Result<bool, base::Error> (status::StatusStore::*)(std::string_view,
                                                                  std::string_view,
                                                                  const identity::Actor&);

int run_note(const CommonOptions& options, const StatusWords& words, Taking take,
             base::Error (*missing)(std::string_view)) {
  const auto note = hosts::operators::read_note(json{{"note", words.note}}.dump());
  if (!note.ok()) return refuse(options, note.error());
  return with_database(options, [&](Tools& tools) {
    const auto is_done =
        (tools.node.status().*take)(words.id, *note, identity::operator_actor());
    return print_incident(options, tools, is_done, words.id, missing(words.id));
  });
}

}  // namespace

int run_status_incidents(const CommonOptions& options, const StatusWords& words) {
  return with_database(options, [&](Tools& tools) {
    status::StatusStore& store = tools.node.status();
    auto list = words.all ? store.incidents({.limit = std::min(words.limit, listed_max),
                                             .with_unconfirmed = true})
                          : store.recent_incidents(tools.clock.now_ms() - recent_ms);
    if (list.ok() && !words.all) {
      std::reverse(list->begin(), list->end());  // newest first, as with --all
      list->resize(std::min<std::size_t>(list->size(), words.limit));
    }
    return print(options, list, items_json<ShownIncident>, status_lines<ShownIncident>);
  });
}

int run_status_incident_open(const CommonOptions& options, const StatusWords& words) {
  const auto read = hosts::operators::read_incident(
      json{{"scope", words.scope}, {"severity", words.severity}, {"note", words.note}}.dump());
  if (!read.ok()) return refuse(options, read.error());
  return with_database(options, [&](Tools& tools) {
    const auto id = tools.node.status().open_incident(read->scope, read->severity, read->note,
                                                      identity::operator_actor());
    if (!id.ok()) return print_failure(options, id.error().message);
    return print_incident(options, tools, true, *id, hosts::operators::no_incident(*id));
  });
}

int run_status_incident_note(const CommonOptions& options, const StatusWords& words) {
  return run_note(options, words, &status::StatusStore::add_note, hosts::operators::no_incident);
}

int run_status_incident_resolve(const CommonOptions& options, const StatusWords& words) {
  return run_note(options, words, &status::StatusStore::resolve_incident,
                  hosts::operators::not_to_resolve);
}

int run_status_maintenance_announce(const CommonOptions& options, const StatusWords& words) {
  auto read = hosts::operators::read_maintenance(json{{"scope", words.scope},
                                                      {"starts_at", words.from},
                                                      {"ends_at", words.to},
                                                      {"note", words.note}}
                                                     .dump());
  if (!read.ok()) return refuse(options, read.error());
  return with_database(options, [&](Tools& tools) {
    const auto id = tools.node.status().announce(*read, identity::operator_actor());
    if (id.ok()) read->id = *id;
    return print(
        options, id, [&](const std::string&) { return document_of(*read); },
        [&](const std::string&) { return line_of(*read); });
  });
}

int run_status_maintenance_cancel(const CommonOptions& options, const StatusWords& words) {
  return with_database(options, [&](Tools& tools) {
    const auto is_cancelled =
        tools.node.status().cancel_maintenance(words.id, identity::operator_actor());
    if (is_cancelled.ok() && !*is_cancelled) {
      return print_failure(options, hosts::operators::no_maintenance(words.id).message);
    }
    return print(
        options, is_cancelled,
        [&](bool) { return json{{"maintenance_id", words.id}, {"cancelled", true}}; },
        [&](bool) { return "cancelled: " + words.id; });
  });
}

int run_status_maintenance_list(const CommonOptions& options) {
  return with_database(options, [&](Tools& tools) {
    return print(options, tools.node.status().maintenance(tools.clock.now_ms()),
                 items_json<Maintenance>, status_lines<Maintenance>);
  });
}

int run_status_lease(const CommonOptions& options) {
  using Held = std::optional<status::Lease>;
  return with_database(options, [&](Tools& tools) {
    return print(
        options, tools.node.status().lease(),
        [](const Held& held) {
          if (!held) return json{{"node", nullptr}, {"epoch", nullptr}, {"until", nullptr}};
          return json{{"node", held->holder},
                      {"epoch", held->epoch},
                      {"until", text::rfc3339(held->until_ms)}};
        },
        [](const Held& held) {
          if (!held) return std::string("nobody leads");
          return held->holder + " leads in epoch " + std::to_string(held->epoch) + " until " +
                 text::rfc3339(held->until_ms);
        });
  });
}

}  // namespace turnpike::app
