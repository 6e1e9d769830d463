#include "wire/request_parser.h"

#include <boost/beast/http/error.hpp>
#include <cstring>

#include "base/limits.h"
#include "wire/beast_text.h"
#include "wire/grammar.h"

namespace turnpike::wire {
namespace {

namespace http = boost::beast::http;
using base::ErrorCode;

constexpr std::size_t method_bytes_max = 32;
// Maximum of the other parts of an absolute-form target than path and query.
constexpr std::size_t authority_bytes_max = 8 + 255 + 6;

// " HTTP/1.1\r\n"
constexpr std::size_t version_bytes = 11;

// True if the request line ends in a well-formed but unsupported version.
bool names_another_version(std::string_view bytes) noexcept {
  const std::string_view line = bytes.substr(0, bytes.find('\r') + 1);
  const std::size_t at = line.find(" HTTP/");
  if (at == std::string_view::npos) return false;
  const std::string_view version = line.substr(at + 6);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (version.size() < 2 || !is_digit(version[0])) return false;
  if (version[1] == '\r') return version[0] != '1';
  return version.size() >= 4 && version[1] == '.' && is_digit(version[2]) && version[3] == '\r' &&
         !(version[0] == '1' && version[2] <= '1');
}

const char* problem_of(const boost::beast::error_code& error) noexcept {
  if (error == http::error::bad_method) return "The method is not a token.";
  if (error == http::error::bad_target) return "The request target holds a byte it must not.";
  if (error == http::error::bad_version) return "The request line does not end in HTTP/1.1.";
  if (error == http::error::bad_content_length) return "Content-Length is not one plain number.";
  if (error == http::error::multiple_content_length) return "Content-Length is given twice.";
  if (error == http::error::bad_transfer_encoding) {
    return "Transfer-Encoding is given twice, or together with Content-Length.";
  }
  if (error == http::error::bad_field) return "A header name is malformed.";
  if (error == http::error::bad_value) return "A header value is malformed.";
  if (error == http::error::bad_line_ending) return "A line does not end in CRLF.";
  if (error == http::error::bad_chunk) return "A chunk of the body is malformed.";
  if (error == http::error::bad_chunk_extension) return "A chunk extension is malformed.";
  return "The request is malformed.";
}

}  // namespace

RequestParser::RequestParser(const HeadBounds& bounds, std::vector<HeaderField>& fields)
    : bounds_(bounds), fields_(fields) {
  fields_.clear();
  header_limit(static_cast<std::uint32_t>(head_bytes_max(bounds) + 1));
  body_limit(boost::none);
}

std::size_t RequestParser::head_bytes_max(const HeadBounds& bounds) noexcept {
  return method_bytes_max + authority_bytes_max + bounds.path_bytes_max + bounds.query_bytes_max +
         bounds.header_bytes_max + 64;
}

void RequestParser::refuse(ErrorCode code, const char* problem, BeastError& error) noexcept {
  is_refused_ = true;
  refusal_ = {code, problem};
  error = http::error::bad_field;
}

// The buffer may have been reallocated: all views move with it.
void RequestParser::follow(const char* data) noexcept {
  if (data_ == data) return;
  if (data_ != nullptr) {
    const auto moved = [this, data](std::string_view text) -> std::string_view {
      if (text.data() < data_ || text.data() > data_ + size_) return text;  // a literal
      return {data + (text.data() - data_), text.size()};
    };
    method_ = moved(method_);
    target_.authority = moved(target_.authority);
    target_.path = moved(target_.path);
    target_.query = moved(target_.query);
    for (HeaderField& field : fields_) field = {moved(field.name), moved(field.value)};
  }
  data_ = data;
}

ParseStep RequestParser::parse_head(const char* data, std::size_t size) {
  follow(data);
  size_ = size;
  // One empty line before the request line is ignored (RFC 9112 section 2.2).
  if (parsed_ == 0 && size > 0 && data[0] == '\r') {
    if (size < 2) return ParseStep::need_more;
    if (data[1] == '\n') parsed_ = 2;
  }
  if (size == parsed_) return ParseStep::need_more;
  BeastError error;
  parsed_ += put({data + parsed_, size - parsed_}, error);
  const bool is_unfinished = error == http::error::need_more || (!error && !is_head_complete_);
  // A request line over Beast's single limit exceeds one of ours, and the error must name that one.
  const bool is_long_line = error == http::error::header_limit && line_end_ == 0;
  if (is_unfinished || is_long_line) return unfinished(size);
  if (error) return refused(error);
  if (parsed_ - line_end_ > bounds_.header_bytes_max) {
    refuse(ErrorCode::request_headers_too_large, "The header fields are too long.", error);
    return ParseStep::refused;
  }
  return ParseStep::complete;
}

ParseStep RequestParser::refused(const BeastError& error) noexcept {
  if (is_refused_) return ParseStep::refused;
  is_refused_ = true;
  refusal_ = {ErrorCode::request_malformed, problem_of(error)};
  if (error == http::error::bad_content_length && has_coding_) {
    refusal_.problem = "Content-Length stands beside Transfer-Encoding.";  // whatever its value
  } else if (error == http::error::header_limit) {
    refusal_ = {ErrorCode::request_headers_too_large, "The header fields are too long."};
  } else if (error == http::error::bad_version &&
             names_another_version({data_ + parsed_, size_ - parsed_})) {
    refusal_ = {ErrorCode::request_version_unsupported, "Only HTTP/1.1 and HTTP/1.0 are spoken."};
  }
  return ParseStep::refused;
}

// Checks the bounds that an incomplete head has already exceeded.
ParseStep RequestParser::unfinished(std::size_t size) noexcept {
  BeastError error;
  if (line_end_ != 0) {
    if (size - line_end_ < bounds_.header_bytes_max) return ParseStep::need_more;
    refuse(ErrorCode::request_headers_too_large, "The header fields are too long.", error);
    return ParseStep::refused;
  }
  const std::string_view line(data_ + parsed_, size - parsed_);
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos) {
    if (line.size() <= method_bytes_max) return ParseStep::need_more;
    refuse(ErrorCode::request_malformed, "The method is too long.", error);
    return ParseStep::refused;
  }
  const std::string_view target = line.substr(blank + 1);
  const std::size_t mark = std::min(target.find('?'), target.size());
  if (mark > authority_bytes_max + bounds_.path_bytes_max + version_bytes) {
    refuse(ErrorCode::request_target_too_long, "The path is too long.", error);
    return ParseStep::refused;
  }
  if (target.size() - mark > bounds_.query_bytes_max + 1 + version_bytes) {
    refuse(ErrorCode::request_query_too_long, "The query is too long.", error);
    return ParseStep::refused;
  }
  return ParseStep::need_more;
}

