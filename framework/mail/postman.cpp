#include "mail/postman.h"

#include <algorithm>
#include <chrono>

#include "crypto/digest.h"
#include "identity/token.h"

namespace turnpike::mail {
namespace {

constexpr std::int64_t line_interval_ns = 60'000'000'000;
constexpr std::int64_t first_delay_ms = 30'000;
constexpr std::int64_t delay_ms_max = 60 * 60'000;

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

base::Counter& counter_of(base::Metrics& metrics, const char* outcome) {
  return metrics.counter("turnpike_mails_total", "Tries to send a mail, by what became of them.",
                         {{"outcome", outcome}});
}

base::Gauge& gauge_of(base::Metrics& metrics, const char* state) {
  return metrics.gauge("turnpike_mails_unsent",
                       "Mails of the outbox that wait, or were given up within the last 30 days.",
                       {{"state", state}});
}

}  // namespace

Postman::Postman(const Parts& parts, Settings settings)
    : parts_(parts),
      settings_(std::move(settings)),
      sent_(counter_of(parts.metrics, "sent")),
      put_off_(counter_of(parts.metrics, "put_off")),
      given_up_(counter_of(parts.metrics, "given_up")),
      waiting_now_(gauge_of(parts.metrics, "waiting")),
      given_up_now_(gauge_of(parts.metrics, "given_up")),
      outage_(line_interval_ns, 0) {}

Result<bool, base::Error> Postman::deliver_next() {
  const std::string token =
      identity::make_token(settings_.environment, parts_.random, identity::TokenKind::link);
  const auto taken = parts_.store.take(crypto::sha256(token), settings_.lease_ms);
  if (!taken.ok()) return taken.error();
  if (!taken->has_value()) return false;
  const auto sent = parts_.transport.send(letter_of(**taken, token, settings_.site));
  const identity::Mail& mail = (*taken)->mail;
  const auto noted = sent.ok() ? note_sent(mail) : note_failed(mail, sent.error());
  if (!noted.ok()) return noted.error();
  return true;
}

Result<Unit, base::Error> Postman::count() {
  const auto counts = parts_.store.counts();
  if (!counts.ok()) return counts.error();
  waiting_now_.set(static_cast<double>(counts->waiting));
  given_up_now_.set(static_cast<double>(counts->given_up));
  return Unit{};
}

Result<Unit, base::Error> Postman::note_sent(const identity::Mail& mail) {
  sent_.add();
  if (const auto failures = outage_.worked(steady_ns())) {
    parts_.log.write(Severity::info, "mail_works_again", {{"failures", failures}});
  }
  return parts_.store.sent(mail);
}

Result<Unit, base::Error> Postman::note_failed(const identity::Mail& mail,
                                               const SendFailure& failure) {
  const std::int64_t delay_ms = delay_ms_after(mail.tries);
  const bool is_in_time = parts_.clock.now_ms() + delay_ms < mail.expires_at_ms;
  if (!failure.is_final) {
    if (const auto failures = outage_.failed(steady_ns())) {
      parts_.log.write(Severity::warning, "mail_fails",
                       {{"reason", failure.log_reason}, {"failures", failures}});
    }
    if (is_in_time && mail.tries < tries_max) {
      put_off_.add();
      return parts_.store.failed(mail, failure.reason, delay_ms);
    }
  }
  given_up_.add();
  parts_.log.write(Severity::warning, "mail_given_up",
                   {{"mail_id", mail.id},
                    {"kind", name_of(mail.kind)},
                    {"tries", mail.tries},
                    {"reason", failure.log_reason}});
  return parts_.store.failed(mail, failure.reason, std::nullopt);
}

std::int64_t delay_ms_after(std::int64_t tries) noexcept {
  constexpr std::int64_t doublings_max = 7;
  const std::int64_t doublings = std::clamp<std::int64_t>(tries - 1, 0, doublings_max);
  return std::min(first_delay_ms << doublings, delay_ms_max);
}

}  // namespace turnpike::mail
