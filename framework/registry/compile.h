// compile(): the registry folder's one external entrance: YAML sources in, a Program or every
// problem out. Pure, as is the lane that reads its terms: it reads no file, no clock and no
// database; the caller loads the sources and says what is installed. May be called from any Thread;
// blocks for as long as it computes.
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

// One thing wrong with the program, with everything needed to mend it.
struct Problem {
  std::string_view rule;  // stable name of the broken rule: "unknown_key"; static storage
  std::string file;
  int line = 0;
  int column = 0;
  std::string path;     // "routes[3].query.parameters[0].minimum"
  std::string message;  // what is wrong, what was expected, the nearest known name

  [[nodiscard]] std::string text() const;  // "file:line:column: path: message"
};

// A fact that a program fixed for good: route definitions by revision and prices by version.
struct InstalledFact {
  std::string key;              // "route:<id>@<revision>", "price:<policy>@<version>", ...
  std::string digest;           // SHA-256 of the canonical definition
  std::string definition = {};  // may be left out of what is known
};

// A revision or version that the program defines in another way than an installed one did.
struct Redefinition {
  Problem problem;           // at the definition, naming what differs
  std::string_view counter;  // "revision" or "version"
  std::uint32_t next = 0;    // above all numbers that are installed
};

// The canonical definition behind the key of an InstalledFact; empty: not known.
using InstalledDefinition = std::function<std::string(const std::string& key)>;

struct CompileInput {
  std::span<const Source> sources;
  std::span<const InstalledFact> installed;  // empty: nothing is installed yet
  std::span<const std::string> plugins;  // names of loaded provider plugins; empty: do not check
  InstalledDefinition definition = {};   // for problems to say what differs
  // The lane that has terms in the registry (LaneTraits::has_terms); null: none is loaded.
  const Lane* lane = nullptr;
  // Null: redefinitions are problems. Otherwise they are allowed, and told here.
  std::vector<Redefinition>* redefinitions = nullptr;
};

using Compiled = Result<std::shared_ptr<const Program>, std::vector<Problem>>;

Compiled compile(const CompileInput& input);

// The facts that installing `program` would fix for good.
std::vector<InstalledFact> facts_of(const Program& program);

// All *.yaml files below `directory`, sorted by name; problems for what cannot be read or is over
// the limits.
Result<std::vector<Source>, std::vector<Problem>> read_sources(const std::string& directory);

// The names of what read_sources() read, without the directory, and with it again.
std::vector<Source> without_directory(std::vector<Source> sources, const std::string& directory);
std::vector<Source> within_directory(std::vector<Source> sources, const std::string& directory);

}  // namespace turnpike::registry
