// Program: one compiled registry, immutable: routes with their matchers and policies, the price
// book, upstreams and providers, and the canonical JSON that the generation is named after.
//
// compile() makes it; app/ publishes it; every loop Thread holds a counted reference while a
// request uses it. All members are const and safe for concurrent use. Nothing in it refers to YAML.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <turnpike/lane.h>
#include <turnpike/message.h>
#include <turnpike/settings.h>

#include "base/limits.h"
#include "registry/no_charge.h"

namespace turnpike::registry {

// ---- values of parameters
// ------------------------------------------------------------------------

struct StringConstraint {
  std::uint32_t min_bytes = 0;
  std::uint32_t max_bytes = 0;
  std::vector<std::string> allowed_values;  // empty: any
};
struct IntegerConstraint {
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
  std::vector<std::int64_t> allowed_values;  // empty: any
};
struct BooleanConstraint {};
struct NumberConstraint {
  double minimum = 0;
  double maximum = 0;
};
struct CommaListConstraint {
  std::vector<std::string> allowed_values;
  std::uint32_t min_items = 1;
  std::uint32_t max_items = 1;
  bool unique = false;
};
using Constraint = std::variant<StringConstraint, IntegerConstraint, BooleanConstraint,
                                CommaListConstraint, NumberConstraint>;

// ---- matchers -----------------------------------------------------------------------------------

struct Segment {
  bool is_parameter = false;
  std::string text;           // the literal, percent-decoded, or the parameter's name
  bool allows_slash = false;  // a decoded '/' or '\' may stand in the parameter's value
  std::shared_ptr<const Constraint> constraint = {};  // of a parameter; null: any text
};

struct Matcher {
  bool is_exact = false;  // no parameters
  std::string pattern;    // "/v1/gateway/govdata/global/v1/daos/{dao_id}/brief"
  std::vector<Segment> segments;
};

// ---- query and body policies --------------------------------------------------------------------

struct QueryParameter {
  std::string name;
  bool required = false;
  Constraint constraint;
};

struct AtLeastOne {
  std::vector<std::string> parameters;
};
struct IntegerComparison {  // left < right; of integers or numbers
  std::string left;
  std::string right;
};
using QueryRule = std::variant<AtLeastOne, IntegerComparison>;

struct QueryPolicy {
  bool deny = true;
  std::uint32_t max_encoded_bytes = 0;     // the declared bound; stated for a denied query, too
  std::vector<QueryParameter> parameters;  // by name
  std::vector<QueryRule> rules;
};

struct BodyPolicy {
  bool forbidden = true;
  std::uint32_t max_bytes = 0;
  std::vector<std::string> media_types;  // lower case, without parameters
  bool required = false;                 // a call without one is refused, on every route
};

struct ResponsePolicy {
  std::vector<std::uint16_t> success_statuses;
  std::vector<std::string> allowed_content_types;  // of successes; lower case, without parameters
  std::uint64_t max_bytes = 0;
  // Media types of the provider's own errors that are passed on; lower case, without parameters,
  // no_content_type for an answer that names none.
  std::vector<std::string> error_content_types;
  bool narrows_errors = false;  // error_content_types is declared, not the default
};

// A JSON Schema (2020-12) of what an operation answers, with all that it refers to in its `$defs`.
struct ReplySchema {
  std::string name;  // as the registry has it
  std::string json;  // canonical
};

// The policy of a route that declares none: 200 with application/json.
ResponsePolicy default_response();

// Stands in ResponsePolicy::error_content_types for an answer without a content type.
inline constexpr std::string_view no_content_type = "none";

// ---- billing ------------------------------------------------------------------------------------

// The terms of a price, as the lane with terms understands them.
struct LanePrice : PriceTerms {
  std::string lane;  // its name, under which they stand
};

struct Price {  // one version of a price policy; immutable once installed
  std::string policy_key;
  std::uint32_t version = 0;
  std::uint32_t credit_cost = 0;
  NoCharges no_charge_when;
  std::shared_ptr<const LanePrice> terms;  // null: none
};

// Where in the operator's files something stands, for messages; no part of the program or its hash.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;
};

// The lane with terms in the registry, and what it makes of those that are no price's.
struct LaneTerms {
  LaneTraits traits;
  bool is_enabled = false;            // the operator has switched it on
  std::string canonical;              // of its section; empty: there is none
  Settings section;                   // for the places of messages; no part of the hash
  std::vector<PolicyTerms> policies;  // the first is that of routes that say nothing
};

using Window = RateWindow;

struct FreePolicy : FreeLimits {
  std::string policy_key;
  std::string bucket_scope;  // "provider", "route" or the name of a shared bucket
};

// Where requests to free variants are counted, for each account: routes that share a bucket have
// the same limits.
struct FreeBucket {
  std::string key;           // "provider:govdata", "route:<id>", "shared:<name>"; never shown
  std::uint32_t policy = 0;  // in Program::free_policies()
};

