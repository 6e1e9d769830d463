// Postman: takes mails from the outbox, makes the link of each, and passes them to a transport, one
// after the other. Failures are retried with growing delays; a mail that the server rejects for
// good, or that could not be sent in time, is given up with a line in the log.
//
// Owned by MailThread, or by a test; used by one Thread at a time, which waits in it.
#pragma once

#include <cstdint>
#include <string>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/outage.h"
#include "identity/mail.h"
#include "mail/texts.h"
#include "mail/transport.h"

namespace turnpike::mail {

class Postman {
 public:
  static constexpr std::int64_t tries_max = 12;

  struct Parts {
    identity::MailStore& store;
    Transport& transport;
    const Clock& clock;
    Random& random;
    base::Log& log;
    base::Metrics& metrics;
  };
  struct Settings {
    identity::Environment environment = identity::Environment::development;
    Site site;
    std::int64_t lease_ms = 300'000;  // longer than any letter takes
  };
  Postman(const Parts& parts, Settings settings);

  // Tries to send one due mail; false: none is due. Error: auth.unavailable.
  [[nodiscard]] Result<bool, base::Error> deliver_next();
  // Sets the gauges of the queue. Error: auth.unavailable.
  [[nodiscard]] Result<Unit, base::Error> count();

 private:
  [[nodiscard]] Result<Unit, base::Error> note_sent(const identity::Mail& mail);
  [[nodiscard]] Result<Unit, base::Error> note_failed(const identity::Mail& mail,
                                                      const SendFailure& failure);

  const Parts parts_;
  const Settings settings_;
  base::Counter& sent_;
  base::Counter& put_off_;
  base::Counter& given_up_;
  base::Gauge& waiting_now_;
  base::Gauge& given_up_now_;
  base::Outage outage_;  // of the mail server
};

// The delay before the next try, after `tries` tries.
[[nodiscard]] std::int64_t delay_ms_after(std::int64_t tries) noexcept;

}  // namespace turnpike::mail
