// RouteTable: dispatches requests by the rows of a host's routes. It finds the route of a path,
// answers preflights of browsers, and refuses a request that its row does not take. The order of
// refusals: path (404), method (405), a page of another origin, malformed header fields, a body
// where none is taken, escapes in the path, credentials, Idempotency-Key, query, body, the page
// token.
//
// Owned by a host, immutable; called on the fibers of requests, may suspend them.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "hosts/access_log.h"
#include "hosts/cors.h"
#include "hosts/route.h"

namespace turnpike::hosts {

// The facts of a request by which a host authenticates its caller.
struct Presented {
  Headers headers;
  std::string_view account_id;  // named by the path; empty: none
  bool changes_something;       // true for methods that are not safe
};

// The settings in which hosts differ.
struct HostRules {
  Cors cors;                           // for routes that are not public to every page
  Cors cors_of_public = cors;          // for the other routes and for unknown paths
  std::string_view nothing_here = {};  // hint for unknown paths; a constant
  // The form of the 404 for people; programs, whose paths begin with /v1/, get the envelope.
  RefusalForm nothing_form = as_envelope;
  const RefusalPages* refusal_pages = nullptr;  // of the host's site; outlives the host
  std::string_view nothing_page_policy = {};  // as in RouteFacts
  std::string_view other_methods = "This route does not answer this method.";
  // The kinds of callers that the host can authenticate, and the function that does so.
  Callers::Kinds authenticates = {};
  std::function<Result<Caller, base::Error>(const Presented&)> authenticate = {};
  // The origin of the host's own pages, if it uses cookies.
  std::string own_origin = {};
  // Hosts with cookies: whether a request that changes something for a person brought the page
  // token of their session, in the header field `page_token_header` or the form field `csrf`.
  std::function<bool(const identity::Principal&, std::string_view page_token)> is_page_token = {};
  // Hosts with persons as callers: how a person can re-authenticate, for refusals that demand it.
  std::function<std::string(const identity::Principal&)> step_up_advice = {};
  // Adds fields to a refusal, such as the deletion of a cookie.
  std::function<void(const base::Error&, ReplyFields&)> add_refusal_fields = {};
};

inline constexpr std::string_view page_token_header = "Turnpike-CSRF";
inline constexpr std::string_view page_token_field = "csrf";

// Whether `path` matches the route's path. Sets `segments` to its variable parts, still
// percent-encoded.
bool matches_path(std::string_view route_path, std::string_view path,
                  std::array<std::string_view, path_parameters_max>& segments) noexcept;

// Returns the error if a header field is repeated that must not be, or is malformed.
std::optional<base::Error> header_refusal(const Turn& turn);

class RouteTable {
 public:
  // Rows of one path must be adjacent. The rows and the log outlive the table. Throws
  // std::logic_error for an invalid row, such as one with callers that the host does not
  // authenticate.
  RouteTable(std::vector<const RouteFacts*> rows, HostRules rules, AccessLog& access_log);

  class Place;  // the match of a path: some rows, or none
  [[nodiscard]] Place find(std::string_view path) const noexcept;
  [[nodiscard]] const Cors& cors_of(const Place& place) const noexcept;
  [[nodiscard]] const Cors& cors() const noexcept { return rules_.cors; }
  [[nodiscard]] const RefusalPages* refusal_pages() const noexcept { return rules_.refusal_pages; }
  // Whether browsers must use https for the host's own pages.
  [[nodiscard]] bool is_for_https() const noexcept {
    return rules_.own_origin.starts_with("https://");
  }
  // Returns the row for the request; nothing: no row takes it, and it has been answered.
  [[nodiscard]] std::optional<std::size_t> row_for(Turn& turn, const Place& place) const;
  // Reads the request for a row without takes_all; false: the request was refused.
  [[nodiscard]] bool read(Turn& turn, const Place& place, std::size_t row, Asked& asked) const;

 private:
  struct Path {
    std::string_view text;
    std::size_t begin = 0;  // index of its first row
    std::size_t end = 0;
    std::string allow;
  };
  struct Row {
    const RouteFacts* facts;
    const Endpoint* endpoint;
    std::vector<std::string_view> query_names;
  };

  [[nodiscard]] bool is_of_other_page(const RouteFacts& facts, const Turn& turn) const noexcept;
  static void follow(Turn& turn, const Row& row) noexcept;
  void preflight(Turn& turn, const Place& place) const;
  [[nodiscard]] std::optional<std::size_t> find_row(const Path& path,
                                                    std::string_view method) const noexcept;
  [[nodiscard]] std::optional<base::Error> problem(const Row& row, Turn& turn, const Place& place,
                                                   Asked& asked) const;
  [[nodiscard]] std::optional<base::Error> find_caller(const RouteFacts& facts, Turn& turn,
                                                       Asked& asked) const;
  [[nodiscard]] std::optional<base::Error> judge_page_token(const RouteFacts& facts,
                                                            const Turn& turn,
                                                            const Asked& asked) const;
  [[nodiscard]] std::optional<base::Error> read_query_of(const Row& row, const Turn& turn,
                                                         Asked& asked) const;
  [[nodiscard]] std::optional<base::Error> read_body(const RouteFacts& facts, Turn& turn,
                                                     Asked& asked) const;

  const HostRules rules_;
  const RouteFacts nothing_;  // used where no row matches
  std::vector<Row> rows_;
  std::vector<Path> paths_;
};

class RouteTable::Place {
 private:
  friend class RouteTable;
  const Path* path_ = nullptr;
  std::array<std::string_view, path_parameters_max> segments_;
};

}  // namespace turnpike::hosts
