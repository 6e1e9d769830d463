// RequestParser: parses one HTTP/1.1 request into views (RFC 9112). Chosen library: the sans-I/O
// parser of Boost.Beast; it does no input or output, copies nothing and refuses Content-Length
// together with Transfer-Encoding, differing lengths, signed lengths, bare LF and a blank before
// the colon. This class additionally refuses: a final transfer coding other than chunked, repeated
// lengths, folded lines, HTTP/1.0 with a transfer coding, requests without exactly one Host.
//
// Owned by the session that reads the request; a new one for each request. One Thread at a time.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>

#include "base/error.h"
#include "wire/target.h"

namespace turnpike::wire {

struct HeadBounds {
  std::uint32_t path_bytes_max;
  std::uint32_t query_bytes_max;
  std::uint32_t header_bytes_max;  // all lines after the request line, including the empty one
  std::uint32_t header_fields_max;
};

// An unfinished chunked body has at least "0 CRLF CRLF" left. Beast asserts this when it examines a
// last chunk for the second time, so it is not called with fewer bytes.
inline constexpr std::size_t chunked_rest_bytes_min = 5;

enum class ParseStep : std::uint8_t { need_more, complete, refused };

// Why a message is refused; `problem` is a literal.
struct Refusal {
  base::ErrorCode code = base::ErrorCode::request_malformed;
  const char* problem = "";
};

class RequestParser final : private boost::beast::http::basic_parser<true> {
 public:
  // `fields` is emptied and then filled; it must outlive the parser.
  RequestParser(const HeadBounds& bounds, std::vector<HeaderField>& fields);
  ~RequestParser() = default;

  // `data` is everything since the first byte of the request. If it has moved since the last call,
  // the views move with it. Not to be called again after `complete`.
  ParseStep parse_head(const char* data, std::size_t size);
  [[nodiscard]] const Refusal& refusal() const noexcept { return refusal_; }

  // The maximum size of a head within the bounds, rounded up a little.
  static std::size_t head_bytes_max(const HeadBounds& bounds) noexcept;

  // Valid after `complete`; after `refused`, the parts read by then.
  [[nodiscard]] std::string_view method() const noexcept { return method_; }
  [[nodiscard]] const Target& target() const noexcept { return target_; }
  [[nodiscard]] int version_minor() const noexcept { return version_minor_; }
  [[nodiscard]] std::size_t head_bytes() const noexcept { return parsed_; }

  // Valid after `complete`.
  [[nodiscard]] bool is_chunked() const { return chunked(); }
  [[nodiscard]] std::uint64_t body_length() const {
    const auto length = content_length();
    return length ? *length : 0;
  }
  [[nodiscard]] bool expects_continue() const noexcept { return expects_continue_; }
  [[nodiscard]] bool keeps_alive() const { return keep_alive(); }

  // Decodes a chunked body: consumes as much of `bytes` as possible, sets `taken` to that number,
  // and appends the content to `content` (null: dropped). Refused when the content exceeds
  // `content_max`, when one chunk line or the trailers exceed `chunk_line_bytes_max`, or when all
  // of them make the body longer than limits::chunked_bytes_max.
  ParseStep parse_chunks(std::string_view bytes, std::size_t& taken, std::string* content,
                         std::uint64_t content_max);
  static constexpr std::size_t chunk_line_bytes_max = 8 * 1024;

 private:
  using Beast = boost::beast::http::basic_parser<true>;
  using Text = boost::beast::string_view;
  using BeastError = boost::beast::error_code;

  void on_request_impl(boost::beast::http::verb verb, Text method, Text target, int version,
                       BeastError& error) override;
  void on_response_impl(int, Text, int, BeastError&) override {}
  void on_field_impl(boost::beast::http::field known, Text name, Text value,
                     BeastError& error) override;
  void on_header_impl(BeastError& error) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>&, BeastError&) override {}
  std::size_t on_body_impl(Text body, BeastError&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, Text, BeastError&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t remaining, Text body, BeastError& error) override;
  void on_finish_impl(BeastError&) override {}

  void refuse(base::ErrorCode code, const char* problem, BeastError& error) noexcept;
  ParseStep refused(const BeastError& error) noexcept;
  ParseStep unfinished(std::size_t size) noexcept;
  void check_target(BeastError& error) noexcept;
  void check_transfer_coding(std::string_view value, BeastError& error) noexcept;
  void follow(const char* data) noexcept;

  const HeadBounds& bounds_;
  std::vector<HeaderField>& fields_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t parsed_ = 0;
  std::size_t line_end_ = 0;  // 0: the request line is not complete yet
  std::string_view method_;
  Target target_;
  int version_minor_ = 1;
  int hosts_ = 0;
  bool has_length_ = false;
  bool has_coding_ = false;
  bool expects_continue_ = false;
  bool is_head_complete_ = false;
  bool is_refused_ = false;
  Refusal refusal_;
  std::string* content_ = nullptr;
  std::uint64_t content_bytes_ = 0;
  std::uint64_t content_max_ = 0;
  std::uint64_t chunked_bytes_ = 0;  // consumed bytes of the body, including framing
};

}  // namespace turnpike::wire
