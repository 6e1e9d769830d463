// Digests as text: SHA-256 (FIPS 180-4) for content hashes of records and input files, Keccak-256
// for what chains name by it. Both by Botan: the plugin may not use the gateway's crypto folder,
// and OpenSSL has no Keccak-256. Not for secrets.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace Botan {
class HashFunction;
}

namespace turnpike::govdata {

// SHA-256 of bytes that come in parts. Belongs to one Thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;

  void update(std::string_view bytes);
  // 64 lower-case hex digits; the object must not be used afterwards.
  std::string finish_hex();

 private:
  std::unique_ptr<Botan::HashFunction> hash_;
};

// 64 lower-case hex digits. Any Thread.
std::string sha256_hex(std::string_view bytes);
std::string keccak256_hex(std::string_view bytes);

}  // namespace turnpike::govdata
