#include "govdata/live/chain.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "govdata/import/abi.h"
#include "govdata/import/governor_event.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t batch_max = 50;

Failure stopped() { return {FailureKind::cancelled, {}, {}, false}; }

ChainProblem problem(std::string text, bool is_range_refused = false) {
  return {failed_step(std::move(text)), is_range_refused};
}

std::string call_text(std::int64_t id, const std::string& method, const std::string& parameters) {
  return "{\"jsonrpc\":\"2.0\",\"id\":" + std::to_string(id) + ",\"method\":\"" + method +
         "\",\"params\":" + parameters + "}";
}

std::string block_parameters(std::int64_t number) { return "[\"" + quantity(number) + "\",false]"; }

bool is_hash(std::string_view text) {
  return text.size() == 66 && text.starts_with("0x") &&
         text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
}

// Whether the error of a reply says that the contract failed, not the node. Nodes use different
// codes for a revert, so the message is read, too. A node without eth_call counts as a contract
// without functions.
bool is_contract_refusal(const JsonValue& error) {
  const std::string_view code = error.scalar("code");
  return code == "3" || code == "-32601" ||
         lower_ascii(error.scalar("message")).find("revert") != std::string::npos;
}

// The id of a reply in a batch; empty if it is not a number.
std::optional<std::int64_t> id_of(const JsonValue& reply) {
  const std::string_view text = reply.scalar("id");
  std::int64_t id = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool is_number = wrong == std::errc{} && end == text.data() + text.size();
  return is_number ? std::optional(id) : std::nullopt;
}

// The block in `result`; empty if it is malformed or not the block that was asked for.
std::optional<BlockHead> head_of(const JsonValue& result, std::int64_t number) {
  constexpr std::int64_t seconds_max = 253'402'300'799;  // the end of the year 9999
  const auto told = quantity_of(result.scalar("number"));
  const auto time_s = quantity_of(result.scalar("timestamp"));
  const std::string_view hash = result.scalar("hash");
  if (told != number || !time_s || *time_s > seconds_max || !is_hash(hash)) return std::nullopt;
  return BlockHead{number, lower_ascii(hash), *time_s};
}

}  // namespace

std::optional<std::int64_t> quantity_of(std::string_view text) {
  if (!text.starts_with("0x") || text.size() < 3) return std::nullopt;
  text.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool is_quantity =
      text[0] != '-' && wrong == std::errc{} && end == text.data() + text.size();
  return is_quantity ? std::optional(value) : std::nullopt;
}

std::string quantity(std::int64_t number) {
  char digits[16];
  const auto [end, wrong] = std::to_chars(std::begin(digits), std::end(digits), number, 16);
  return "0x" + std::string(std::begin(digits), end);
}

FromChain<std::string> Chain::send(const std::string& body) {
  if (asked_++ > 0 &&
      !context_.call.sleep_ms(static_cast<std::uint32_t>(settings_.request_interval_ms))) {
    return ChainProblem{failed_step(problem_of(stopped())), false};
  }
  RemoteRequest request;
  request.method = Method::post;
  request.url = settings_.url;
  request.body = body;
  auto reply = ask_remote(context_.host, settings_, request, context_.call);
  if (!reply.ok()) {
    // A node may take too long for a wide range, or have too many logs in it.
    const FailureKind kind = reply.error().kind;
    return problem(problem_of(reply.error()),
                   kind == FailureKind::timeout || kind == FailureKind::too_large);
  }
  if (reply->status == 200) return std::move(reply->body);
  // Some nodes send JSON-RPC errors with a status of their own.
  const auto bad = judge_status(*reply, context_.now_ms);
  const bool is_of_range = reply->status == 400 || reply->status == 413 || reply->status >= 500;
  return ChainProblem{*bad, is_of_range};
}

FromChain<JsonValue> Chain::ask(const std::string& method, const std::string& parameters) {
  const auto text = send(call_text(asked_ + 1, method, parameters));
  if (!text.ok()) return text.error();
  const auto reply = object_of(*text);
  if (!reply) return problem("the node's answer is no JSON object");
  if (const JsonValue* error = reply->get("error")) {
    ChainProblem refused = problem("the node refuses " + method, true);
    refused.is_contract_refusal = is_contract_refusal(*error);
    return refused;
  }
  const JsonValue* result = reply->find("result");
  if (result == nullptr || reply->scalar("id") != std::to_string(asked_)) {
    return problem("the node's answer is not of JSON-RPC");
  }
  return *result;
}

FromChain<std::int64_t> Chain::chain_id() {
  const auto result = ask("eth_chainId", "[]");
  if (!result.ok()) return result.error();
  const auto id = quantity_of(result->text);
  if (!id) return problem("the node's chain id is no quantity");
  return *id;
}

FromChain<std::int64_t> Chain::newest_block() {
  const auto result = ask("eth_blockNumber", "[]");
  if (!result.ok()) return result.error();
  const auto number = quantity_of(result->text);
  if (!number) return problem("the node's block number is no quantity");
  return *number;
}

FromChain<std::optional<BlockHead>> Chain::block(std::int64_t number) {
  const auto result = ask("eth_getBlockByNumber", block_parameters(number));
  if (!result.ok()) return result.error();
  if (result->is(JsonValue::Kind::null)) return std::optional<BlockHead>();
  auto head = head_of(*result, number);
  if (!head) return problem("the node's block is not of its form, or not the one asked for");
  return head;
}

