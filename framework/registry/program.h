// Program: one compiled registry, immutable: routes with their matchers and policies, the price
// book, upstreams and providers, and the canonical JSON that the generation is named after.
//
// compile() makes it; app/ publishes it; every loop Thread holds a counted reference while a
// request uses it. All members are const and safe for concurrent use. It does not depend on YAML.
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

// ---- values of parameters -----------------------------------------------------------------------

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
  bool allows_slash = false;  // the value may contain a decoded '/' or '\'
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
  std::uint32_t max_encoded_bytes = 0;     // declared bound; also stated for a denied query
  std::vector<QueryParameter> parameters;  // by name
  std::vector<QueryRule> rules;
};

struct BodyPolicy {
  bool forbidden = true;
  std::uint32_t max_bytes = 0;
  std::vector<std::string> media_types;  // lower case, without parameters
  bool required = false;                 // on every route, a call without a body is refused
};

struct ResponsePolicy {
  std::vector<std::uint16_t> success_statuses;
  std::vector<std::string> allowed_content_types;  // of successes; lower case, without parameters
  std::uint64_t max_bytes = 0;
  // Media types of the provider's own errors that are passed on; lower case, without parameters;
  // no_content_type for a reply without a type.
  std::vector<std::string> error_content_types;
  bool narrows_errors = false;  // error_content_types is declared, not the default
};

// The JSON Schema (2020-12) of an operation's replies, with all schemas that it refers to in
// `$defs`.
struct ReplySchema {
  std::string name;  // its name in the registry
  std::string json;  // canonical
};

// The policy of a route that declares none: 200 with application/json.
ResponsePolicy default_response();

// Used in ResponsePolicy::error_content_types for a reply without a content type.
inline constexpr std::string_view no_content_type = "none";

// ---- billing ------------------------------------------------------------------------------------

// The terms of a price, as parsed by the lane with terms.
struct LanePrice : PriceTerms {
  std::string lane;  // name of the lane that the terms are under
};

struct Price {  // one version of a price policy; immutable once installed
  std::string policy_key;
  std::uint32_t version = 0;
  std::uint32_t credit_cost = 0;
  NoCharges no_charge_when;
  std::shared_ptr<const LanePrice> terms;  // null: none
};

// The place of a definition in the operator's files, for messages; not part of the program or its
// hash.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;
};

// The lane with terms in the registry, and its parsed terms other than prices.
struct LaneTerms {
  LaneTraits traits;
  bool is_enabled = false;            // the operator has switched it on
  std::string canonical;              // of its section; empty: no section
  Settings section;                   // with the places for messages; not part of the hash
  std::vector<PolicyTerms> policies;  // the first is the default of routes without one
};

using Window = RateWindow;

struct FreePolicy : FreeLimits {
  std::string policy_key;
  std::string bucket_scope;  // "provider", "route" or the name of a shared bucket
};

// The counter of requests to free variants, per account: routes that share a bucket have the same
// limits.
struct FreeBucket {
  std::string key;           // "provider:govdata", "route:<id>", "shared:<name>"; internal
  std::uint32_t policy = 0;  // in Program::free_policies()
};

// ---- monitoring ---------------------------------------------------------------------------------

// The source of an operation's status. It is run for the status only if the registry says so.
enum class MonitoringClass : std::uint8_t {
  unreviewed,      // nothing declared: only real calls count
  continuous,      // its sample is run at intervals, within a daily budget
  manual,          // its sample is run in release sweeps only
  not_applicable,  // no status of its own
};

// A request of negligible cost that represents all calls of the operation.
struct Sample {
  std::string path;   // of the route, with encoded parameter values
  std::string query;  // encoded, without '?'
  std::string body;
  std::string content_type;                             // of the body; empty: no body
  std::vector<std::pair<std::string, std::string>> parameters;  // of the path, decoded
};

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

// Requirements on the reply to a sample, beside those of the operation's response policy.
struct Expectation {
  std::vector<std::pair<std::string, JsonKind>> kinds;  // by JSON pointer (RFC 6901)
  std::uint32_t fresh_within_seconds = 0;               // 0: not checked
  std::string fresh_at;  // pointer to the time in the body; empty: the header Last-Modified
  bool learns_shape = false;  // kinds that were stable for a while are expected from then on
  std::string hash;           // "sha256:<hex>" of the canonical form; empty: no expectation
};

