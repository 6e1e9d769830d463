// Chain: the requests to an Ethereum node, over JSON-RPC 2.0. Every answer is checked against the
// request, since a node may lie, lag behind or be on another fork. Waits between requests, so that
// a step does not exceed the request rate of its host. Made for one step; used by one Thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "govdata/live/source.h"

namespace turnpike::govdata {

struct BlockHead {
  std::int64_t number = 0;
  std::string hash;  // 0x, lower case
  std::int64_t time_s = 0;
};

// Why a request has no result. `step` is for the poller. `is_range_refused`: the node may answer
// for fewer blocks. `is_contract_refusal`: the contract has no such function, or reverts.
struct ChainProblem {
  Step step;
  bool is_range_refused = false;
  bool is_contract_refusal = false;
};

template <class T>
using FromChain = Result<T, ChainProblem>;

class Chain {
 public:
  Chain(const SourceSettings& settings, StepContext& context)
      : settings_(settings), context_(context) {}

  FromChain<std::int64_t> chain_id();
  FromChain<std::int64_t> newest_block();
  // Empty if the node has no such block.
  FromChain<std::optional<BlockHead>> block(std::int64_t number);
  // All blocks of `numbers`, in batches while `takes_batches`. Clears it if the node takes none.
  FromChain<std::map<std::int64_t, BlockHead>> blocks(const std::vector<std::int64_t>& numbers,
                                                      bool& takes_batches);
  // The contract's logs of known events, in the order of the chain. Each has passed is_own_log().
  FromChain<std::vector<JsonValue>> logs(std::int64_t from, std::int64_t to);
  // What the contract returns for each of `calls` (selector and arguments, in hex without 0x) at
  // the newest block, as bytes. Empty if the contract refuses the call or returns nothing.
  FromChain<std::vector<std::optional<std::string>>> call_contract(
      const std::vector<std::string>& calls, bool& takes_batches);

 private:
  // The answer to one request of a batch. `is_told`: `result` is the node's result.
  struct Answer {
    bool is_told = false;
    bool is_contract_refusal = false;
    JsonValue result = {};
  };

  FromChain<std::string> send(const std::string& body);
  // The answers to up to batch_max requests, in their order. Empty if the node takes no batches or
  // left answers out.
  FromChain<std::vector<Answer>> ask_batch(const std::string& method,
                                           const std::vector<std::string>& parameters);
  FromChain<JsonValue> ask(const std::string& method, const std::string& parameters);
  [[nodiscard]] bool is_own_log(const JsonValue& log, std::int64_t from, std::int64_t to) const;

  const SourceSettings& settings_;
  StepContext& context_;
  std::int64_t asked_ = 0;
};

// "0x1f" -> 31; empty if `text` is not a quantity that fits into 63 bits.
std::optional<std::int64_t> quantity_of(std::string_view text);
std::string quantity(std::int64_t number);

}  // namespace turnpike::govdata
