// RoutedHost: the way of a request through any host. The request gets an id, its route is found,
// the route's handler answers, and the request is logged whatever happens. A host adds its table,
// its rules and its rooms, which are the objects that its handlers work with.
//
// Owned by the host; called on the fibers of all loop Threads.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "hosts/request_ids.h"
#include "hosts/route_table.h"
#include "hosts/turn.h"
#include "runtime/fiber.h"
#include "wire/server.h"

namespace turnpike::hosts {

// All outlive the host.
struct HostParts {
  const runtime::Runtime& runtime;
  const Clock& clock;
  Random& random;
  AccessLog& access_log;
};

template <class Rooms>
class RoutedHost {
 public:
  // `routes` are constants.
  RoutedHost(const HostParts& parts, std::span<const Route<Rooms>> routes, HostRules rules,
             Rooms rooms)
      : clock_(parts.clock),
        access_log_(parts.access_log),
        ids_(parts.runtime, parts.clock, parts.random),
        routes_(routes),
        table_(facts_of(routes), std::move(rules), parts.access_log),
        rooms_(std::move(rooms)) {}

  void handle(wire::Request& request, wire::Responder& responder) noexcept {
    const RouteTable::Place place = table_.find(request.path());
    Turn turn(request, responder, table_.cors_of(place), ids_.next(), clock_.monotonic_ns());
    if (auto* fiber = runtime::Fiber::current()) fiber->set_name(turn.request_id());
    run_turn(turn, clock_, access_log_, [&] {
      const auto row = table_.row_for(turn, place);
      if (!row) return;
      const Route<Rooms>& route = routes_[*row];
      if (route.take != nullptr) return route.take(rooms_, turn);
      answer(turn, place, *row);
    });
  }

  // Answers bytes that the wire could not read as a request.
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept {
    Turn turn(request, responder, table_.cors(), ids_.next(), clock_.monotonic_ns());
    run_turn(turn, clock_, access_log_, [&] { turn.refuse(error); });
  }

 private:
  // Not on the stack of a call, which does not need it.
  [[gnu::noinline]] void answer(Turn& turn, const RouteTable::Place& place, std::size_t row) {
    Asked asked;
    if (table_.read(turn, place, row, asked)) routes_[row].answer(rooms_, turn, asked);
  }
  static std::vector<const RouteFacts*> facts_of(std::span<const Route<Rooms>> routes) {
    std::vector<const RouteFacts*> facts;
    for (const Route<Rooms>& route : routes) facts.push_back(&route.facts);
    return facts;
  }

  const Clock& clock_;
  AccessLog& access_log_;
  RequestIds ids_;
  const std::span<const Route<Rooms>> routes_;
  const RouteTable table_;
  const Rooms rooms_;
};

}  // namespace turnpike::hosts
