// Transport: what carries a letter to a mail server. Smtp is the one there is; tests have others.
//
// Used by one Thread at a time, which waits in it; cancel() may be called from any.
#pragma once

#include <string>

#include <turnpike/result.h>

#include "mail/letter.h"

namespace turnpike::mail {

struct SendFailure {
  std::string reason;     // of this failure, for the operator; may name the address
  std::string log_reason;  // the same for the log, without what the server said of an address
  bool is_final = false;  // the server will never take this letter
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Returns when the server has said that it has the letter. What it did not confirm may have
  // arrived all the same.
  [[nodiscard]] virtual Result<Unit, SendFailure> send(const Letter& letter) = 0;
  // Ends what waits; later sends fail.
  virtual void cancel() noexcept = 0;
};

}  // namespace turnpike::mail
