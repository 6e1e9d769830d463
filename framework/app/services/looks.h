// Looks: how the gateway probes upstreams and operations for its status. A look takes the path of a
// call as far as the upstream, through the same guard, but without lane, account, ledger or a
// report on the route. status/judge.h judges the reply.
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

  // Asks the plugin of this upstream, an index of the program, whether the upstream answers.
  [[nodiscard]] status::Look reach(const exchange::Service& service, std::uint32_t upstream,
                                   runtime::Deadline deadline) const;

  // Runs the sample that the registry declares for this operation, an index of the program; an
  // operation without a sample is not run and is unknown. An operation that its plugin declares
  // unable to serve is not run either. `shape` learns from replies that pass; null: nothing is
  // learned.
  [[nodiscard]] status::Look run_sample(const exchange::Service& service, std::uint32_t operation,
                                        runtime::Deadline deadline,
                                        status::Shape* shape = nullptr) const;

 private:
  exchange::CallReports& reports_;
  const Clock& clock_;
};

// The learned shapes of replies, by operation. Not thread-safe: used by the fibers of one loop.
class LearnedShapes {
 public:
  // Loads shapes as the store keeps them; an unreadable shape is learned again.
  void load(const std::vector<std::pair<std::string, std::string>>& kept);

  // Returns the shape for looks at this operation, reset when the operator has accepted a change;
  // null: its `expect` has no shape. Valid until load().
  [[nodiscard]] status::Shape* of(const registry::Program& program, std::uint32_t operation);

  // Returns the changes since the last call, for StatusStore::keep_shape(): operations with texts.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> take_changed();

 private:
  std::map<std::string, status::Shape> shapes_;  // by "<capability_id>:<METHOD>"
};

}  // namespace turnpike::app
