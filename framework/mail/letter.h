// Letter: one mail as text, to one address, and how it is written for SMTP: RFC 5322 header fields,
// RFC 2047 encoded words and quoted-printable (RFC 2045 section 6.7). No text of a letter can end a
// header field or begin another: addresses are judged, and what is not plain ASCII is encoded.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::mail {

struct Letter {
  std::string id;  // of the outbox; a repeat has the same Message-ID
  std::string to;
  std::string subject;
  std::string text;  // UTF-8, lines ended by "\n"
};

struct Sender {
  std::string name;     // as mail programs show it
  std::string address;  // such as noreply@example.com
};

// Why it cannot be sent to anybody; nothing: it can.
[[nodiscard]] std::optional<std::string> fault_in_letter(const Letter& letter);

// With CR LF at the end of each line, without the dots that SMTP adds.
[[nodiscard]] std::string as_message(const Letter& letter, const Sender& sender,
                                     std::int64_t at_ms);

// As a header field can hold it: as it is, or in encoded words of 75 characters at most.
[[nodiscard]] std::string as_header_text(std::string_view text);
[[nodiscard]] std::string as_quoted_printable(std::string_view text);

}  // namespace turnpike::mail
