#include "stripe/api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace turnpike::stripe {
namespace {

constexpr std::uint64_t reply_bytes_max = 4 * 1024 * 1024;
constexpr std::uint32_t first_wait_ms = 250;
constexpr std::size_t request_id_bytes_max = 64;
constexpr std::size_t param_bytes_max = 100;

bool is_letter_or_digit(char each) noexcept {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
         (each >= '0' && each <= '9');
}

bool is_of(std::string_view text, std::size_t bytes_max, std::string_view besides) noexcept {
  return !text.empty() && text.size() <= bytes_max &&
         std::all_of(text.begin(), text.end(), [besides](char each) {
           return is_letter_or_digit(each) || besides.find(each) != besides.npos;
         });
}

bool is_refusal_for_good(int status) noexcept {
  return status == 400 || status == 402 || status == 404;
}

// The missing permission that the message of a 403 names, such as "rak_refund_write". The rest of
// the message is not used.
std::string permission_in(std::string_view message) {
  const std::size_t at = message.find("rak_");
  if (at == message.npos) return {};
  std::size_t end = at;
  while (end < message.size() && (is_letter_or_digit(message[end]) || message[end] == '_')) ++end;
  return std::string(message.substr(at, std::min<std::size_t>(end - at, param_bytes_max)));
}

std::string name_of(const Ask& ask) {
  return std::string(turnpike::name_of(ask.method)) + " " + ask.path;
}

// The status and the headers of a reply.
struct Head {
  int status = 0;
  std::string request_id;
  std::string date;
  std::optional<bool> should_retry;
  bool is_kept = false;
};

class WholeReply final : public HttpSink {
 public:
  bool head(int status, Headers headers, std::optional<std::uint64_t>) override {
    read.status = status;
    for (const HeaderField& field : headers) take(field);
    return true;
  }
  bool body(std::string_view bytes) override {
    is_too_large = bytes.size() > reply_bytes_max - text.size();
    if (!is_too_large) text += bytes;
    return !is_too_large;
  }

  Head read;
  std::string text;
  bool is_too_large = false;

 private:
  void take(const HeaderField& field) {
    if (same_header_name(field.name, "request-id")) {
      if (is_of(field.value, request_id_bytes_max, "_-")) read.request_id = field.value;
    } else if (same_header_name(field.name, "stripe-should-retry")) {
      if (field.value == "true" || field.value == "false")
        read.should_retry = field.value == "true";
    } else if (same_header_name(field.name, "idempotent-replayed")) {
      read.is_kept = field.value == "true";
    } else if (same_header_name(field.name, "date")) {
      read.date = field.value;
    }
  }
};

std::string with_request(std::string text, const Reply& reply) {
  if (!reply.request_id.empty()) text += ", request " + reply.request_id;
  return text;
}

// The Failure for an answer that is neither a success nor a definite refusal.
Failure failure_of(const Ask& ask, const Reply& reply) {
  const std::string said = name_of(ask) + ": " + reply.summary();
  if (reply.status == 401) {
    return {FailureKind::credential, "Stripe does not know the api_key; " + said, {}, false};
  }
  if (reply.status == 403) {
    const std::string permission = permission_in(reply.error()["message"].text());
    const std::string missing =
        permission.empty() ? "a permission" : "the permission " + permission;
    return {FailureKind::credential, "the api_key lacks " + missing + "; " + said, {}, false};
  }
  if (reply.status == 429) {
    return {
        FailureKind::unavailable, "Stripe answers no more requests for now; " + said, {}, false};
  }
  if (reply.status >= 300 && reply.status <= 399) {
    return {FailureKind::redirect, said, {}, true};
  }
  const bool is_busy = reply.status == 409 || reply.status == 424 || reply.status >= 500;
  return {is_busy ? FailureKind::unavailable : FailureKind::contract, said, {}, true};
}

bool refuses_the_key(const Reply& reply) {
  return reply.status == 400 && reply.error()["type"].is("idempotency_error");
}

bool calls_for_new_key(const Ask& ask, const Reply& reply) {
  if (ask.new_key == NewKey::never || ask.key.empty()) return false;
  if (refuses_the_key(reply)) return true;
  return reply.status >= 500 && (reply.is_kept || ask.new_key == NewKey::for_errors);
}

}  // namespace

struct Api::Answer {
  Reply reply;
  std::optional<bool> should_retry;
  bool is_json = false;
};

// Retries by the rule of Stripe's own libraries: as Stripe-Should-Retry says; without it, after 409
// and 5xx. A 429 is not retried, since retries would add to the load that was limited.
Api::Next Api::after(const Ask& ask, const Answer& answer, bool is_last) {
  const Reply& reply = answer.reply;
  if (calls_for_new_key(ask, reply)) return Next::again_under_new_key;
  const bool is_final = reply.is_done() || is_refusal_for_good(reply.status);
  const bool is_repeated =
      !reply.is_done() && answer.should_retry.value_or(reply.status == 409 || reply.status >= 500);
  if (is_repeated && !is_last) return Next::again;
  return is_final && answer.is_json && !refuses_the_key(reply) ? Next::nothing : Next::give_up;
}

