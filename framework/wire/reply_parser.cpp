#include "wire/reply_parser.h"

#include <boost/beast/http/error.hpp>
#include <cstring>

#include "base/limits.h"
#include "wire/beast_text.h"
#include "wire/grammar.h"
#include "wire/reply_head.h"

namespace turnpike::wire {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t header_fields_max = 256;

}  // namespace

ReplyParser::ReplyParser(std::uint32_t header_bytes_max, std::vector<HeaderField>& fields)
    : header_bytes_max_(header_bytes_max), fields_(fields) {
  fields_.clear();
  header_limit(header_bytes_max + 1);
  body_limit(boost::none);
}

void ReplyParser::refuse(const char* problem, BeastError& error) noexcept {
  problem_ = problem;
  error = http::error::bad_field;
}

void ReplyParser::follow(const char* data) noexcept {
  if (data_ == data) return;
  if (data_ != nullptr) {
    const auto moved = [this, data](std::string_view text) -> std::string_view {
      return {data + (text.data() - data_), text.size()};
    };
    for (HeaderField& field : fields_) field = {moved(field.name), moved(field.value)};
  }
  data_ = data;
}

ParseStep ReplyParser::parse_head(const char* data, std::size_t size) {
  follow(data);
  size_ = size;
  if (size == parsed_) return ParseStep::need_more;
  BeastError error;
  parsed_ += put({data + parsed_, size - parsed_}, error);
  const bool is_unfinished = error == http::error::need_more || (!error && !is_head_complete_);
  if ((is_unfinished && size >= header_bytes_max_) || parsed_ > header_bytes_max_) {
    refuse("the head of the reply is too long", error);
    return ParseStep::refused;
  }
  if (is_unfinished) return ParseStep::need_more;
  return error ? refused(error) : ParseStep::complete;
}

ParseStep ReplyParser::refused(const BeastError& error) noexcept {
  if (problem_ == nullptr) {
    const bool is_framing = error == http::error::bad_content_length ||
                            error == http::error::multiple_content_length ||
                            error == http::error::bad_transfer_encoding;
    const bool is_chunk =
        error == http::error::bad_chunk || error == http::error::bad_chunk_extension;
    problem_ = is_framing                           ? "the reply's length is ambiguous"
               : is_chunk                           ? "a chunk of the reply is malformed"
               : error == http::error::header_limit ? "the head of the reply is too long"
                                                    : "the reply is not HTTP/1.1";
  }
  return ParseStep::refused;
}

void ReplyParser::on_response_impl(int status, Text, int version, BeastError& error) {
  status_ = status;
  is_http10_ = version == 10;
  if (status < 100 || status > 599) refuse("the reply's status is not one of HTTP", error);
}

void ReplyParser::on_field_impl(http::field known, Text field_name, Text field_value,
                                BeastError& error) {
  if (is_head_complete_) return;  // a trailer: dropped
  const std::string_view name = view(field_name);
  const std::string_view value = view(field_value);
  const char* const after_colon = name.data() + name.size() + 1;
  if (value.data() < after_colon || value.data() > data_ + size_ ||
      std::memchr(after_colon, '\r', static_cast<std::size_t>(value.data() - after_colon))) {
    return refuse("a header of the reply is folded over lines", error);
  }
  if (fields_.size() >= header_fields_max) {
    return refuse("the reply has too many header fields", error);
  }
  fields_.push_back({name, value});
  if (known == http::field::content_length) {
    if (has_length_ || has_coding_ || value.find(',') != std::string_view::npos) {
      return refuse("the reply's length is ambiguous", error);
    }
    has_length_ = true;
  }
  if (known == http::field::transfer_encoding) {
    if (has_length_ || has_coding_ || is_http10_ ||
        judge_transfer_coding(value) != Coding::chunked) {
      return refuse("the reply's transfer coding is not understood", error);
    }
    has_coding_ = true;
  }
}

void ReplyParser::on_header_impl(BeastError& error) {
  is_head_complete_ = true;
  if (has_no_body(status_)) return;
  if (!has_length_ && !has_coding_) {
    return refuse("the reply's end cannot be told: it has neither length nor chunks", error);
  }
  is_chunked_ = has_coding_;
  if (has_length_) body_length_ = *content_length();
}

std::size_t ReplyParser::on_chunk_body_impl(std::uint64_t, Text body, BeastError& error) {
  content_bytes_ += body.size();
  if (content_bytes_ > content_max_) {
    is_too_large_ = true;
    refuse("the reply is too large", error);
    return 0;
  }
  if (!body.empty() && !sink_->body(view(body))) {
    is_stopped_ = true;
    refuse("the receiver stopped the transfer", error);
    return 0;
  }
  return body.size();
}

ParseStep ReplyParser::parse_chunks(std::string_view bytes, std::size_t& taken, HttpSink& sink,
                                    std::uint64_t content_max) {
  sink_ = &sink;
  content_max_ = content_max;
  taken = 0;
  eager(true);
  while (bytes.size() - taken >= chunked_rest_bytes_min && !is_done()) {
    BeastError error;
    taken += put({bytes.data() + taken, bytes.size() - taken}, error);
    if (error == http::error::need_more) break;
    if (error) return refused(error);
  }
  chunked_bytes_ += taken;
  if (chunked_bytes_ > base::limits::chunked_bytes_max(content_max)) {
    BeastError error;
    refuse("the chunks of the reply are mostly framing", error);
    return ParseStep::refused;
  }
  if (is_done()) return ParseStep::complete;
  if (bytes.size() - taken <= RequestParser::chunk_line_bytes_max) return ParseStep::need_more;
  BeastError error;
  refuse("a chunk line or the trailers of the reply are too long", error);
  return ParseStep::refused;
}

}  // namespace turnpike::wire
