// Route: one row of a host's table: the requests it matches, the allowed callers, the allowed
// parameters and bodies, and its description in documents. RouteTable reads the rows and refuses
// requests that do not fit, so a handler sees only requests that do.
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
#include <vector>

#include "base/enum_set.h"
#include "hosts/named_values.h"
#include "hosts/refusal.h"
#include "hosts/turn.h"
#include "identity/principal.h"

namespace turnpike::hosts {

// The callers of a row. Each function makes a whole rule, so that no operator row lacks its
// authority.
class Callers {
 public:
  using Kinds = base::EnumSet<PrincipalKind>;
  // Credentials are not read.
  [[nodiscard]] static constexpr Callers anyone() noexcept { return {}; }
  // An API key, whatever the state of its account.
  [[nodiscard]] static constexpr Callers api_key() noexcept { return {{PrincipalKind::api_key}}; }
  // An API key of an active account: the account that the path names, if it names one.
  [[nodiscard]] static constexpr Callers account() noexcept {
    Callers callers{{PrincipalKind::api_key}};
    callers.is_account_active_ = true;
    return callers;
  }
  // The same, or a person who is a member of the account that the path names.
  [[nodiscard]] static constexpr Callers account_or_member() noexcept {
    Callers callers{{PrincipalKind::api_key, PrincipalKind::person}};
    callers.is_account_active_ = true;
    callers.role_ = identity::Role::member;
    return callers;
  }
  // A person whose session has at least this standing.
  [[nodiscard]] static constexpr Callers person(
      identity::Standing standing = identity::Standing::signed_in) noexcept {
    Callers callers{{PrincipalKind::person}};
    callers.standing_ = standing;
    return callers;
  }
  // A person who has at least this role in the account that the path names.
  [[nodiscard]] static constexpr Callers members(
      identity::Role role, identity::Standing standing = identity::Standing::signed_in) noexcept {
    Callers callers = person(standing);
    callers.role_ = role;
    return callers;
  }
  [[nodiscard]] static constexpr Callers operators(identity::Authority authority) noexcept {
    Callers callers{{PrincipalKind::operator_credential}};
    callers.authority_ = authority;
    return callers;
  }

  [[nodiscard]] constexpr Kinds kinds() const noexcept { return kinds_; }
  [[nodiscard]] constexpr bool are_anyone() const noexcept { return kinds_.empty(); }
  [[nodiscard]] constexpr bool need_active_account() const noexcept { return is_account_active_; }
  [[nodiscard]] constexpr std::optional<identity::Authority> authority() const noexcept {
    return authority_;
  }
  // The least standing of a person's session.
  [[nodiscard]] constexpr identity::Standing standing() const noexcept { return standing_; }
  [[nodiscard]] constexpr std::optional<identity::Role> role() const noexcept { return role_; }

 private:
  constexpr Callers(Kinds kinds = {}) noexcept : kinds_(kinds) {}

