#include "exchange/delivery.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/limits.h"
#include "exchange/ascii.h"
#include "exchange/connection_options.h"
#include "exchange/microseconds.h"
#include "registry/policy.h"

namespace turnpike::exchange {
namespace {

using base::ErrorCode;
namespace limits = base::limits;

constexpr std::uint32_t retry_after_seconds_max = 3600;

constexpr std::string_view broken_reply =
    "The provider's reply could not be used; nothing was charged.";

std::string too_large(std::uint64_t bytes_max) {
  return "The provider's reply is longer than the " + std::to_string(bytes_max) +
         " bytes that this call may bring; nothing was charged. Ask for less.";
}

bool is_passed_status(int status) noexcept {
  return status == 400 || status == 404 || status == 409 || status == 410 || status == 422;
}

const HeaderField* find_header(Headers headers, std::string_view lower_name) noexcept {
  const auto field = std::find_if(headers.begin(), headers.end(), [&](const HeaderField& other) {
    return equals_ignoring_case(other.name, lower_name);
  });
  return field == headers.end() ? nullptr : &*field;
}

// Retry-After in seconds, at most an hour; 0 when absent or a date.
std::uint32_t retry_after_of(Headers headers) noexcept {
  const HeaderField* field = find_header(headers, "retry-after");
  if (field == nullptr) return 0;
  const char* end = field->value.data() + field->value.size();
  std::uint32_t seconds = 0;
  const auto [rest, problem] = std::from_chars(field->value.data(), end, seconds);
  if (rest != end) return 0;
  if (problem == std::errc::result_out_of_range) return retry_after_seconds_max;
  return problem == std::errc{} ? std::min(seconds, retry_after_seconds_max) : 0;
}

bool is_passed_back(const HeaderField& field, Headers headers, const RouteTerms& route) noexcept {
  if (equals_ignoring_case(field.name, "content-type") ||
      equals_ignoring_case(field.name, "content-encoding")) {
    return true;
  }
  return std::any_of(route.passed_back_headers.begin(), route.passed_back_headers.end(),
                     [&](const std::string& name) {
                       return equals_ignoring_case(field.name, name) &&
                              !is_connection_option(headers, name);
                     });
}

Verdict failed(ErrorCode code, std::string_view message, Outcome outcome) {
  return {Verdict::Kind::failed, outcome, {code, std::string(message)}, {}};
}

}  // namespace

bool Delivery::stop(ErrorCode code, std::string message, Outcome outcome,
                    std::uint32_t retry_after_seconds) {
  stopped_ =
      Verdict{Verdict::Kind::failed, outcome, {code, std::move(message), retry_after_seconds}, {}};
  return false;
}

bool Delivery::stop_gone() {
  stopped_ = Verdict{Verdict::Kind::gone, Outcome::client_gone_before_reply, {}, {}};
  return false;
}

bool Delivery::head(int status, Headers headers, std::optional<std::uint64_t> length) {
  if (stopped_.has_value()) return false;
  if (has_head_) {
    return stop(ErrorCode::gateway_plugin_fault, std::string(broken_reply),
                Outcome::upstream_failure);
  }
  has_head_ = true;
  status_ = status;
  announced_ = length;
  if (!judge_status(status, headers) || !take_headers(headers)) return false;
  if (!announced_.has_value()) return true;
  if (*announced_ > terms_.bytes_max) {
    return stop(ErrorCode::gateway_upstream_response_too_large, too_large(terms_.bytes_max),
                Outcome::response_too_large);
  }
  if (*announced_ <= buffer_bytes_max()) scratch_.body.reserve(*announced_);
  return *announced_ <= limits::heavy_transfer_bytes || take_transfer_slot();
}

bool Delivery::judge_status(int status, Headers headers) {
  const auto& successes = terms_.policy.success_statuses;
  if (std::find(successes.begin(), successes.end(), status) != successes.end()) return true;
  if (is_passed_status(status)) {
    treatment_ = Treatment::passed;
    return true;
  }
  if (status >= 300 && status < 400) {
    return stop(ErrorCode::gateway_upstream_redirect,
                "The provider answered with a redirect, which is never followed; nothing was "
                "charged.",
                Outcome::upstream_status);
  }
  if (status >= 401 && status <= 403) {
    return stop(ErrorCode::gateway_upstream_credential,
                "The provider does not accept the gateway's own credential; nothing was charged.",
                Outcome::upstream_status);
  }
  if (status == 429) {
    return stop(ErrorCode::gateway_upstream_rate_limited,
                "The provider limits the gateway's rate; nothing was charged.",
                Outcome::upstream_status, retry_after_of(headers));
  }
  return stop(ErrorCode::gateway_upstream_failure, std::string(broken_reply),
              Outcome::upstream_status);
}

// Checks the content type and copies the header fields that may be passed back.
bool Delivery::take_headers(Headers headers) {
  std::size_t content_types = 0;
  std::size_t text_bytes = 0;
  const HeaderField* content_type = nullptr;
  for (const HeaderField& field : headers) {
    if (!is_passed_back(field, headers, terms_.route)) continue;
    text_bytes += field.name.size() + field.value.size();
    scratch_.reply_headers.push_back(field);
    if (equals_ignoring_case(field.name, "content-type")) {
      content_type = &field;
      ++content_types;
    }
  }
  const auto& allowed = treatment_ == Treatment::passed ? terms_.policy.error_content_types
                                                        : terms_.policy.allowed_content_types;
  const bool has_no_content = status_ == 204 && content_types == 0;
  if (!has_no_content &&
      (content_types > 1 ||
       !registry::is_allowed_type(allowed, content_type == nullptr ? "" : content_type->value))) {
    return stop(ErrorCode::gateway_upstream_failure,
                "The provider's reply has a content type that this route does not allow; nothing "
                "was charged.",
                Outcome::upstream_failure);
  }
  // Reserved in one step, so that the views below stay valid.
  scratch_.header_text.reserve(text_bytes);
  const auto keep = [this](std::string_view text) {
    scratch_.header_text.append(text);
    return std::string_view(scratch_.header_text).substr(scratch_.header_text.size() - text.size());
  };
  for (HeaderField& field : scratch_.reply_headers) field = {keep(field.name), keep(field.value)};
  return true;
}

bool Delivery::take_transfer_slot() {
  const std::int64_t before_ns = clock_.monotonic_ns();
  slot_ = transfers_.acquire({call_.deadline_ns()});
  slot_wait_ns_ += clock_.monotonic_ns() - before_ns;
  if (slot_) return true;
  if (call_.standing() == Standing::gone) return stop_gone();
  return stop(ErrorCode::gateway_transfer_limit,
              "Too many large replies are being sent; nothing was charged.",
              Outcome::response_too_large, 2);
}

bool Delivery::body(std::string_view bytes) {
  if (stopped_.has_value()) return false;
  if (!has_head_) {
    return stop(ErrorCode::gateway_plugin_fault, std::string(broken_reply),
                Outcome::upstream_failure);
  }
  received_ += bytes.size();
  if (received_ > terms_.bytes_max) {
    return stop(ErrorCode::gateway_upstream_response_too_large, too_large(terms_.bytes_max),
                Outcome::response_too_large);
  }
  if (announced_.has_value() && received_ > *announced_) {
    return stop(ErrorCode::gateway_upstream_failure, std::string(broken_reply),
                Outcome::upstream_failure);
  }
  if (is_streaming_) return stream(bytes);
  if (received_ > limits::heavy_transfer_bytes && !slot_ && !take_transfer_slot()) return false;
  if (received_ <= buffer_bytes_max()) {
    scratch_.body.append(bytes);
    return true;
  }
  return begin_stream() && stream(bytes);
}

// Longer replies are streamed. A reply that announces more bytes than a condition may read is
// buffered no further than others.
std::uint64_t Delivery::buffer_bytes_max() const noexcept {
  if (terms_.buffer_whole) return terms_.bytes_max;
  const bool is_judged = treatment_ == Treatment::success &&
                         announced_.value_or(0) <= limits::judged_body_bytes_max &&
                         ChargeRules::readings(terms_.no_charge_when) > 0;
  return is_judged ? limits::judged_body_bytes_max : limits::response_buffer_bytes_max;
}

bool Delivery::begin_stream() {
  // A reply of unknown length may become heavy when it can no longer be refused.
  if (!announced_.has_value() && !slot_ && !take_transfer_slot()) return false;
  if (call_.standing() == Standing::gone) return stop_gone();
  const std::int64_t upstream_ns = clock_.monotonic_ns() - terms_.forwarded_ns;
  if (treatment_ == Treatment::success &&
      ChargeRules::waive_unseen(terms_.no_charge_when, upstream_ns - slot_wait_ns_)) {
    treatment_ = Treatment::waived;
  }
  ReplyHead head{status_, headers(), terms_.lane_headers, terms_.facts};
  if (treatment_ != Treatment::success) head.facts.credits_charged = 0;  // units get released
  head.facts.gateway_us = microseconds(terms_.forwarded_ns - terms_.started_ns);
  head.facts.upstream_us = microseconds(upstream_ns);
  if (!writer_.begin(head, announced_)) return stop_gone();
  is_streaming_ = true;
  copies_ = terms_.keep_copy && treatment_ == Treatment::success &&
            announced_.value_or(0) <= limits::replay_reply_bytes_max;
  copy(scratch_.body);
  // From here on the upstream's outcome decides, not the caller's; otherwise a caller could leave
  // early and get all but the last bytes for free.
  call_.outlive_caller();
  return true;
}

// A body that becomes too long to store is dropped entirely.
void Delivery::copy(std::string_view bytes) {
  if (!copies_) return;
  copies_ = received_ <= limits::replay_reply_bytes_max;
  if (copies_) {
    scratch_.copy.append(bytes);
  } else {
    std::string().swap(scratch_.copy);
  }
}

bool Delivery::stream(std::string_view bytes) {
  copy(bytes);
  std::string& kept = scratch_.body;
  if (!lost_caller_) {
    const std::size_t all = kept.size() + bytes.size();
    const std::size_t keep = std::min<std::size_t>(all, limits::withheld_bytes);
    if (bytes.size() >= keep) {
      send(kept);
      send(bytes.substr(0, bytes.size() - keep));
      kept.assign(bytes.substr(bytes.size() - keep));
    } else {
      send(std::string_view(kept).substr(0, all - keep));
      kept.erase(0, all - keep);
      kept.append(bytes);
    }
  }
  if (!lost_caller_) return true;
  kept.clear();
  if (treatment_ == Treatment::success) return true;  // read to the end, then charged
  return stop_gone();
}

void Delivery::send(std::string_view bytes) {
  if (bytes.empty() || lost_caller_) return;
  const std::int64_t before_ns = clock_.monotonic_ns();
  lost_caller_ = !writer_.write(bytes);
  call_.extend(clock_.monotonic_ns() - before_ns);
}

Verdict Delivery::judge(const Done& done, std::int64_t upstream_ns, bool is_late) {
  if (stopped_.has_value()) return *std::move(stopped_);
  if (!is_streaming_ && call_.standing() == Standing::gone) {
    return {Verdict::Kind::gone, Outcome::client_gone_before_reply, {}, {}};
  }
  if (!done.ok()) return judge_failure(done.error());
  if (is_late) {
    return failed(ErrorCode::gateway_upstream_timeout,
                  "The provider did not answer in time; nothing was charged.",
                  Outcome::upstream_timeout);
  }
  if (!has_head_) {
    return failed(ErrorCode::gateway_plugin_fault, broken_reply, Outcome::upstream_failure);
  }
  if (announced_.has_value() && received_ != *announced_) {
    return failed(ErrorCode::gateway_upstream_failure, broken_reply, Outcome::upstream_failure);
  }
  if (treatment_ == Treatment::passed) {
    return {Verdict::Kind::passed, Outcome::upstream_status, {}, {}};
  }
  if (!is_streaming_ && treatment_ == Treatment::success &&
      terms_.rules.waive(terms_.no_charge_when, pending(), upstream_ns - slot_wait_ns_)) {
    treatment_ = Treatment::waived;
  }
  if (treatment_ == Treatment::waived) {
    return {Verdict::Kind::passed, Outcome::declared_no_charge, {}, {}};
  }
  return {Verdict::Kind::charged, Outcome::upstream_failure, {}, {}};
}

Verdict Delivery::judge_failure(const Failure& failure) const {
  const auto verdict = [&](ErrorCode code, std::string_view message, Outcome outcome) {
    Verdict result = failed(code, message, outcome);
    result.operator_note = failure.message;
    return result;
  };
  switch (failure.kind) {
    case FailureKind::timeout:
      return verdict(ErrorCode::gateway_upstream_timeout,
                     "The provider did not answer in time; nothing was charged.",
                     Outcome::upstream_timeout);
    case FailureKind::too_large:
      return verdict(ErrorCode::gateway_upstream_response_too_large, too_large(terms_.bytes_max),
                     Outcome::response_too_large);
    case FailureKind::redirect:
      return verdict(ErrorCode::gateway_upstream_redirect,
                     "The provider answered with a redirect, which is never followed; nothing was "
                     "charged.",
                     Outcome::upstream_status);
    case FailureKind::credential:
      return verdict(ErrorCode::gateway_upstream_credential,
                     "The gateway's own credential for the provider is missing or was refused; "
                     "nothing was charged.",
                     Outcome::upstream_failure);
    case FailureKind::unavailable:
      return verdict(ErrorCode::gateway_upstream_unavailable,
                     "The provider cannot be asked now; nothing was charged.",
                     Outcome::upstream_failure);
    case FailureKind::cancelled:
      if (call_.standing() != Standing::stopping) break;
      return verdict(ErrorCode::gateway_stopping, "The gateway is stopping; nothing was charged.",
                     Outcome::gateway_stopped);
    case FailureKind::invalid_settings:
    case FailureKind::plugin_fault:
      return verdict(ErrorCode::gateway_plugin_fault,
                     "The plugin that serves this route failed; nothing was charged.",
                     Outcome::upstream_failure);
    case FailureKind::transport:
    case FailureKind::contract:
      break;
  }
  return verdict(ErrorCode::gateway_upstream_failure, broken_reply, Outcome::upstream_failure);
}

}  // namespace turnpike::exchange
