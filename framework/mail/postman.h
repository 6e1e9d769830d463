// Postman: takes mails from the outbox, makes the link of each, and hands them to a transport, one
// after the other. What fails is tried again, later each time; what the server will never take, or
// could not be sent in time, is given up with a line in the log.
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
    std::int64_t lease_ms = 300'000;  // no letter takes as long
  };
  Postman(const Parts& parts, Settings settings);

  // One mail that is due, sent or not; false: there is none. auth.unavailable.
  [[nodiscard]] Result<bool, base::Error> deliver_next();
  // Sets the gauges of what waits. auth.unavailable.
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

// Before the next try, after so many.
[[nodiscard]] std::int64_t delay_ms_after(std::int64_t tries) noexcept;

}  // namespace turnpike::mail
