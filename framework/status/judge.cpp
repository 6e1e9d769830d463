#include "status/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>
#include <turnpike/helpers/probe.h>

#include "crypto/digest.h"
#include "registry/policy.h"
#include "text/json_pointer.h"
#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::status {
namespace {

using registry::Expectation;
using registry::JsonKind;

Look failed(Reason reason, int status, std::string difference = {}) {
  Look look;
  look.result = LookResult::fail;
  look.reason = reason;
  look.status = static_cast<std::uint32_t>(status);
  look.difference = bounded_difference(std::move(difference));
  return look;
}

Look unknown(Reason reason, int status) {
  Look look = failed(reason, status);
  look.result = LookResult::unknown;
  return look;
}

Reason reason_of_status(int status) noexcept {
  if (is_refusal_of_ours(status)) return Reason::credential;
  return status == 429 ? Reason::rate_limited : Reason::status;
}

Look judge_failure(const Failure& failure, int status) {
  // The gateway stops, or the caller no longer waits for the look.
  if (failure.kind == FailureKind::cancelled) return unknown(Reason::stopping, status);
  return failed(reason_of(failure.kind), status);
}

bool is_type_allowed(const registry::ResponsePolicy& policy, const ReplySeen& reply) {
  if (reply.status == 204 && reply.content_types == 0) return true;
  return reply.content_types <= 1 &&
         registry::is_allowed_type(policy.allowed_content_types, reply.content_type);
}

std::string place_of(std::string_view pointer) {
  return pointer.empty() ? "the reply" : std::string(pointer);
}

// Describes the first violation of the expectation and the number of further ones; empty: none.
std::string difference_of(const Expectation& expect, std::string_view body) {
  std::string difference;
  std::size_t more = 0;
  for (const auto& [text, kind] : expect.kinds) {
    const auto pointer = text::JsonPointer::parse(text);
    const auto found = pointer ? text::text_at(body, *pointer) : std::nullopt;
    const auto is = found ? kind_of(*found) : std::nullopt;
    if (is == kind) continue;
    if (!difference.empty()) {
      ++more;
      continue;
    }
    difference = place_of(text) + " should be " + std::string(name_of(kind)) + ", is " +
                 std::string(is ? name_of(*is) : "missing");
  }
  if (more > 0) difference += ", and " + std::to_string(more) + " more";
  return difference;
}

// nullopt: the reply is fresh enough.
std::optional<Look> judge_age(const Expectation& expect, const ReplySeen& reply,
                              std::int64_t now_ms) {
  if (expect.fresh_within_seconds == 0) return std::nullopt;
  std::optional<std::int64_t> told_ms;
  if (expect.fresh_at.empty()) {
    told_ms = http_date_ms(reply.last_modified);
    if (!told_ms) return failed(Reason::contract, reply.status, "Last-Modified tells no time");
  } else {
    const auto pointer = text::JsonPointer::parse(expect.fresh_at);
    const auto text = pointer ? text::text_at(reply.body, *pointer) : std::nullopt;
    told_ms = text ? told_time_ms(*text) : std::nullopt;
    if (!told_ms) {
      return failed(Reason::contract, reply.status, expect.fresh_at + " tells no time");
    }
  }
  const std::int64_t age_ms = now_ms - *told_ms;
  if (age_ms <= std::int64_t{expect.fresh_within_seconds} * 1'000) return std::nullopt;
  return failed(Reason::freshness, reply.status);
}

Look judge_body(const Expectation& expect, const ReplySeen& reply, std::int64_t now_ms) {
  static const text::JsonPointer whole = *text::JsonPointer::parse("");
  const bool reads_json = !expect.kinds.empty() || expect.learns_shape || !expect.fresh_at.empty();
  if (reads_json && text::point(reply.body, whole) == text::Pointed::malformed) {
    return failed(Reason::contract, reply.status, "the reply is no JSON");
  }
  if (std::string difference = difference_of(expect, reply.body); !difference.empty()) {
    return failed(Reason::contract, reply.status, std::move(difference));
  }
  if (auto stale = judge_age(expect, reply, now_ms)) return *std::move(stale);
  Look look;
  look.result = LookResult::pass;
  look.status = static_cast<std::uint32_t>(reply.status);
  return look;
}

// Reads two digits at `at`; -1: there are none.
int two_digits(std::string_view text, std::size_t at) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (at + 2 > text.size() || !is_digit(text[at]) || !is_digit(text[at + 1])) return -1;
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

// Minutes east of UTC, of "Z", "+02:00" and the like.
std::optional<std::int64_t> offset_minutes(std::string_view text) noexcept {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || text[3] != ':' || (text[0] != '+' && text[0] != '-')) {
    return std::nullopt;
  }
  const int hours = two_digits(text, 1);
  const int minutes = two_digits(text, 4);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (std::int64_t{hours} * 60 + minutes);
}

std::optional<std::int64_t> rfc3339_ms(std::string_view text) {
  constexpr std::size_t whole_seconds = 19;
  if (text.size() <= whole_seconds) return std::nullopt;
  std::string seconds(text.substr(0, whole_seconds));
  if (seconds[10] == 't' || seconds[10] == ' ') seconds[10] = 'T';
  const auto base_ms = text::parse_rfc3339(seconds + "Z");
  std::string_view rest = text.substr(whole_seconds);
  if (rest.front() == '.') {
    // Fractions of a second do not matter for an age in seconds.
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    if (end == 1) return std::nullopt;
    rest.remove_prefix(end);
  }
  const auto minutes = offset_minutes(rest);
  if (!base_ms || !minutes) return std::nullopt;
  return *base_ms - *minutes * 60'000;
}

}  // namespace

