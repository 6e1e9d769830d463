// StatusSource: the hosts' access to the status. The composition root implements it.
//
// Owned by app/, outlives the hosts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "status/board.h"
#include "status/store.h"

namespace turnpike::hosts {

// The body of a request that begins a release sweep.
struct SweepAsked {
  std::string release;
  std::string generation_id;
  std::string payload_hash;
  std::string principal;  // the requester: "key:<id>"
};

class StatusSource {
 public:
  virtual ~StatusSource() = default;
  // Returns the board of the calling loop; takes no lock. Null: no program is installed.
  [[nodiscard]] virtual std::shared_ptr<const status::Board> board() = 0;
  // For evidence and incidents. The store blocks, so it is called on the pool.
  [[nodiscard]] virtual status::StatusStore& store() = 0;
  [[nodiscard]] virtual std::string stream() = 0;
  // Both block, so they are called on the pool. Errors: status.sweep_principal,
  // status.generation_mismatch, status.sweep_not_found, status.sweep_incomplete,
  // status.unavailable, registry.unavailable.
  [[nodiscard]] virtual Result<status::Sweep, base::Error> begin_sweep(const SweepAsked& asked) = 0;
  [[nodiscard]] virtual Result<status::Sweep, base::Error> complete_sweep(
      std::string_view sweep_id, std::string_view principal) = 0;
};

}  // namespace turnpike::hosts
