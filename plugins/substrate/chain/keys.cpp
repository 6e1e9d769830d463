#include "substrate/chain/keys.h"

#include <array>

#include "substrate/codec/digest.h"

namespace turnpike::substrate::keys {
namespace {

constexpr std::string_view paras = "0xcd710b30bd2eab0352ddcc26417aa194";
constexpr std::string_view preimage_for =
    "0xd8f314b7f4e6b095f0f8ee4656a448257c7dda85c9c297999fd02215e8c8f9de";

std::array<std::uint8_t, 4> little_endian(std::uint32_t value) noexcept {
  return {static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8),
          static_cast<std::uint8_t>(value >> 16), static_cast<std::uint8_t>(value >> 24)};
}

// The key of a map entry in the pallet Paras, with the hasher Twox64Concat: the hash of the map
// key, then the map key itself.
std::string of_para(std::string_view item, std::uint32_t para_id) {
  const auto id = little_endian(para_id);
  return std::string(paras)
      .append(item)
      .append(hex_of(twox64(id)).substr(2))
      .append(hex_of(id).substr(2));
}

}  // namespace

std::string current_code_hash(std::uint32_t para_id) {
  return of_para("e2d1c22ba0a888147714a3487bd51c63", para_id);
}

std::string future_code_hash(std::uint32_t para_id) {
  return of_para("cad3324113c312669f1ac3d50722524b", para_id);
}

std::string preimage(const Hash& hash, std::uint32_t length) {
  return std::string(preimage_for)
      .append(hex_of(hash).substr(2))
      .append(hex_of(little_endian(length)).substr(2));
}

}  // namespace turnpike::substrate::keys