bool needs_body(const Expectation& expect) noexcept { return !expect.hash.empty(); }

Look judge(const registry::ResponsePolicy& policy, const Expectation& expect,
           const ReplySeen& reply, const Done& done, bool is_late, std::int64_t now_ms) {
  const auto& successes = policy.success_statuses;
  const bool is_success =
      std::find(successes.begin(), successes.end(), reply.status) != successes.end();
  Look look;
  if (reply.status != 0 && !is_success) {
    look = failed(reason_of_status(reply.status), reply.status);
  } else if (reply.status != 0 && !is_type_allowed(policy, reply)) {
    look = failed(Reason::content_type, reply.status);
  } else if (reply.is_too_large) {
    look = failed(Reason::response_too_large, reply.status);
  } else if (reply.is_body_cut) {
    look = unknown(Reason::response_too_large, reply.status);
  } else if (!done.ok()) {
    look = judge_failure(done.error(), reply.status);
  } else if (is_late) {
    look = failed(Reason::timeout, reply.status);
  } else if (reply.status == 0) {
    look = failed(Reason::plugin_fault, 0);
  } else {
    look = judge_body(expect, reply, now_ms);
    if (!expect.hash.empty()) look.body_sha256 = crypto::sha256_hex(reply.body);
  }
  look.expect_hash = expect.hash;
  return look;
}

Look judge_probe(const Done& done, bool sent_credential) {
  if (done.ok()) {
    Look look;
    look.result = LookResult::pass;
    return look;
  }
  const int status = refused_status(done.error());
  if (status == 0) return judge_failure(done.error(), 0);
  if (is_refusal_of_ours(status) && !sent_credential) return unknown(Reason::status, status);
  return failed(reason_of_status(status), status);
}

Reason reason_of(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::timeout:
      return Reason::timeout;
    case FailureKind::transport:
      return Reason::unreachable;
    case FailureKind::contract:
      return Reason::protocol;
    case FailureKind::too_large:
      return Reason::response_too_large;
    case FailureKind::redirect:
      return Reason::status;
    case FailureKind::credential:
      return Reason::credential;
    case FailureKind::unavailable:
      return Reason::blocked;
    case FailureKind::cancelled:
      return Reason::stopping;
    case FailureKind::invalid_settings:
    case FailureKind::plugin_fault:
      break;
  }
  return Reason::plugin_fault;
}

std::optional<JsonKind> kind_of(std::string_view json) noexcept {
  if (json.empty()) return std::nullopt;
  switch (json.front()) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::string;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return JsonKind::number;
  }
}

std::string_view name_of(JsonKind kind) noexcept {
  constexpr std::string_view names[] = {"null", "boolean", "number", "string", "array", "object"};
  return names[static_cast<std::size_t>(kind)];
}

std::string bounded_difference(std::string text) {
  if (text.size() <= difference_bytes_max) return text;
  std::size_t end = difference_bytes_max - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::optional<std::int64_t> told_time_ms(std::string_view json) {
  constexpr std::size_t told_bytes_max = 64;
  if (json.size() > told_bytes_max) return std::nullopt;
  const nlohmann::json value = text::parse_json(json);
  if (value.is_string()) return rfc3339_ms(value.get_ref<const std::string&>());
  if (!value.is_number()) return std::nullopt;
  constexpr double milliseconds_from = 1e11;
  constexpr double milliseconds_max = 1e15;
  const auto number = value.get<double>();
  if (!(number >= 0) || number > milliseconds_max) return std::nullopt;
  return static_cast<std::int64_t>(
      std::floor(number >= milliseconds_from ? number : number * 1'000));
}

std::optional<std::int64_t> http_date_ms(std::string_view text) {
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) {
    return std::nullopt;
  }
  const auto month = std::find(months.begin(), months.end(), text.substr(8, 3));
  if (month == months.end()) return std::nullopt;
  const auto number = static_cast<std::size_t>(month - months.begin()) + 1;
  std::string form(text.substr(12, 4));
  form.append(number < 10 ? "-0" : "-").append(std::to_string(number)).append("-");
  form.append(text.substr(5, 2)).append("T").append(text.substr(17, 8)).append("Z");
  return text::parse_rfc3339(form);
}

}  // namespace turnpike::status
