#include "x402/remote/json_http.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace turnpike::x402 {

namespace {

// The call with a deadline of its own, which is never later than the call's.
class BoundedCall final : public Call {
 public:
  BoundedCall(Call& call, Clock& clock, const JsonRequest& request)
      : call_(call),
        clock_(clock),
        end_ns_(clock.monotonic_ns() + std::int64_t{request.timeout_ms} * ns_per_ms),
        is_cancellable_(request.is_cancellable) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return call_.request_id(); }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override {
    return std::min(call_.deadline_ns(), end_ns_);
  }
  [[nodiscard]] bool cancelled() const noexcept override {
    return is_cancellable_ && call_.cancelled();
  }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    const std::int64_t left_ms = (deadline_ns() - clock_.monotonic_ns()) / ns_per_ms;
    if (left_ms >= duration_ms) return call_.sleep_ms(duration_ms);
    if (left_ms > 0) call_.sleep_ms(static_cast<std::uint32_t>(left_ms));
    return false;
  }

 private:
  Call& call_;
  Clock& clock_;
  const std::int64_t end_ns_;
  const bool is_cancellable_;
};

class BodySink final : public HttpSink {
 public:
  explicit BodySink(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  bool head(int got_status, Headers headers, std::optional<std::uint64_t>) override {
    status = got_status;
    for (const HeaderField& field : headers) {
      if (same_header_name(field.name, "retry-after")) take_retry_after(field.value);
    }
    return true;
  }
  bool body(std::string_view bytes) override {
    is_too_large = bytes.size() > bytes_max_ - text.size();
    if (!is_too_large) text += bytes;
    return !is_too_large;
  }

  int status = 0;
  std::string text;
  std::optional<std::uint32_t> retry_after_seconds;
  bool is_too_large = false;

 private:
  // A date is ignored: the caller then waits as long as it sees fit.
  void take_retry_after(std::string_view value) {
    std::uint32_t seconds = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (value.empty() || end != value.data() + value.size()) return;
    if (problem == std::errc{}) {
      retry_after_seconds = std::min(seconds, retry_after_seconds_max);
    } else if (problem == std::errc::result_out_of_range) {
      retry_after_seconds = retry_after_seconds_max;
    }
  }
  const std::uint64_t bytes_max_;
};

Result<JsonReply, JsonFailure> exchange(Host& host, const JsonRequest& request, Call& call) {
  std::vector<HeaderField> headers = {{"Accept", "application/json"}};
  if (request.method == Method::post) headers.push_back({"Content-Type", "application/json"});
  for (const OwnedHeader& header : request.headers) headers.push_back({header.name, header.value});
  HttpOptions options;
  options.fresh_connection = request.fresh_connection;
  options.allow_private_addresses = request.allow_private_addresses;
  options.reply_bytes_max = request.reply_bytes_max;
  BodySink sink(request.reply_bytes_max);
  BoundedCall bounded(call, host.clock(), request);
  const Done done = host.http().call({request.method, request.url, headers, request.body}, options,
                                     sink, bounded);
  if (sink.is_too_large) return JsonFailure{FailureKind::too_large, true, {}};
  if (!done.ok()) {
    JsonFailure failure{done.error().kind, done.error().maybe_sent, {}};
    if (!failure.maybe_sent) failure.message = std::move(done).error().message;
    return failure;
  }
  if (sink.status >= 300 && sink.status <= 399) {
    return JsonFailure{FailureKind::redirect, true, "status " + std::to_string(sink.status)};
  }
  JsonReply reply{sink.status, std::nullopt, sink.retry_after_seconds};
  JsonLimits limits;
  limits.values = request.reply_bytes_max / 4;
  if (auto json = JsonText::parse(std::move(sink.text), limits); json.ok()) {
    reply.json = *std::move(json);
  }
  return reply;
}

}  // namespace

Result<JsonReply, JsonFailure> exchange_json(Host& host, const JsonRequest& request,
                                             Call& call) noexcept {
  try {
    return exchange(host, request, call);
  } catch (...) {  // memory exhaustion, before or after it was sent
    return JsonFailure{FailureKind::unavailable, true, {}};
  }
}

std::string_view name_of(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::invalid_settings:
      return "invalid settings";
    case FailureKind::timeout:
      return "timeout";
    case FailureKind::transport:
      return "transport";
    case FailureKind::contract:
      return "contract";
    case FailureKind::too_large:
      return "reply too large";
    case FailureKind::redirect:
      return "redirect";
    case FailureKind::credential:
      return "credential";
    case FailureKind::unavailable:
      return "unavailable";
    case FailureKind::cancelled:
      return "cancelled";
    case FailureKind::plugin_fault:
      return "plugin fault";
  }
  return "unknown";
}

}  // namespace turnpike::x402
