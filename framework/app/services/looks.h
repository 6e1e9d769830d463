// Looks: how the gateway looks at upstreams and operations for its status. A look goes the way of a
// call as far as its upstream, through the same guard, and no further: no lane, no account, no
// ledger, no report on the route. What came back is judged by status/judge.h.
//
// Owned by app/, outlives the fibers that look. reach() and run_sample() are called on a fiber with
// a Service that the caller keeps alive; both may suspend until the deadline.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <turnpike/host.h>

#include "exchange/call_reports.h"
#include "exchange/service.h"
#include "runtime/deadline.h"
#include "status/look.h"
#include "status/shape.h"

namespace turnpike::app {

class Looks {
 public:
  Looks(exchange::CallReports& reports, const Clock& clock) : reports_(reports), clock_(clock) {}

  // Asks the plugin of this upstream, an index of the program, whether it answers.
  [[nodiscard]] status::Look reach(const exchange::Service& service, std::uint32_t upstream,
                                   runtime::Deadline deadline) const;

  // Runs the sample that the registry declares for this operation, an index of the program; an
  // operation without one is never run, and unknown. What its plugin says not to be able to serve
  // now is not asked for. `shape` learns from replies that pass; null: nothing is learned.
  [[nodiscard]] status::Look run_sample(const exchange::Service& service, std::uint32_t operation,
                                        runtime::Deadline deadline,
                                        status::Shape* shape = nullptr) const;

 private:
  exchange::CallReports& reports_;
  const Clock& clock_;
};

// The shapes that looks have learned, by operation. Not thread-safe: the fibers of one loop.
class LearnedShapes {
 public:
  // As the store keeps them; what cannot be read is learned anew.
  void load(const std::vector<std::pair<std::string, std::string>>& kept);

  // The shape for looks at this operation, which begins anew when the operator has accepted a
  // change; null: its `expect` learns none. Valid until load().
  [[nodiscard]] status::Shape* of(const registry::Program& program, std::uint32_t operation);

  // What StatusStore::keep_shape() must be told since this was last asked: operations with texts.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> take_changed();

 private:
  std::map<std::string, status::Shape> shapes_;  // by "<capability_id>:<METHOD>"
};

}  // namespace turnpike::app
