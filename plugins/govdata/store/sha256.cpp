#include "govdata/store/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace turnpike::govdata {
namespace {

constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

void Sha256::block(const std::uint8_t* bytes) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t at = 0; at < 16; ++at) w[at] = big_endian(bytes + 4 * at);
  for (std::size_t at = 16; at < 64; ++at) {
    const std::uint32_t low =
        std::rotr(w[at - 15], 7) ^ std::rotr(w[at - 15], 18) ^ (w[at - 15] >> 3);
    const std::uint32_t high =
        std::rotr(w[at - 2], 17) ^ std::rotr(w[at - 2], 19) ^ (w[at - 2] >> 10);
    w[at] = w[at - 16] + low + w[at - 7] + high;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t at = 0; at < 64; ++at) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + round_constants[at] + w[at];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const std::array<std::uint32_t, 8> sum = {a, b, c, d, e, f, g, h};
  for (std::size_t at = 0; at < 8; ++at) state_[at] += sum[at];
}

void Sha256::update(std::string_view bytes) {
  total_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t taken = std::min(bytes.size(), pending_.size() - pending_bytes_);
    std::memcpy(pending_.data() + pending_bytes_, bytes.data(), taken);
    pending_bytes_ += taken;
    bytes.remove_prefix(taken);
    if (pending_bytes_ < pending_.size()) return;
    block(pending_.data());
    pending_bytes_ = 0;
  }
}

std::string Sha256::finish_hex() {
  const std::uint64_t bits = total_bytes_ * 8;
  std::string tail(1, '\x80');
  tail.append((119 - pending_bytes_) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(bits >> shift & 0xFF);
  update(tail);
  std::string hex;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 15];
  }
  return hex;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish_hex();
}

}  // namespace turnpike::govdata
