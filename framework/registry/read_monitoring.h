// `monitoring:` of a route, of its methods or of a file's defaults, and `probe:` of an upstream:
// how the status of what callers can run is found out. What is said at a narrower place goes over
// what is said at a wider one, key by key; a sample is checked against the declared policies of the
// operation that it is for, whether the route enforces them or not.
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

// A look each minute, unless the registry says otherwise.
inline constexpr std::uint32_t look_interval_ms = 60'000;
inline constexpr std::uint32_t look_interval_ms_min = 100;
inline constexpr std::uint32_t look_interval_ms_max = 86'400'000;
inline constexpr std::uint32_t looks_per_day_max = look_interval_ms_max / look_interval_ms_min;
inline constexpr std::uint32_t expected_kinds_max = 64;  // JSON pointers of one `expect`

// A request as it is written, with its places: it is checked once the operation is known.
struct SampleDraft {
  struct Value {
    std::string name;
    std::string text;
    Place place;
  };
  std::vector<Value> path_parameters;
  std::vector<Value> query;  // by name
  std::string body;
  bool is_body_json = false;  // it was written as YAML
  std::string content_type;   // empty: not stated
  Place place;
  std::string path;  // in the YAML
};

// What was said of `monitoring` so far, from the widest place to the narrowest.
struct MonitoringDraft {
  bool is_stated = false;
  std::optional<MonitoringClass> kind;
  std::optional<std::uint32_t> interval_ms;
  std::optional<std::uint32_t> per_day_max;
  std::shared_ptr<const SampleDraft> sample;
  std::shared_ptr<const Expectation> expect;
  Place place;  // of the narrowest
  std::string path;
};

// Puts what `value` says over `into`.
void read_monitoring(const Cursor& value, MonitoringDraft& into);

// One operation, for which a draft becomes its monitoring.
struct MonitoredOperation {
  Method method;
  const Matcher& matcher;
  const QueryPolicy& query;
  const BodyPolicy& body;  // of its route
};

// What the draft comes to for this operation; nothing, once it is reported why.
std::optional<Monitoring> monitoring_of(const MonitoringDraft& draft,
                                        const MonitoredOperation& operation, Problems& problems);

// `probe:` of an upstream.
ProbePolicy read_probe(const Cursor& value);

}  // namespace turnpike::registry
