// Blobs of an invented chain with hashes that other implementations computed: one runtime, its
// successor plain and compressed, and variants that are each invalid in one way. Any Thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "substrate/codec/bytes.h"

namespace turnpike::substrate::vectors {

inline constexpr std::string_view s1_hash =
    "0x92e5cd4458fd90104a09204ad9606663f93f76140bc1cb3c78f4b9b155df2f0f";
inline constexpr std::string_view s2_hash =
    "0xca41bb1f0448e6d03992da7877e5bebd5e8cac26f96e7be8f13e070f72824d59";
inline constexpr std::string_view s3_hash =
    "0x232639f7d615113b8c02085792c621e3d1d3c8d455effd39b1b7436be7a80b23";
inline constexpr std::string_view s4_hash =
    "0x8113ba0201f975eb26ca52fdba416967919f8660e62c4ce2ac1830f1d59667df";
inline constexpr std::string_view s5_hash =
    "0x1145c0287f556b8440bfea32312e4580f063d9818c9a5cccbd2ed3f412945f93";
inline constexpr std::string_view s6_hash =
    "0x3c7bc7be3dfa3a4c13ea78b2c13c966b61d044713f8a763c79cbeeea55fc5ee9";
inline constexpr std::string_view s7_hash =
    "0x4469f8b34b4e73033f9c0ed52a5b4c0689c798cfcb3cd8693a9a6109da0601cf";
inline constexpr std::string_view s8_hash =
    "0xf6a5dbf080e9c9d7834145653bce4c8cded62e664d7ddcdb5c526f5877006d74";

// examplechain 1000001, plain.
inline constexpr std::string_view s2_hex =
    "0061736d0100000000310c72756e74696d655f61706973df6acb689907609b0500000037e397fc7c91f5e402000000"
    "40fe3ad401f8959a0600000000430f72756e74696d655f76657273696f6e306578616d706c65636861696e4c706172"
    "6974792d6578616d706c65636861696e0000000041420f0000000000001a00000001";
// The same, compressed.
inline constexpr std::string_view s3_hex =
    "52bc537646db8e0528b52ffd0068a5030074060061736d0100000000310c72756e74696d655f61706973df6acb6899"
    "07609b0500000037e397fc7c91f5e40200000040fe3ad401f8959a0600000000430f76657273696f6e306578616d70"
    "6c65636861696e4c7061726974792d0000000041420f001a000000010300afc0b9c99d5b424101";

inline Bytes of(std::string_view hex) { return bytes_of_hex(hex).value(); }
inline Hash hash(std::string_view hex) { return hash_of_hex(hex).value(); }

inline Bytes with_spec_version(Bytes blob, std::uint32_t spec_version) {
  const Bytes now = {0x41, 0x42, 0x0F, 0x00};  // 1000001
  auto at = std::search(blob.begin(), blob.end(), now.begin(), now.end());
  for (int byte = 0; byte < 4; ++byte, spec_version >>= 8) {
    *at++ = static_cast<std::uint8_t>(spec_version);
  }
  return blob;
}

inline Bytes s1() { return with_spec_version(of(s2_hex), 1'000'000); }
inline Bytes s2() { return of(s2_hex); }
inline Bytes s3() { return of(s3_hex); }
inline Bytes s4() {
  Bytes blob = s3();
  blob[7] = 0x07;
  return blob;
}
// S2 under another name.
inline Bytes s5() {
  return of(
      "0061736d0100000000310c72756e74696d655f61706973df6acb689907609b0500000037e397fc7c91f5e4020000"
      "0040fe3ad401f8959a06000000003f0f72756e74696d655f76657273696f6e286f74686572636861696e44706172"
      "6974792d6f74686572636861696e0000000041420f0000000000001a00000001");
}
// S1 with another transaction version: its specification version does not grow.
inline Bytes s6() {
  Bytes blob = s1();
  blob[blob.size() - 5] = 27;
  return blob;
}
inline Bytes s8() { return of("0061736d01000000"); }

}  // namespace turnpike::substrate::vectors
