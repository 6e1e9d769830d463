// RouteTable: the rows of a host's routes at work. It finds the route of a path, answers preflights
// of browsers, and refuses a request that the row does not take. The order of refusal: path (404),
// method (405), a page of another origin, malformed header fields, a body where none is taken,
// escapes in the path, credentials, Idempotency-Key, query, body, the token of a page.
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

// What a host is asked about the caller of a request.
struct Presented {
  Headers headers;
  std::string_view account_id;  // that the path names; empty: it names none
  bool changes_something;       // by its method
};

// The rules in which hosts differ.
struct HostRules {
  Cors cors;                           // of routes that are not for every page
  Cors cors_of_public = cors;          // of those that are, and of paths where nothing is
  std::string_view nothing_here = {};  // says where to look instead; a constant
  // How that is said to people; programs, whose paths begin with /v1/, get the envelope.
  RefusalForm nothing_form = as_envelope;
  const RefusalPages* refusal_pages = nullptr;  // of the host's site; outlive the host
  std::string_view nothing_page_policy = {};  // as in RouteFacts
  std::string_view other_methods = "This route does not answer this method.";
  // The kinds of callers whose credentials the host knows, and whose credential a request bears.
  Callers::Kinds authenticates = {};
  std::function<Result<Caller, base::Error>(const Presented&)> authenticate = {};
  // The origin of the host's own pages, where it has cookies.
  std::string own_origin = {};
  // There, too: whether a request that changes something for a person brought the token that their
  // session gives to pages, in the header field `page_token_header` or the form field `csrf`.
  std::function<bool(const identity::Principal&, std::string_view page_token)> is_page_token = {};
  // How a person can prove anew who they are, for the refusal that asks for it; where people call.
  std::function<std::string(const identity::Principal&)> step_up_advice = {};
  // Adds to the reply of a refused request, such as a cookie that is taken back.
  std::function<void(const base::Error&, ReplyFields&)> add_refusal_fields = {};
};

inline constexpr std::string_view page_token_header = "Turnpike-CSRF";
inline constexpr std::string_view page_token_field = "csrf";

// Whether a path has the form of a route's, and its variable parts, still encoded.
bool matches_path(std::string_view route_path, std::string_view path,
                  std::array<std::string_view, path_parameters_max>& segments) noexcept;

// A header field that may come once came twice, or is not in its form.
std::optional<base::Error> header_refusal(const Turn& turn);

class RouteTable {
 public:
  // Rows of one path follow each other. The rows and the log outlive the table. Throws
  // std::logic_error for a row that cannot work, such as one with callers whom the host does not
  // authenticate.
  RouteTable(std::vector<const RouteFacts*> rows, HostRules rules, AccessLog& access_log);

  class Place;  // where a path leads: some rows, or nowhere
  [[nodiscard]] Place find(std::string_view path) const noexcept;
  [[nodiscard]] const Cors& cors_of(const Place& place) const noexcept;
  [[nodiscard]] const Cors& cors() const noexcept { return rules_.cors; }
  [[nodiscard]] const RefusalPages* refusal_pages() const noexcept { return rules_.refusal_pages; }
  // Whether browsers are to reach the host's own pages by https alone.
  [[nodiscard]] bool is_for_https() const noexcept {
    return rules_.own_origin.starts_with("https://");
  }
  // The row for the request; nothing: the request was answered, since there is none.
  [[nodiscard]] std::optional<std::size_t> row_for(Turn& turn, const Place& place) const;
  // Reads the request for a row that does not take all; false: the request was refused.
  [[nodiscard]] bool read(Turn& turn, const Place& place, std::size_t row, Asked& asked) const;

 private:
  struct Path {
    std::string_view text;
    std::size_t begin = 0;  // its rows
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
  const RouteFacts nothing_;  // followed where there is no row
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
