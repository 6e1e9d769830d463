// Generations: their installations and refusals, and the differences of two programs.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "hosts/operator/console.h"
#include "hosts/operator/console_text.h"

namespace turnpike::hosts::operators {
namespace {

using base::Error;

constexpr std::uint32_t generations_shown = 30;
constexpr std::size_t entries_shown_max = 200;
constexpr std::size_t fields_shown_max = 30;
constexpr std::int64_t callers_days = 30;

void show_lines(const std::vector<std::string>& lines, std::string_view section,
                site::Slots slots) {
  for (const std::string& line : lines) slots.add(section).set("TEXT", line);
  slots.show_if(!lines.empty(), "HAS_" + std::string(section));
}

void show_news(const ConsoleLook& look, site::Slots slots) {
  const RegistryNews news = look.parts.source.news();
  slots.set("NEWS_AT", time_text(news.at_ms));
  slots.set_if("STANDING", news.standing);
  slots.show_if(news.is_refused, "IS_REFUSED");
  slots.show_if(!news.is_refused && news.problems.empty(), "IS_INSTALLED");
  show_lines(news.problems, "PROBLEM", slots);
  show_lines(news.missing_secrets, "SECRET", slots);
  show_lines(news.notes, "NOTE", slots);
}

// Returns a shortened value of a definition; nothing where it is missing.
std::string value_text(const nlohmann::json& value) {
  constexpr std::size_t bytes_max = 300;
  if (value.is_discarded()) return "nothing";
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

void show_entry(const registry::EntryChange& change, site::Slots slots) {
  constexpr std::string_view words[] = {"added", "removed", "changed"};
  site::Slots entry = slots.add("ENTRY");
  entry.set("WHAT", words[static_cast<std::size_t>(change.change)]);
  entry.set("SECTION", words_of(change.section));
  entry.set("NAME", change.name);
  entry.show_if(!change.fields.empty(), "HAS_FIELDS");
  std::size_t shown = 0;
  for (const registry::FieldChange& field : change.fields) {
    if (++shown > fields_shown_max) break;
    site::Slots row = entry.add("FIELD");
    row.set("PATH", field.path);
    row.set("BEFORE", value_text(field.before));
    row.set("AFTER", value_text(field.after));
  }
  entry.show_if(shown > fields_shown_max, "HAS_MORE_FIELDS");
}

std::optional<Error> show_touched(const ConsoleLook& look, const ProgramChanges& changes,
                                  site::Slots slots) {
  const auto callers = look.parts.usage.callers(look.today() - callers_days + 1);
  if (!callers.ok()) return callers.error();
  std::map<std::string, std::int64_t> accounts;
  for (const ledger::RouteCallers& one : *callers) accounts[one.route_id] = one.accounts;
  std::size_t shown = 0;
  for (const TouchedRoute& route : changes.routes) {
    if (++shown > entries_shown_max) break;
    site::Slots row = slots.add("ROUTE");
    row.set("PATH", route.path);
    row.set("PROVIDER", route.provider);
    row.set("CALLERS", count_text(accounts[route.id]));
    for (const std::string& why : route.why) row.add("WHY").set("TEXT", why);
  }
  slots.set("ROUTES", static_cast<std::int64_t>(changes.routes.size()));
  slots.show_if(!changes.routes.empty(), "HAS_ROUTE");
  slots.show_if(shown > entries_shown_max, "HAS_MORE_ROUTES");
  return std::nullopt;
}

}  // namespace

std::optional<Error> fill_generations(const ConsoleLook& look, site::Slots slots) {
  const auto history = look.parts.manifest.history(generations_shown);
  if (!history.ok()) return history.error();
  show_news(look, slots);
  const std::string serving =
      look.facts.view == nullptr ? "" : look.facts.view->generation().id;
  for (std::size_t at = 0; at < history->size(); ++at) {
    const registry::InstalledBefore& one = (*history)[at];
    site::Slots row = slots.add("GENERATION");
    row.set("ID", one.generation.id);
    row.set("SEQUENCE", static_cast<std::int64_t>(one.generation.sequence));
    row.set("LINE", static_cast<std::int64_t>(one.generation.manifest_sequence));
    row.set("AT", time_text(one.generation.installed_at_ms));
    row.show_if(at == 0 && one.generation.id == serving, "IS_SERVING");
    row.set_if("ROLLED_BACK", one.rolled_back_from.substr(0, 23));
    if (at + 1 == history->size()) continue;
    const registry::InstalledBefore& before = (*history)[at + 1];
    const bool can_compare = one.has_files && before.has_files;
    if (!can_compare || before.generation.id == one.generation.id) continue;
    site::Slots link = row.add("COMPARE");
    link.set("BEFORE", before.generation.id);
    link.set("AFTER", one.generation.id);
  }
  slots.show_if(history->empty(), "HAS_NO_GENERATION");
  return std::nullopt;
}

std::optional<Error> fill_difference(const ConsoleLook& look, site::Slots slots) {
  const std::string before = look.asked.query.find("before").value_or("");
  const std::string after = look.asked.query.find("after").value_or("");
  const auto changes = look.parts.source.changes(before, after);
  if (!changes.ok()) return changes.error();
  slots.set("BEFORE", before);
  slots.set("AFTER", after);
  slots.set("ENTRIES", static_cast<std::int64_t>(changes->entries.size()));
  slots.show_if(changes->entries.empty(), "IS_EQUAL");
  std::size_t shown = 0;
  for (const registry::EntryChange& change : changes->entries) {
    if (++shown > entries_shown_max) break;
    show_entry(change, slots);
  }
  slots.show_if(shown > entries_shown_max, "HAS_MORE_ENTRIES");
  return show_touched(look, *changes, slots);
}

}  // namespace turnpike::hosts::operators
