#include "wire/reply_head.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "text/http_field.h"
#include "wire/grammar.h"
#include "wire/head_writer.h"

namespace turnpike::wire {
namespace {

// Status line, names of the wire's own fields, the longest reason phrase and numbers.
constexpr std::size_t fixed_reply_bytes_max = 256;

bool is_own_reply_field(std::string_view name) noexcept {
  return is_framing_field(name) || same_text(name, "date");
}

}  // namespace

std::string_view DateText::at(std::int64_t turn_ns, std::int64_t (*now_s)()) noexcept {
  const std::int64_t second = turn_ns / 1'000'000'000;
  if (second != second_) {
    second_ = second;
    const std::time_t now = now_s();
    std::tm parts{};
    gmtime_r(&now, &parts);
    static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::snprintf(text_, sizeof(text_), "%s, %02u %s %04u %02u:%02u:%02u GMT", days[parts.tm_wday],
                  static_cast<unsigned>(parts.tm_mday) % 100, months[parts.tm_mon],
                  static_cast<unsigned>(parts.tm_year + 1900) % 10'000,
                  static_cast<unsigned>(parts.tm_hour) % 100,
                  static_cast<unsigned>(parts.tm_min) % 100,
                  static_cast<unsigned>(parts.tm_sec) % 100);
  }
  return {text_, 29};
}

std::string_view reason_of(int status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 402:
      return "Payment Required";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";  // reason phrases are optional (RFC 9112 section 4)
  }
}

bool append_reply_head(std::string& out, int status, Headers headers, const ReplyFraming& framing,
                       std::string_view date) {
  if (status < 200 || status > 999) return false;
  std::size_t bytes_max = fixed_reply_bytes_max + date.size();
  for (const HeaderField& field : headers) {
    if (!text::is_field_name(field.name) || !text::is_field_value(field.value)) return false;
    bytes_max += field.name.size() + field.value.size() + 4;
  }
  HeadWriter head(out, bytes_max);
  head.put("HTTP/1.1 ").put_number(static_cast<std::uint64_t>(status)).put(" ");
  head.put(reason_of(status)).put("\r\nDate: ").put(date).put("\r\n");
  for (const HeaderField& field : headers) {
    if (!is_own_reply_field(field.name)) head.put_field(field.name, field.value);
  }
  if (framing.is_chunked) {
    head.put("Transfer-Encoding: chunked\r\n");
  } else if (framing.length) {
    head.put("Content-Length: ").put_number(*framing.length).put("\r\n");
  }
  if (framing.persistence == Persistence::close) head.put("Connection: close\r\n");
  if (framing.persistence == Persistence::keep_alive) head.put("Connection: keep-alive\r\n");
  head.put("\r\n").finish();
  return true;
}

void append_chunk_line(std::string& out, std::size_t size) {
  char line[24];
  out.append(line, std::to_chars(line, line + sizeof(line), size, 16).ptr);
  out += "\r\n";
}

}  // namespace turnpike::wire
