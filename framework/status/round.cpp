#include "status/round.h"

#include <algorithm>

#include "crypto/digest.h"
#include "status/text_form.h"
#include "text/canonical_json.h"
#include "text/encoding.h"
#include "text/json_text.h"

namespace turnpike::status {
namespace {

using nlohmann::json;

constexpr std::size_t nodes_max = 1'000;

std::string_view bytes_of(const crypto::Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// REQUIRES: is_hash(hash).
std::string raw_hash(std::string_view hash) {
  std::string raw;
  for (std::size_t at = hash.find(':') + 1; at + 1 < hash.size(); at += 2) {
    raw += static_cast<char>(text::hex_value(hash[at]) * 16 + text::hex_value(hash[at + 1]));
  }
  return raw;
}

std::string round_text(const RoundHead& head, const std::string* signature) {
  std::string out;
  out.reserve(1'200);
  ObjectText object(out);
  object.integer("count", static_cast<std::int64_t>(head.count))
      .time("ended_at", head.ended_at_ms)
      .integer("epoch", static_cast<std::int64_t>(head.epoch))
      .text("expected_targets_hash", head.expected_targets_hash)
      .text("generation", head.generation)
      .text("head", head.head)
      .text("kid", head.kid)
      .text("node", head.node);
  object.member("nodes") += '[';
  for (const std::string& node : head.nodes) {
    if (&node != &head.nodes.front()) out += ',';
    text::append_canonical_string(out, node);
  }
  out += ']';
  object.text("prev", head.prev)
      .integer("round", static_cast<std::int64_t>(head.round))
      .text("rules_hash", head.rules_hash);
  if (signature != nullptr) object.text("signature", *signature);
  object.time("started_at", head.started_at_ms)
      .text("state_hash", head.state_hash)
      .text("stream", head.stream)
      .end();
  return out;
}

std::string read_hash(Fields& fields, const char* name) {
  std::string hash = fields.text(name);
  if (!is_hash(hash)) fields.refuse();
  return hash;
}

std::vector<std::string> read_nodes(Fields& fields) {
  std::vector<std::string> nodes;
  const json& array = fields.array("nodes");
  if (array.size() > nodes_max) fields.refuse();
  for (const json& node : array) {
    if (nodes.size() == nodes_max) break;
    if (!node.is_string() || node.get_ref<const std::string&>().size() > text_bytes_max) {
      fields.refuse();
      break;
    }
    nodes.push_back(node.get<std::string>());
    const std::size_t count = nodes.size();
    if (count > 1 && !(nodes[count - 2] < nodes[count - 1])) fields.refuse();
  }
  return nodes;
}

RoundHead head_from(Fields& fields) {
  RoundHead head;
  head.count = static_cast<std::uint64_t>(fields.integer("count"));
  head.ended_at_ms = fields.time("ended_at");
  head.epoch = static_cast<std::uint64_t>(fields.integer("epoch"));
  head.expected_targets_hash = read_hash(fields, "expected_targets_hash");
  head.generation = fields.text("generation");
  head.head = read_hash(fields, "head");
  head.kid = fields.text("kid");
  head.node = fields.text("node");
  head.nodes = read_nodes(fields);
  head.prev = read_hash(fields, "prev");
  head.round = static_cast<std::uint64_t>(fields.integer("round", 1));
  head.rules_hash = read_hash(fields, "rules_hash");
  head.started_at_ms = fields.time("started_at");
  head.state_hash = read_hash(fields, "state_hash");
  head.stream = fields.text("stream");
  return head;
}

}  // namespace

std::string key_id(const crypto::Ed25519PublicKey& key) {
  return crypto::sha256_hex({reinterpret_cast<const char*>(key.data()), key.size()}).substr(0, 16);
}

std::string chained_head(std::string_view prev, std::string_view lines) {
  const std::string raw_prev = is_hash(prev) ? raw_hash(prev) : std::string();
  const crypto::Sha256 body = crypto::sha256(lines);
  const crypto::Sha256 head = crypto::sha256({raw_prev, bytes_of(body)});
  return "sha256:" + text::hex(head);
}

SignedRound sign(RoundHead head, const crypto::Ed25519Seed& seed) {
  const crypto::Ed25519Signature signature =
      crypto::ed25519_sign(seed, round_text(head, nullptr));
  return {std::move(head), text::base64url({reinterpret_cast<const char*>(signature.data()),
                                            signature.size()})};
}

bool is_signed_by(const SignedRound& round, const crypto::Ed25519PublicKey& key) {
  const auto raw = text::from_base64url(round.signature);
  crypto::Ed25519Signature signature;
  if (!raw || raw->size() != signature.size()) return false;
  std::copy(raw->begin(), raw->end(), signature.begin());
  return crypto::ed25519_verify(key, round_text(round.head, nullptr), signature);
}

std::string text_of(const SignedRound& round) { return round_text(round.head, &round.signature); }

Result<SignedRound, std::string> read_round(std::string_view text) {
  const json object = text::parse_json(text);
  Fields fields(object);
  SignedRound round{head_from(fields), fields.text("signature")};
  if (!fields.is_right()) {
    return std::string("this is no round: a member is missing or has another form");
  }
  if (text_of(round) != text) {
    return std::string("the round is not written as canonical JSON of what it states");
  }
  return round;
}

}  // namespace turnpike::status
