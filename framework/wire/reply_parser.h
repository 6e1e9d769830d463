// ReplyParser: parses one HTTP/1.1 reply of an upstream into views, with the same library as
// RequestParser and as strictly: repeated lengths, unknown transfer codings and folded lines are
// contract failures, and so is a body that ends only by closing the connection.
//
// Owned by the call that reads the reply; a new one for each reply. One Thread at a time.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

#include <turnpike/host.h>

#include "wire/request_parser.h"

namespace turnpike::wire {

class ReplyParser final : private boost::beast::http::basic_parser<false> {
 public:
  ReplyParser(std::uint32_t header_bytes_max, std::vector<HeaderField>& fields);
  ~ReplyParser() = default;

  // Works like RequestParser::parse_head(). An interim reply (1xx) is complete with its head.
  ParseStep parse_head(const char* data, std::size_t size);
  // Valid after `refused`; a literal.
  [[nodiscard]] const char* problem() const noexcept { return problem_; }
  [[nodiscard]] bool is_too_large() const noexcept { return is_too_large_; }

  // Valid after `complete`.
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] std::size_t head_bytes() const noexcept { return parsed_; }
  [[nodiscard]] bool is_chunked() const { return is_chunked_; }
  [[nodiscard]] std::uint64_t body_length() const noexcept { return body_length_; }
  [[nodiscard]] bool keeps_alive() const { return keep_alive(); }

  // Decodes a chunked body: passes the content in `bytes` to the sink and sets `taken` to the
  // number of bytes used. Refused when the content exceeds `content_max` (is_too_large()), is
  // malformed or is mostly framing (limits::chunked_bytes_max); also when the sink stops
  // (is_stopped()).
  ParseStep parse_chunks(std::string_view bytes, std::size_t& taken, HttpSink& sink,
                         std::uint64_t content_max);
  [[nodiscard]] bool is_stopped() const noexcept { return is_stopped_; }

 private:
  using Beast = boost::beast::http::basic_parser<false>;
  using Text = boost::beast::string_view;
  using BeastError = boost::beast::error_code;

  void on_request_impl(boost::beast::http::verb, Text, Text, int, BeastError&) override {}
  void on_response_impl(int status, Text reason, int version, BeastError& error) override;
  void on_field_impl(boost::beast::http::field known, Text name, Text value,
                     BeastError& error) override;
  void on_header_impl(BeastError& error) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>&, BeastError&) override {}
  std::size_t on_body_impl(Text body, BeastError&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, Text, BeastError&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t remaining, Text body, BeastError& error) override;
  void on_finish_impl(BeastError&) override {}

  void refuse(const char* problem, BeastError& error) noexcept;
  ParseStep refused(const BeastError& error) noexcept;
  void follow(const char* data) noexcept;

  const std::uint32_t header_bytes_max_;
  std::vector<HeaderField>& fields_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t parsed_ = 0;
  int status_ = 0;
  bool is_http10_ = false;
  bool has_length_ = false;
  bool has_coding_ = false;
  bool is_chunked_ = false;
  bool is_head_complete_ = false;
  bool is_too_large_ = false;
  bool is_stopped_ = false;
  std::uint64_t body_length_ = 0;
  const char* problem_ = nullptr;
  HttpSink* sink_ = nullptr;
  std::uint64_t content_bytes_ = 0;
  std::uint64_t content_max_ = 0;
  std::uint64_t chunked_bytes_ = 0;  // consumed bytes of the body, including framing
};

}  // namespace turnpike::wire
