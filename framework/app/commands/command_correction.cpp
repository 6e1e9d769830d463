// correction: Credits given back for calls that were charged: the operator's hand on the database.
#include "app/commands/command_database.h"
#include "crypto/digest.h"
#include "hosts/operator/correction_route.h"
#include "hosts/turn.h"
#include "text/json_text.h"
#include "text/words.h"

namespace turnpike::app {
namespace {

using nlohmann::json;

std::string sentence_of(const base::Error& error) {
  std::string text = error.message;
  for (const base::FieldProblem& field : error.fields) {
    text += " " + field.location + ": " + field.problem + ". " + field.fix;
  }
  return text;
}

// Reads the words of the command line by the rules of the operator route's body.
Result<ledger::CorrectionRequest, base::Error> request_of(const CorrectionWords& words) {
  json body = {
      {"kind", words.kind}, {"credits", std::to_string(words.credits)}, {"reason", words.reason}};
  if (!words.reference.empty()) body["reference"] = words.reference;
  auto request = hosts::operators::read_correction(body.dump());
  if (!request.ok()) return request;
  request->account_id = words.account;
  request->message_id = words.message;
  request->operator_id = "command-line";
  request->idempotency_key = words.key;
  if (!hosts::is_idempotency_key(words.key) && !words.key.empty()) {
    return base::Error{base::ErrorCode::request_malformed,
                       "--idempotency-key takes 1 to 255 visible ASCII characters."};
  }
  if (words.key.empty()) {
    const json all = {words.account, words.message, body};
    request->idempotency_key = "command-line-" + crypto::sha256_hex(all.dump());
  }
  return request;
}

std::string text_of(const ledger::Correction& made) {
  return (made.is_repeat ? "was recorded before: " : "recorded: ") + made.id + " gives " +
         text::credits_text(made.units) + " back for " + made.message_id + " as " +
         made.allocation_id;
}

}  // namespace

int run_correction_create(const CommonOptions& options, const CorrectionWords& words) {
  const auto request = request_of(words);
  if (!request.ok()) {
    (void)print_failure(options, sentence_of(request.error()));
    return exit_usage;
  }
  return with_database(options, [&](Tools& tools) {
    return print(
        options, tools.node.corrections().correct(*request),
        [](const ledger::Correction& made) {
          return text::parse_json(hosts::operators::receipt_json(made));
        },
        [](const ledger::Correction& made) { return text_of(made); });
  });
}

}  // namespace turnpike::app
