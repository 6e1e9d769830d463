// The caller's parameters: a raw query decoded by the routes' common rules, every value checked,
// the effective ones echoed. What is wrong is thrown as RouteError, which Service turns into the
// reply. One Query per call; one Thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace turnpike::govdata {

using Json = nlohmann::ordered_json;

class RouteError : public std::runtime_error {
 public:
  RouteError(int status, std::string code, const std::string& message, Json details = nullptr)
      : std::runtime_error(message),
        status_(status),
        code_(std::move(code)),
        details_(std::move(details)) {}
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  [[nodiscard]] const Json& details() const noexcept { return details_; }

 private:
  int status_;
  std::string code_;
  Json details_;
};

RouteError invalid_argument(const std::string& parameter, const std::string& message);

class Query {
 public:
  // `raw` without '?'. `+` and `%20` are blanks. Pairs beyond the 4,096th are not looked at.
  explicit Query(std::string_view raw);

  // Each reader also writes the effective value into the echo. An empty value is an error.
  std::optional<std::string> text(std::string_view name, std::size_t bytes_max);
  // Out-of-range integers are clamped and their names kept.
  std::int64_t integer(std::string_view name, std::int64_t fallback, std::int64_t minimum,
                       std::int64_t maximum);
  bool boolean(std::string_view name, bool fallback);
  // Comma lists, repeated names joined; the chosen values in the order of `allowed`. All of them
  // when the name is absent.
  std::vector<std::string> choices(std::string_view name,
                                   const std::vector<std::string_view>& allowed);

  // The one value, checked against `allowed`.
  std::string choice(std::string_view name, const std::vector<std::string_view>& allowed,
                     std::string_view fallback);
  [[nodiscard]] bool has(std::string_view name) const { return !values_of(name).empty(); }
  // The effective value is not what the caller asked for.
  void clamp(std::string_view name, std::int64_t value);

  // A value of the path, checked like text().
  std::string path_value(std::string_view name, std::string_view decoded, std::size_t bytes_max);
  void echo(std::string_view name, Json value) { params_[std::string(name)] = std::move(value); }
  [[nodiscard]] const Json& params() const { return params_; }
  [[nodiscard]] const std::vector<std::string>& clamped() const { return clamped_; }

 private:
  std::vector<std::string> values_of(std::string_view name) const;
  std::optional<std::string> scalar(std::string_view name) const;

  std::vector<std::pair<std::string, std::string>> pairs_;
  Json params_ = Json::object();
  std::vector<std::string> clamped_;
};

}  // namespace turnpike::govdata
