// Route: one row of a host's table: which requests it is for, who may send them, what they may
// carry, and how documents describe it. RouteTable reads the rows and refuses what does not fit
// them, so a handler sees only requests that do.
//
// Rows are constants; any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hosts/query.h"
#include "hosts/turn.h"
#include "identity/account.h"
#include "identity/operators.h"

namespace turnpike::hosts {

enum class CallerKind : std::uint8_t {
  anyone,   // no credential is read
  api_key,  // whatever state its account is in
  account,  // an API key of an active account, which is the one that the path names, if it names
            // one
  operators,
};

enum class BodyForm : std::uint8_t { none, json };

// A parameter in the query or the path. The handler judges its value.
struct Parameter {
  std::string_view name;
  std::string_view description;
  std::string_view schema;        // JSON Schema
  bool is_required = false;       // in a query; in a path all are
  std::string_view example = {};  // JSON
};

// A reply other than a refusal. Without a schema its body is any JSON object, or text.
struct DescribedReply {
  int status;
  std::string_view description;
  std::string_view schema = {};  // a name in components/schemas
  std::string_view content_type = json_type;
};

// How the OpenAPI document shows a route.
struct RouteDescription {
  std::string_view operation_id = {};  // empty: it does not
  std::string_view tag = {};
  std::string_view summary = {};
  std::string_view description = {};
  std::span<const Parameter> path_parameters = {};
  std::span<const DescribedReply> replies = {};
  bool has_etag = false;  // of the reply 200; it may be 304, then
  // Their statuses, with a group of codes where it is not that of the tag: "400 Catalog503".
  std::string_view refusals = {};
};

struct RouteFacts {
  std::string_view method;
  // Its variable parts are segments, "{request_id}", of which the last may be "{path...}", the
  // rest of the path, empty or not.
  std::string_view path;
  std::string_view endpoint;  // the name under which its requests are counted
  CallerKind caller = CallerKind::anyone;
  std::optional<identity::Authority> authority = {};  // what an operator needs
  bool needs_idempotency_key = false;
  std::span<const Parameter> query = {};
  BodyForm body = BodyForm::none;
  std::uint64_t body_bytes_max = 0;
  bool answers_head = false;  // with the header fields of its GET
  // The handler reads everything behind path and method itself: credentials, query and body.
  bool takes_all = false;
  // Methods, too; `method` is what preflights are told: "GET, POST".
  bool takes_any_method = false;
  bool is_for_every_page = false;               // pages of any origin may read its replies
  std::string_view cache_control = "no-store";  // of refusals
  RouteDescription described = {};
};

inline constexpr std::size_t path_parameters_max = 4;

// The parts of a request that the table has read for the handler.
struct Asked {
  std::array<std::string, path_parameters_max> parameters;  // of the path, decoded
  std::shared_ptr<const identity::Principal> caller;        // of an API key
  std::optional<identity::Operator> operator_credential;
  FixedQuery query;
  std::string_view body;  // valid until the next wait for more of the request
};

template <class Rooms>
struct Route {
  RouteFacts facts;
  void (*answer)(const Rooms& rooms, Turn& turn, const Asked& asked) = nullptr;
  void (*take)(const Rooms& rooms, Turn& turn) = nullptr;  // instead, where the row takes all
};

}  // namespace turnpike::hosts