struct Monitoring {
  MonitoringClass kind = MonitoringClass::unreviewed;
  std::uint32_t interval_ms = 0;  // interval of continuous looks
  std::uint32_t per_day_max = 0;
  Sample sample;
  Expectation expect;
};

// The interval of an upstream's reachability probes, and whether they send its credential.
struct ProbePolicy {
  std::uint32_t interval_ms = 60'000;
  std::uint32_t per_day_max = 1'440;
  bool uses_credential = false;
};

// ---- the entries --------------------------------------------------------------------------------

// If `ready` is false, `reason` is one public sentence that says why the operation cannot run.
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
  NoCharges no_charge_when;                  // its own conditions and those of its price
  NoCharges own_no_charge_when;              // without those of its price
  std::string summary;                       // its own or its route's; may be empty
  std::shared_ptr<const QueryPolicy> query;  // never null; equal policies are shared
  std::shared_ptr<const ResponsePolicy> response;  // never null
  std::uint32_t deadline_ms = 0;
  std::shared_ptr<const Monitoring> monitoring;  // never null; not fixed by a revision
  // Schemas of successes and of the provider's own errors; may be null. Not fixed by a revision.
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
  std::vector<std::string> forwarded_headers;         // caller headers forwarded, lower case
  std::vector<std::string> allowed_response_headers;  // upstream headers returned, lower case
  std::shared_ptr<const Settings> upstream_settings;  // null: none; see settings_tree.h for secrets
};

// The source of a provider's data.
struct ListingSource {
  std::string name;     // empty: nothing is said of the source
  std::string url;      // https; may be empty, as may the next two
  std::string licence;  // of the data
  std::string updated;  // "2026-11-24": date of the last check that all members are true
};

// A provider's entry in the directory of sources. Words that occur in URLs, such as "governance",
// are lower-case letters, digits and dashes.
struct Listing {
  std::string category;             // providers of one category are compared
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
  std::shared_ptr<const Listing> listing = {};  // null: none; not fixed by a revision
};

struct Upstream {
  std::string id;
  std::uint32_t revision = 0;
  std::uint32_t provider = 0;
  std::string plugin;             // name of the provider plugin that executes calls
  std::uint32_t deadline_ms = 0;  // for routes without one
  Settings settings;              // secrets still as references; see resolve_secrets()
  std::string settings_digest;    // hex; changes when settings or the operations routed here change
  std::vector<std::uint32_t> operations;  // in Program::operations()
  ProbePolicy probe;                      // not fixed by a revision
};

// Arguments of tools that are not parameters of the operation.
inline constexpr std::string_view body_argument = "body";
inline constexpr std::string_view content_type_argument = "content_type";
inline constexpr std::string_view idempotency_key_argument = "idempotency_key";

// An operation as a separate tool, for hosts that list tools. Its arguments are the parameters of
// the path and of the declared query, except those with a fixed value.
struct Tool {
  std::string name;
  std::string title;  // for people; may be empty
  std::string description;
  std::uint32_t operation = 0;  // in Program::operations()
  bool is_free = false;         // the tool calls the free variant
  bool is_read_only = true;
  std::map<std::string, std::string> descriptions;  // of arguments
  std::map<std::string, std::string> fixed;         // query parameters and their decoded values
};

// ---- matching -----------------------------------------------------------------------------------

enum class MatchStatus : std::uint8_t { found, not_found, path_malformed };

// The span of a parameter in the path given to match(): raw bytes, decode with decode_segment().
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

// Percent-decodes one segment into `out` (at least segment.size() bytes); returns the length, or
// nullopt for a bad escape or %00.
std::optional<std::size_t> decode_segment(std::string_view segment, char* out) noexcept;

class Index;  // the matching tables; see match.cpp

class Program {
 public:
  // `path` is raw, without query, fragment and `:free`, at most request_path_bytes_max long. Linear
  // in the path's length, independent of the number of routes, without allocation.
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
  // True if the lane with terms sells the operation per call and without an account.
  [[nodiscard]] bool is_sold_per_call(const Operation& operation) const noexcept {
    return operation.price && prices_[*operation.price].terms != nullptr &&
           prices_[*operation.price].terms->is_offered &&
           !routes_[operation.route].credential_required;
  }
  // By name, without regard to case.
  [[nodiscard]] const std::vector<Tool>& tools() const noexcept { return tools_; }

  // RFC 8785 form of the whole program; its SHA-256, as "sha256:<hex>", names the generation.
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
