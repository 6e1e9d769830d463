// Result<T, E>: a value or the reason why there is none. Turnpike reports errors as values;
// exceptions occur only at start-up and in code that wraps a library.
//
// Failure is the error that a plugin reports: a kind of a closed set, a text for the operator
// (never shown to a caller, so it may name upstream hosts, but never secrets), and whether the
// upstream may already have acted. Value types, no sharing; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace turnpike {

enum class FailureKind : std::uint8_t {
  invalid_settings,  // bind: the YAML settings are wrong; `where` names the key
  timeout,           // the deadline passed before the upstream was done
  transport,         // no connection, broken connection, name resolution, TLS
  contract,          // the upstream's answer breaks its protocol
  too_large,         // the reply is larger than the limit in the request
  redirect,          // the upstream redirected; redirects are never followed
  credential,        // the gateway's credential for the upstream is missing or was refused
  unavailable,       // the provider cannot work now (its store is closed, its breaker is open)
  cancelled,         // the caller is gone or the gateway stops
  plugin_fault,      // the plugin threw or broke the interface; set by the guard, not by authors
};

struct Failure {
  FailureKind kind = FailureKind::unavailable;
  std::string message;
  std::string where;        // invalid_settings: path of the setting, such as "base_url"
  bool maybe_sent = false;  // true: the upstream may have seen the request; a retry may act twice
};

struct Unit {};

template <class T, class E = Failure>
class [[nodiscard]] Result {
 public:
  using Value = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: by intention
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: by intention

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // REQUIRES: ok().
  [[nodiscard]] T& value() & { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& value() const& { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  // REQUIRES: !ok().
  [[nodiscard]] E& error() & { return *std::get_if<1>(&state_); }
  [[nodiscard]] const E& error() const& { return *std::get_if<1>(&state_); }
  [[nodiscard]] E&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, E> state_;
};

// The result of an operation that may fail and has no value.
using Done = Result<Unit>;

}  // namespace turnpike
