#include "notices/sender.h"

#include <algorithm>
#include <charconv>

#include <turnpike/call.h>

#include "notices/signature.h"
#include "runtime/deadline.h"
#include "runtime/wait.h"

namespace turnpike::notices {
namespace {

using runtime::Deadline;

constexpr std::uint32_t works_max = 4;
constexpr std::uint32_t works_waiting_max = 64;
constexpr std::uint32_t connect_ms_max = 5'000;
constexpr std::int64_t lease_ms = 60'000;  // longer than a request and its record take
constexpr std::int64_t accounts_each_ms = 5'000;
constexpr std::int64_t sweep_each_ms = 3'600'000;

class DeliveryCall final : public Call {
 public:
  [[nodiscard]] std::string_view request_id() const noexcept override { return {}; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_.ns; }
  [[nodiscard]] bool cancelled() const noexcept override { return runtime::cancelled(); }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    const Deadline until = Deadline::after_ms(duration_ms);
    return runtime::sleep_until(until.earlier(deadline_)) == runtime::Wake::deadline &&
           until.ns <= deadline_.ns;
  }

 private:
  const Deadline deadline_ = Deadline::after_ms(Sender::request_ms_max);
};

// Reads seconds; a date is ignored, and then only the schedule counts.
std::int64_t retry_after_ms_of(std::string_view value) {
  std::uint32_t seconds = 0;
  const auto [rest, problem] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  const bool is_number = problem == std::errc{} && rest == value.data() + value.size();
  return is_number ? std::int64_t{seconds} * 1'000 : 0;
}

class ReplyHeadSink final : public HttpSink {
 public:
  bool head(int status, Headers headers, std::optional<std::uint64_t>) override {
    attempt_.status = status;
    for (const HeaderField& field : headers) {
      if (same_header_name(field.name, "Retry-After")) {
        attempt_.retry_after_ms = retry_after_ms_of(field.value);
      }
    }
    return false;  // the status says all
  }
  bool body(std::string_view) override { return false; }

  [[nodiscard]] const Attempt& attempt() const noexcept { return attempt_; }

 private:
  Attempt attempt_;
};

// The text reveals no more of the network than an unauthenticated client may learn.
std::string problem_of(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::timeout:
      return "It did not answer within 15 seconds.";
    case FailureKind::contract:
    case FailureKind::too_large:
      return "Its answer is not HTTP as it should be.";
    default:
      return "There is no way to its host, or its address is not public.";
  }
}

}  // namespace

Sender::Sender(Parts parts)
    : parts_(parts),
      user_(parts_.pool.add_user("notices_sender", works_max, works_waiting_max)) {}

std::vector<DueDelivery> Sender::take(std::uint32_t most) {
  auto due = ask([&] { return parts_.store.take_due(lease_ms, most); });
  if (due.ok()) return *std::move(due);
  report("take due deliveries", due.error());
  return {};
}

Attempt Sender::post(const DueDelivery& delivery) {
  const std::string body = body_of(delivery.type, delivery.happened_at_ms, delivery.data);
  const std::int64_t now_s = parts_.clock.now_ms() / 1'000;
  std::vector<std::string_view> secrets{delivery.secret};
  if (!delivery.old_secret.empty()) secrets.push_back(delivery.old_secret);
  const std::string signature = signature_of(delivery.event_id, now_s, body, secrets);
  const std::string timestamp = std::to_string(now_s);
  const HeaderField headers[] = {{"Content-Type", "application/json"},
                                 {"webhook-id", delivery.event_id},
                                 {"webhook-timestamp", timestamp},
                                 {"webhook-signature", signature}};
  HttpOptions options;
  options.fresh_connection = true;
  options.allow_private_addresses = parts_.allows_private;
  options.connect_timeout_ms = connect_ms_max;
  ReplyHeadSink sink;
  DeliveryCall call;
  const Done done =
      parts_.http.call({Method::post, delivery.url, headers, body}, options, sink, call);
  Attempt attempt = sink.attempt();
  if (attempt.status != 0) return attempt;
  attempt.is_cut = runtime::cancelled();
  attempt.problem = done.ok() ? "It did not answer." : problem_of(done.error());
  return attempt;
}

