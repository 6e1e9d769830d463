// The differences of two programs, for people and for machines, and the readable form of one.
// Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "registry/program.h"

namespace turnpike::registry {

// A value of an entry that differs; `before` or `after` is discarded where there is none.
struct FieldChange {
  std::string path;  // JSON pointer within the entry
  nlohmann::json before;
  nlohmann::json after;
};

enum class Change : std::uint8_t { added, removed, changed };

struct EntryChange {
  Change change = Change::changed;
  std::string section;              // "routes"
  std::string name;                 // what identifies it: a route's path, a policy's key
  std::vector<FieldChange> fields;  // changed entries only
};

// Section by section, in the order of names.
std::vector<EntryChange> difference(const Program& before, const Program& after);

// One line an entry and one an altered field; empty when nothing differs.
std::string text_of(const std::vector<EntryChange>& changes);
nlohmann::json json_of(const std::vector<EntryChange>& changes);

// The difference of two canonical definitions, as a clause for people: ": /deadline_ms was
// 30000, is 500". Empty where one of them is not known.
std::string differing_fields(std::string_view before, std::string_view after);

// The canonical JSON of a program, indented.
std::string dump(const Program& program);

}  // namespace turnpike::registry
