// SharedSecrets: random keys that all nodes of one database share, such as the HMAC key of paging
// cursors. The first node that asks creates the key; all others get the same bytes.
//
// Owned by Node; safe for concurrent use from the blocking pool or plain Threads; blocks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::storage {

class SharedSecrets {
 public:
  virtual ~SharedSecrets() = default;
  // `bytes` matters for the first caller only. gateway.internal when the store cannot be reached.
  [[nodiscard]] virtual Result<std::string, base::Error> get_or_create(std::string_view name,
                                                                       std::size_t bytes) = 0;
};

}  // namespace turnpike::storage