void RequestParser::on_request_impl(http::verb, Text method, Text target, int version,
                                    BeastError& error) {
  method_ = view(method);
  version_minor_ = version - 10;
  const std::string_view text = view(target);
  line_end_ = static_cast<std::size_t>(text.data() + text.size() - data_) + version_bytes;
  if (method_.size() > method_bytes_max) {
    return refuse(ErrorCode::request_malformed, "The method is too long.", error);
  }
  const std::optional<Target> split = split_target(text);
  if (!split) {
    return refuse(ErrorCode::request_malformed, "The request target is in no known form.", error);
  }
  target_ = *split;
  check_target(error);
}

void RequestParser::check_target(BeastError& error) noexcept {
  if (target_.form == TargetForm::authority) {
    return refuse(ErrorCode::request_malformed, "This is no proxy: CONNECT is not spoken.", error);
  }
  if (target_.form == TargetForm::asterisk && method_ != "OPTIONS") {
    return refuse(ErrorCode::request_malformed, "The target '*' belongs to OPTIONS.", error);
  }
  if (target_.path.size() > bounds_.path_bytes_max) {
    return refuse(ErrorCode::request_target_too_long, "The path is too long.", error);
  }
  if (target_.query.size() > bounds_.query_bytes_max) {
    return refuse(ErrorCode::request_query_too_long, "The query is too long.", error);
  }
}

