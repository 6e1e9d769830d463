// FakeNode: the JSON-RPC node of a chain with one token. It has blocks at regular times, the events
// that a test adds, and the resulting state. A test can make it answer wrongly. One Thread.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/http/scripted_host.h"
#include "x402/remote/chain.h"
#include "x402/remote/json_rpc.h"
#include "x402/remote/token_events.h"

namespace turnpike::x402 {

class FakeNode {
 public:
  using Json = nlohmann::json;
  using Answer = http::ScriptedHost::Answer;

  struct Event {
    Address address;
    std::vector<Word> topics;
    std::optional<Word> data = {};
  };
  struct Transaction {
    Word hash;
    std::uint64_t block;
    bool is_success;
    std::vector<Event> events;
  };

  static Event used(const Authorization& by) {
    return {by.token, {authorization_used_event, padded(by.from), by.nonce}};
  }
  static Event cancelled(const Authorization& by) {
    return {by.token, {authorization_canceled_event, padded(by.from), by.nonce}};
  }
  static Event transfer(const Authorization& by) {
    return {by.token, {transfer_event, padded(by.from), padded(by.to)}, by.value};
  }

  void mine(Transaction transaction) { transactions.push_back(std::move(transaction)); }

  Answer answer(const http::ScriptedHost::Seen& seen) {
    ++requests;
    const Json request = Json::parse(seen.body);
    const std::string method = request["method"];
    asked.insert(method);
    Json reply = {{"jsonrpc", "2.0"}, {"id", request["id"]}};
    try {
      reply["result"] = result_of(method, request["params"]);
    } catch (const std::string& refusal) {
      reply["error"] = {{"code", -32000}, {"message", refusal}};
    }
    const auto spoil = spoils.find(method);
    if (spoil != spoils.end()) return spoil->second(reply);
    return {200, {}, reply.dump()};
  }

  std::uint64_t chain_id = 84532;
  std::uint64_t head = 100'000;
  std::int64_t genesis_s = 1'700'000'000;
  std::int64_t block_s = 2;
  std::vector<Transaction> transactions;
  std::uint64_t range_max = ~std::uint64_t{0};   // limit of eth_getLogs, as real nodes have
  std::uint64_t logs_until = ~std::uint64_t{0};  // the newest block whose logs it has indexed
  std::map<std::string, std::function<Answer(Json)>> spoils;
  // Contract wallets by address, with the one signature (hex) that each accepts; with "" it
  // reverts.
  std::map<std::string, std::string> wallets;
  std::set<std::string> asked;
  int requests = 0;

  [[nodiscard]] std::int64_t time_of(std::uint64_t block) const {
    return genesis_s + static_cast<std::int64_t>(block) * block_s;
  }

 private:
  static Word padded(const Address& address) {
    Word word{};
    std::copy(address.begin(), address.end(), word.begin() + 12);
    return word;
  }
  static std::uint64_t number_of(const Json& text) {
    return std::stoull(text.get<std::string>().substr(2), nullptr, 16);
  }

