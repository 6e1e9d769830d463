#include "http/upstream.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include <turnpike/helpers/probe.h>

namespace turnpike::http {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t slow_caller_ns = 1'000 * ns_per_ms;
// How often a breaker that keeps opening is logged.
constexpr std::int64_t line_interval_ns = 60'000 * ns_per_ms;

// Whether a caller's header field is never forwarded, even if the route allows it: credentials, and
// fields that the gateway or the operator sets.
bool stays_here(std::string_view name, const std::vector<OwnedHeader>& own) noexcept {
  for (std::string_view never :
       {"authorization", "proxy-authorization", "cookie", "x-service-api-key", "payment-signature",
        "x-payment", "idempotency-key", "host", "content-type", "accept-encoding", "expect"}) {
    if (same_header_name(name, never)) return true;
  }
  if (is_framing_field(name)) return true;
  return std::any_of(own.begin(), own.end(), [name](const OwnedHeader& header) {
    return same_header_name(name, header.name);
  });
}

// A Call with an earlier deadline, if `total_timeout_ms` ends before the call's own deadline. The
// difference is fixed, so the deadline still moves when that of the wrapped call moves.
class ShorterCall final : public Call {
 public:
  ShorterCall(Call& call, Clock& clock, std::uint32_t total_timeout_ms)
      : call_(call), clock_(clock) {
    if (total_timeout_ms == 0) return;
    const std::int64_t end_ns = clock.monotonic_ns() + std::int64_t{total_timeout_ms} * ns_per_ms;
    earlier_by_ns_ = std::max<std::int64_t>(0, call.deadline_ns() - end_ns);
  }
  [[nodiscard]] std::string_view request_id() const noexcept override { return call_.request_id(); }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override {
    return call_.deadline_ns() - earlier_by_ns_;
  }
  [[nodiscard]] bool cancelled() const noexcept override { return call_.cancelled(); }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    const std::int64_t left_ms = (deadline_ns() - clock_.monotonic_ns()) / ns_per_ms;
    if (left_ms >= duration_ms) return call_.sleep_ms(duration_ms);
    if (left_ms > 0) call_.sleep_ms(static_cast<std::uint32_t>(left_ms));
    return false;
  }

 private:
  Call& call_;
  Clock& clock_;
  std::int64_t earlier_by_ns_ = 0;
};

// Rounded up, so that a caller who waits that long finds the pause over.
std::uint32_t seconds_of(std::int64_t duration_ns) noexcept {
  constexpr std::int64_t ns_per_second = 1'000 * ns_per_ms;
  return static_cast<std::uint32_t>((duration_ns + ns_per_second - 1) / ns_per_second);
}

// Whether a query parameter has this name after decoding, ignoring case.
bool has_name(std::string_view pair, std::string_view name) {
  const std::string_view raw = pair.substr(0, pair.find('='));
  std::string decoded;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    unsigned value = 0;
    const char* digits = raw.data() + at + 1;
    if (raw[at] == '%' && at + 2 < raw.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      decoded += static_cast<char>(value);
      at += 2;
    } else {
      decoded += raw[at] == '+' ? ' ' : raw[at];
    }
  }
  return same_header_name(decoded, name);
}

}  // namespace

// Passes the upstream's reply on to the gateway's sink, without header fields that hold a secret.
class ReplyPassage final : public HttpSink {
 public:
  ReplyPassage(ReplySink& sink, const std::vector<std::string>& secrets)
      : sink_(sink), secrets_(secrets) {}

  bool head(int status, Headers headers, std::optional<std::uint64_t> length) override {
    status_ = status;
    const auto reveals = [this](const HeaderField& field) { return holds_secret(field.value); };
    if (std::none_of(headers.begin(), headers.end(), reveals)) {
      return take(sink_.head(status, headers, length));
    }
    std::vector<HeaderField> clean(headers.begin(), headers.end());
    std::erase_if(clean, reveals);
    return take(sink_.head(status, clean, length));
  }
  bool body(std::string_view bytes) override { return take(sink_.body(bytes)); }

  [[nodiscard]] int status() const noexcept { return status_; }  // 0: no head yet
  [[nodiscard]] bool was_stopped() const noexcept { return was_stopped_; }

 private:
  bool take(bool wants_more) noexcept {
    was_stopped_ = was_stopped_ || !wants_more;
    return wants_more;
  }
  [[nodiscard]] bool holds_secret(std::string_view text) const noexcept {
    return std::any_of(secrets_.begin(), secrets_.end(), [text](const std::string& secret) {
      return text.find(secret) != std::string_view::npos;
    });
  }

