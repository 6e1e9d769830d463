#include "registry/diff.h"

#include <map>
#include <set>
#include <utility>

#include "base/json_text.h"
#include "registry/canonical.h"

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

// Objects are gone through member by member, lists of one length item by item; anything else that
// differs is one change.
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
  } else if (before.is_array() && after.is_array() && before.size() == after.size()) {
    for (std::size_t at = 0; at < before.size(); ++at) {
      compare(before[at], after[at], path + "/" + std::to_string(at), out);
    }
  } else {
    out.push_back({path, before, after});
  }
}

void compare_section(std::string_view section, const Entries& before, const Entries& after,
                     std::vector<EntryChange>& out) {
  for (const auto& [name, text] : before) {
    const auto now = after.find(name);
    if (now == after.end()) {
      out.push_back({Change::removed, section, name, {}});
    } else if (now->second != text) {
      EntryChange change{Change::changed, section, name, {}};
      compare(base::parse_json(text), base::parse_json(now->second), "", change.fields);
      out.push_back(std::move(change));
    }
  }
  for (const auto& [name, text] : after) {
    if (!before.contains(name)) out.push_back({Change::added, section, name, {}});
  }
}

struct Sections {
  Entries providers, upstreams, routes, prices, free_policies, x402, tools;

  explicit Sections(const Program& program) {
    const auto write = [](std::string& out, const auto& entry) { append_canonical(out, entry); };
    const auto write_within = [&](std::string& out, const auto& entry) {
      append_canonical(out, program, entry);
    };
    const auto key = [](const auto& entry) { return entry.policy_key; };
    const auto id = [](const auto& entry) { return entry.id; };
    providers = entries_of(program.providers(), id, write);
    upstreams = entries_of(program.upstreams(), id, write_within);
    // By provider and path: an id means nothing to people, and a path may move between providers.
    routes = entries_of(
        program.routes(),
        [&](const Route& route) {
          return route.matcher.pattern + " (" + program.providers()[route.provider].key + ")";
        },
        write_within);
    prices = entries_of(program.prices(), key, write);
    free_policies = entries_of(program.free_policies(), key, write);
    append_canonical(x402["x402"], program.x402());
    tools = entries_of(
        program.tools(), [](const Tool& tool) { return tool.name; }, write_within);
  }
};

std::string shown(const json& value) {
  return value.is_discarded() ? std::string("nothing") : value.dump();
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
  compare_section("x402", old_sections.x402, new_sections.x402, changes);
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

std::string dump(const Program& program) {
  return base::parse_json(program.canonical_json()).dump(2) + "\n";
}

}  // namespace turnpike::registry
