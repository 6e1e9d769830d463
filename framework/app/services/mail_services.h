// MailServices: the sender of the outbox, assembled for the gateway and for commands.
//
// Owned by the gateway; the store and the sources outlive it. Its thread starts and ends with it.
#pragma once

#include <memory>
#include <string>

#include <turnpike/host.h>

#include "app/config/config.h"
#include "base/log.h"
#include "base/metrics.h"
#include "identity/mail.h"
#include "mail/mail_thread.h"
#include "mail/postman.h"
#include "mail/transport.h"

namespace turnpike::app {

class MailServices {
 public:
  struct Sources {
    const Clock& clock;
    Random& random;
    base::Log& log;
    base::Metrics& metrics;
  };
  // REQUIRES: a mail server is configured.
  MailServices(const Config& config, identity::MailStore& store, const std::string& web_url,
               const Sources& sources);

 private:
  const std::unique_ptr<mail::Transport> transport_;
  mail::Postman postman_;
  mail::MailThread thread_;
};

// Returns a transport to the configured server.
std::unique_ptr<mail::Transport> mail_transport(const Config& config, const Clock& clock);

}  // namespace turnpike::app
