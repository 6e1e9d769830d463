// The document that says who signs the status, by which rules it is made and what it covers.
#include <algorithm>

#include "status/board_documents.h"
#include "status/board_parts.h"
#include "status/rules.h"
#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::status {
namespace {

// A JWK of RFC 8037.
BoardJson key_json(const SigningKey& key) {
  return {{"kid", key.kid},
          {"public_key_jwk",
           {{"kty", "OKP"},
            {"crv", "Ed25519"},
            {"x", key.public_key},
            {"kid", key.kid},
            {"use", "sig"},
            {"alg", "EdDSA"}}}};
}

BoardJson leader_json(const BoardInput& input) {
  if (!input.leader) return nullptr;
  return {{"node", input.leader->holder},
          {"epoch", input.leader->epoch},
          {"until", text::rfc3339(input.leader->until_ms)}};
}

// Includes the keys of earlier rounds, so that the whole chain can be verified.
void add_keys(BoardJson& shown, const BoardInput& input) {
  BoardJson earlier = BoardJson::array();
  for (const SigningKey& key : input.keys) {
    BoardJson one = key_json(key);
    if (key.kid == input.newest->round.head.kid) {
      shown["key"] = std::move(one);
    } else {
      one["first_round"] = key.first_round;
      earlier.push_back(std::move(one));
    }
  }
  shown["earlier_keys"] = std::move(earlier);
}

}  // namespace

BoardDocument authority_document(const BoardFacts& facts) {
  if (!facts.is_verified()) return {};
  const BoardInput& input = facts.input();
  const SignedRound& round = input.newest->round;
  const auto expected =
      std::count_if(input.targets.targets.begin(), input.targets.targets.end(),
                    [](const Target& target) {
                      return is_active(target.kind) &&
                             (target.monitoring == MonitoringClass::continuous ||
                              target.monitoring == MonitoringClass::manual);
                    });
  const std::int64_t believed_ms = stale_after_intervals * input.targets.round_ms;
  BoardJson shown = {{"schema_version", "service.status.authority.v1"},
                     {"generation", generation_json(input.generation)},
                     {"manifest", manifest_json(input.generation)},
                     {"authority_id", round.head.stream},
                     {"leader", leader_json(input)}};
  add_keys(shown, input);
  shown["rules"] = {{"id", rules_id}, {"hash", round.head.rules_hash}};
  shown["expected_targets"] = {{"count", expected},
                               {"set_hash", round.head.expected_targets_hash}};
  shown["interval_seconds"] = input.targets.round_ms / 1000;
  shown["stale_after_seconds"] = believed_ms / 1000;
  shown["signed_round"] = BoardJson(text::parse_json(text_of(round)));
  shown["observed_at"] = text::rfc3339(round.head.ended_at_ms);
  return {board_text(shown), {}, round.head.ended_at_ms + believed_ms};
}

}  // namespace turnpike::status
