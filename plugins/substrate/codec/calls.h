// The encoded calls that upgrade a runtime: decoding, encoding, hashes, and searching for them in
// longer calls. Chain metadata is not used, so only the calls in CallKind are known. Pure
// functions; any Thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "substrate/codec/bytes.h"

namespace turnpike::substrate {

enum class CallKind : std::uint8_t {
  unknown,
  set_code,
  set_code_without_checks,
  authorize_upgrade,
  authorize_upgrade_without_checks,
  apply_authorized_upgrade,
  parachain_authorize_upgrade,
  parachain_enact_authorized_upgrade,
};
std::string_view name_of(CallKind kind) noexcept;
// Empty for unknown names.
std::optional<CallKind> call_kind_of(std::string_view name) noexcept;

// The indexes of the pallets on a chain.
struct Pallets {
  std::uint8_t system = 0;
  std::uint8_t parachain_system = 1;
};

struct DecodedCall {
  CallKind kind = CallKind::unknown;
  std::optional<Hash> code_hash = std::nullopt;  // authorised by the call, or of the code in it
  std::optional<bool> check_version = std::nullopt;
  std::uint64_t extra_bytes = 0;  // that follow the call
};

DecodedCall decode_call(ByteView call, const Pallets& pallets);

// Whether the call omits the chain's own checks of the new version.
constexpr bool skips_checks(CallKind kind, std::optional<bool> check_version) noexcept {
  return kind == CallKind::set_code_without_checks ||
         kind == CallKind::authorize_upgrade_without_checks || check_version == false;
}

Hash set_code_call_hash(ByteView code, const Pallets& pallets);
Hash authorize_upgrade_call_hash(const Hash& code_hash, const Pallets& pallets);

// A call with its hash and its length in bytes.
struct KnownCall {
  CallKind kind = CallKind::unknown;
  std::optional<bool> check_version = std::nullopt;
  Hash call_hash{};
  std::uint64_t length = 0;
};
// The calls that authorise `code_hash` and, if `code` is given, the calls of System that carry it.
std::vector<KnownCall> calls_with(const Hash& code_hash, std::optional<ByteView> code,
                                  const Pallets& pallets);

struct PatternMatch {
  std::string_view pattern;
  std::uint64_t offset = 0;
};
// The places in `call` of `code_hash`, of the calls that authorise it, and of the hash of the call
// authorize_upgrade. At most 64.
std::vector<PatternMatch> find_patterns(ByteView call, const Hash& code_hash,
                                        const Pallets& pallets);

}  // namespace turnpike::substrate
