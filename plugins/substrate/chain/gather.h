// Collects facts from the nodes of a chain: about one block, and about the change of the code
// between two blocks. A fact that could not be read has a reason instead of a value; nothing is
// guessed. All waits go through the call.
//
// Used by the one fiber or Thread of a verification.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "substrate/chain/node.h"
#include "substrate/verify/input.h"

namespace turnpike::substrate {

// A value, or the reason why it is not known.
template <class T>
struct Fact {
  std::optional<T> value = std::nullopt;
  std::string reason = "it was not asked for";

  static Fact of(const Answered<T>& answer) {
    if (answer.ok()) return {*answer, {}};
    return {std::nullopt, std::string(text_of(answer.error()))};
  }
  [[nodiscard]] bool is_known() const noexcept { return value.has_value(); }
};

// One endpoint's view of one block. An empty optional inside a known fact means that the node has
// no such value.
struct EndpointFacts {
  std::string endpoint_key;
  Fact<std::optional<Hash>> genesis = {};
  Fact<std::uint64_t> final_number = {};
  Fact<Hash> block = {};
  Fact<Header> header = {};
  Fact<bool> is_canonical = {};
  bool has_reorganised = false;  // the block was canonical at first, and is no longer
  Fact<std::optional<Hash>> code_hash = {};
  Fact<RuntimeVersion> version = {};
  Fact<std::optional<Authorization>> authorization = {};
  Fact<std::optional<std::uint64_t>> time_ms = {};

  // Whether the endpoint knows its genesis and resolved the block.
  [[nodiscard]] bool has_answered() const noexcept {
    return genesis.is_known() && block.is_known();
  }
};

// Asks one endpoint for all EndpointFacts. `agreed` is the block to which another endpoint resolved
// `ask`, if any; then this endpoint is asked about the same block.
EndpointFacts gather_block(Node& node, const BlockAsk& ask, std::optional<Hash> agreed);
// Asks again whether the block is canonical, since a reorganisation may have replaced it meanwhile.
void look_again(Node& node, EndpointFacts& facts);

struct ParachainFacts {
  Fact<std::optional<Hash>> pending_code = {};  // hash of the storage value: length, then code
  Fact<std::optional<Bytes>> go_ahead = {};
  Fact<std::optional<Hash>> relay_current = {};
  Fact<std::optional<Hash>> relay_future = {};
};
void gather_parachain(Node& node, const Hash& block, ParachainFacts& facts);
void gather_relay(Node& relay, const Hash& relay_genesis, std::uint32_t para_id,
                  ParachainFacts& facts);

inline constexpr std::uint32_t bisection_calls_max = 64;

struct TransitionFacts {
  EndpointFacts from = {};
  Fact<std::uint32_t> applied_at = {};  // the block that replaced the code
  Fact<Header> applied_header = {};
  Fact<std::optional<LastUpgrade>> last_upgrade = {};  // as of the block after applied_at
};
// The header and code hash of `at` must be known. If `from` names no block, it is the parent of
// `at`.
TransitionFacts gather_transition(Node& node, const std::optional<BlockAsk>& from,
                                  const EndpointFacts& at);

}  // namespace turnpike::substrate
