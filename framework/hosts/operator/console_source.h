// ConsoleSource: the facts of this process and of its registry that the operator console shows,
// beyond the stores. The composition root implements it.
//
// Owned by app/, outlives the host. Members may block; the console calls them on the pool.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "ledger/escrow/unknown_calls.h"
#include "registry/diff.h"

namespace turnpike::hosts::operators {

// The outcome of the last start, reload or rollback.
struct RegistryNews {
  std::int64_t at_ms = 0;
  bool is_refused = false;               // the previous program still serves
  std::vector<std::string> problems = {};  // the reasons; of the files, if a start fell back
  std::vector<std::string> missing_secrets = {};  // names, of the program in service
  std::vector<std::string> notes = {};
  std::string standing = {};  // unusual state of the program in service; empty: none
};

// A route on which two programs differ, in itself or in a definition that it refers to.
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
  std::uint32_t ready = 0;            // ready ones of `operations`
  std::vector<std::string> reasons;   // why others are not ready, distinct
  std::uint32_t calls = 0;            // in flight
};

class ConsoleSource {
 public:
  virtual ~ConsoleSource() = default;
  [[nodiscard]] virtual std::int64_t started_at_ms() const = 0;
  // Warnings of the start about settings and permissions, as sentences.
  [[nodiscard]] virtual std::vector<std::string> warnings() const = 0;
  // Settlements that were reported as unknown and still are, oldest first.
  [[nodiscard]] virtual std::vector<ledger::OpenCall> unknown_calls(std::size_t most) const = 0;
  [[nodiscard]] virtual RegistryNews news() const = 0;
  // The stream of the evidence's rounds (status/store.h).
  [[nodiscard]] virtual std::string stream() const = 0;
  [[nodiscard]] virtual std::vector<UpstreamNow> upstreams() const = 0;
  // Compares two generations that were installed and whose files are kept. Error:
  // request.not_found, with the reason.
  [[nodiscard]] virtual Result<ProgramChanges, base::Error> changes(
      std::string_view before, std::string_view after) const = 0;
};

}  // namespace turnpike::hosts::operators
