#include "x402/protocol/digest.h"

#include <botan/hash.h>
#include <botan/mac.h>
#include <botan/mem_ops.h>

namespace turnpike::x402 {
namespace {

const std::uint8_t* octets(std::string_view text) noexcept {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

// Leaves `computation` ready for the next use.
Word finish(Botan::Buffered_Computation& computation,
            std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) computation.update(octets(part), part.size());
  Word digest;
  computation.final(digest.data());
  return digest;
}

}  // namespace

Word sha256(std::initializer_list<std::string_view> parts) {
  thread_local const auto hash = Botan::HashFunction::create_or_throw("SHA-256");
  return finish(*hash, parts);
}

Word keccak256(std::initializer_list<std::string_view> parts) {
  thread_local const auto hash = Botan::HashFunction::create_or_throw("Keccak-1600(256)");
  return finish(*hash, parts);
}

Word hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts) {
  thread_local const auto mac = Botan::MessageAuthenticationCode::create_or_throw("HMAC(SHA-256)");
  mac->set_key(octets(key), key.size());
  const Word digest = finish(*mac, parts);
  mac->clear();  // leave no key behind
  return digest;
}

bool equal_in_constant_time(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() &&
         Botan::constant_time_compare(octets(left), octets(right), left.size());
}

}  // namespace turnpike::x402
