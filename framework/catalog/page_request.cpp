#include "catalog/page_request.h"

#include <charconv>

#include "text/canonical_json.h"

namespace turnpike::catalog {

namespace {

base::Error refuse(base::ErrorCode code, std::string message, base::FieldProblem problem) {
  base::Error error;
  error.code = code;
  error.message = std::move(message);
  error.fields.push_back(std::move(problem));
  return error;
}

// Decimal without sign or leading zero.
std::optional<std::uint32_t> read_limit(std::string_view text) noexcept {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || rest != end || text.front() == '0') return std::nullopt;
  if (value > page_limit_max) return std::nullopt;
  return value;
}

// nullopt if the text is too long or not UTF-8.
std::optional<std::string> read_search(std::string_view text) {
  if (text.size() > search_bytes_max || !text::is_utf8(text)) return std::nullopt;
  std::string words;
  std::uint32_t count = 0;
  bool is_inside = false;
  for (const char c : text) {
    const bool is_blank = c == ' ' || (c >= '\t' && c <= '\r');
    if (!is_blank && !is_inside && ++count > 1) words += ' ';
    is_inside = !is_blank;
    if (is_inside) words += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return count <= search_words_max ? std::optional(std::move(words)) : std::nullopt;
}

}  // namespace

Result<PageRequest, base::Error> read_page_request(const PageParameters& parameters) {
  PageRequest request;
  if (parameters.limit) {
    const auto limit = read_limit(*parameters.limit);
    if (!limit) {
      return refuse(base::ErrorCode::catalog_limit_invalid, "The page limit is not valid.",
                    {"query.limit", "it is not an integer from 1 to 1000",
                     "Pass limit=50, or leave it out for 50."});
    }
    request.limit = *limit;
  }
  if (parameters.provider_key) {
    request.provider_key = *parameters.provider_key;
    if (request.provider_key.empty() || request.provider_key.size() > provider_key_bytes_max) {
      return refuse(base::ErrorCode::catalog_filter_invalid, "The provider filter is not valid.",
                    {"query.provider_key", "it is empty or longer than 128 bytes",
                     "Pass a provider_key exactly as the catalog shows it, or leave it out."});
    }
  }
  if (parameters.method) {
    if (*parameters.method == "GET") request.method = Method::get;
    if (*parameters.method == "POST") request.method = Method::post;
    if (!request.method) {
      return refuse(base::ErrorCode::catalog_filter_invalid, "The method filter is not valid.",
                    {"query.method", "it is neither GET nor POST",
                     "Pass method=GET or method=POST, in capitals, or leave it out."});
    }
  }
  if (parameters.q) {
    auto search = read_search(*parameters.q);
    if (!search) {
      return refuse(base::ErrorCode::catalog_filter_invalid, "The search is not valid.",
                    {"query.q", "it has more than 200 bytes or 8 words, or is no UTF-8",
                     "Pass a few words that the path, summary or provider of a route has."});
    }
    request.search = *std::move(search);
  }
  if (parameters.cursor) {
    if (parameters.cursor->empty()) {
      return refuse(base::ErrorCode::catalog_cursor_invalid, "The cursor is empty.",
                    {"query.cursor", "it is empty",
                     "Pass next_cursor unchanged, or leave cursor out for the first page."});
    }
    request.cursor = *parameters.cursor;
  }
  return request;
}

}  // namespace turnpike::catalog
