#include "govdata/serve/query.h"

#include <algorithm>
#include <charconv>

#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t pairs_max = 4096;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view raw) {
  std::string text;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] == '+') {
      text += ' ';
    } else if (raw[at] != '%') {
      text += raw[at];
    } else {
      const int high = at + 2 < raw.size() ? hex_value(raw[at + 1]) : -1;
      const int low = at + 2 < raw.size() ? hex_value(raw[at + 2]) : -1;
      if (high < 0 || low < 0) {
        throw RouteError(400, "invalid_argument", "the query holds a broken percent escape");
      }
      text += static_cast<char>(high << 4 | low);
      at += 2;
    }
  }
  return text;
}

bool is_integer(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void check_text(const std::string& name, const std::string& value, std::size_t bytes_max) {
  if (value.empty()) throw invalid_argument(name, name + " must not be empty");
  if (value.size() > bytes_max) {
    throw invalid_argument(name, name + " is longer than " + std::to_string(bytes_max) + " bytes");
  }
  if (!is_utf8(value) || value.find('\0') != std::string::npos) {
    throw invalid_argument(name, name + " is no UTF-8 text");
  }
}

RouteError not_allowed(const std::string& name, const std::vector<std::string_view>& allowed) {
  std::string expected;
  for (const auto& one : allowed) expected += (expected.empty() ? "" : ", ") + std::string(one);
  return invalid_argument(name, name + " takes " + expected);
}

}  // namespace

RouteError invalid_argument(const std::string& parameter, const std::string& message) {
  return {400, "invalid_argument", message, {{"parameter", parameter}}};
}

Query::Query(std::string_view raw) {
  while (!raw.empty() && pairs_.size() < pairs_max) {
    const std::size_t end = std::min(raw.find('&'), raw.size());
    const std::string_view pair = raw.substr(0, end);
    raw.remove_prefix(std::min(end + 1, raw.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    pairs_.emplace_back(decoded(pair.substr(0, equals)),
                        decoded(pair.substr(std::min(equals + 1, pair.size()))));
  }
}

std::vector<std::string> Query::values_of(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [known, value] : pairs_) {
    if (known == name) values.push_back(value);
  }
  return values;
}

std::optional<std::string> Query::scalar(std::string_view name) const {
  const auto values = values_of(name);
  if (values.empty()) return std::nullopt;
  for (const std::string& value : values) {
    if (value != values[0]) {
      throw invalid_argument(std::string(name), std::string(name) + " has two different values");
    }
  }
  return values[0];
}

std::optional<std::string> Query::text(std::string_view name, std::size_t bytes_max) {
  auto value = scalar(name);
  if (!value) return std::nullopt;
  check_text(std::string(name), *value, bytes_max);
  echo(name, *value);
  return value;
}

std::int64_t Query::integer(std::string_view name, std::int64_t fallback, std::int64_t minimum,
                            std::int64_t maximum) {
  const auto value = scalar(name);
  std::int64_t number = fallback;
  if (value) {
    if (!is_integer(*value)) {
      throw invalid_argument(std::string(name), std::string(name) + " must be an integer from " +
                                                    std::to_string(minimum) + " to " +
                                                    std::to_string(maximum));
    }
    const auto parsed = std::from_chars(value->data(), value->data() + value->size(), number);
    const bool too_long = parsed.ec == std::errc::result_out_of_range;
    if (too_long) number = value->front() == '-' ? minimum : maximum;
    const std::int64_t within = std::clamp(number, minimum, maximum);
    if (too_long || within != number) clamped_.emplace_back(name);
    number = within;
  }
  echo(name, number);
  return number;
}

bool Query::boolean(std::string_view name, bool fallback) {
  const auto value = scalar(name);
  bool flag = fallback;
  if (value) {
    flag = *value == "true" || *value == "1";
    if (!flag && *value != "false" && *value != "0") {
      throw invalid_argument(std::string(name), std::string(name) + " must be true or false");
    }
  }
  echo(name, flag);
  return flag;
}

std::vector<std::string> Query::choices(std::string_view name,
                                        const std::vector<std::string_view>& allowed) {
  std::vector<std::string> chosen;
  const auto values = values_of(name);
  for (std::string_view list : values) {
    while (true) {
      const std::size_t end = std::min(list.find(','), list.size());
      const std::string_view item = trimmed(list.substr(0, end));
      if (std::find(allowed.begin(), allowed.end(), item) == allowed.end()) {
        throw not_allowed(std::string(name), allowed);
      }
      chosen.emplace_back(item);
      if (end == list.size()) break;
      list.remove_prefix(end + 1);
    }
  }
  std::vector<std::string> ordered;
  for (const std::string_view one : allowed) {
    const bool wanted =
        values.empty() || std::find(chosen.begin(), chosen.end(), one) != chosen.end();
    if (wanted) ordered.emplace_back(one);
  }
  echo(name, ordered);
  return ordered;
}

std::string Query::choice(std::string_view name, const std::vector<std::string_view>& allowed,
                          std::string_view fallback) {
  const std::string value = scalar(name).value_or(std::string(fallback));
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    throw not_allowed(std::string(name), allowed);
  }
  echo(name, value);
  return value;
}

void Query::clamp(std::string_view name, std::int64_t value) {
  if (std::find(clamped_.begin(), clamped_.end(), name) == clamped_.end()) {
    clamped_.emplace_back(name);
  }
  echo(name, value);
}

std::string Query::path_value(std::string_view name, std::string_view value,
                              std::size_t bytes_max) {
  std::string text_value(value);
  check_text(std::string(name), text_value, bytes_max);
  echo(name, text_value);
  return text_value;
}

}  // namespace turnpike::govdata
