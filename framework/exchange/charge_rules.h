// ChargeRules: whether a success of the upstream is free of charge, by the conditions that its
// operation declares (registry/no_charge.h). Short bodies are read where the call runs; when all
// conditions together read more than base::limits::heavy_json_bytes, on the blocking pool, while
// the fiber waits.
//
// One for the whole node, owned by app/; used by all loop Threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "registry/no_charge.h"
#include "runtime/pool.h"

namespace turnpike::exchange {

class ChargeRules {
 public:
  explicit ChargeRules(runtime::BlockingPool& pool);

  // Returns whether a complete reply is free of charge. May suspend.
  [[nodiscard]] bool waive(const registry::NoCharges& conditions, std::string_view body,
                           std::int64_t upstream_ns) const;
  // As waive(), for a reply whose body cannot be judged: it is too long, or has only begun.
  [[nodiscard]] static bool waive_unseen(const registry::NoCharges& conditions,
                                         std::int64_t upstream_ns) noexcept;
  // The number of conditions that read the whole body.
  [[nodiscard]] static std::size_t readings(const registry::NoCharges& conditions) noexcept;

 private:
  [[nodiscard]] bool is_nothing_at(const registry::NoCharges& conditions,
                                   std::string_view body) const;

  runtime::BlockingPool& pool_;
  const runtime::PoolUser user_;
};

}  // namespace turnpike::exchange
