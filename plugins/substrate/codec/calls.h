// Calls that upgrade a runtime, as bytes: decoding, encoding, hashes, and where their parts stand
// inside of longer calls. Nothing is taken from metadata, so only the calls of this list are known.
// Pure functions; any Thread.
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
// `auto` and names that are not known: nothing.
std::optional<CallKind> call_kind_of(std::string_view name) noexcept;

// Which indexes the pallets have on a chain.
struct Pallets {
  std::uint8_t system = 0;
  std::uint8_t parachain_system = 1;
};

struct DecodedCall {
  CallKind kind = CallKind::unknown;
  std::optional<Hash> code_hash = std::nullopt;  // that it authorises, or of the code in it
  std::optional<bool> check_version = std::nullopt;
  std::uint64_t extra_bytes = 0;  // behind the call
};

DecodedCall decode_call(ByteView call, const Pallets& pallets);

// Whether the chain's own checks of the new version are left out.
constexpr bool skips_checks(CallKind kind, std::optional<bool> check_version) noexcept {
  return kind == CallKind::set_code_without_checks ||
         kind == CallKind::authorize_upgrade_without_checks || check_version == false;
}

Hash set_code_call_hash(ByteView code, const Pallets& pallets);
Hash authorize_upgrade_call_hash(const Hash& code_hash, const Pallets& pallets);

// A call that carries `code_hash` or `code` (which may be absent), with its hash and its length.
struct KnownCall {
  CallKind kind = CallKind::unknown;
  std::optional<bool> check_version = std::nullopt;
  Hash call_hash{};
  std::uint64_t length = 0;
};
std::vector<KnownCall> calls_with(const Hash& code_hash, std::optional<ByteView> code,
                                  const Pallets& pallets);

struct PatternMatch {
  std::string_view pattern;
  std::uint64_t offset = 0;
};
// Where `code_hash`, and the calls that authorise it, stand in `call`; at most 64 places.
std::vector<PatternMatch> find_patterns(ByteView call, const Hash& code_hash,
                                        const Pallets& pallets);

}  // namespace turnpike::substrate
