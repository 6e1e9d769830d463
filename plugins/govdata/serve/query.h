// Query: the caller's parameters. It decodes a raw query by the routes' common rules, checks every
// value and collects the effective values for the echo in the reply. Errors are thrown as
// RouteError, from which Service makes the reply. One Query per call; one Thread.
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
  // `raw` has no '?'. `+` and `%20` mean blanks. Pairs after the 4,096th are ignored.
  explicit Query(std::string_view raw);

  // Each reader also adds the effective value to the echo. An empty text is an error.
  std::optional<std::string> text(std::string_view name, std::size_t bytes_max);
  // An integer out of range is clamped, and its name added to clamped().
  std::int64_t integer(std::string_view name, std::int64_t fallback, std::int64_t minimum,
                       std::int64_t maximum);
  bool boolean(std::string_view name, bool fallback);
  // The chosen values in the order of `allowed`, from comma-separated lists; repeated parameters
  // are joined. All values if the parameter is absent.
  std::vector<std::string> choices(std::string_view name,
                                   const std::vector<std::string_view>& allowed);

  // A single value, which must be in `allowed`.
  std::string choice(std::string_view name, const std::vector<std::string_view>& allowed,
                     std::string_view fallback);
  [[nodiscard]] bool has(std::string_view name) const { return !values_of(name).empty(); }
  // Records that the effective value of a parameter differs from the requested one.
  void clamp(std::string_view name, std::int64_t value);

  // A value from the path, checked like text().
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
