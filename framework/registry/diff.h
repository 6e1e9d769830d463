// The differences of two programs, for people and for machines, and the readable form of a program.
// Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "registry/program.h"

namespace turnpike::registry {

// A differing value of an entry; `before` or `after` is discarded if absent.
struct FieldChange {
  std::string path;  // JSON pointer within the entry
  nlohmann::json before;
  nlohmann::json after;
};

enum class Change : std::uint8_t { added, removed, changed };

struct EntryChange {
  Change change = Change::changed;
  std::string section;              // "routes"
  std::string name;                 // the identifier: a route's path, a policy's key
  std::vector<FieldChange> fields;  // changed entries only
};

// Ordered by section, then by name.
std::vector<EntryChange> difference(const Program& before, const Program& after);

// One line per entry and one per changed field; empty when nothing differs.
std::string text_of(const std::vector<EntryChange>& changes);
nlohmann::json json_of(const std::vector<EntryChange>& changes);

// The difference of two canonical definitions as a clause: ": /deadline_ms was 30000, is 500".
// Empty if one of the definitions is unknown.
std::string differing_fields(std::string_view before, std::string_view after);

// The canonical JSON of a program, indented.
std::string dump(const Program& program);

}  // namespace turnpike::registry