  Json result_of(const std::string& method, const Json& params) {
    if (method == "eth_chainId") return quantity(chain_id);
    if (method == "eth_getBlockByNumber") return block_of(params.at(0));
    if (method == "eth_getCode") return wallets.contains(params.at(0)) ? "0x6001" : "0x";
    const bool is_of_wallet = method == "eth_call" && wallets.contains(params.at(0).at("to"));
    if (is_of_wallet) return answer_of_wallet(params.at(0));
    if (method == "eth_call") return state_of(params.at(0), number_of(params.at(1)));
    if (method == "eth_getLogs") return logs_of(params.at(0));
    if (method == "eth_getTransactionReceipt") return receipt_of(params.at(0));
    throw std::string("the method does not exist");
  }
  Json block_of(const Json& tag) const {
    const std::uint64_t number = tag == "latest" ? head : number_of(tag);
    if (number > head) return nullptr;
    return {{"number", quantity(number)},
            {"timestamp", quantity(static_cast<std::uint64_t>(time_of(number)))},
            {"transactions", Json::array({std::string(66, 'f')})}};
  }
  // isValidSignature(bytes32,bytes)
  Json answer_of_wallet(const Json& call) const {
    const std::string& taken = wallets.at(call.at("to"));
    if (taken.empty()) throw std::string("execution reverted");
    const bool is_asked = call.at("data").get<std::string>().starts_with("0x1626ba7e");
    const bool is_taken = call.at("data").get<std::string>().find(taken) != std::string::npos;
    return (is_asked && is_taken ? "0x1626ba7e" : "0xffffffff") + std::string(56, '0');
  }
  // authorizationState(address,bytes32): whether an event up to that block used or cancelled it.
  Json state_of(const Json& call, std::uint64_t at_block) const {
    const std::string data = call.at("data");
    if (data.size() != 2 + 8 + 128 || data.substr(0, 10) != "0xe94a0102") {
      throw std::string("execution reverted");
    }
    bool is_used = false;
    for (const Transaction& transaction : transactions) {
      for (const Event& event : transaction.events) {
        is_used =
            is_used || (transaction.block <= at_block && hex_of(event.address) == call.at("to") &&
                        event.topics.at(0) != transfer_event &&
                        hex_of(event.topics.at(1)).substr(2) == data.substr(10, 64) &&
                        hex_of(event.topics.at(2)).substr(2) == data.substr(74));
      }
    }
    Word word{};
    word[31] = is_used ? 1 : 0;
    return hex_of(word);
  }
  Json logs_of(const Json& filter) const {
    const std::uint64_t from = number_of(filter.at("fromBlock"));
    const std::uint64_t to = number_of(filter.at("toBlock"));
    if (to < from || to - from + 1 > range_max) throw std::string("range is too large");
    Json logs = Json::array();
    for (const Transaction& transaction : transactions) {
      if (transaction.block < from || transaction.block > std::min(to, logs_until)) continue;
      for (const Json& log : events_of(transaction)) {
        const Json& topics = log.at("topics");
        const Json& wanted = filter.at("topics");
        const bool is_event =
            std::find(wanted.at(0).begin(), wanted.at(0).end(), topics.at(0)) != wanted.at(0).end();
        if (log.at("address") == filter.at("address") && is_event && topics.at(1) == wanted.at(1) &&
            topics.at(2) == wanted.at(2)) {
          logs.push_back(log);
        }
      }
    }
    return logs;
  }
  Json receipt_of(const Json& hash) const {
    for (const Transaction& transaction : transactions) {
      if (hex_of(transaction.hash) != hash) continue;
      return {{"transactionHash", hash},
              {"blockNumber", quantity(transaction.block)},
              {"status", transaction.is_success ? "0x1" : "0x0"},
              {"logs", transaction.is_success ? events_of(transaction) : Json::array()}};
    }
    return nullptr;
  }
  static Json events_of(const Transaction& transaction) {
    Json logs = Json::array();
    for (const Event& event : transaction.events) {
      Json topics = Json::array();
      for (const Word& topic : event.topics) topics.push_back(hex_of(topic));
      logs.push_back({{"address", hex_of(event.address)},
                      {"topics", topics},
                      {"data", event.data ? hex_of(*event.data) : "0x"},
                      {"transactionHash", hex_of(transaction.hash)},
                      {"blockNumber", quantity(transaction.block)},
                      {"logIndex", quantity(logs.size())},
                      {"removed", false}});
    }
    return logs;
  }
};

// A filled array of bytes, for any address, nonce or hash.
template <class Bytes>
Bytes filled(std::uint8_t with) {
  Bytes bytes;
  bytes.fill(with);
  return bytes;
}

// A payer's authorization, claimed `age_s` before the newest block of `node`.
inline Authorization authorization_on(const FakeNode& node, std::int64_t age_s = 60) {
  Authorization made;
  made.network = "eip155:84532";
  made.token = filled<Address>(0xaa);
  made.from = filled<Address>(0xbb);
  made.to = filled<Address>(0xcc);
  made.value[31] = 100;
  made.nonce = filled<Word>(0xdd);
  made.claimed_at_s = node.time_of(node.head) - age_s;
  return made;
}

}  // namespace turnpike::x402
