// Smtp: letters to one mail server (RFC 5321), over TLS from the start or from STARTTLS on (RFC
// 3207), with AUTH PLAIN or LOGIN (RFC 4954). Chosen library: Poco/Net for its sockets, its TLS,
// the replies of a dialogue and the dots of a message. Its SMTP session is not used: it connects
// without a limit of time, keeps what came before STARTTLS, and lets CR LF in a subject or an
// address through.
//
// The server is verified: its chain against the authorities, its certificate's name against `host`.
// Every step has a deadline. Exceptions of the library end here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <turnpike/host.h>

#include "mail/transport.h"

namespace turnpike::mail {

enum class Security : std::uint8_t { starttls, implicit, none };

struct SmtpSettings {
  std::string host;
  std::uint16_t port = 587;
  Security security = Security::starttls;
  std::string user = {};  // empty: the server asks for nobody
  std::string password = {};
  Sender sender;
  std::string authorities = {};  // a PEM file or a directory; empty: the system's
  std::int64_t connect_timeout_ms = 10'000;
  std::int64_t reply_timeout_ms = 30'000;
};

// A letter takes so long at most: connecting, and a reply to each of ten steps.
[[nodiscard]] constexpr std::int64_t letter_ms_max(const SmtpSettings& settings) noexcept {
  return settings.connect_timeout_ms + 10 * settings.reply_timeout_ms;
}

// Connects for each letter anew.
std::unique_ptr<Transport> make_smtp(SmtpSettings settings, const Clock& clock);

}  // namespace turnpike::mail