  ReplySink& sink_;
  const std::vector<std::string>& secrets_;
  int status_ = 0;
  bool was_stopped_ = false;
};

namespace {

// Whether the upstream could be reached. A caller's input must not influence this. A failure on a
// reused connection counts as neither, because the connection may have been stale; so does a call
// without time left to try.
Breaker::Outcome reached(const Done& done, const ReplyPassage& passage) noexcept {
  using enum Breaker::Outcome;
  if (done.ok() || passage.status() != 0) return success;
  const Failure& failure_seen = done.error();
  return failure_seen.kind == FailureKind::transport && !failure_seen.maybe_sent ? failure
                                                                                 : neither;
}

// Whether the upstream, once reached, answered this operation properly.
Breaker::Outcome answered(const Done& done, const ReplyPassage& passage,
                          const FailureStatuses& failure_statuses, bool was_slowed) noexcept {
  using enum Breaker::Outcome;
  if (failure_statuses.has(passage.status())) return failure;
  if (done.ok()) return success;
  if (passage.was_stopped()) return passage.status() != 0 ? success : neither;
  const Failure& failure_seen = done.error();
  const bool has_broken =
      failure_seen.kind == FailureKind::transport || failure_seen.kind == FailureKind::timeout;
  if (!has_broken || !failure_seen.maybe_sent) return neither;
  // If the caller read the reply too slowly, the upstream may have given up because of that.
  return was_slowed && passage.status() != 0 ? neither : failure;
}

}  // namespace

HttpUpstream::HttpUpstream(Configuration configuration, Host& host)
    : configuration_(std::move(configuration)),
      host_(host),
      reaching_(configuration_.breaker),
      retry_budget_(configuration_.retry_budget_percent) {
  for (std::size_t at = 0; at < configuration_.operations.size(); ++at) {
    operations_.emplace_back(configuration_.breaker);
  }
}

State HttpUpstream::state(std::uint32_t operation) const noexcept {
  if (configuration_.lacks_credential) {
    return {Condition::credential_missing, "The credential for the upstream is not configured."};
  }
  const Breaker& own = operations_[operation].breaker;
  if (!reaching_.breaker.is_open() && !own.is_open()) return {};
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  if (const std::int64_t wait_ns = reaching_.breaker.refuses_for_ns(now_ns)) {
    return {Condition::blocked, "The upstream cannot be reached; it is tried again shortly.",
            seconds_of(wait_ns)};
  }
  if (const std::int64_t wait_ns = own.refuses_for_ns(now_ns)) {
    return {Condition::blocked, "The upstream keeps failing; it is tried again shortly.",
            seconds_of(wait_ns)};
  }
  return {};
}

std::optional<HttpUpstream::Passes> HttpUpstream::ask_breakers(std::uint32_t operation) {
  Breaker& own = operations_[operation].breaker;
  if (!reaching_.breaker.is_open() && !own.is_open()) {
    return Passes{Breaker::Pass::normal, Breaker::Pass::normal};
  }
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  // This check comes first, so that neither breaker spends its trial on a call that the other
  // refuses.
  if (reaching_.breaker.refuses(now_ns) || own.refuses(now_ns)) return std::nullopt;
  const Passes passes{reaching_.breaker.ask(now_ns), own.ask(now_ns)};
  if (passes.upstream != Breaker::Pass::refused && passes.operation != Breaker::Pass::refused) {
    return passes;
  }
  // A concurrent call took the other breaker's trial. Give this call's trial back.
  using enum Breaker::Outcome;
  if (passes.upstream == Breaker::Pass::trial) {
    reaching_.breaker.report(passes.upstream, neither, now_ns);
  }
  if (passes.operation == Breaker::Pass::trial) own.report(passes.operation, neither, now_ns);
  return std::nullopt;
}

void HttpUpstream::report_to_breakers(std::uint32_t operation, const Passes& passes,
                                      const Done& done, const ReplyPassage& passage,
                                      bool was_slowed) {
  const Configuration::Operation& bound = configuration_.operations[operation];
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  using enum Breaker::Change;
  const Breaker::Change reach =
      reaching_.breaker.report(passes.upstream, reached(done, passage), now_ns);
  Watch& own = operations_[operation];
  const Breaker::Change answer = own.breaker.report(
      passes.operation, answered(done, passage, bound.failure_statuses, was_slowed), now_ns);
  if (reach == none && answer == none) return;
  const std::string why =
      done.ok() ? "status " + std::to_string(passage.status()) : scrubbed(done.error()).message;
  const std::string where = configuration_.upstream_id + " (" + configuration_.base_url + ")";
  if (reach != none) tell(reaching_, where, reach, why);
  if (answer != none) tell(own, bound.name + " at " + where, answer, why);
}

