// QuietErrors: removes the errors that OpenSSL queues while the object lives, since the TLS
// connections of the same Thread read that queue. Private to crypto/; on one Thread's stack.
#pragma once

#include <openssl/err.h>

namespace turnpike::crypto {

class QuietErrors {
 public:
  QuietErrors() noexcept { ERR_set_mark(); }
  ~QuietErrors() { ERR_pop_to_mark(); }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
};

}  // namespace turnpike::crypto
