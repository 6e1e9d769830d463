// StatusRoute: the routes below /internal/v1/status, by which operators with the authority
// `status.annotate` publish statements: incidents of their own, notes, maintenance. Each statement
// is written with its audit event.
//
// Owned by OperatorHost; called on the fibers of all loop Threads, waits for the blocking pool.
#pragma once

#include <functional>
#include <string>

#include <turnpike/result.h>

#include "hosts/route.h"
#include "identity/audit.h"
#include "runtime/pool.h"
#include "status/store.h"

namespace turnpike::hosts::operators {

class StatusRoute {
 public:
  using Document = Result<std::string, base::Error>;
  StatusRoute(status::StatusStore& store, runtime::BlockingPool& pool);

  // Each returns the changed object as JSON.
  [[nodiscard]] Document open_incident(Turn& turn, const Asked& asked) const;
  [[nodiscard]] Document add_note(Turn& turn, const Asked& asked) const;
  [[nodiscard]] Document resolve_incident(Turn& turn, const Asked& asked) const;
  [[nodiscard]] Document announce(Turn& turn, const Asked& asked) const;
  [[nodiscard]] Document cancel_maintenance(Turn& turn, const Asked& asked) const;

 private:
  // `work` runs on the pool.
  [[nodiscard]] Document ask(std::function<Document(status::StatusStore&)> work) const;

  status::StatusStore& store_;
  runtime::BlockingPool& pool_;
  const runtime::PoolUser user_;
};

}  // namespace turnpike::hosts::operators
