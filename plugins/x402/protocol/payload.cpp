#include "x402/protocol/payload.h"

#include <algorithm>
#include <limits>

#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view send_address =
    "send 0x and 40 hexadecimal digits, in lower case or with the checksum of EIP-55";
constexpr std::string_view send_number = "send decimal digits in a string, such as \"10000\"";
constexpr std::string_view echo_entry = "echo an entry of the challenge's accepts unchanged";

// Reads members and keeps the first fault. What is read after a fault is not used.
class Fields {
 public:
  void fail(std::string_view where, std::string_view what, std::string_view fix) {
    if (!fault_) fault_ = Malformed{where, what, fix};
  }
  [[nodiscard]] const std::optional<Malformed>& fault() const noexcept { return fault_; }

  // A missing member is a fault unless `may_be_missing` is set. Returns an absent value for it.
  JsonValue object(JsonValue value, std::string_view where, bool may_be_missing = false) {
    if (value.is(JsonKind::object)) return value;
    if (value.is_missing() && may_be_missing) return {};
    fail(where, value.is_missing() ? "is missing" : "is not an object", "send a JSON object");
    return {};
  }

  std::string text(JsonValue value, std::string_view where, bool may_be_missing = false) {
    const bool is_fine = value.is(JsonKind::string) || (value.is_missing() && may_be_missing);
    if (!is_fine) {
      fail(where, value.is_missing() ? "is missing" : "is not a string", echo_entry);
    }
    return value.string();
  }

  std::uint32_t seconds(JsonValue value, std::string_view where) {
    const auto number = value.natural();
    if (!number || *number == 0 || *number > std::numeric_limits<std::uint32_t>::max()) {
      fail(where, "is not a positive whole number", echo_entry);
      return 0;
    }
    return static_cast<std::uint32_t>(*number);
  }

  Address address(JsonValue value, std::string_view where) {
    const auto address = parse_address(value.plain());
    if (!address) fail(where, "is not an address", send_address);
    return address.value_or(Address{});
  }

  Word uint256(JsonValue value, std::string_view where) {
    const auto number = parse_uint256(value.plain());
    if (!number) fail(where, "is not a decimal number below 2^256", send_number);
    return number.value_or(Word{});
  }

  Word bytes32(JsonValue value, std::string_view where) {
    Word word{};
    if (!hex_decode_exactly(value.plain(), word)) {
      fail(where, "is not 32 bytes", "send 0x and 64 hexadecimal digits");
    }
    return word;
  }

  std::string signature(JsonValue value) {
    auto bytes = hex_decode(value.plain(), wallet_signature_bytes_max);
    if (!bytes) {
      fail("payload.signature", "is not a signature",
           "send 0x and two hexadecimal digits for each byte, at most 4096 bytes");
    }
    return std::move(bytes).value_or("");
  }

 private:
  std::optional<Malformed> fault_;
};

Malformed malformed(JsonFault fault) {
  switch (fault) {
    case JsonFault::not_utf8:
      return {"", "is not UTF-8", "encode the JSON text as UTF-8"};
    case JsonFault::repeated_name:
      return {"", "names a member twice in one object", "send each member once"};
    case JsonFault::too_deep:
    case JsonFault::too_many:
      return {"", "nests too deeply or holds too many members",
              "echo nothing but what the challenge holds"};
    case JsonFault::syntax:
      break;
  }
  return {"", "does not hold a JSON object", "send the base64 of a PaymentPayload in JSON"};
}

PaymentRequirements read_accepted(JsonValue value, Fields& fields) {
  PaymentRequirements accepted;
  accepted.scheme = fields.text(value["scheme"], "accepted.scheme");
  accepted.network = fields.text(value["network"], "accepted.network");
  accepted.amount = fields.text(value["amount"], "accepted.amount");
  accepted.asset = fields.text(value["asset"], "accepted.asset");
  accepted.pay_to = fields.text(value["payTo"], "accepted.payTo");
  accepted.max_timeout_seconds =
      fields.seconds(value["maxTimeoutSeconds"], "accepted.maxTimeoutSeconds");
  const JsonValue extra = fields.object(value["extra"], "accepted.extra", true);
  for (const auto& [name, member] : extra_members) {
    accepted.extra.*member = fields.text(extra[name], "accepted.extra", true);
  }
  return accepted;
}

