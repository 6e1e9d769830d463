#include "mcp/request_state.h"

#include <array>
#include <charconv>

#include "crypto/digest.h"
#include "crypto/signed_text.h"

namespace turnpike::tests {
namespace {

using hosts::mcp::Json;
using hosts::mcp::RpcCode;
using hosts::mcp::RpcError;
using hosts::mcp::RpcRequest;

// What a state is bound to: its caller, and the request but for what changes between its rounds.
std::string binding_of(const RpcRequest& request) {
  Json params = request.message.params;
  for (const char* const changing : {"_meta", "inputResponses", "requestState"}) {
    params.erase(changing);
  }
  const auto caller = request.turn.request.find("authorization");
  const Json bound = {request.message.method, std::move(params),
                      crypto::sha256_hex(caller.value_or(""))};
  return crypto::sha256_hex(hosts::mcp::text_of(bound));
}

}  // namespace

std::string RequestState::make(const RpcRequest& request, std::string_view memory) const {
  std::string text = std::to_string(clock_.now_ms() + lifetime_ms_);
  text.append(" ").append(memory);
  return crypto::sign_text(text, binding_of(request), key_);
}

Result<std::optional<std::string>, RpcError> RequestState::read(const RpcRequest& request) const {
  const Json* const sent = hosts::mcp::find(request.message.params, "requestState");
  if (sent == nullptr) return std::optional<std::string>();
  const auto* const text = sent->get_ptr<const std::string*>();
  const auto state =
      text == nullptr ? std::nullopt : crypto::verified_text(*text, binding_of(request), key_);
  if (!state) {
    return RpcError{RpcCode::invalid_params, "The requestState is not the one of this request."};
  }
  const std::size_t blank = state->find(' ');
  std::int64_t ends_at_ms = 0;
  std::from_chars(state->data(), state->data() + blank, ends_at_ms);
  if (clock_.now_ms() >= ends_at_ms) {
    return RpcError{RpcCode::invalid_params, "The requestState is too old: call again."};
  }
  return std::optional(state->substr(blank + 1));
}

}  // namespace turnpike::tests
