// Writes the head of a reply: status line, fields of the wire, fields of the host. Plain functions
// over a buffer that the caller keeps; DateText belongs to one loop Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/message.h>

namespace turnpike::wire {

// The Date field's value (RFC 9110 section 5.6.7), formatted once a second.
class DateText {
 public:
  // `turn_ns`: any monotonic clock; `now_s` returns seconds since 1970 and is called when the
  // second of `turn_ns` has changed.
  std::string_view at(std::int64_t turn_ns, std::int64_t (*now_s)()) noexcept;

 private:
  std::int64_t second_ = -1;
  char text_[32] = {};
};

enum class Persistence : std::uint8_t { implied, keep_alive, close };

struct ReplyFraming {
  std::optional<std::uint64_t> length;  // nullopt with `is_chunked` false: no body by definition
  bool is_chunked = false;
  Persistence persistence = Persistence::implied;
};

std::string_view reason_of(int status) noexcept;

// 1xx, 204 and 304 have no body (RFC 9112 section 6.3).
constexpr bool has_no_body(int status) noexcept {
  return status < 200 || status == 204 || status == 304;
}

// Appends the head with its empty line. False, and nothing appended, when the status does not have
// three digits or a field is malformed (it could end the head early).
bool append_reply_head(std::string& out, int status, Headers headers, const ReplyFraming& framing,
                       std::string_view date);

// Appends the size in hex and CRLF, which begin a chunk.
void append_chunk_line(std::string& out, std::size_t size);

}  // namespace turnpike::wire
