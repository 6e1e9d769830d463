// SHA-256 (FIPS 180-4) for content hashes of records and input files. A plugin cannot use the
// gateway's crypto folder. Not for secrets. One Thread at a time per object.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::govdata {

class Sha256 {
 public:
  void update(std::string_view bytes);
  // 64 lower-case hex digits; the object must not be used afterwards.
  std::string finish_hex();

 private:
  void block(const std::uint8_t* bytes);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace turnpike::govdata