void Sender::send(const DueDelivery& delivery) { finish(delivery, post(delivery)); }

void Sender::give_back(const DueDelivery& delivery) { finish(delivery, {.is_cut = true}); }

void Sender::finish(const DueDelivery& delivery, const Attempt& attempt) {
  std::uint32_t chance = 0;
  parts_.random.fill({reinterpret_cast<std::uint8_t*>(&chance), sizeof chance});
  const auto finished = ask([&] { return parts_.store.finish(delivery, attempt, chance); });
  if (!finished.ok()) return report("finish a delivery", finished.error());  // its lease expires
  if (attempt.is_cut) return;
  parts_.metrics
      .counter("turnpike_notification_attempts_total",
               "Webhooks that were sent, by event type and outcome.",
               {{"type", std::string(name_of(delivery.type))},
                {"outcome", is_delivered(attempt)   ? "delivered"
                            : attempt.status == 0   ? "no_answer"
                                                    : "refused"}})
      .add();
  if (*finished == DisabledReason::none) return;
  parts_.log.write(Severity::warning, "notification_endpoint_disabled",
                   {{"endpoint", delivery.endpoint_id},
                    {"host", host_of(delivery.url)},
                    {"reason", name_of(*finished)}});
}

bool Sender::scan(std::string_view generation, const std::vector<RoutePrice>* prices) {
  bool is_noted = false;
  if (prices != nullptr) {
    const auto noted = ask([&] { return parts_.store.note_prices(generation, *prices); });
    tell("note prices", noted);
    is_noted = noted.ok();
  }
  const auto accounts =
      ask([&] { return parts_.store.take_scan(Scan::accounts, accounts_each_ms); });
  if (!accounts.ok()) {
    report("take a scan", accounts.error());
    return is_noted;
  }
  if (*accounts) {
    tell("tell low Credits", ask([&] { return parts_.store.tell_low_credits(); }));
    tell("tell reached caps", ask([&] { return parts_.store.tell_reached_caps(); }));
    report_standing();
  }
  const auto sweeps = ask([&] { return parts_.store.take_scan(Scan::sweep, sweep_each_ms); });
  if (sweeps.ok() && *sweeps) {
    const auto swept = ask([&] { return parts_.store.sweep(kept_ms); });
    if (!swept.ok()) report("sweep deliveries", swept.error());
  }
  return is_noted;
}

void Sender::tell(std::string_view what, const Result<std::uint32_t, base::Error>& told) {
  if (!told.ok()) report(what, told.error());
}

void Sender::report_standing() {
  const auto standing = ask([&] { return parts_.store.standing(); });
  if (!standing.ok()) return;
  const std::int64_t now_ms = parts_.clock.now_ms();
  const auto set = [&](const char* name, const char* help, std::int64_t value) {
    parts_.metrics.gauge(name, help, {}).set(static_cast<double>(value));
  };
  const std::int64_t oldest_ms = standing->oldest_due_ms;
  set("turnpike_notification_deliveries_pending", "Webhooks that are to be sent.",
      standing->pending);
  set("turnpike_notification_overdue_seconds", "For how long the oldest of them is due.",
      oldest_ms < 0 ? 0 : std::max<std::int64_t>(0, now_ms - oldest_ms) / 1'000);
  set("turnpike_notification_endpoints_disabled",
      "Endpoints to which nothing is sent since they were gone or failed for days.",
      standing->disabled_endpoints);
}

void Sender::report(std::string_view what, const base::Error& error) {
  parts_.log.write(Severity::error, "notifications_failed",
                   {{"what", what}, {"reason", error.message}});
}

}  // namespace turnpike::notices
