// Smtp: sends letters to one mail server (RFC 5321), over TLS from the start or after STARTTLS (RFC
// 3207), with AUTH PLAIN or LOGIN (RFC 4954). Chosen library: Poco/Net for its sockets, its TLS,
// the replies of a dialogue and dot-stuffing. Its SMTP session is not used: it connects without a
// timeout, keeps bytes from before STARTTLS, and accepts CR LF in a subject or an address.
//
// The server is verified: its chain against the authorities, its certificate's name against `host`.
// Every step has a deadline. Exceptions of the library do not leave this file.
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
  std::string user = {};  // empty: no authentication
  std::string password = {};
  Sender sender;
  std::string authorities = {};  // PEM file or directory; empty: those of the system
  std::int64_t connect_timeout_ms = 10'000;
  std::int64_t reply_timeout_ms = 30'000;
};

// The longest time that a letter takes: connecting, and replies to ten steps.
[[nodiscard]] constexpr std::int64_t letter_ms_max(const SmtpSettings& settings) noexcept {
  return settings.connect_timeout_ms + 10 * settings.reply_timeout_ms;
}

// Returns a transport that connects for each letter.
std::unique_ptr<Transport> make_smtp(SmtpSettings settings, const Clock& clock);

}  // namespace turnpike::mail