bool has_unknown_member(JsonValue accepted) {
  constexpr std::array<std::string_view, 7> known{"scheme", "network",           "amount", "asset",
                                                  "payTo",  "maxTimeoutSeconds", "extra"};
  return std::any_of(accepted.begin(), accepted.end(), [&](auto member) {
    return !member.value.is_missing() && std::none_of(known.begin(), known.end(), [&](auto name) {
      return member.name.equals(name);
    });
  });
}

Eip3009Payment read_eip3009(JsonValue payload, Fields& fields) {
  const JsonValue given = fields.object(payload["authorization"], "payload.authorization");
  return {
      .signature = fields.signature(payload["signature"]),
      .from_text = std::string(given["from"].plain()),
      .from = fields.address(given["from"], "payload.authorization.from"),
      .to = fields.address(given["to"], "payload.authorization.to"),
      .value = fields.uint256(given["value"], "payload.authorization.value"),
      .valid_after = fields.uint256(given["validAfter"], "payload.authorization.validAfter"),
      .valid_before = fields.uint256(given["validBefore"], "payload.authorization.validBefore"),
      .nonce = fields.bytes32(given["nonce"], "payload.authorization.nonce"),
  };
}

Permit2Payment read_permit2(JsonValue payload, Fields& fields) {
  const JsonValue given =
      fields.object(payload["permit2Authorization"], "payload.permit2Authorization");
  const JsonValue permitted = given["permitted"], witness = given["witness"];
  return {
      .signature = fields.signature(payload["signature"]),
      .from_text = std::string(given["from"].plain()),
      .from = fields.address(given["from"], "payload.permit2Authorization.from"),
      .token = fields.address(permitted["token"], "payload.permit2Authorization.permitted.token"),
      .amount =
          fields.uint256(permitted["amount"], "payload.permit2Authorization.permitted.amount"),
      .spender = fields.address(given["spender"], "payload.permit2Authorization.spender"),
      .nonce = fields.uint256(given["nonce"], "payload.permit2Authorization.nonce"),
      .deadline = fields.uint256(given["deadline"], "payload.permit2Authorization.deadline"),
      .to = fields.address(witness["to"], "payload.permit2Authorization.witness.to"),
      .valid_after =
          fields.uint256(witness["validAfter"], "payload.permit2Authorization.witness.validAfter"),
  };
}

// Finds where the message of a signed transaction begins: after the number of signatures and the
// signatures, which are as many as the message's header requires. Returns nullopt if the text is
// not a transaction. Accepts legacy messages and version 0
// (https://solana.com/docs/core/transactions).
std::optional<std::size_t> find_message(std::string_view transaction) noexcept {
  constexpr std::size_t signature_bytes = 64;
  const auto byte = [&](std::size_t at) -> unsigned {
    return at < transaction.size() ? static_cast<unsigned char>(transaction[at]) : 0U;
  };
  // A packet has room for fewer than 128 signatures, so their number (a compact-u16) is one byte.
  const std::size_t signatures = byte(0);
  const std::size_t begin = 1 + signatures * signature_bytes;
  const bool is_versioned = byte(begin) >= 0x80;
  if (is_versioned && byte(begin) != 0x80) return std::nullopt;
  const std::size_t header = begin + (is_versioned ? 1 : 0);
  if (signatures == 0 || header + 3 >= transaction.size() || byte(header) != signatures) {
    return std::nullopt;
  }
  return begin;
}

SolanaPayment read_solana(JsonValue payload, Fields& fields) {
  auto transaction =
      base64_decode(payload["transaction"].plain(), solana_transaction_bytes_max).value_or("");
  const auto begin = find_message(transaction);
  if (!begin) {
    fields.fail("payload.transaction", "is not a signed transaction",
                "send the base64 of a legacy or version 0 transaction of at most 1232 bytes");
  }
  const Word digest = sha256(std::string_view(transaction).substr(begin.value_or(0)));
  return {std::move(transaction), begin.value_or(0), digest};
}

