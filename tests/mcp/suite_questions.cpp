#include "mcp/suite_questions.h"

#include <utility>

namespace turnpike::tests {

using namespace hosts::mcp;

namespace {

bool can_answer(const RpcRequest& request, const Question& question) {
  const Json* const capabilities = request.meta(capabilities_key);
  return capabilities != nullptr && find(*capabilities, question.capability) != nullptr;
}

}  // namespace

Question ask_user(const char* key, const char* message, const char* property, const char* type) {
  Json schema = {{"type", "object"},
                 {"properties", {{property, {{"type", type}}}}},
                 {"required", Json::array({property})}};
  return {key,
          "elicitation",
          {{"method", "elicitation/create"},
           {"params", {{"message", message}, {"requestedSchema", std::move(schema)}}}}};
}

Question ask_model(const char* key, const char* text) {
  Json message = {{"role", "user"}, {"content", {{"type", "text"}, {"text", text}}}};
  return {key,
          "sampling",
          {{"method", "sampling/createMessage"},
           {"params", {{"messages", Json::array({std::move(message)})}, {"maxTokens", 100}}}}};
}

Question ask_roots(const char* key) {
  return {key, "roots", {{"method", "roots/list"}, {"params", Json::object()}}};
}

std::vector<Question> answerable(const RpcRequest& request,
                                 const std::vector<Question>& questions) {
  std::vector<Question> rest;
  for (const Question& question : questions) {
    if (can_answer(request, question)) rest.push_back(question);
  }
  return rest;
}

Result<Json, RpcError> responses_to(const RpcRequest& request,
                                    const std::vector<Question>& questions) {
  const Json* const sent = find(request.message.params, "inputResponses");
  if (sent == nullptr) return Json();
  if (!sent->is_object()) {
    return RpcError{RpcCode::invalid_params, "params.inputResponses must be an object."};
  }
  Json responses = Json::object();
  for (const Question& question : questions) {
    const Json* const response = find(*sent, question.key.c_str());
    if (response == nullptr || !response->is_object()) return Json();
    responses[question.key] = *response;
  }
  return responses;
}

Answer input_required(const RpcRequest& request, const std::vector<Question>& questions,
                      const std::optional<std::string>& state) {
  if (request.era == Era::legacy) return text_result("This needs revision 2026-07-28.", true);
  Json missing = Json::object();
  Json requests = Json::object();
  for (const Question& question : questions) {
    if (!can_answer(request, question)) missing[question.capability] = Json::object();
    requests[question.key] = question.request;
  }
  if (!missing.empty()) {
    return RpcError{RpcCode::capability_missing,
                    "The client cannot answer what is asked.",
                    400,
                    {{"requiredCapabilities", std::move(missing)}}};
  }
  RpcResult result;
  result.is_complete = false;
  result.members = R"("resultType":"input_required","inputRequests":)" + text_of(requests);
  if (state) result.members += R"(,"requestState":)" + text_of(*state);
  return result;
}

}  // namespace turnpike::tests
