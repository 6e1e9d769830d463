#include "mail/letter.h"

#include <algorithm>
#include <ctime>

#include "identity/email.h"

namespace turnpike::mail {
namespace {

constexpr std::string_view hex_digits = "0123456789ABCDEF";
constexpr std::size_t line_characters_max = 76;
constexpr std::size_t word_characters_max = 75;
constexpr std::string_view word_start = "=?UTF-8?Q?";
constexpr std::string_view word_end = "?=";

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

void append_escaped(std::string& out, char c) {
  out += '=';
  out += hex_digits[static_cast<unsigned char>(c) >> 4];
  out += hex_digits[static_cast<unsigned char>(c) & 15];
}

// Returns the number of bytes of the character that begins at `at`.
std::size_t character_bytes(std::string_view text, std::size_t at) noexcept {
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string as_encoded_words(std::string_view text) {
  std::string words(word_start);
  std::size_t word_at = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    std::string encoded;
    for (const char c : text.substr(at, bytes)) {
      if (is_letter_or_digit(c)) {
        encoded += c;
      } else {
        append_escaped(encoded, c);
      }
    }
    if (words.size() - word_at + encoded.size() + word_end.size() > word_characters_max) {
      words.append(word_end).append("\r\n ");
      word_at = words.size();
      words.append(word_start);
    }
    words += encoded;
    at += bytes;
  }
  return words.append(word_end);
}

// The date format of RFC 5322 section 3.3.
std::string date_text(std::int64_t at_ms) {
  const std::time_t seconds = static_cast<std::time_t>(at_ms / 1'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &parts);
  return {text, size};
}

}  // namespace

std::optional<std::string> fault_in_letter(const Letter& letter) {
  if (identity::fault_in_email(letter.to)) return "the address is not in its form";
  if (std::any_of(letter.subject.begin(), letter.subject.end(), is_control)) {
    return "the subject has control characters";
  }
  return std::nullopt;
}

std::string as_header_text(std::string_view text) {
  const bool is_plain = text.find("=?") == text.npos && text.size() <= 200 &&
                        std::all_of(text.begin(), text.end(),
                                    [](char c) { return c >= 0x20 && c < 0x7F; });
  return is_plain ? std::string(text) : as_encoded_words(text);
}

std::string as_quoted_printable(std::string_view text) {
  std::string out;
  std::size_t line_at = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      out += "\r\n";
      line_at = out.size();
      continue;
    }
    const bool is_last = at + 1 == text.size() || text[at + 1] == '\n';
    const bool is_literal = (c > 0x20 && c < 0x7F && c != '=') || (c == ' ' && !is_last);
    if (out.size() - line_at + (is_literal ? 1 : 3) >= line_characters_max) {
      out += "=\r\n";
      line_at = out.size();
    }
    if (is_literal) {
      out += c;
    } else {
      append_escaped(out, c);
    }
  }
  return out;
}

std::string as_message(const Letter& letter, const Sender& sender, std::int64_t at_ms) {
  const std::string domain = sender.address.substr(sender.address.find('@') + 1);
  // A name that is not one atom needs quotes (RFC 5322 section 3.4) or encoded words; encoded words
  // fit every name.
  const bool is_atom = std::all_of(sender.name.begin(), sender.name.end(), is_letter_or_digit);
  const std::string name = is_atom ? sender.name : as_encoded_words(sender.name);
  return "From: " + name + " <" + sender.address + ">\r\nTo: <" + letter.to +
         ">\r\nSubject: " + as_header_text(letter.subject) + "\r\nDate: " + date_text(at_ms) +
         "\r\nMessage-ID: <" + letter.id + "@" + domain +
         ">\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
         "Content-Transfer-Encoding: quoted-printable\r\nAuto-Submitted: auto-generated\r\n\r\n" +
         as_quoted_printable(letter.text);
}

}  // namespace turnpike::mail
