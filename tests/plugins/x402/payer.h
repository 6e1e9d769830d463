// A payer with a key, who signs what a wallet would sign. The default is private key 1, whose
// address is widely known. One Thread.
#pragma once

#include <secp256k1_recovery.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "plugins/x402/samples.h"
#include "x402/protocol/eip712.h"

namespace turnpike::x402 {

class Payer {
 public:
  explicit Payer(std::uint8_t last_byte_of_key = 1) { key_[31] = last_byte_of_key; }

  // r || s || v
  [[nodiscard]] std::string sign(const Word& digest) const {
    secp256k1_ecdsa_recoverable_signature signature;
    std::string bytes(65, '\0');
    int v = 0;
    if (secp256k1_ecdsa_sign_recoverable(context_.get(), &signature, digest.data(), key_.data(),
                                         nullptr, nullptr) == 0) {
      throw std::runtime_error("not a key");
    }
    secp256k1_ecdsa_recoverable_signature_serialize_compact(
        context_.get(), reinterpret_cast<unsigned char*>(bytes.data()), &v, &signature);
    bytes[64] = static_cast<char>(27 + v);
    return bytes;
  }

  // Returns the payload with its authorization or permit signed, for the requirements that it
  // accepts. REQUIRES: a readable payload.
  [[nodiscard]] nlohmann::json sign(nlohmann::json payload) const {
    const auto read = decode_payment(header_of(payload));
    if (!read) throw std::runtime_error("not a payload");
    const Word separator = DomainSeparators().of(read->accepted).value();
    const auto* permit = std::get_if<Permit2Payment>(&read->payment);
    const Word digest = permit != nullptr
                            ? digest_of(*permit, separator)
                            : digest_of(std::get<Eip3009Payment>(read->payment), separator);
    payload["payload"]["signature"] = hex_encode(sign(digest));
    return payload;
  }

 private:
  struct Destroy {
    void operator()(secp256k1_context* context) const { secp256k1_context_destroy(context); }
  };
  std::unique_ptr<secp256k1_context, Destroy> context_{
      secp256k1_context_create(SECP256K1_CONTEXT_NONE)};
  Word key_{};
};

inline constexpr const char* payer_address = "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf";

// The same signature with s in the upper half of the order: n - s, and the other v.
inline std::string with_high_s(std::string signature) {
  auto* s = reinterpret_cast<unsigned char*>(signature.data() + 32);
  if (secp256k1_ec_seckey_negate(secp256k1_context_static, s) == 0) {
    throw std::runtime_error("not a scalar");
  }
  signature[64] = static_cast<char>(signature[64] == 27 ? 28 : 27);
  return signature;
}

inline nlohmann::json signed_payload() {
  nlohmann::json payload = sample_payload();
  payload["payload"]["authorization"]["from"] = payer_address;
  return Payer().sign(payload);
}

inline nlohmann::json signed_permit2_payload() {
  nlohmann::json payload = sample_permit2_payload();
  payload["payload"]["permit2Authorization"]["from"] = payer_address;
  return Payer().sign(payload);
}

}  // namespace turnpike::x402
