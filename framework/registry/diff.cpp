#include "registry/diff.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "registry/canonical.h"
#include "text/json_text.h"

namespace turnpike::registry {
namespace {

using nlohmann::json;

constexpr std::string_view word_of(Change change) noexcept {
  constexpr std::string_view words[] = {"added", "removed", "changed"};
  return words[static_cast<std::size_t>(change)];
}

// The entries of one section: name to canonical text.
using Entries = std::map<std::string, std::string>;

template <class List, class Name, class Write>
Entries entries_of(const List& list, Name name, Write write) {
  Entries entries;
  for (const auto& entry : list) write(entries[name(entry)], entry);
  return entries;
}

// The identifying member of a list's item; null: the item has none.
const json* name_of_item(const json& item) {
  if (!item.is_object()) return nullptr;
  for (const char* key : {"name", "key"}) {
    if (const auto found = item.find(key); found != item.end() && found->is_string()) {
      return &*found;
    }
  }
  return nullptr;
}

// The list as an object by names; nullopt: an item has no name.
std::optional<json> by_name(const json& list) {
  json named = json::object();
  for (const json& item : list) {
    const json* const name = name_of_item(item);
    if (name == nullptr) return std::nullopt;
    named[name->get<std::string>()] = item;
  }
  return named;
}

// Compares objects member by member, and lists by the names of their items, or item by item if they
// have no names and equal lengths; any other difference is one change.
void compare(const json& before, const json& after, const std::string& path,
             std::vector<FieldChange>& out) {
  if (before == after) return;
  if (before.is_object() && after.is_object()) {
    std::set<std::string> keys;
    for (const auto& [key, value] : before.items()) keys.insert(key);
    for (const auto& [key, value] : after.items()) keys.insert(key);
    const json none = json::value_t::discarded;
    for (const std::string& key : keys) {
      compare(before.contains(key) ? before[key] : none, after.contains(key) ? after[key] : none,
              path + "/" + key, out);
    }
    return;
  }
  if (before.is_array() && after.is_array()) {
    const auto named_before = by_name(before);
    const auto named_after = by_name(after);
    if (named_before && named_after && *named_before != *named_after) {
      return compare(*named_before, *named_after, path, out);
    }
    if (before.size() == after.size()) {
      for (std::size_t at = 0; at < before.size(); ++at) {
        compare(before[at], after[at], path + "/" + std::to_string(at), out);
      }
      return;
    }
  }
  out.push_back({path, before, after});
}

void compare_section(std::string_view section, const Entries& before, const Entries& after,
                     std::vector<EntryChange>& out) {
  for (const auto& [name, text] : before) {
    const auto now = after.find(name);
    if (now == after.end()) {
      out.push_back({Change::removed, std::string(section), name, {}});
    } else if (now->second != text) {
      EntryChange change{Change::changed, std::string(section), name, {}};
      compare(text::parse_json(text), text::parse_json(now->second), "", change.fields);
      out.push_back(std::move(change));
    }
  }
  for (const auto& [name, text] : after) {
    if (!before.contains(name)) out.push_back({Change::added, std::string(section), name, {}});
  }
}

struct Sections {
  Entries providers, upstreams, routes, prices, free_policies, tools;
  Entries lane;  // the section of the lane with terms, by the lane's name

  explicit Sections(const Program& program) {
    const auto write = [](std::string& out, const auto& entry) { append_canonical(out, entry); };
    const auto write_within = [&](std::string& out, const auto& entry) {
      append_canonical(out, program, entry);
    };
    const auto key = [](const auto& entry) { return entry.policy_key; };
    const auto id = [](const auto& entry) { return entry.id; };
    providers = entries_of(program.providers(), id, write);
    upstreams = entries_of(program.upstreams(), id, write_within);
    // By provider and path: ids mean nothing to people, and a path may move between providers.
    routes = entries_of(
        program.routes(),
        [&](const Route& route) {
          return route.matcher.pattern + " (" + program.providers()[route.provider].key + ")";
        },
        write_within);
    prices = entries_of(program.prices(), key, write);
    free_policies = entries_of(program.free_policies(), key, write);
    const LaneTerms* const terms = program.lane_terms();
    if (terms != nullptr && !terms->canonical.empty()) {
      lane.emplace(terms->traits.name, terms->canonical);
    }
    tools = entries_of(
        program.tools(), [](const Tool& tool) { return tool.name; }, write_within);
  }
};

std::string shown(const json& value) {
  return value.is_discarded() ? std::string("nothing") : value.dump();
}

// The value as short text.
std::string brief(const json& value) {
  constexpr std::size_t bytes_shown_max = 60;
  std::string text = shown(value);
  if (text.size() <= bytes_shown_max) return text;
  std::size_t end = bytes_shown_max;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

std::vector<EntryChange> difference(const Program& before, const Program& after) {
  const Sections old_sections(before);
  const Sections new_sections(after);
  std::vector<EntryChange> changes;
  compare_section("providers", old_sections.providers, new_sections.providers, changes);
  compare_section("upstreams", old_sections.upstreams, new_sections.upstreams, changes);
  compare_section("routes", old_sections.routes, new_sections.routes, changes);
  compare_section("prices", old_sections.prices, new_sections.prices, changes);
  compare_section("free_policies", old_sections.free_policies, new_sections.free_policies, changes);
  const std::size_t first = changes.size();
  compare_section("", old_sections.lane, new_sections.lane, changes);
  for (std::size_t at = first; at < changes.size(); ++at) changes[at].section = changes[at].name;
  compare_section("tools", old_sections.tools, new_sections.tools, changes);
  return changes;
}

std::string text_of(const std::vector<EntryChange>& changes) {
  std::string out;
  for (const EntryChange& change : changes) {
    constexpr std::string_view marks[] = {"+ ", "- ", "~ "};
    out.append(marks[static_cast<std::size_t>(change.change)]).append(change.section).append(" ");
    out.append(change.name).append("\n");
    for (const FieldChange& field : change.fields) {
      out.append("    ").append(field.path).append(": ").append(shown(field.before));
      out.append(" -> ").append(shown(field.after)).append("\n");
    }
  }
  return out;
}

json json_of(const std::vector<EntryChange>& changes) {
  json out = json::array();
  for (const EntryChange& change : changes) {
    json entry = {{"change", word_of(change.change)},
                  {"section", change.section},
                  {"name", change.name},
                  {"fields", json::array()}};
    for (const FieldChange& field : change.fields) {
      json item = {{"path", field.path}};
      if (!field.before.is_discarded()) item["before"] = field.before;
      if (!field.after.is_discarded()) item["after"] = field.after;
      entry["fields"].push_back(std::move(item));
    }
    out.push_back(std::move(entry));
  }
  return out;
}

std::string differing_fields(std::string_view before, std::string_view after) {
  const json then = text::parse_json(before);
  const json now = text::parse_json(after);
  if (then.is_discarded() || now.is_discarded()) return {};
  std::vector<FieldChange> fields;
  compare(then, now, "", fields);
  constexpr std::size_t fields_shown_max = 4;
  std::string out;
  for (const FieldChange& field : fields) {
    out += out.empty() ? ": " : "; ";
    if (&field == &fields.front() + fields_shown_max) {
      return out + std::to_string(fields.size() - fields_shown_max) + " more fields differ";
    }
    out += field.path + " was " + brief(field.before) + ", is " + brief(field.after);
  }
  return out;
}

std::string dump(const Program& program) {
  return text::parse_json(program.canonical_json()).dump(2) + "\n";
}

}  // namespace turnpike::registry
