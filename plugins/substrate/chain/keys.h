// Storage keys of Substrate's own pallets, in hex with 0x: constants, and functions for the keys of
// a parachain or a preimage. Pure functions; any Thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "substrate/codec/bytes.h"

namespace turnpike::substrate::keys {

inline constexpr std::string_view code = "0x3a636f6465";
inline constexpr std::string_view authorized_upgrade =
    "0x26aa394eea5630e07c48ae0c9558cef72fa9f1bf25567808771bff091dc89ecd";
inline constexpr std::string_view last_runtime_upgrade =
    "0x26aa394eea5630e07c48ae0c9558cef7f9cce9c888469bb1a0dceaa129672ef8";
inline constexpr std::string_view timestamp_now =
    "0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb";
inline constexpr std::string_view pending_validation_code =
    "0x45323df7cc47150b3930e2666b0aa31390d171f8401887cf06fb43a732994c32";
inline constexpr std::string_view upgrade_go_ahead =
    "0x45323df7cc47150b3930e2666b0aa313e8ba64f186df6005813fc8ddf1d30ea5";

// Keys in the storage of a relay chain.
std::string current_code_hash(std::uint32_t para_id);
std::string future_code_hash(std::uint32_t para_id);

std::string preimage(const Hash& hash, std::uint32_t length);

}  // namespace turnpike::substrate::keys
