#include "govdata/store/digest.h"

#include <botan/hash.h>
#include <botan/hex.h>

namespace turnpike::govdata {
namespace {

std::string finished(Botan::HashFunction& hash) {
  return Botan::hex_encode(hash.final(), false);
}

std::string hex_of(const char* algorithm, std::string_view bytes) {
  const auto hash = Botan::HashFunction::create_or_throw(algorithm);
  hash->update(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return finished(*hash);
}

}  // namespace

Sha256::Sha256() : hash_(Botan::HashFunction::create_or_throw("SHA-256")) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  hash_->update(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string Sha256::finish_hex() { return finished(*hash_); }

std::string sha256_hex(std::string_view bytes) { return hex_of("SHA-256", bytes); }
std::string keccak256_hex(std::string_view bytes) { return hex_of("Keccak-1600(256)", bytes); }

}  // namespace turnpike::govdata
