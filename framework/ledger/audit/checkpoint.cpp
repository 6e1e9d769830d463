#include "ledger/audit/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "text/canonical_json.h"
#include "text/encoding.h"
#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::ledger {
namespace {

using nlohmann::json;

constexpr const char* checkpoint_form = "turnpike.checkpoint.1";

template <class Bytes>
std::string text_of(const Bytes& bytes) {
  return text::base64url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

json to_json(const Checkpoint& checkpoint) {
  json streams = json::array();
  for (const StreamHead& head : checkpoint.streams) {
    streams.push_back({{"stream", std::to_string(head.stream)},
                       {"seq", std::to_string(head.seq)},
                       {"hash", head.head}});
  }
  const AccountSums& totals = checkpoint.totals;
  return {{"form", checkpoint_form},
          {"at", text::rfc3339(checkpoint.at_ms)},
          {"streams", streams},
          {"totals",
           {{"granted", std::to_string(totals.granted)},
            {"remaining", std::to_string(totals.remaining)},
            {"leased", std::to_string(totals.leased)},
            {"charged", std::to_string(totals.charged)},
            {"expired", std::to_string(totals.expired)},
            {"voided", std::to_string(totals.voided)}}}};
}

// Reads fields of one object; a missing field or one of another kind makes the whole read fail.
class Fields {
 public:
  Fields(const json& object, bool& is_right) : object_(object), is_right_(is_right) {}
  std::string text(const char* key) {
    const auto found = object_.is_object() ? object_.find(key) : object_.end();
    if (object_.is_object() && found != object_.end() && found->is_string()) {
      return found->get<std::string>();
    }
    is_right_ = false;
    return "";
  }
  std::int64_t number(const char* key) {
    const std::string digits = text(key);
    std::int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc{} || stopped != end) is_right_ = false;
    return value;
  }

 private:
  const json& object_;
  bool& is_right_;
};

std::optional<Checkpoint> from_json(const json& object) {
  bool is_right = true;
  Fields fields(object, is_right);
  Checkpoint checkpoint;
  const auto at_ms = text::parse_rfc3339(fields.text("at"));
  is_right = is_right && at_ms && fields.text("form") == checkpoint_form;
  if (!is_right || !object.contains("streams") || !object.contains("totals")) return std::nullopt;
  checkpoint.at_ms = *at_ms;
  Fields totals(object.at("totals"), is_right);
  checkpoint.totals.granted = totals.number("granted");
  checkpoint.totals.remaining = totals.number("remaining");
  checkpoint.totals.leased = totals.number("leased");
  checkpoint.totals.charged = totals.number("charged");
  checkpoint.totals.expired = totals.number("expired");
  checkpoint.totals.voided = totals.number("voided");
  for (const json& each : object.at("streams")) {
    Fields head(each, is_right);
    checkpoint.streams.push_back({head.number("stream"), head.number("seq"), head.text("hash")});
  }
  return is_right ? std::optional(checkpoint) : std::nullopt;
}

}  // namespace

std::string write_checkpoint(const Checkpoint& checkpoint, const crypto::Ed25519Seed& seed) {
  const json object = to_json(checkpoint);
  const json file = {
      {"checkpoint", object},
      {"publicKey", text_of(crypto::ed25519_public_key(seed))},
      {"signature", text_of(crypto::ed25519_sign(seed, *text::canonical_json(object)))}};
  return *text::canonical_json(file) + "\n";  // digits, names and hashes are always valid UTF-8
}

Result<Checkpoint, std::string> read_checkpoint(std::string_view text,
                                                const crypto::Ed25519PublicKey& key) {
  const json file = text::parse_json(text);
  if (!file.is_object() || !file.contains("checkpoint")) {
    return std::string("this is no checkpoint: it is not the JSON that `ledger checkpoint` writes");
  }
  bool is_right = true;
  const auto signature = text::from_base64url(Fields(file, is_right).text("signature"));
  const auto signed_text = text::canonical_json(file.at("checkpoint"));
  crypto::Ed25519Signature bytes;
  if (!is_right || !signature || signature->size() != bytes.size() || !signed_text) {
    return std::string("the checkpoint carries no signature");
  }
  std::copy(signature->begin(), signature->end(), bytes.begin());
  if (!crypto::ed25519_verify(key, *signed_text, bytes)) {
    return std::string("the checkpoint was not signed by this key, or changed afterwards");
  }
  auto checkpoint = from_json(file.at("checkpoint"));
  if (!checkpoint) return std::string("the checkpoint has a form that this build does not know");
  return *std::move(checkpoint);
}

}  // namespace turnpike::ledger
