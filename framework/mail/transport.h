// Transport: carries a letter to a mail server. Smtp is the only implementation; tests have others.
//
// Used by one Thread at a time, which waits in it; cancel() may be called from any.
#pragma once

#include <string>

#include <turnpike/result.h>

#include "mail/letter.h"

namespace turnpike::mail {

struct SendFailure {
  std::string reason;     // for the operator; may contain the address
  std::string log_reason;  // the same for the log, without replies that may contain an address
  bool is_final = false;  // the server rejects this letter for good
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Returns after the server has confirmed the letter. An unconfirmed letter may have arrived all
  // the same.
  [[nodiscard]] virtual Result<Unit, SendFailure> send(const Letter& letter) = 0;
  // Ends a waiting send; later sends fail.
  virtual void cancel() noexcept = 0;
};

}  // namespace turnpike::mail
