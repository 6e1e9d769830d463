#include "hosts/mcp/account_tools.h"

#include <array>
#include <utility>

#include "hosts/mcp/arguments.h"
#include "hosts/mcp/service_tools.h"
#include "hosts/status_table.h"

namespace turnpike::hosts::mcp {
namespace {

using Card = nlohmann::ordered_json;

class AccountTool : public Tool {
 public:
  AccountTool(const AccountReads& reads, const Executions& executions)
      : reads_(reads), executions_(executions) {}

  [[nodiscard]] bool is_at(Door door) const noexcept override { return door == Door::account; }
  Answer call(const RpcRequest& request, const Json& arguments) const override;

 protected:
  using Body = AccountReads::Body;
  [[nodiscard]] static Card card_of(std::string_view name, std::string_view title,
                                    std::string_view description, Card properties, Card required);
  // Reads the account after the arguments were accepted; the error describes invalid arguments.
  virtual Body read(const RpcRequest& request, const Json& arguments,
                    const std::string& account_id) const = 0;

  const AccountReads& reads_;

 private:
  const Executions& executions_;
};

Card AccountTool::card_of(std::string_view name, std::string_view title,
                          std::string_view description, Card properties, Card required) {
  Card schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  Card card = {{"name", name},
               {"title", title},
               {"description", description},
               {"inputSchema", std::move(schema)},
               {"outputSchema", {{"type", "object"}}},
               {"annotations", tool_annotations(title, true, false)}};
  add_security(card, Admits::accounts);
  return card;
}

Answer AccountTool::call(const RpcRequest& request, const Json& arguments) const {
  if (auto refused = executions_.refuse_without_key(request)) return *std::move(refused);
  const auto caller =
      reads_.authenticate(request.turn.request.headers(), accepted_at(request.door));
  if (!caller.ok()) {
    return http_status(caller.error().code) == 401
               ? executions_.unauthorized(request, caller.error())
               : refused_result(request, caller.error());
  }
  request.turn.keep_principal(*caller);
  if (const auto problem = AccountReads::account_problem((*caller)->account_status)) {
    return refused_result(request, *problem);
  }
  const Body body = read(request, arguments, std::string((*caller)->account_id));
  if (!body.ok()) return refused_by_query(request, body.error());
  return executions_.read_result(request, *body);
}

class AccountBalance final : public AccountTool {
 public:
  using AccountTool::AccountTool;
  [[nodiscard]] std::string_view name() const noexcept override {
    return "service.account.balance";
  }
  [[nodiscard]] Card card(Door) const override {
    return card_of(name(), "Read the balance",
                   "The Credits that are left on the account of the API key. Costs nothing.",
                   Card::object(), Card::array());
  }

 private:
  Body read(const RpcRequest&, const Json& given, const std::string& account_id) const override {
    Arguments arguments(given, {});
    if (const auto error = arguments.error()) return *error;
    return reads_.credit_balance(account_id);
  }
};

class AccountUsage final : public AccountTool {
 public:
  using AccountTool::AccountTool;
  [[nodiscard]] std::string_view name() const noexcept override { return "service.account.usage"; }
  [[nodiscard]] Card card(Door) const override;

 private:
  Body read(const RpcRequest& request, const Json& given,
            const std::string& account_id) const override;
};

Card AccountUsage::card(Door) const {
  const auto text = [](std::string_view description) {
    return Card{{"type", "string"}, {"description", description}};
  };
  Card properties = {
      {"from",
       text("Begin, in UTC, such as 2026-11-21T00:00:00Z; 30 days before `to` without it.")},
      {"to", text("End, not included; the end of today without it.")},
      {"granularity",
       {{"type", "string"},
        {"enum", {"hour", "day", "month"}},
        {"description", "Of the series; day without it."}}},
      {"route_id", text("Only calls of this route: its capability_id.")},
      {"api_key_id", text("Only calls with this API key.")}};
  return card_of(name(), "Read the usage",
                 "What the account of the API key called and spent: totals, a series over time, "
                 "sums by operation and by key. Costs nothing.",
                 std::move(properties), Card::array());
}

// The arguments become the query of the HTTP route, which validates it.
AccountTool::Body AccountUsage::read(const RpcRequest&, const Json& given,
                                     const std::string& account_id) const {
  static constexpr std::array names = {"from", "to", "granularity", "route_id", "api_key_id"};
  Arguments arguments(given, {"from", "to", "granularity", "route_id", "api_key_id"});
  NamedValues query;
  for (const char* const name : names) {
    if (auto value = arguments.text(name)) query.add(name, *std::move(value));
  }
  if (const auto error = arguments.error()) return *error;
  return reads_.usage(account_id, query);
}

class AccountCall final : public AccountTool {
 public:
  using AccountTool::AccountTool;
  [[nodiscard]] std::string_view name() const noexcept override { return "service.account.call"; }
  [[nodiscard]] Card card(Door) const override {
    return card_of(name(), "Read what became of a call",
                   "Whether a paid call of the account was charged, and what it came to. Use it "
                   "when an outcome is not known, instead of repeating the call. Costs nothing.",
                   {{"request_id",
                     {{"type", "string"},
                      {"description",
                       "request_id of the call's result, or X-Request-Id of its "
                       "HTTP reply."}}}},
                   Card::array({"request_id"}));
  }

 private:
  Body read(const RpcRequest& request, const Json& given,
            const std::string& account_id) const override {
    Arguments arguments(given, {"request_id"});
    const std::string id = arguments.required("request_id", "Send the request_id of a result.");
    if (const auto error = arguments.error()) return *error;
    return reads_.call(account_id, id, request.turn.request_id());
  }
};

}  // namespace

std::vector<std::shared_ptr<const Tool>> make_account_tools(const AccountReads& reads,
                                                            const Executions& executions) {
  return {std::make_shared<AccountBalance>(reads, executions),
          std::make_shared<AccountUsage>(reads, executions),
          std::make_shared<AccountCall>(reads, executions)};
}

}  // namespace turnpike::hosts::mcp