// ---- monitoring ---------------------------------------------------------------------------------

// How the status of an operation is found out. It is never run for status unless the registry says
// so.
enum class MonitoringClass : std::uint8_t {
  unreviewed,      // nothing is declared: only real calls tell
  continuous,      // its sample is run again and again, within a daily budget
  manual,          // its sample is run in release sweeps alone
  not_applicable,  // it has no status of its own
};

// A request that costs nothing worth mentioning and stands for all of them.
struct Sample {
  std::string path;   // the route's, with its parameters filled in and percent-encoded
  std::string query;  // encoded, without '?'
  std::string body;
  std::string content_type;                             // of the body; empty: there is none
  std::vector<std::pair<std::string, std::string>> parameters;  // of the path, decoded
};

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

// What the reply to a sample must be besides what the response policy of its operation says.
struct Expectation {
  std::vector<std::pair<std::string, JsonKind>> kinds;  // by JSON pointer (RFC 6901)
  std::uint32_t fresh_within_seconds = 0;               // 0: nothing is asked
  std::string fresh_at;  // pointer to the time that it tells; empty: its header Last-Modified
  bool learns_shape = false;  // kinds that were the same for a while are expected from then on
  std::string hash;           // "sha256:<hex>" of its canonical form; empty: nothing is expected
};

struct Monitoring {
  MonitoringClass kind = MonitoringClass::unreviewed;
  std::uint32_t interval_ms = 0;  // of continuous looks
  std::uint32_t per_day_max = 0;
  Sample sample;
  Expectation expect;
};

// How often an upstream is asked whether it can be reached, and whether with its credential.
struct ProbePolicy {
  std::uint32_t interval_ms = 60'000;
  std::uint32_t per_day_max = 1'440;
  bool uses_credential = false;
};

// ---- the entries --------------------------------------------------------------------------------

// Why an operation cannot run, or ready. `reason` is one public sentence.
struct Readiness {
  bool ready = true;
  std::string reason;
};

struct Operation {          // one method on one route
  std::uint32_t index = 0;  // in Program::operations()
  std::uint32_t route = 0;  // in Program::routes()
  Method method = Method::get;
  std::uint32_t upstream_operation = 0;      // index among the operations of its upstream
  std::optional<std::uint32_t> price;        // in Program::prices(); none: pricing_unavailable
  NoCharges no_charge_when;                  // its own and those of its price
  NoCharges own_no_charge_when;              // besides those of its price
  std::string summary;                       // its own, or its route's; may be empty
  std::shared_ptr<const QueryPolicy> query;  // never null; equal policies are shared
  std::shared_ptr<const ResponsePolicy> response;  // never null
  std::uint32_t deadline_ms = 0;
  std::shared_ptr<const Monitoring> monitoring;  // never null; no part of what a revision fixes
  // Of successes, and of the provider's own errors; may be null. No part of what a revision fixes.
  std::shared_ptr<const ReplySchema> reply_schema = {};
  std::shared_ptr<const ReplySchema> error_schema = {};
};

struct Route {
  std::string id;  // "route-" + 32 hex digits
  std::uint32_t revision = 0;
  std::uint32_t provider = 0;  // in Program::providers()
  std::uint32_t upstream = 0;  // in Program::upstreams()
  std::string summary;         // one line for the catalog; may be empty
  Matcher matcher;
  std::vector<Method> methods;             // GET before POST
  std::vector<std::uint32_t> operations;   // parallel to methods, in Program::operations()
  std::shared_ptr<const BodyPolicy> body;  // of its POST; never null
  std::uint32_t policy = 0;                // in LaneTerms::policies
  bool credential_required = false;
  bool enforce_declared = false;
  std::optional<std::uint32_t> free_policy;           // in Program::free_policies()
  std::uint32_t free_bucket = 0;                      // in Program::free_buckets(), with a policy
  Readiness readiness;                                // as programmed
  std::vector<std::string> forwarded_headers;         // caller headers sent on, lower case
  std::vector<std::string> allowed_response_headers;  // upstream headers passed back, lower case
  std::shared_ptr<const Settings> upstream_settings;  // null: none; see settings_tree.h for secrets
};

// Who a provider has its data from.
struct ListingSource {
  std::string name;     // empty: nothing is said of the source
  std::string url;      // https; may be empty, as the next two
  std::string licence;  // of the data
  std::string updated;  // "2026-11-24": when somebody last looked whether all of it is still true
};

// What the directory of sources says of a provider. The words of addresses, such as "governance",
// are lower-case letters, digits and dashes.
struct Listing {
  std::string category;             // providers of one are compared with each other
  std::vector<std::string> chains;  // sorted
  std::vector<std::string> topics;  // sorted
  ListingSource source;
  std::string description;
};

struct Provider {
  std::string id;
  std::uint32_t revision = 0;
  std::string key;   // the path segment and filter value
  std::string name;  // for people
  std::shared_ptr<const Listing> listing = {};  // null: none; no part of what a revision fixes
};

