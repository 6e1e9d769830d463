// compile(): the registry folder's only external entry: YAML sources in, a Program or all problems
// out. Pure, as is the lane that reads its terms: it reads no file, no clock and no database; the
// caller loads the sources and passes the installed facts. May be called from any Thread; blocks
// while it computes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "registry/program.h"

namespace turnpike::registry {

struct Source {
  std::string name;  // as shown in messages: "registry/providers/govdata.yaml"
  std::string text;
};

// One fault of the program, with everything needed to repair it.
struct Problem {
  std::string_view rule;  // stable name of the broken rule: "unknown_key"; static storage
  std::string file;
  int line = 0;
  int column = 0;
  std::string path;     // "routes[3].query.parameters[0].minimum"
  std::string message;  // what is wrong, what was expected, the nearest known name

  [[nodiscard]] std::string text() const;  // "file:line:column: path: message"
};

// A fact that a program fixed permanently: route definitions by revision and prices by version.
struct InstalledFact {
  std::string key;              // "route:<id>@<revision>", "price:<policy>@<version>", ...
  std::string digest;           // SHA-256 of the canonical definition
  std::string definition = {};  // may be left empty in the installed facts
};

// A revision or version that the program defines differently than the installed one.
struct Redefinition {
  Problem problem;           // at the definition; names the differences
  std::string_view counter;  // "revision" or "version"
  std::uint32_t next = 0;    // above all installed numbers
};

// Returns the canonical definition behind the key of an InstalledFact; empty: unknown.
using InstalledDefinition = std::function<std::string(const std::string& key)>;

struct CompileInput {
  std::span<const Source> sources;
  std::span<const InstalledFact> installed;  // empty: nothing is installed yet
  std::span<const std::string> plugins;  // names of loaded provider plugins; empty: do not check
  InstalledDefinition definition = {};   // to report the differences
  // The lane that has terms in the registry (LaneTraits::has_terms); null: no such lane is loaded.
  const Lane* lane = nullptr;
  // Null: redefinitions are problems. Otherwise they are allowed and reported here.
  std::vector<Redefinition>* redefinitions = nullptr;
};

using Compiled = Result<std::shared_ptr<const Program>, std::vector<Problem>>;

Compiled compile(const CompileInput& input);

// The facts that installing `program` would fix permanently.
std::vector<InstalledFact> facts_of(const Program& program);

// Reads all *.yaml files below `directory`, sorted by name; problems for unreadable files and for
// exceeded limits.
Result<std::vector<Source>, std::vector<Problem>> read_sources(const std::string& directory);

// Removes the directory from the names that read_sources() returned, and adds it again.
std::vector<Source> without_directory(std::vector<Source> sources, const std::string& directory);
std::vector<Source> within_directory(std::vector<Source> sources, const std::string& directory);

}  // namespace turnpike::registry
