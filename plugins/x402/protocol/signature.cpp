#include "x402/protocol/signature.h"

#include <secp256k1.h>
#include <secp256k1_recovery.h>

#include <algorithm>

#include "x402/protocol/digest.h"

namespace turnpike::x402 {
namespace {

// Hashes the uncompressed point without its tag byte (Yellow Paper, appendix F).
Address address_of(const secp256k1_pubkey& key) {
  std::array<std::uint8_t, 65> point;
  std::size_t bytes = point.size();
  secp256k1_ec_pubkey_serialize(secp256k1_context_static, point.data(), &bytes, &key,
                                SECP256K1_EC_UNCOMPRESSED);
  const Word hash = keccak256(bytes_of(point).substr(1));
  Address address;
  std::copy(hash.end() - address.size(), hash.end(), address.begin());
  return address;
}

}  // namespace

std::optional<Signer> recover_signer(const Word& digest, std::string_view signature) {
  if (signature.size() != plain_signature_bytes) return std::nullopt;
  const auto v = static_cast<unsigned char>(signature[64]);
  const bool v_is_canonical = v == 27 || v == 28;
  if (!v_is_canonical && v > 1) return std::nullopt;

  secp256k1_ecdsa_recoverable_signature recoverable;
  secp256k1_pubkey key;
  const bool is_someones =
      secp256k1_ecdsa_recoverable_signature_parse_compact(
          secp256k1_context_static, &recoverable,
          reinterpret_cast<const unsigned char*>(signature.data()),
          v_is_canonical ? v - 27 : v) != 0 &&
      secp256k1_ecdsa_recover(secp256k1_context_static, &key, &recoverable, digest.data()) != 0;
  if (!is_someones) return std::nullopt;

  secp256k1_ecdsa_signature plain;
  secp256k1_ecdsa_recoverable_signature_convert(secp256k1_context_static, &plain, &recoverable);
  const bool s_is_high =
      secp256k1_ecdsa_signature_normalize(secp256k1_context_static, nullptr, &plain) != 0;
  return Signer{address_of(key), v_is_canonical && !s_is_high};
}

}  // namespace turnpike::x402
