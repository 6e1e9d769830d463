#include "hosts/operator/correction_route.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/http_field.h"
#include "base/ids.h"
#include "base/limits.h"
#include "base/strict_object.h"
#include "identity/bearer.h"

namespace turnpike::hosts::operators {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::uint32_t threads_max = 2;
constexpr std::uint32_t queued_max = 64;
constexpr std::int64_t store_timeout_ms = 5'000;
constexpr std::size_t idempotency_key_bytes_max = 255;
constexpr std::int64_t credits_max = 1'000'000'000'000;

constexpr std::string_view path_start = "/internal/v1/billing-accounts/";
constexpr std::string_view path_middle = "/usage/";
constexpr std::string_view path_end = "/corrections";

Result<std::string, Error> bearer_token(const wire::Request& request) {
  const identity::Bearer bearer = identity::read_bearer(request.headers());
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

Result<std::string, Error> idempotency_key(const wire::Request& request) {
  const std::string_view key = request.find("idempotency-key").value_or("");
  if (request.count("idempotency-key") == 1 && is_idempotency_key(key)) return std::string(key);
  return Error{ErrorCode::request_malformed,
               "A correction needs its Idempotency-Key.",
               0,
               {{"header.idempotency-key", "it is missing, comes twice or is not in its form",
                 "Send it once, with 1 to 255 visible ASCII characters."}}};
}

bool is_json(const wire::Request& request) noexcept {
  const auto type = base::media_type_of(request.find("content-type").value_or(""));
  return request.count("content-type") == 1 && same_header_name(type, "application/json");
}

Result<ledger::CorrectionRequest, Error> read_body(wire::Request& request) {
  if (!is_json(request)) {
    return Error{ErrorCode::request_media_type_rejected,
                 "The body of a correction is JSON.",
                 0,
                 {{"header.content-type", "it is missing or another one",
                   "Send Content-Type: application/json."}}};
  }
  if (!same_header_name(request.find("content-encoding").value_or("identity"), "identity")) {
    return Error{ErrorCode::request_content_coding_rejected,
                 "The body of a correction is sent as it is.",
                 0,
                 {{"header.content-encoding", "the body is compressed or otherwise coded",
                   "Send it without Content-Encoding."}}};
  }
  const auto bytes = request.read_body(base::limits::operator_body_bytes_max);
  if (!bytes.ok()) return bytes.error();
  return read_correction(*bytes);
}

// Not begun, or begun and not over in time: either way the same request may be sent again.
Error late(ErrorCode code) {
  return {code, "The store did not answer in time: repeat it under the same Idempotency-Key.", 1};
}

}  // namespace

bool is_idempotency_key(std::string_view text) noexcept {
  return !text.empty() && text.size() <= idempotency_key_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

Result<ledger::CorrectionRequest, base::Error> read_correction(std::string_view json) {
  base::StrictObject body(json, {"reason", "kind", "credits", "reference"});
  constexpr std::string_view kinds[] = {"refund", "void"};
  ledger::CorrectionRequest correction;
  correction.kind = static_cast<ledger::CorrectionKind>(body.one_of("kind", kinds));
  correction.units = body.units("credits", credits_max);
  correction.reason = body.text("reason", {1, 500});
  correction.reference = body.text_or("reference", {1, 200}, "");
  if (body.problems().empty()) return correction;
  return Error{ErrorCode::request_body_rejected, "The body is no usage correction.", 0,
               body.problems()};
}

std::string receipt_json(const ledger::Correction& correction) {
  return nlohmann::json{{"correctionId", correction.id},
                        {"originalMessageId", correction.message_id},
                        {"kind", name_of(correction.kind)},
                        {"creditsRestored", std::to_string(correction.units)},
                        {"allocationId", correction.allocation_id},
                        {"recordedAt", base::rfc3339(correction.recorded_at_ms)},
                        {"operatorId", correction.operator_id}}
      .dump();
}

CorrectionRoute::CorrectionRoute(const Parts& parts)
    : parts_(parts), user_(parts.pool.add_user("operator", threads_max, queued_max)) {}

std::optional<CorrectionRoute::Target> CorrectionRoute::match(std::string_view path) noexcept {
  if (!path.starts_with(path_start) || !path.ends_with(path_end)) return std::nullopt;
  if (path.size() < path_start.size() + path_end.size()) return std::nullopt;
  path.remove_prefix(path_start.size());
  path.remove_suffix(path_end.size());
  const std::size_t middle = path.find(path_middle);
  if (middle == path.npos) return std::nullopt;
  const Target target{path.substr(0, middle), path.substr(middle + path_middle.size())};
  const auto is_segment = [](std::string_view text) {
    return !text.empty() && text.find('/') == text.npos;
  };
  if (!is_segment(target.account_id) || !is_segment(target.message_id)) return std::nullopt;
  return target;
}

Result<std::string, Error> CorrectionRoute::answer(wire::Request& request,
                                                   const Target& target) const {
  const auto who = authorize(request);
  if (!who.ok()) return who.error();
  auto key = idempotency_key(request);
  if (!key.ok()) return std::move(key).error();
  auto asked = read_body(request);
  if (!asked.ok()) return std::move(asked).error();
  ledger::CorrectionRequest& correction = *asked;
  correction.account_id = target.account_id;
  correction.message_id = target.message_id;
  correction.idempotency_key = *std::move(key);
  correction.operator_id = who->id;

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
                   {{"operator", who->id},
                    {"correction", made.id},
                    {"account", correction.account_id},
                    {"message", made.message_id},
                    {"kind", name_of(made.kind)},
                    {"credits", made.units}});
  return receipt_json(made);
}

Result<identity::Operator, Error> CorrectionRoute::authorize(wire::Request& request) const {
  const auto token = bearer_token(request);
  if (!token.ok()) return token.error();
  auto reply = parts_.pool.call(
      user_,
      [operators = &parts_.operators, token = *token] { return operators->authenticate(token); },
      runtime::Deadline::after_ms(store_timeout_ms));
  if (reply.outcome != runtime::PoolOutcome::done) return late(ErrorCode::auth_unavailable);
  if (!reply.value->ok()) return reply.value->error();
  identity::Operator who = **std::move(reply.value);
  if (who.may(identity::Authority::usage_correct)) return who;
  return Error{ErrorCode::auth_authority_missing,
               "This operator credential does not have the authority usage.correct."};
}

}  // namespace turnpike::hosts::operators