  Kinds kinds_;
  bool is_account_active_ = false;  // for API keys
  std::optional<identity::Authority> authority_ = {};
  identity::Standing standing_ = identity::Standing::signed_in;
  std::optional<identity::Role> role_ = {};
};

enum class BodyForm : std::uint8_t {
  none,
  json,
  form,  // read into Asked::form
  raw,   // of any type, unparsed; may be missing
};

// The Content-Type of a body in this form; a raw body may have any type.
std::string_view media_type_of(BodyForm form) noexcept;

// A parameter in the query or the path. The handler validates its value.
struct Parameter {
  std::string_view name;
  std::string_view description;
  std::string_view schema;        // JSON Schema
  bool is_required = false;       // for a query; path parameters are always required
  std::string_view example = {};  // JSON
};

// A reply other than a refusal. Without a schema the body is any JSON object, or text.
struct DescribedReply {
  int status;
  std::string_view description;
  std::string_view schema = {};  // a name in components/schemas
  std::string_view content_type = json_type;
};

// How the OpenAPI document shows a route.
struct RouteDescription {
  std::string_view operation_id = {};  // empty: the document leaves it out
  std::string_view tag = {};
  std::string_view summary = {};
  std::string_view description = {};
  std::span<const Parameter> path_parameters = {};
  std::string_view body_schema = {};  // name in components/schemas; empty: any JSON, or bytes
  std::span<const DescribedReply> replies = {};
  // The statuses of refusals, each with a group of codes if that differs from the group of the tag:
  // "400 Catalog503".
  std::string_view refusals = {};
};

struct RouteFacts {
  std::string_view method;
  // Variable parts are segments, "{request_id}" or "{key}.svg"; the last may be "{path...}", the
  // rest of the path, which may be empty.
  std::string_view path;
  std::string_view endpoint;  // name under which its requests are counted
  Callers callers = Callers::anyone();
  bool needs_idempotency_key = false;
  std::span<const Parameter> query = {};
  bool takes_any_query = false;  // the handler reads the query
  BodyForm body = BodyForm::none;
  std::uint64_t body_bytes_max = 0;
  std::size_t form_fields_max = 32;
  // On a host with cookies, requests that change something must come from its own pages, unless the
  // row says that it needs no cookie.
  bool takes_any_origin = false;
  bool answers_head = false;  // with the header fields of GET
  // The handler itself reads all but path and method: credentials, query and body.
  bool takes_all = false;
  // Takes all methods, too; preflights name `method`: "GET, POST".
  bool takes_any_method = false;
  bool is_for_every_page = false;  // pages of any origin may read its replies
  std::string_view cache_control = "no-store";
  bool has_etag = false;              // of a 200 reply, which may then become a 304
  std::string_view page_policy = {};  // see page.h; empty: the route has no pages
  RefusalForm refusal_form = as_envelope;
  RouteDescription described = {};
};

inline constexpr std::size_t path_parameters_max = 4;

using Caller = std::shared_ptr<const identity::Principal>;

// The parts of a request that RouteTable has read for the handler.
struct Asked {
  std::array<std::string, path_parameters_max> parameters;  // from the path, decoded
  Caller caller;                                            // null: the row takes anyone
  NamedValues query;
  NamedValues form;
  std::string_view body;  // valid until more of the request is read
};

template <class Rooms>
struct Route {
  RouteFacts facts;
  void (*answer)(const Rooms& rooms, Turn& turn, const Asked& asked) = nullptr;
  void (*take)(const Rooms& rooms, Turn& turn) = nullptr;  // instead of `answer`, if takes_all
};

// A row together with the objects its handlers use, so that several tables can make one host.
class BoundRoute {
 public:
  // `route` and `rooms` outlive the object.
  template <class Rooms>
  BoundRoute(const Route<Rooms>& route, const Rooms& rooms)
      : facts_(&route.facts),
        route_(&route),
        rooms_(&rooms),
        takes_(route.take != nullptr),
        run_([](const void* row, const void* in, Turn& turn, const Asked* asked) {
          const auto& bound = *static_cast<const Route<Rooms>*>(row);
          const auto& its_rooms = *static_cast<const Rooms*>(in);
          if (asked == nullptr) return bound.take(its_rooms, turn);
          bound.answer(its_rooms, turn, *asked);
        }) {}

  [[nodiscard]] const RouteFacts& facts() const noexcept { return *facts_; }
  [[nodiscard]] bool takes() const noexcept { return takes_; }
  void take(Turn& turn) const { run_(route_, rooms_, turn, nullptr); }
  void answer(Turn& turn, const Asked& asked) const { run_(route_, rooms_, turn, &asked); }

 private:
  const RouteFacts* facts_;
  const void* route_;
  const void* rooms_;
  bool takes_;
  void (*run_)(const void* route, const void* rooms, Turn& turn, const Asked* asked);
};

// Adds the rows of a table.
template <class Rooms>
void bind_routes(std::span<const Route<Rooms>> routes, const Rooms& rooms,
                 std::vector<BoundRoute>& bound) {
  for (const Route<Rooms>& route : routes) bound.emplace_back(route, rooms);
}
template <class Rooms>
std::vector<BoundRoute> bind_routes(std::span<const Route<Rooms>> routes, const Rooms& rooms) {
  std::vector<BoundRoute> bound;
  bind_routes(routes, rooms, bound);
  return bound;
}

}  // namespace turnpike::hosts
