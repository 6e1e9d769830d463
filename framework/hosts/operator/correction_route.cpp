#include "hosts/operator/correction_route.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/strict_object.h"
#include "identity/bearer.h"
#include "text/time_text.h"

namespace turnpike::hosts::operators {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::uint32_t threads_max = 2;
constexpr std::uint32_t queued_max = 64;
constexpr std::int64_t store_timeout_ms = 5'000;
constexpr std::int64_t credits_max = 1'000'000'000'000;

Result<std::string, Error> bearer_token(Headers headers) {
  const identity::Bearer bearer = identity::read_bearer(headers);
  switch (bearer.form) {
    case identity::Authorization::bearer:
      return std::string(bearer.token);
    case identity::Authorization::none:
      return Error{ErrorCode::auth_credential_required,
                   "This needs an operator credential: send \"Authorization: Bearer <token>\"."};
    case identity::Authorization::repeated:
      return Error{ErrorCode::auth_credential_conflict, "Authorization came more than once."};
    case identity::Authorization::other_scheme:
    case identity::Authorization::malformed:
      break;
  }
  return Error{ErrorCode::auth_credential_invalid, "The operator credential is not valid."};
}

// The work was not started, or did not end in time: in both cases the request may be retried
// unchanged.
Error late(ErrorCode code) {
  return {code, "The store did not answer in time: repeat it under the same Idempotency-Key.", 1};
}

}  // namespace

Result<ledger::CorrectionRequest, base::Error> read_correction(std::string_view json) {
  base::StrictObject body(json, {"reason", "kind", "credits", "reference"});
  constexpr std::string_view kinds[] = {"refund", "void"};
  ledger::CorrectionRequest correction;
  correction.kind = static_cast<ledger::CorrectionKind>(body.one_of("kind", kinds));
  correction.units = body.units("credits", credits_max);
  correction.reason = body.text("reason", {1, 500});
  correction.reference = body.text_or("reference", {1, 200}, "");
  if (body.problems().empty()) return correction;
  return body.refusal("The body is no usage correction.");
}

std::string receipt_json(const ledger::Correction& correction) {
  return nlohmann::json{{"correctionId", correction.id},
                        {"originalMessageId", correction.message_id},
                        {"kind", name_of(correction.kind)},
                        {"creditsRestored", std::to_string(correction.units)},
                        {"allocationId", correction.allocation_id},
                        {"recordedAt", text::rfc3339(correction.recorded_at_ms)},
                        {"operatorId", correction.operator_id}}
      .dump();
}

CorrectionRoute::CorrectionRoute(const Parts& parts)
    : parts_(parts), user_(parts.pool.add_user("operator", threads_max, queued_max)) {}

Result<std::string, Error> CorrectionRoute::answer(const Asked& asked,
                                                   std::string_view idempotency_key) const {
  auto read = read_correction(asked.body);
  if (!read.ok()) return std::move(read).error();
  ledger::CorrectionRequest& correction = *read;
  correction.account_id = asked.parameters[0];
  correction.message_id = asked.parameters[1];
  correction.idempotency_key = idempotency_key;
  correction.operator_id = asked.caller->id;

  auto reply = parts_.pool.call(
      user_, [store = &parts_.corrections, correction] { return store->correct(correction); },
      runtime::Deadline::after_ms(store_timeout_ms));
  if (reply.outcome != runtime::PoolOutcome::done) {
    return late(ErrorCode::billing_ledger_unavailable);
  }
  if (!reply.value->ok()) return reply.value->error();
  const ledger::Correction& made = **reply.value;
  if (made.is_repeat) return receipt_json(made);
  parts_.log.write(Severity::info, "usage_corrected",
                   {{"operator", correction.operator_id},
                    {"correction", made.id},
                    {"account", correction.account_id},
                    {"message", made.message_id},
                    {"kind", name_of(made.kind)},
                    {"credits", made.units}});
  return receipt_json(made);
}

Result<Caller, Error> CorrectionRoute::authenticate(Headers headers) const {
  const auto token = bearer_token(headers);
  if (!token.ok()) return token.error();
  auto reply = parts_.pool.call(
      user_,
      [operators = &parts_.operators, token = *token] { return operators->authenticate(token); },
      runtime::Deadline::after_ms(store_timeout_ms));
  if (reply.outcome != runtime::PoolOutcome::done) return late(ErrorCode::auth_unavailable);
  return *std::move(reply.value);
}

}  // namespace turnpike::hosts::operators
