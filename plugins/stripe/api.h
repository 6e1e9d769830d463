// Api: calls Stripe's API over the gateway's HTTP (docs/protocols.md, "Stripe"). It retries within
// the call's deadline and returns an answer, a definite refusal, or a Failure that says whether
// Stripe may have acted.
//
// Messages contain no secrets and none of Stripe's texts for people, which may contain card data.
// They contain only types, codes, parameters and the request id, with which an operator finds the
// request in Stripe's log.
//
// Owned by its BoundProcessor. Immutable; any Thread or fiber may call it. send() waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <turnpike/call.h>
#include <turnpike/host.h>
#include <turnpike/result.h>

#include "stripe/form.h"
#include "stripe/json.h"
#include "stripe/settings.h"

namespace turnpike::stripe {

// Sent as Stripe-Version with every request.
inline constexpr std::string_view api_version = "2026-10-28.endive";

inline constexpr int attempts_max = 3;

// When a retry uses a new Idempotency-Key. Stripe stores the first answer under a key for a day and
// replays it, including its own errors (5xx). It refuses a key that comes with other parameters.
enum class NewKey : std::uint8_t {
  never,  // a second execution would move money twice
  // After a replayed 5xx or a refusal of the key, which say nothing about this attempt. For
  // requests that are sent only when it is known that an earlier one had no effect.
  for_kept_errors,
  // After any 5xx, too. For objects that may be created twice, because the other one is never used.
  for_errors,
};

struct Ask {
  Method method = Method::get;
  std::string path;      // "/v1/refunds"
  Form form = {};        // the query of a GET, the body of a POST
  std::string key = {};  // Idempotency-Key of a POST; empty: none
  NewKey new_key = NewKey::never;
};

// Stripe's error, without its text for people.
struct Refusal {
  std::string type;
  std::string code;  // a word; empty: none
  std::string param;
};

// A final answer. With status 200 to 299 Stripe did what was asked; with 400, 402 or 404 it refuses
// for good.
struct Reply {
  int status = 0;
  Json body = {};
  std::string request_id = {};  // for messages; empty: missing or malformed
  std::int64_t date_ms = -1;    // Stripe's clock, from Date; -1: unknown
  bool is_kept = false;         // Stripe replayed the answer to an earlier request with this key

  [[nodiscard]] bool is_done() const noexcept { return status >= 200 && status <= 299; }
  [[nodiscard]] JsonValue root() const { return JsonValue(body); }
  [[nodiscard]] JsonValue error() const { return root()["error"]; }
  [[nodiscard]] Refusal refusal() const;
  // "status 400, invalid_request_error, resource_missing at customer, request req_1".
  [[nodiscard]] std::string summary() const;
};

class Api {
 public:
  Api(const StripeSettings& settings, Host& host) : settings_(settings), host_(host) {}

  Result<Reply> send(const Ask& ask, Call& call) const;
  Result<Reply> get(std::string path, Form query, Call& call) const {
    return send({Method::get, std::move(path), std::move(query)}, call);
  }

 private:
  struct Answer;
  // What send() does after an attempt.
  enum class Next : std::uint8_t {
    nothing,  // the reply is the answer
    again,
    again_under_new_key,
    give_up,
  };
  static Next after(const Ask& ask, const Answer& answer, bool is_last);
  Result<Answer> attempt(const Ask& ask, std::string_view key, Call& call) const;
  bool wait(int attempts, Call& call) const;
  [[nodiscard]] std::string key_beside(std::string_view key) const;

  const StripeSettings& settings_;
  Host& host_;
};

// A Failure with the request's name and the summary of an unexpected reply.
Failure unexpected(const Ask& ask, const Reply& reply, bool maybe_sent);

// Seconds since 1970 of an IMF-fixdate (RFC 9110, section 5.6.7); empty if the text is not one.
std::optional<std::int64_t> read_http_date(std::string_view text);

}  // namespace turnpike::stripe
