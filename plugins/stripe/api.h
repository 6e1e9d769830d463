// Api: one call of Stripe's API over the gateway's HTTP (docs/protocols.md, "Stripe"). It repeats
// what is to be repeated, within the call's deadline, and says what became of it: an answer, a
// refusal, or a Failure which tells whether Stripe may have acted.
//
// No message holds a secret or what Stripe writes for people, which may name data of a card: types,
// codes and parameters alone, and the request's id, by which an operator finds it in Stripe's log.
//
// One per BoundProcessor, which owns it. Immutable; any Thread or fiber. send() waits.
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

// The version whose names this plugin sends and reads.
inline constexpr std::string_view api_version = "2026-10-28.endive";

inline constexpr int attempts_max = 3;

// Stripe keeps the first answer under an Idempotency-Key for a day and gives it again, errors of
// its own (5xx) too, and refuses the key with other parameters. When is another key to be used?
enum class NewKey : std::uint8_t {
  never,  // a second time would move money twice
  // When what was answered is no answer to this attempt: a kept 5xx, or a refusal of the key. For
  // what is asked only when it is known that nothing came of it.
  for_kept_errors,
  // After a 5xx, too: for what may be made twice, when nobody learns of the other one.
  for_errors,
};

struct Ask {
  Method method = Method::get;
  std::string path;      // "/v1/refunds"
  Form form = {};        // the query of a GET, the body of a POST
  std::string key = {};  // Idempotency-Key of a POST; empty: none is needed
  NewKey new_key = NewKey::never;
};

// What Stripe says is wrong.
struct Refusal {
  std::string type;
  std::string code;  // a word; empty: none
  std::string param;
};

// Status 200 to 299, 400, 402 or 404: Stripe did it, or refuses it for good.
struct Reply {
  int status = 0;
  Json body = {};
  std::string request_id = {};  // for messages; empty: none that looks like one
  std::int64_t date_ms = -1;    // Stripe's clock; -1: it did not say
  bool is_kept = false;         // given again, of an earlier request under the same key

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
  // What is to follow on an attempt.
  enum class Next : std::uint8_t {
    nothing,  // its reply is the answer
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

// "GET /v1/refunds" with what the reply says, as a Failure: for what was not to be refused.
Failure unexpected(const Ask& ask, const Reply& reply, bool maybe_sent);

// Seconds since 1970 of an IMF-fixdate (RFC 9110, section 5.6.7); nothing: it is none.
std::optional<std::int64_t> read_http_date(std::string_view text);

}  // namespace turnpike::stripe