Refusal Reply::refusal() const {
  const std::string param = error()["param"].text();
  return {word(error()["type"].text(), "no_type"), word(error()["code"].text(), ""),
          is_of(param, param_bytes_max, "_[]") ? param : std::string()};
}

std::string Reply::summary() const {
  std::string text = "status " + std::to_string(status);
  if (!error().is_absent()) {
    const Refusal said = refusal();
    text += ", " + said.type;
    if (!said.code.empty()) text += ", " + said.code;
    if (!said.param.empty()) text += " at " + said.param;
  }
  return with_request(std::move(text), *this);
}

Failure unexpected(const Ask& ask, const Reply& reply, bool maybe_sent) {
  return {FailureKind::contract, name_of(ask) + ": " + reply.summary(), {}, maybe_sent};
}

Result<Api::Answer> Api::attempt(const Ask& ask, std::string_view key, Call& call) const {
  const std::string authorization = "Bearer " + settings_.api_key;
  std::vector<HeaderField> headers = {{"Accept", "application/json"},
                                      {"Authorization", authorization},
                                      {"Stripe-Version", api_version}};
  const bool is_post = ask.method == Method::post;
  if (is_post) headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
  if (is_post && !key.empty()) headers.push_back({"Idempotency-Key", key});
  std::string url = settings_.api_base + ask.path;
  if (!is_post && !ask.form.text().empty()) url += "?" + ask.form.text();
  HttpOptions options;
  options.allow_private_addresses = settings_.is_own_base;
  options.reply_bytes_max = reply_bytes_max;
  WholeReply whole;
  const Done done =
      host_.http().call({ask.method, url, headers, is_post ? ask.form.text() : std::string_view()},
                        options, whole, call);
  if (whole.is_too_large) {
    return Failure{FailureKind::too_large, name_of(ask) + ": the reply is too large", {}, true};
  }
  if (!done.ok()) {
    Failure failure = done.error();
    failure.message = name_of(ask) + ": " + failure.message;
    return failure;
  }
  Answer answer;
  answer.reply.status = whole.read.status;
  answer.reply.request_id = std::move(whole.read.request_id);
  answer.reply.date_ms = read_http_date(whole.read.date).value_or(-1);
  if (answer.reply.date_ms >= 0) answer.reply.date_ms *= 1'000;
  answer.reply.is_kept = whole.read.is_kept;
  answer.should_retry = whole.read.should_retry;
  if (auto json = read_json(whole.text)) {
    answer.is_json = json->is_object();
    answer.reply.body = *std::move(json);
  }
  return answer;
}

// Waits with exponential backoff and jitter: a time that doubles with each attempt, plus a random
// time up to the same length. False if the call was cancelled or its deadline passed.
bool Api::wait(int attempts, Call& call) const {
  const std::uint32_t wait_ms = first_wait_ms << (attempts - 1);
  std::array<std::uint8_t, 2> chance{};
  host_.random().fill(chance);
  const std::uint32_t more_ms = (chance[0] << 8u | chance[1]) % wait_ms;
  return !call.cancelled() && call.sleep_ms(wait_ms + more_ms);
}

std::string Api::key_beside(std::string_view key) const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<std::uint8_t, 8> bytes{};
  host_.random().fill(bytes);
  std::string beside(key);
  beside += '.';
  for (const std::uint8_t byte : bytes) {
    beside += digits[byte >> 4];
    beside += digits[byte & 0x0F];
  }
  return beside;
}

Result<Reply> Api::send(const Ask& ask, Call& call) const {
  if (settings_.api_key.empty()) {
    return Failure{FailureKind::credential, "the secret of api_key is not available", {}, false};
  }
  std::string key = ask.key;
  bool maybe_sent = false;  // in any attempt
  for (int attempts = 1;; ++attempts) {
    auto answer = attempt(ask, key, call);
    const bool is_last = attempts == attempts_max;
    const bool is_broken = !answer.ok() && answer.error().kind == FailureKind::transport;
    const Next next =
        answer.ok() ? after(ask, *answer, is_last) : (is_broken ? Next::again : Next::give_up);
    if (next == Next::nothing) return std::move(answer->reply);
    Failure failure = answer.ok() ? failure_of(ask, answer->reply) : answer.error();
    maybe_sent = maybe_sent || failure.maybe_sent;
    failure.maybe_sent = maybe_sent;
    if (next == Next::give_up || is_last || !wait(attempts, call)) return failure;
    if (next == Next::again_under_new_key) key = key_beside(ask.key);
  }
}

std::optional<std::int64_t> read_http_date(std::string_view text) {
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
  const auto number = [text](std::size_t at, std::size_t digits) {
    int value = -1;
    const char* const end = text.data() + at + digits;
    const auto [rest, problem] = std::from_chars(text.data() + at, end, value);
    return problem == std::errc{} && rest == end ? value : -1;
  };
  const std::size_t month = months.find(text.substr(8, 3));
  const int day = number(5, 2), year = number(12, 4);
  const int hour = number(17, 2), minute = number(20, 2), second = number(23, 2);
  if (month == months.npos || month % 3 != 0 || day < 1 || year < 1970 || hour < 0 || hour > 23 ||
      minute < 0 || minute > 59 || second < 0 || second > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return std::int64_t{days} * 86'400 + hour * 3'600 + minute * 60 + second;
}

}  // namespace turnpike::stripe
