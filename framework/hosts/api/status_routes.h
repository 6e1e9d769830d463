// The routes of the status, public except for release sweeps: their table and the objects that
// their handlers use. Documents of the board are kept as bytes, so that reading one costs a look at
// the clock and a send. Reads from the store run on a small share of the blocking pool.
//
// Owned by the API host; called on the fibers of all loop Threads, and suspends them while it waits
// for the store.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/route.h"
#include "hosts/status_source.h"
#include "runtime/pool.h"

namespace turnpike::hosts::api {

class StatusRoutes {
 public:
  // All parts outlive the object.
  struct Parts {
    StatusSource& source;
    runtime::BlockingPool& pool;
    const Clock& clock;
    std::string cursor_key;  // the secret that signs cursors, shared by the nodes
    std::string url;         // of the API host, without a final slash; may be empty
  };
  explicit StatusRoutes(Parts parts);

  void status(Turn& turn) const;
  void gateway(Turn& turn) const;
  void authority(Turn& turn) const;
  void operation(Turn& turn, std::string_view capability_id) const;
  void provider(Turn& turn, std::string_view key) const;
  void badge(Turn& turn, std::string_view provider_key) const;
  void rules(Turn& turn) const;
  void evidence(Turn& turn, const NamedValues& query) const;
  void incidents(Turn& turn, const NamedValues& query) const;
  void feed(Turn& turn) const;
  void begin_sweep(Turn& turn, const Asked& asked) const;
  void complete_sweep(Turn& turn, const Asked& asked) const;

 private:
  using BoardView = std::shared_ptr<const status::Board>;
  // Null: no program is installed, and the request was refused.
  [[nodiscard]] BoardView board_for(Turn& turn) const;
  // `document`: null where the catalog has no such entry.
  void send(Turn& turn, const status::BoardDocument* document, std::string_view content_type) const;
  // Runs `work`, which returns a Result, on a share of the pool. status.unavailable: it was not
  // started.
  template <class F>
  [[nodiscard]] auto ask(const runtime::PoolUser& user, F&& work) const
      -> std::invoke_result_t<F> {
    std::optional<std::invoke_result_t<F>> answer;
    if (!parts_.pool.run_to_end(user, [&]() noexcept { answer.emplace(work()); })) {
      return overloaded();
    }
    return *std::move(answer);
  }
  [[nodiscard]] static base::Error overloaded();

  const Parts parts_;
  const runtime::PoolUser reads_;   // for all readers
  const runtime::PoolUser sweeps_;  // for the release sweeps' principal
};

struct StatusRooms {
  const StatusRoutes& status;
};

std::span<const Route<StatusRooms>> status_routes() noexcept;

}  // namespace turnpike::hosts::api