// Logs each change, but a breaker that keeps opening at most once per line_interval_ns.
void HttpUpstream::tell(Watch& watch, const std::string& what, Breaker::Change change,
                        std::string_view why) {
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  if (change == Breaker::Change::closed) {
    watch.last_line_ns.store(0, std::memory_order_relaxed);
    return host_.report().log(Severity::info, "circuit breaker closed for " + what);
  }
  host_.report().count("http_breaker_opened", 1);
  std::string line = "circuit breaker opened for " + what + ": ";
  if (change == Breaker::Change::opened_again) {
    std::int64_t last_ns = watch.last_line_ns.load(std::memory_order_relaxed);
    if (now_ns - last_ns < line_interval_ns) return;
    line += "it still fails";
  } else {
    const CallWindow::Counts seen = watch.breaker.counts(now_ns);
    line += std::to_string(seen.failures) + " of " + std::to_string(seen.calls) +
            " calls failed within " + std::to_string(configuration_.breaker.window_ms) + " ms";
  }
  watch.last_line_ns.store(now_ns, std::memory_order_relaxed);
  host_.report().log(Severity::warning, line + "; the last: " + std::string(why));
}

Done HttpUpstream::execute(const UpstreamRequest& request, ReplySink& sink, Call& call) {
  if (configuration_.lacks_credential) {
    return Failure{FailureKind::credential, "the credential is not configured", {}, false};
  }
  auto prepared = prepare(request);
  if (!prepared.ok()) return std::move(prepared).error();
  Clock& clock = host_.clock();
  const auto passes = ask_breakers(request.operation);
  if (!passes) return Failure{FailureKind::unavailable, "the circuit breaker is open", {}, false};
  retry_budget_.note_call();
  ShorterCall shorter(call, clock, configuration_.total_timeout_ms);
  const std::int64_t deadline_ns = shorter.deadline_ns();
  ReplyPassage passage(sink, configuration_.secrets);
  Done done = attempt(request, *prepared, false, passage, shorter);
  for (std::uint32_t repeat = 1; repeat < configuration_.attempts_max; ++repeat) {
    if (done.ok() || passage.status() != 0 || !may_repeat(request, done.error())) break;
    if (!retry_budget_.take() || !wait_before_repeat(repeat, shorter)) break;
    host_.report().count("http_retries", 1);
    done = attempt(request, *prepared, true, passage, shorter);
  }
  // The deadline moves by the time that the sink spent waiting for the caller (Call::deadline_ns).
  const bool was_slowed = shorter.deadline_ns() - deadline_ns >= slow_caller_ns;
  report_to_breakers(request.operation, *passes, done, passage, was_slowed);
  if (!done.ok()) return scrubbed(std::move(done).error());
  return done;
}

Result<HttpUpstream::Prepared> HttpUpstream::prepare(const UpstreamRequest& request) const {
  Prepared prepared;
  const Configuration::Operation& operation = configuration_.operations.at(request.operation);
  prepared.url.reserve(configuration_.base_url.size() + request.path.size() + request.query.size() +
                       configuration_.credential_query.size() + 32);
  prepared.url = configuration_.base_url;
  if (!operation.path.append_to(prepared.url, request.parameters)) {
    return Failure{FailureKind::contract, "a path parameter is a dot segment", {}, false};
  }
  append_query(prepared.url, request.query);
  prepared.headers.reserve(configuration_.headers.size() + request.headers.size() + 1);
  for (const OwnedHeader& header : configuration_.headers) {
    prepared.headers.push_back({header.name, header.value});
  }
  if (!request.content_type.empty()) {
    prepared.headers.push_back({"Content-Type", request.content_type});
  }
  for (const HeaderField& field : request.headers) {
    if (!stays_here(field.name, configuration_.headers)) prepared.headers.push_back(field);
  }
  return prepared;
}

void HttpUpstream::append_query(std::string& url, std::string_view query) const {
  char separator = '?';
  const auto append = [&](std::string_view text) {
    url += separator;
    url += text;
    separator = '&';
  };
  if (configuration_.credential_parameter.empty()) {
    if (!query.empty()) append(query);
    return;
  }
  // Drop the caller's parameters of that name: it is not known which of two values the upstream
  // would use.
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    if (!has_name(pair, configuration_.credential_parameter)) append(pair);
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  append(configuration_.credential_query);
}

