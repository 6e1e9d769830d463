// Questions that a tool or a prompt answers with instead of a result, for the client to answer and
// call again (docs/protocols.md, "Input in the middle of a call").
//
// Values and pure functions; any Thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hosts/mcp/tool.h"

namespace turnpike::tests {

struct Question {
  std::string key;
  const char* capability;    // that the client must have to answer it
  hosts::mcp::Json request;  // {"method", "params"}
};

// For one value of the user.
Question ask_user(const char* key, const char* message, const char* property, const char* type);
Question ask_model(const char* key, const char* text);
Question ask_roots(const char* key);

// Those that the client has said it can answer.
std::vector<Question> answerable(const hosts::mcp::RpcRequest& request,
                                 const std::vector<Question>& questions);

// The responses to all questions, by key; null: one is missing or is no object. What else came is
// ignored. Error: -32602, `inputResponses` is there but no object.
Result<hosts::mcp::Json, hosts::mcp::RpcError> responses_to(const hosts::mcp::RpcRequest& request,
                                                            const std::vector<Question>& questions);

// The questions as an answer. Error: -32021, the client cannot answer one of them.
hosts::mcp::Answer input_required(const hosts::mcp::RpcRequest& request,
                                  const std::vector<Question>& questions,
                                  const std::optional<std::string>& state = std::nullopt);

}  // namespace turnpike::tests
