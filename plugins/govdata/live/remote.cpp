#include "govdata/live/remote.h"

#include <algorithm>
#include <charconv>

#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t patience_max_ms = 3'600'000;
constexpr std::int64_t patience_unsaid_ms = 60'000;

// A Call with an earlier deadline of its own.
class TimedCall final : public Call {
 public:
  TimedCall(Call& call, Clock& clock, std::int64_t timeout_ms)
      : call_(call), end_ns_(clock.monotonic_ns() + timeout_ms * ns_per_ms) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return call_.request_id(); }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override {
    return std::min(call_.deadline_ns(), end_ns_);
  }
  [[nodiscard]] bool cancelled() const noexcept override { return call_.cancelled(); }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override { return call_.sleep_ms(duration_ms); }

 private:
  Call& call_;
  const std::int64_t end_ns_;
};

std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number =
      !text.empty() && problem == std::errc{} && end == text.data() + text.size() && value >= 0;
  return is_number ? std::optional(value) : std::nullopt;
}

class WholeReply final : public HttpSink {
 public:
  explicit WholeReply(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  bool head(int status, Headers headers, std::optional<std::uint64_t> length) override {
    reply.status = status;
    for (const HeaderField& field : headers) {
      if (same_header_name(field.name, "retry-after")) {
        reply.retry_after_s = seconds_of(field.value);
      }
      if (same_header_name(field.name, "x-api-key-reset")) {
        reply.reset_at_s = seconds_of(field.value);
      }
    }
    is_too_large = length && *length > bytes_max_;
    return !is_too_large;
  }
  bool body(std::string_view bytes) override {
    is_too_large = bytes.size() > bytes_max_ - reply.body.size();
    if (!is_too_large) reply.body += bytes;
    return !is_too_large;
  }
  RemoteReply reply;
  bool is_too_large = false;

 private:
  const std::uint64_t bytes_max_;
};

std::optional<std::vector<JsonValue>> values_of(std::string_view text) {
  std::vector<JsonValue> values;
  bool is_json = true;
  try {
    Input input(open_memory(text));
    read_json_records(
        input, {}, [&](JsonRecord&& record) { values.push_back(std::move(record.value)); },
        [&](const std::string&, const std::string&) { is_json = false; });
  } catch (const ImportError&) {
    return std::nullopt;
  }
  if (!is_json) return std::nullopt;
  return values;
}

}  // namespace

Result<RemoteReply> ask_remote(Host& host, const SourceSettings& source,
                               const RemoteRequest& request, Call& call) {
  std::vector<HeaderField> headers = {{"Accept", "application/json"},
                                      {"User-Agent", source.user_agent}};
  if (request.method == Method::post) headers.push_back({"Content-Type", "application/json"});
  for (const OwnedHeader& header : request.headers) headers.push_back({header.name, header.value});
  HttpOptions options;
  options.allow_private_addresses = source.allow_private_addresses;
  options.reply_bytes_max = request.reply_bytes_max;
  WholeReply sink(request.reply_bytes_max);
  TimedCall timed(call, host.clock(), source.timeout_ms);
  const Done done =
      host.http().call({request.method, request.url, headers, request.body}, options, sink, timed);
  host.report().count("poll_requests", 1);
  if (sink.is_too_large) return Failure{FailureKind::too_large, {}, {}, true};
  if (!done.ok()) return done.error();
  return std::move(sink.reply);
}

std::string problem_of(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::timeout:
      return "the source did not answer in time";
    case FailureKind::too_large:
      return "the source's answer is larger than allowed";
    case FailureKind::redirect:
      return "the source redirects; redirects are never followed";
    case FailureKind::contract:
      return "the source did not answer with HTTP";
    case FailureKind::cancelled:
      return "the poll was stopped";
    default:
      return "the source could not be reached";
  }
}

Step failed_step(std::string problem) { return {StepKind::failed, 0, std::move(problem)}; }

std::optional<Step> judge_status(const RemoteReply& reply, std::int64_t now_ms) {
  if (reply.status == 200) return std::nullopt;
  const std::string number = std::to_string(reply.status);
  if (reply.status == 429) {
    std::int64_t wait_ms = patience_unsaid_ms;
    if (reply.retry_after_s) {
      wait_ms = std::min(*reply.retry_after_s, patience_max_ms / 1000) * 1000;
    } else if (reply.reset_at_s && *reply.reset_at_s < now_ms / 1000 + patience_max_ms / 1000) {
      wait_ms = *reply.reset_at_s * 1000 - now_ms;
    } else if (reply.reset_at_s) {
      wait_ms = patience_max_ms;
    }
    return Step{StepKind::limited, std::clamp<std::int64_t>(wait_ms, 1000, patience_max_ms),
                "the source limits our rate (429)"};
  }
  if (reply.status == 401 || reply.status == 403) {
    return failed_step("the source refuses our credential or address (" + number + ")");
  }
  if (reply.status >= 300 && reply.status < 400) {
    return failed_step("the source redirects; redirects are never followed");
  }
  return failed_step("the source answered with status " + number);
}

std::optional<JsonValue> object_of(std::string_view text) {
  if (!trimmed(text).starts_with('{')) return std::nullopt;
  auto values = values_of(text);
  if (!values || values->size() != 1) return std::nullopt;
  return std::move(values->front());
}

std::optional<std::vector<JsonValue>> array_of(std::string_view text) {
  if (!trimmed(text).starts_with('[')) return std::nullopt;
  return values_of(text);
}

}  // namespace turnpike::govdata
