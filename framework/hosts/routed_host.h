// RoutedHost: how any host handles a request. The request gets an id, its route is found, the
// route's handler answers, and the request is always logged. A host adds its rules and its tables,
// whose rows are bound to the objects that their handlers use.
//
// Owned by the host; called on the fibers of all loop Threads.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "hosts/request_ids.h"
#include "hosts/route_table.h"
#include "hosts/turn.h"
#include "runtime/fiber.h"
#include "wire/server.h"

namespace turnpike::hosts {

// All parts outlive the host.
struct HostParts {
  const runtime::Runtime& runtime;
  const Clock& clock;
  Random& random;
  AccessLog& access_log;
};

class RoutedHost {
 public:
  RoutedHost(const HostParts& parts, std::vector<BoundRoute> routes, HostRules rules)
      : clock_(parts.clock),
        access_log_(parts.access_log),
        ids_(parts.runtime, parts.clock, parts.random),
        routes_(grouped(routes)),
        table_(facts_of(routes_), std::move(rules), parts.access_log) {}

  void handle(wire::Request& request, wire::Responder& responder) noexcept {
    const RouteTable::Place place = table_.find(request.path());
    Turn turn(request, responder, table_.cors_of(place), ids_.next(), clock_.monotonic_ns());
    if (table_.is_for_https()) turn.ask_for_https();
    turn.refuse_on(table_.refusal_pages());
    if (auto* fiber = runtime::Fiber::current()) fiber->set_name(turn.request_id());
    run_turn(turn, clock_, access_log_, [&] {
      const auto row = table_.row_for(turn, place);
      if (!row) return;
      const BoundRoute& route = routes_[*row];
      if (route.takes()) return route.take(turn);
      answer(turn, place, *row);
    });
  }

  // Answers a request that the wire refused.
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept {
    Turn turn(request, responder, table_.cors(), ids_.next(), clock_.monotonic_ns());
    if (table_.is_for_https()) turn.ask_for_https();
    turn.refuse_on(table_.refusal_pages());
    run_turn(turn, clock_, access_log_, [&] { turn.refuse(error); });
  }

 private:
  // Kept out of line: a call does not need Asked on its stack.
  [[gnu::noinline]] void answer(Turn& turn, const RouteTable::Place& place, std::size_t row) {
    Asked asked;
    if (table_.read(turn, place, row, asked)) routes_[row].answer(turn, asked);
  }
  // Tables of several rooms may have rows of the same path.
  static std::vector<BoundRoute> grouped(const std::vector<BoundRoute>& routes) {
    std::vector<BoundRoute> grouped;
    for (const BoundRoute& route : routes) {
      const auto last = std::find_if(grouped.rbegin(), grouped.rend(), [&](const auto& other) {
        return other.facts().path == route.facts().path;
      });
      grouped.insert(last == grouped.rend() ? grouped.end() : last.base(), route);
    }
    return grouped;
  }
  static std::vector<const RouteFacts*> facts_of(const std::vector<BoundRoute>& routes) {
    std::vector<const RouteFacts*> facts;
    for (const BoundRoute& route : routes) facts.push_back(&route.facts());
    return facts;
  }

  const Clock& clock_;
  AccessLog& access_log_;
  RequestIds ids_;
  const std::vector<BoundRoute> routes_;
  const RouteTable table_;
};

}  // namespace turnpike::hosts