Done HttpUpstream::attempt(const UpstreamRequest& request, const Prepared& prepared, bool is_repeat,
                           ReplyPassage& passage, Call& call) {
  const HttpRequest outbound{request.method, prepared.url, prepared.headers, request.body};
  HttpOptions options;
  options.fresh_connection = is_repeat;
  options.allow_private_addresses = configuration_.allow_private_addresses;
  options.connect_timeout_ms = configuration_.connect_timeout_ms;
  options.reply_bytes_max = request.reply_bytes_max;
  options.connections_max = configuration_.connections_max;
  return host_.http().call(outbound, options, passage, call);
}

bool HttpUpstream::may_repeat(const UpstreamRequest& request,
                              const Failure& failure) const noexcept {
  if (failure.kind != FailureKind::transport && failure.kind != FailureKind::timeout) return false;
  switch (configuration_.operations[request.operation].retry) {
    case Configuration::Retry::never:
      return false;
    case Configuration::Retry::safe:
      return true;
    case Configuration::Retry::unsent:
      break;
  }
  return request.method == Method::get && !failure.maybe_sent;
}

// Exponential backoff with jitter: the wait is between half and all of a time that doubles with
// each attempt, so that calls that failed together are not retried together. False if the deadline
// would pass first or the wait was ended early.
bool HttpUpstream::wait_before_repeat(std::uint32_t attempt, Call& call) {
  const std::uint64_t whole_ms = std::uint64_t{configuration_.backoff_ms} << (attempt - 1);
  std::uint8_t bytes[4];
  host_.random().fill(bytes);
  std::uint32_t chance = 0;
  std::memcpy(&chance, bytes, sizeof(chance));
  const std::uint64_t wait_ms = whole_ms / 2 + chance % (whole_ms - whole_ms / 2 + 1);
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  const std::int64_t deadline_ns = call.deadline_ns();
  if (deadline_ns <= now_ns ||
      static_cast<std::uint64_t>((deadline_ns - now_ns) / ns_per_ms) <= wait_ms) {
    return false;
  }
  return call.sleep_ms(static_cast<std::uint32_t>(wait_ms));
}

Done HttpUpstream::probe(Call& call) {
  class StatusOnly final : public HttpSink {
   public:
    bool head(int status, Headers, std::optional<std::uint64_t>) override {
      status_ = status;
      return true;
    }
    bool body(std::string_view) override { return true; }
    int status_ = 0;
  } sink;
  const bool has_credential = configuration_.probe_has_credential;
  if (has_credential && configuration_.lacks_credential) {
    return Failure{FailureKind::credential, "the credential is not configured", {}, false};
  }
  std::string url = configuration_.base_url + configuration_.probe_path;
  if (has_credential) append_query(url, {});
  std::vector<HeaderField> headers;
  for (const OwnedHeader& header :
       has_credential ? configuration_.headers : configuration_.public_headers) {
    headers.push_back({header.name, header.value});
  }
  HttpOptions options;
  options.allow_private_addresses = configuration_.allow_private_addresses;
  options.connect_timeout_ms = configuration_.connect_timeout_ms;
  options.reply_bytes_max = 1024 * 1024;
  ShorterCall shorter(call, host_.clock(), configuration_.total_timeout_ms);
  Done done = host_.http().call({Method::get, url, headers, {}}, options, sink, shorter);
  if (!done.ok()) return scrubbed(std::move(done).error());
  if (Done judged = probed(sink.status_); !judged.ok()) return judged;
  // The probe shows that the upstream can be reached, but nothing about any operation.
  if (reaching_.breaker.close()) {
    tell(reaching_, configuration_.upstream_id + " (" + configuration_.base_url + ")",
         Breaker::Change::closed, {});
  }
  return Unit{};
}

Done HttpUpstream::probed(int status) const {
  const int expected = configuration_.probe_status;
  if (expected == 0 ? is_probe_passed(status) : status == expected) return Unit{};
  const bool has_credential = configuration_.probe_has_credential;
  Failure refused = refused_probe(status, "GET " + configuration_.probe_path, has_credential);
  if (expected == 0 && is_refusal_of_ours(status) && !has_credential) {
    refused.message +=
        "; it sends no credential: set probe.path or probe.expected_status in its settings, or "
        "probe.credential: true beside them";
  }
  return refused;
}

Failure HttpUpstream::scrubbed(Failure failure) const {
  for (const std::string& secret : configuration_.secrets) {
    for (std::size_t at = failure.message.find(secret); at != std::string::npos;
         at = failure.message.find(secret, at)) {
      failure.message.replace(at, secret.size(), "[credential]");
    }
  }
  return failure;
}

}  // namespace turnpike::http
