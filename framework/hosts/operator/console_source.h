// ConsoleSource: what the operator console shows of this process and of its registry, beyond the
// stores. The composition root implements it.
//
// Owned by app/, outlives the host. Members may block; the console asks them on the pool.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "ledger/unknown_calls.h"
#include "registry/diff.h"

namespace turnpike::hosts::operators {

// What the last start, reload or rollback came to.
struct RegistryNews {
  std::int64_t at_ms = 0;
  bool is_refused = false;               // what served before goes on
  std::vector<std::string> problems = {};  // why; of a start that fell back, those of the files
  std::vector<std::string> missing_secrets = {};  // by name, of the program in service
  std::vector<std::string> notes = {};
  std::string standing = {};  // what is out of the ordinary with what serves; empty: nothing
};

// A route on which two programs differ, itself or in what it refers to.
struct TouchedRoute {
  std::string id;
  std::string path;
  std::string provider;          // key
  std::vector<std::string> why;  // "GET: 1 Credit, then 2", "it is gone"
};

struct ProgramChanges {
  std::vector<registry::EntryChange> entries;
  std::vector<TouchedRoute> routes;  // by path
};

// An upstream of the program in service.
struct UpstreamNow {
  std::string id;
  std::string provider;  // key
  std::string plugin;
  std::uint32_t operations = 0;
  std::uint32_t ready = 0;            // of them
  std::vector<std::string> reasons;   // why others are not, each once
  std::uint32_t calls = 0;            // in flight
};

class ConsoleSource {
 public:
  virtual ~ConsoleSource() = default;
  [[nodiscard]] virtual std::int64_t started_at_ms() const = 0;
  // Settings and permissions that a start warned of, as sentences.
  [[nodiscard]] virtual std::vector<std::string> warnings() const = 0;
  // Settlements that were told as unknown and still are, oldest first.
  [[nodiscard]] virtual std::vector<ledger::OpenCall> unknown_calls(std::size_t most) const = 0;
  [[nodiscard]] virtual RegistryNews news() const = 0;
  // Whose rounds the evidence is (status/store.h).
  [[nodiscard]] virtual std::string stream() const = 0;
  [[nodiscard]] virtual std::vector<UpstreamNow> upstreams() const = 0;
  // Both are generations that were installed and whose files are kept. request.not_found with why.
  [[nodiscard]] virtual Result<ProgramChanges, base::Error> changes(
      std::string_view before, std::string_view after) const = 0;
};

}  // namespace turnpike::hosts::operators
