// Reads `monitoring:` of a route, of its methods or of a file's defaults, and `probe:` of an
// upstream: how the status of operations is determined. A narrower definition overrides a wider
// one, key by key. A sample is checked against the declared policies of its operation, whether or
// not the route enforces them.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "registry/draft.h"
#include "registry/problems.h"
#include "registry/program.h"
#include "registry/reader.h"

namespace turnpike::registry {

// Default: one look per minute.
inline constexpr std::uint32_t look_interval_ms = 60'000;
inline constexpr std::uint32_t look_interval_ms_min = 100;
inline constexpr std::uint32_t look_interval_ms_max = 86'400'000;
inline constexpr std::uint32_t looks_per_day_max = look_interval_ms_max / look_interval_ms_min;
inline constexpr std::uint32_t expected_kinds_max = 64;  // JSON pointers per `expect`

// A request as written, with its places: it is checked once the operation is known.
struct SampleDraft {
  struct Value {
    std::string name;
    std::string text;
    Place place;
  };
  std::vector<Value> path_parameters;
  std::vector<Value> query;  // by name
  std::string body;
  bool is_body_json = false;  // written as YAML
  std::string content_type;   // empty: not stated
  Place place;
  std::string path;  // in the YAML
};

// The merged `monitoring` definitions, from the widest to the narrowest.
struct MonitoringDraft {
  bool is_stated = false;
  std::optional<MonitoringClass> kind;
  std::optional<std::uint32_t> interval_ms;
  std::optional<std::uint32_t> per_day_max;
  std::shared_ptr<const SampleDraft> sample;
  std::shared_ptr<const Expectation> expect;
  Place place;  // of the narrowest definition
  std::string path;
};

// Overrides members of `into` with those of `value`.
void read_monitoring(const Cursor& value, MonitoringDraft& into);

// The operation whose monitoring is derived from a draft.
struct MonitoredOperation {
  Method method;
  const Matcher& matcher;
  const QueryPolicy& query;
  const BodyPolicy& body;  // body policy of its route
};

// The monitoring of this operation; nullopt after a reported problem.
std::optional<Monitoring> monitoring_of(const MonitoringDraft& draft,
                                        const MonitoredOperation& operation, Problems& problems);

// `probe:` of an upstream.
ProbePolicy read_probe(const Cursor& value);

}  // namespace turnpike::registry
