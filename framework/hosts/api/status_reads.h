// StatusReads: the reads of the status routes from the store: evidence, incidents and their feed.
// Each is bounded and blocks, so it runs on the blocking pool.
//
// Stateless over the store, which outlives it; any Thread that may wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/named_values.h"
#include "status/store.h"

namespace turnpike::hosts::api {

inline constexpr std::uint32_t evidence_rounds_max = 60;
// A page of evidence ends after the round that reaches this size.
inline constexpr std::size_t evidence_page_bytes = 4 * 1024 * 1024;
inline constexpr std::uint32_t incidents_page_max = 100;
inline constexpr std::uint32_t incidents_page_default = 50;

struct EvidenceAsked {
  std::optional<std::uint64_t> from_round;  // nothing: the first that can be verified
  std::uint32_t limit = 0;                  // in rounds
};

// The cursor of a page of incidents: the page begins behind this incident.
struct IncidentPlace {
  std::int64_t started_at_ms = 0;
  std::string id;
};

struct IncidentsAsked {
  std::optional<IncidentPlace> after;
  std::uint32_t limit = 0;
};

// REQUIRES: the query has only the names of its route. Error: status.query_invalid, which names the
// field and the fix.
Result<EvidenceAsked, base::Error> read_evidence_query(const NamedValues& fields);
// `stream`: what cursors are bound to. `cursor_key`: what signs them.
Result<IncidentsAsked, base::Error> read_incidents_query(const NamedValues& fields,
                                                         std::string_view stream,
                                                         std::string_view cursor_key);

class StatusReads {
 public:
  StatusReads(status::StatusStore& store, std::string stream)
      : store_(store), stream_(std::move(stream)) {}

  using Body = Result<std::string, base::Error>;

  // Lines in the format of status/evidence.h. A large page ends early, after a whole round; the
  // next page begins behind that round.
  [[nodiscard]] Body evidence(const EvidenceAsked& asked) const;
  // Returns JSON, newest incident first.
  [[nodiscard]] Body incidents(const IncidentsAsked& asked, std::string_view cursor_key) const;
  // Returns Atom (RFC 4287): the newest incidents, and maintenance that is announced and not over.
  // `url`: the host's; empty: the feed has no link to itself.
  [[nodiscard]] Body feed(std::string_view url, std::int64_t now_ms) const;

 private:
  status::StatusStore& store_;
  const std::string stream_;
};

}  // namespace turnpike::hosts::api
