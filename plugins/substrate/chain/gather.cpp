#include "substrate/chain/gather.h"

#include <utility>

#include "substrate/chain/keys.h"
#include "substrate/codec/digest.h"
#include "substrate/codec/scale.h"

namespace turnpike::substrate {
namespace {

// The hash as a fact; a missing hash counts as unknown.
Fact<Hash> needed(const Answered<std::optional<Hash>>& answer) {
  if (!answer.ok()) return {std::nullopt, std::string(text_of(answer.error()))};
  if (!*answer) return {std::nullopt, "the node has no such block"};
  return {**answer, {}};
}

// A storage value, decoded by `read`. A value that cannot be decoded counts as unknown.
template <class T, class Read>
Fact<std::optional<T>> decoded(const Answered<std::optional<Bytes>>& answer, Read read) {
  if (!answer.ok()) return {std::nullopt, std::string(text_of(answer.error()))};
  if (!*answer) return {std::optional<T>(), {}};
  std::optional<T> value = read(ByteView(**answer));
  if (!value) return {std::nullopt, "the value in storage is not of its form"};
  return {std::move(value), {}};
}

Fact<Hash> resolve(Node& node, const BlockAsk& ask, const std::optional<Hash>& final_hash) {
  if (ask.hash) return {*ask.hash, {}};
  if (ask.number) return needed(node.block_hash(*ask.number));
  if (ask.is_best()) return needed(node.best_hash());
  if (!final_hash) return {std::nullopt, "the node did not tell its finalized head"};
  return {*final_hash, {}};
}

std::optional<std::uint64_t> read_time(ByteView value) {
  return ScaleReader(value).u64();
}

void gather_state(Node& node, const Hash& block, EndpointFacts& facts) {
  facts.code_hash = Fact<std::optional<Hash>>::of(node.storage_hash(keys::code, block));
  facts.version = Fact<RuntimeVersion>::of(node.version(block));
  facts.authorization =
      decoded<Authorization>(node.storage(keys::authorized_upgrade, block), &read_authorization);
  facts.time_ms = decoded<std::uint64_t>(node.storage(keys::timestamp_now, block), &read_time);
}

Fact<bool> is_canonical(Node& node, const EndpointFacts& facts, Age age) {
  const auto canonical = needed(node.block_hash(facts.header.value->number, age));
  if (!canonical.is_known()) return {std::nullopt, canonical.reason};
  return {*canonical.value == *facts.block.value, {}};
}

// Finds the block where the code changed to the hash `wanted`, by bisection between `before`, which
// has other code, and `at`, which has `wanted`.
Fact<std::uint32_t> bisect(Node& node, std::uint32_t before, std::uint32_t at, const Hash& wanted) {
  std::uint32_t calls = 0;
  while (at - before > 1) {
    if (calls + 2 > bisection_calls_max) return {std::nullopt, "it takes too many questions"};
    calls += 2;
    const std::uint32_t middle = before + (at - before) / 2;
    const auto block = needed(node.block_hash(middle));
    if (!block.is_known()) return {std::nullopt, block.reason};
    const auto hash = node.storage_hash(keys::code, *block.value);
    if (!hash.ok()) return {std::nullopt, std::string(text_of(hash.error()))};
    (*hash == wanted ? at : before) = middle;
  }
  return {at, {}};
}

void gather_applied(Node& node, std::uint32_t applied_at, TransitionFacts& facts) {
  const auto block = needed(node.block_hash(applied_at));
  if (block.is_known()) {
    facts.applied_header = Fact<Header>::of(node.header(*block.value));
  } else {
    facts.applied_header.reason = block.reason;
  }
  const auto next = needed(node.block_hash(std::uint64_t{applied_at} + 1));
  if (next.is_known()) {
    facts.last_upgrade = decoded<LastUpgrade>(
        node.storage(keys::last_runtime_upgrade, *next.value), &read_last_upgrade);
  } else {
    facts.last_upgrade.reason = next.reason;
  }
}

}  // namespace

EndpointFacts gather_block(Node& node, const BlockAsk& ask, std::optional<Hash> agreed) {
  EndpointFacts facts;
  facts.endpoint_key = node.key();
  facts.genesis = Fact<std::optional<Hash>>::of(node.block_hash(0));
  if (!facts.genesis.is_known()) return facts;
  const auto final_hash = needed(node.finalized_hash());
  facts.final_number.reason = final_hash.reason;
  if (final_hash.is_known()) {
    const auto head = node.header(*final_hash.value);
    if (head.ok()) facts.final_number = {head->number, {}};
    if (!head.ok()) facts.final_number.reason = text_of(head.error());
  }
  facts.block = agreed ? Fact<Hash>{*agreed, {}} : resolve(node, ask, final_hash.value);
  if (!facts.block.is_known()) {
    for (std::string* const reason :
         {&facts.header.reason, &facts.is_canonical.reason, &facts.code_hash.reason,
          &facts.version.reason, &facts.authorization.reason}) {
      *reason = facts.block.reason;
    }
    return facts;
  }
  const Hash& block = *facts.block.value;
  facts.header = Fact<Header>::of(node.header(block));
  if (facts.header.is_known()) facts.is_canonical = is_canonical(node, facts, Age::cached);
  if (!facts.header.is_known()) facts.is_canonical.reason = facts.header.reason;
  gather_state(node, block, facts);
  return facts;
}

void look_again(Node& node, EndpointFacts& facts) {
  if (!facts.is_canonical.value.value_or(false)) return;
  facts.is_canonical = is_canonical(node, facts, Age::fresh);
  facts.has_reorganised = facts.is_canonical.value == false;
}

void gather_parachain(Node& node, const Hash& block, ParachainFacts& facts) {
  facts.pending_code =
      Fact<std::optional<Hash>>::of(node.storage_hash(keys::pending_validation_code, block));
  facts.go_ahead =
      Fact<std::optional<Bytes>>::of(node.storage(keys::upgrade_go_ahead, block));
}

void gather_relay(Node& relay, const Hash& relay_genesis, std::uint32_t para_id,
                  ParachainFacts& facts) {
  const auto fail = [&](const std::string& reason) {
    facts.relay_current.reason = reason;
    facts.relay_future.reason = reason;
  };
  const auto genesis = needed(relay.block_hash(0));
  if (!genesis.is_known()) return fail(genesis.reason);
  if (*genesis.value != relay_genesis) return fail("the relay's node is of another chain");
  const auto head = needed(relay.finalized_hash());
  if (!head.is_known()) return fail(head.reason);
  const auto hash_under = [&](const std::string& key) {
    return decoded<Hash>(relay.storage(key, *head.value), [](ByteView value) {
      ScaleReader reader(value);
      auto hash = reader.hash();
      return reader.rest().empty() ? hash : std::nullopt;
    });
  };
  facts.relay_current = hash_under(keys::current_code_hash(para_id));
  facts.relay_future = hash_under(keys::future_code_hash(para_id));
}

TransitionFacts gather_transition(Node& node, const std::optional<BlockAsk>& from,
                                  const EndpointFacts& at) {
  TransitionFacts facts;
  BlockAsk ask = from.value_or(BlockAsk());
  const bool is_said = ask.hash || ask.number || ask.tag;
  if (!is_said) ask.hash = at.header.value->parent;
  facts.from = gather_block(node, ask, std::nullopt);
  const auto& before = facts.from.code_hash;
  const std::string unknown = "the code at `from` is not known";
  facts.applied_at.reason = facts.applied_header.reason = facts.last_upgrade.reason = unknown;
  if (!before.is_known() || !facts.from.header.is_known()) return facts;
  const std::uint32_t first = facts.from.header.value->number;
  const std::uint32_t last = at.header.value->number;
  const auto& after = *at.code_hash.value;
  if (first >= last || *before.value == after || !after) {
    const std::string none =
        first >= last ? "`from` is not before `at`" : "the code did not change";
    facts.applied_at.reason = facts.applied_header.reason = facts.last_upgrade.reason = none;
    return facts;
  }
  facts.applied_at = bisect(node, first, last, *after);
  facts.applied_header.reason = facts.last_upgrade.reason = facts.applied_at.reason;
  if (facts.applied_at.is_known()) gather_applied(node, *facts.applied_at.value, facts);
  return facts;
}

}  // namespace turnpike::substrate