void RequestParser::on_field_impl(http::field known, Text field_name, Text field_value,
                                  BeastError& error) {
  if (is_head_complete_) return;  // a trailer: dropped
  const std::string_view name = view(field_name);
  const std::string_view value = view(field_value);
  // A folded value is in Beast's own buffer, or after a line break (RFC 9112 section 5.2).
  const char* const after_colon = name.data() + name.size() + 1;
  if (value.data() < after_colon || value.data() > data_ + size_ ||
      std::memchr(after_colon, '\r', static_cast<std::size_t>(value.data() - after_colon))) {
    return refuse(ErrorCode::request_malformed, "A header is folded over lines.", error);
  }
  if (fields_.size() >= bounds_.header_fields_max) {
    return refuse(ErrorCode::request_headers_too_large, "There are too many header fields.", error);
  }
  fields_.push_back({name, value});
  switch (known) {
    case http::field::host:
      if (++hosts_ > 1 || !is_valid_authority(value)) {
        refuse(ErrorCode::request_malformed, "Host is malformed or given twice.", error);
      }
      break;
    case http::field::content_length:
      // Equal repetitions are refused too: two readers may disagree on which one counts.
      if (has_length_ || value.find(',') != std::string_view::npos) {
        refuse(ErrorCode::request_malformed, "Content-Length is given twice.", error);
      }
      has_length_ = true;
      break;
    case http::field::transfer_encoding:
      check_transfer_coding(value, error);
      break;
    case http::field::expect:
      expects_continue_ = version_minor_ == 1 && same_text(value, "100-continue");
      break;
    default:
      break;
  }
}

void RequestParser::check_transfer_coding(std::string_view value, BeastError& error) noexcept {
  if (version_minor_ == 0) {
    return refuse(ErrorCode::request_malformed, "HTTP/1.0 has no Transfer-Encoding.", error);
  }
  if (has_length_ || has_coding_) {
    return refuse(ErrorCode::request_malformed,
                  "Transfer-Encoding is given twice, or together with Content-Length.", error);
  }
  has_coding_ = true;
  const Coding coding = judge_transfer_coding(value);
  if (coding == Coding::unknown) {
    refuse(ErrorCode::request_coding_unsupported, "The only transfer coding known is chunked.",
           error);
  } else if (coding == Coding::malformed) {
    refuse(ErrorCode::request_malformed, "Transfer-Encoding is malformed.", error);
  }
}

void RequestParser::on_header_impl(BeastError& error) {
  is_head_complete_ = true;
  if (hosts_ == 0 && version_minor_ == 1) {
    return refuse(ErrorCode::request_malformed, "Host is missing.", error);
  }
  if (has_length_ && has_coding_) {
    return refuse(ErrorCode::request_malformed, "Content-Length stands beside Transfer-Encoding.",
                  error);
  }
  const bool needs_length = method_ == "POST" || method_ == "PUT" || method_ == "PATCH";
  if (needs_length && !has_length_ && !has_coding_) {
    refuse(ErrorCode::request_length_required, "Say the length: Content-Length is missing.", error);
  }
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t, Text body, BeastError& error) {
  content_bytes_ += body.size();
  if (content_bytes_ > content_max_) {
    refuse(ErrorCode::request_body_too_large, "The body is too large.", error);
    return 0;
  }
  if (content_ != nullptr) content_->append(body.data(), body.size());
  return body.size();
}

ParseStep RequestParser::parse_chunks(std::string_view bytes, std::size_t& taken,
                                      std::string* content, std::uint64_t content_max) {
  content_ = content;
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
    refuse(ErrorCode::request_malformed, "The chunks of the body are mostly framing.", error);
    return ParseStep::refused;
  }
  if (is_done()) return ParseStep::complete;
  if (bytes.size() - taken <= chunk_line_bytes_max) return ParseStep::need_more;
  BeastError error;
  refuse(ErrorCode::request_malformed, "A chunk line or the trailers are too long.", error);
  return ParseStep::refused;
}

}  // namespace turnpike::wire
