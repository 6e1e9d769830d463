// Letter: one mail as text, to one address, and its encoding for SMTP: RFC 5322 header fields, RFC
// 2047 encoded words and quoted-printable (RFC 2045 section 6.7). No text of a letter can end a
// header field or begin another: addresses are validated, and text that is not plain ASCII is
// encoded.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::mail {

struct Letter {
  std::string id;  // id in the outbox; a retry has the same Message-ID
  std::string to;
  std::string subject;
  std::string text;  // UTF-8, lines ended by "\n"
};

struct Sender {
  std::string name;     // the display name
  std::string address;  // such as noreply@example.com
};

// Returns why the letter cannot be sent; nothing: it can.
[[nodiscard]] std::optional<std::string> fault_in_letter(const Letter& letter);

// Encodes the message with CR LF line ends, without the dot-stuffing of SMTP.
[[nodiscard]] std::string as_message(const Letter& letter, const Sender& sender,
                                     std::int64_t at_ms);

// Encodes text for a header field: unchanged, or as encoded words of at most 75 characters.
[[nodiscard]] std::string as_header_text(std::string_view text);
[[nodiscard]] std::string as_quoted_printable(std::string_view text);

}  // namespace turnpike::mail