FromChain<std::vector<Chain::Answer>> Chain::ask_batch(const std::string& method,
                                                       const std::vector<std::string>& parameters) {
  std::string body = "[";
  for (std::size_t at = 0; at < parameters.size(); ++at) {
    if (at > 0) body += ',';
    body += call_text(static_cast<std::int64_t>(at), method, parameters[at]);
  }
  const auto text = send(body + "]");
  if (!text.ok() && text.error().step.kind == StepKind::limited) return text.error();
  const auto replies = text.ok() ? array_of(*text) : std::nullopt;
  std::vector<Answer> answers(parameters.size());
  std::size_t answered = 0;
  for (std::size_t part = 0; replies && part < replies->size(); ++part) {
    const JsonValue& reply = (*replies)[part];
    const auto at = static_cast<std::size_t>(id_of(reply).value_or(-1));
    if (at >= answers.size() || answers[at].is_told || answers[at].is_contract_refusal) continue;
    if (const JsonValue* result = reply.get("result")) {
      answers[at].is_told = true;
      answers[at].result = *result;
    } else if (const JsonValue* error = reply.get("error")) {
      answers[at].is_contract_refusal = is_contract_refusal(*error);
    }
    if (answers[at].is_told || answers[at].is_contract_refusal) ++answered;
  }
  if (answered < answers.size()) answers.clear();
  return answers;
}

FromChain<std::map<std::int64_t, BlockHead>> Chain::blocks(const std::vector<std::int64_t>& numbers,
                                                           bool& takes_batches) {
  std::map<std::int64_t, BlockHead> heads;
  for (std::size_t at = 0; at < numbers.size();) {
    const std::size_t count = takes_batches ? std::min(batch_max, numbers.size() - at) : 1;
    if (takes_batches) {
      std::vector<std::string> parameters;
      for (std::size_t part = 0; part < count; ++part) {
        parameters.push_back(block_parameters(numbers[at + part]));
      }
      const auto answers = ask_batch("eth_getBlockByNumber", parameters);
      if (!answers.ok()) return answers.error();
      for (std::size_t part = 0; part < answers->size(); ++part) {
        const auto head = head_of((*answers)[part].result, numbers[at + part]);
        if (head) heads[numbers[at + part]] = *head;
      }
      // If the node takes no batches or left blocks out, they are asked for one by one.
      takes_batches = heads.size() == at + count;
      if (!takes_batches) continue;
    } else {
      const auto head = block(numbers[at]);
      if (!head.ok()) return head.error();
      if (!*head) return problem("the node has no block that it should have by its number");
      heads[numbers[at]] = **head;
    }
    at += count;
  }
  return heads;
}

FromChain<std::vector<std::optional<std::string>>> Chain::call_contract(
    const std::vector<std::string>& calls, bool& takes_batches) {
  std::vector<std::optional<std::string>> returned;
  const auto take = [&](const JsonValue& result) {
    const auto bytes = bytes_of_hex(result.text);
    returned.push_back(bytes && !bytes->empty() ? bytes : std::nullopt);
  };
  std::vector<std::string> parameters;
  for (const std::string& call : calls) {
    parameters.push_back(R"([{"to":")" + settings_.contract + R"(","data":"0x)" + call +
                         R"("},"latest"])");
  }
  while (returned.size() < calls.size()) {
    const std::size_t at = returned.size();
    if (takes_batches) {
      const std::size_t end = std::min(at + batch_max, calls.size());
      const auto answers =
          ask_batch("eth_call", {parameters.begin() + static_cast<std::ptrdiff_t>(at),
                                 parameters.begin() + static_cast<std::ptrdiff_t>(end)});
      if (!answers.ok()) return answers.error();
      for (const Answer& answer : *answers) take(answer.result);
      takes_batches = !answers->empty();
      continue;
    }
    const auto result = ask("eth_call", parameters[at]);
    if (result.ok()) {
      take(*result);
    } else if (result.error().is_contract_refusal) {
      returned.emplace_back();
    } else {
      return result.error();
    }
  }
  return returned;
}

bool Chain::is_own_log(const JsonValue& log, std::int64_t from, std::int64_t to) const {
  const auto block = quantity_of(log.scalar("blockNumber"));
  const JsonValue* removed = log.get("removed");
  return log.is(JsonValue::Kind::object) && block && *block >= from && *block <= to &&
         quantity_of(log.scalar("logIndex")) && is_hash(log.scalar("blockHash")) &&
         lower_ascii(log.scalar("address")) == settings_.contract &&
         (removed == nullptr || !removed->truth);
}

FromChain<std::vector<JsonValue>> Chain::logs(std::int64_t from, std::int64_t to) {
  nlohmann::json filter = {
      {"address", settings_.contract}, {"fromBlock", quantity(from)}, {"toBlock", quantity(to)}};
  std::vector<std::string> first_topics;
  for (const GovernorSignature& event : governor_events()) {
    first_topics.push_back("0x" + std::string(event.hash));
  }
  filter["topics"] = nlohmann::json::array({first_topics});
  auto result = ask("eth_getLogs", "[" + filter.dump() + "]");
  if (!result.ok()) return result.error();
  if (!result->is(JsonValue::Kind::array)) return problem("the node's answer is no list of logs");
  std::vector<JsonValue> logs = std::move(result->items);
  for (const JsonValue& log : logs) {
    if (!is_own_log(log, from, to)) {
      return problem("the node sent a log that was not asked for");
    }
  }
  const auto place = [](const JsonValue& log) {
    return std::pair(quantity_of(log.scalar("blockNumber")), quantity_of(log.scalar("logIndex")));
  };
  std::sort(logs.begin(), logs.end(), [&](const JsonValue& left, const JsonValue& right) {
    return place(left) < place(right);
  });
  return logs;
}

}  // namespace turnpike::govdata