// The members tell the transfer method. Returns nullopt for an unknown payload.
std::optional<AnyPayment> read_payload(JsonValue payload, Fields& fields) {
  const bool is_eip3009 = !payload["authorization"].is_missing();
  const bool is_permit2 = !payload["permit2Authorization"].is_missing();
  const bool is_transaction = !payload["transaction"].is_missing();
  if (is_eip3009 + is_permit2 + is_transaction > 1) {
    fields.fail("payload", "holds more than one payment", "send the one that was chosen");
  }
  if (is_eip3009) return read_eip3009(payload, fields);
  if (is_permit2) return read_permit2(payload, fields);
  if (is_transaction) return read_solana(payload, fields);
  return std::nullopt;
}

std::string read_payment_id(JsonValue extensions, Fields& fields) {
  const JsonValue id = extensions["payment-identifier"]["info"]["id"];
  if (id.is_missing()) return {};
  const std::string_view text = id.plain();
  const bool is_id =
      text.size() >= 16 && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
      });
  if (!is_id) {
    fields.fail("extensions.payment-identifier.info.id", "is not a payment identifier",
                "send 16 to 128 letters, digits, _ or -");
  }
  return std::string(text);
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

// Hashes the parts as a JSON list, which is unambiguous: the caller's parts may hold any character.
Word key_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  text.reserve(256);
  for (const std::string_view part : parts) {
    text += text.empty() ? '[' : ',';
    append_json_string(text, part);
  }
  return sha256(text += ']');
}

}  // namespace

Word PaymentPayload::sha256() const { return x402::sha256(text()); }

std::string Malformed::sentence() const {
  // Do not say "header": over MCP there is none.
  std::string text = "The payment";
  if (!where.empty()) text.append("'s ").append(where);
  return text.append(" ").append(what).append("; ").append(fix).append(".");
}

Result<PaymentPayload, Unpaid> decode_payment(std::string_view header_value) {
  if (header_value.size() > payment_header_bytes_max) {
    return Unpaid(
        Malformed{"", "is longer than 16 KiB", "echo nothing but what the challenge holds"});
  }
  auto json = base64_decode(header_value, payment_header_bytes_max);
  if (!json) {
    return Unpaid(
        Malformed{"", "is not base64", "use the standard alphabet with padding, without blanks"});
  }
  return read_payment(std::move(*json));
}

Result<PaymentPayload, Unpaid> read_payment(std::string text) {
  if (text.size() > payment_header_bytes_max) return Unpaid(malformed(JsonFault::too_many));
  auto json = JsonText::parse(std::move(text));
  if (!json) return Unpaid(malformed(json.error()));
  const JsonValue root = json->root();
  if (!root.is(JsonKind::object)) return Unpaid(malformed(JsonFault::syntax));

  Fields fields;
  if (root["x402Version"].number() != 2.0) {
    fields.fail("x402Version", "is not 2", "pay by version 2 of x402, the only one spoken here");
  }
  const JsonValue given = fields.object(root["accepted"], "accepted");
  PaymentRequirements accepted = read_accepted(given, fields);
  const bool has_more = has_unknown_member(given);
  auto payment = read_payload(fields.object(root["payload"], "payload"), fields);
  const JsonValue extensions = fields.object(root["extensions"], "extensions", true);
  std::string payment_id = read_payment_id(extensions, fields);
  if (fields.fault()) return Unpaid(*fields.fault());
  if (!payment) return Unpaid(Reason::unsupported_payload_type);
  return PaymentPayload{std::move(*json), std::move(accepted), has_more, std::move(*payment),
                        std::move(payment_id)};
}

Word payment_key(const PaymentPayload& payload) {
  const std::string& network = payload.accepted.network;
  if (const auto* by_token = std::get_if<Eip3009Payment>(&payload.payment)) {
    return key_of({"eip3009", network, lower(payload.accepted.asset),
                   hex_encode(bytes_of(by_token->from)), hex_encode(bytes_of(by_token->nonce))});
  }
  if (const auto* by_permit = std::get_if<Permit2Payment>(&payload.payment)) {
    return key_of({"permit2", network, "0x000000000022d473030f116ddee9f6b43ac78ba3",
                   hex_encode(bytes_of(by_permit->from)), hex_encode(bytes_of(by_permit->nonce))});
  }
  const auto& on_solana = std::get<SolanaPayment>(payload.payment);
  return key_of({"solana", network, hex_encode(bytes_of(on_solana.message_sha256))});
}

}  // namespace turnpike::x402