struct Upstream {
  std::string id;
  std::uint32_t revision = 0;
  std::uint32_t provider = 0;
  std::string plugin;             // name of the provider plugin that serves it
  std::uint32_t deadline_ms = 0;  // for routes that state none
  Settings settings;              // secrets still as references; see resolve_secrets()
  std::string settings_digest;    // hex; changes when settings or the operations routed here change
  std::vector<std::uint32_t> operations;  // in Program::operations()
  ProbePolicy probe;                      // no part of what a revision fixes
};

// Arguments of tools that are no parameters of the operation.
inline constexpr std::string_view body_argument = "body";
inline constexpr std::string_view content_type_argument = "content_type";
inline constexpr std::string_view idempotency_key_argument = "idempotency_key";

// An operation as a tool of its own, for hosts that list tools. Its arguments are the parameters of
// the path and of the declared query, but for those that have a fixed value.
struct Tool {
  std::string name;
  std::string title;  // for people; may be empty
  std::string description;
  std::uint32_t operation = 0;  // in Program::operations()
  bool is_free = false;         // it calls the free variant
  bool is_read_only = true;
  std::map<std::string, std::string> descriptions;  // of arguments
  std::map<std::string, std::string> fixed;         // query parameters and their decoded values
};

// ---- matching -----------------------------------------------------------------------------------

enum class MatchStatus : std::uint8_t { found, not_found, path_malformed };

// A parameter's place in the path given to match(): raw bytes, decode with decode_segment().
struct ParameterSpan {
  std::uint16_t offset = 0;
  std::uint16_t length = 0;
};

struct Match {
  MatchStatus status = MatchStatus::not_found;
  const Route* route = nullptr;
  std::uint8_t parameter_count = 0;
  ParameterSpan parameters[base::limits::route_parameters_max];  // in order of the pattern
};

// Percent-decodes one segment into `out` (at least segment.size() bytes); the length, or nothing
// for a bad escape or %00.
std::optional<std::size_t> decode_segment(std::string_view segment, char* out) noexcept;

class Index;  // the matching tables; see match.cpp

class Program {
 public:
  // `path` is raw, without query, fragment and `:free`, at most request_path_bytes_max long. Linear
  // in the path, independent of the number of routes, allocates nothing.
  [[nodiscard]] Match match(std::string_view path) const noexcept;

  [[nodiscard]] const Route* find_route(std::string_view id) const noexcept;
  // The operation of `route` with this method, or null.
  [[nodiscard]] const Operation* operation(const Route& route, Method method) const noexcept;

  [[nodiscard]] const std::vector<Route>& routes() const noexcept { return routes_; }  // by id
  [[nodiscard]] const std::vector<Operation>& operations() const noexcept { return operations_; }
  [[nodiscard]] const std::vector<Provider>& providers() const noexcept { return providers_; }
  [[nodiscard]] const std::vector<Upstream>& upstreams() const noexcept { return upstreams_; }
  [[nodiscard]] const std::vector<Price>& prices() const noexcept { return prices_; }
  [[nodiscard]] const std::vector<FreePolicy>& free_policies() const noexcept {
    return free_policies_;
  }
  [[nodiscard]] const std::vector<FreeBucket>& free_buckets() const noexcept {
    return free_buckets_;
  }
  // Null: no lane has terms in the registry.
  [[nodiscard]] const LaneTerms* lane_terms() const noexcept {
    return lane_terms_ ? &*lane_terms_ : nullptr;
  }
  // Whether the lane with terms sells the operation, call by call and without an account.
  [[nodiscard]] bool is_sold_per_call(const Operation& operation) const noexcept {
    return operation.price && prices_[*operation.price].terms != nullptr &&
           prices_[*operation.price].terms->is_offered &&
           !routes_[operation.route].credential_required;
  }
  // By name, without regard to case.
  [[nodiscard]] const std::vector<Tool>& tools() const noexcept { return tools_; }

  // RFC 8785 form of the whole program; SHA-256 of it, as "sha256:<hex>", names the generation.
  [[nodiscard]] const std::string& canonical_json() const noexcept { return canonical_json_; }
  [[nodiscard]] const std::string& payload_hash() const noexcept { return payload_hash_; }

  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

 private:
  friend class Compiler;
  Program();

  std::vector<Route> routes_;
  std::vector<Operation> operations_;
  std::vector<Provider> providers_;
  std::vector<Upstream> upstreams_;
  std::vector<Price> prices_;
  std::vector<FreePolicy> free_policies_;
  std::vector<FreeBucket> free_buckets_;
  std::optional<LaneTerms> lane_terms_;
  std::vector<Tool> tools_;
  std::unique_ptr<Index> index_;
  std::string canonical_json_;
  std::string payload_hash_;
};

}  // namespace turnpike::registry
