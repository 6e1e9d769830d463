#include "substrate/codec/calls.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "substrate/codec/digest.h"
#include "substrate/codec/scale.h"

namespace turnpike::substrate {
namespace {

constexpr std::size_t matches_max = 64;
constexpr std::size_t hash_bytes = Hash().size();

constexpr std::pair<CallKind, std::string_view> kind_names[] = {
    {CallKind::unknown, "unknown"},
    {CallKind::set_code, "set_code"},
    {CallKind::set_code_without_checks, "set_code_without_checks"},
    {CallKind::authorize_upgrade, "authorize_upgrade"},
    {CallKind::authorize_upgrade_without_checks, "authorize_upgrade_without_checks"},
    {CallKind::apply_authorized_upgrade, "apply_authorized_upgrade"},
    {CallKind::parachain_authorize_upgrade, "parachain_authorize_upgrade"},
    {CallKind::parachain_enact_authorized_upgrade, "parachain_enact_authorized_upgrade"},
};

// Calls of the pallet System by index.
constexpr std::pair<std::uint8_t, CallKind> system_calls[] = {
    {0x02, CallKind::set_code},
    {0x03, CallKind::set_code_without_checks},
    {0x09, CallKind::authorize_upgrade},
    {0x0A, CallKind::authorize_upgrade_without_checks},
    {0x0B, CallKind::apply_authorized_upgrade},
};

CallKind system_call(std::uint8_t index) noexcept {
  for (const auto& [known, kind] : system_calls) {
    if (known == index) return kind;
  }
  return CallKind::unknown;
}

bool carries_code(CallKind kind) noexcept {
  return kind == CallKind::set_code || kind == CallKind::set_code_without_checks ||
         kind == CallKind::apply_authorized_upgrade ||
         kind == CallKind::parachain_enact_authorized_upgrade;
}

std::optional<DecodedCall> decode_as(CallKind kind, ByteView arguments) {
  ScaleReader reader(arguments);
  DecodedCall call;
  call.kind = kind;
  if (carries_code(kind)) {
    const auto length = reader.compact();
    const auto code = length ? reader.take(*length) : std::nullopt;
    if (!code || code->empty()) return std::nullopt;
    call.code_hash = blake2_256(*code);
  } else {
    call.code_hash = reader.hash();
    if (!call.code_hash) return std::nullopt;
  }
  if (kind == CallKind::authorize_upgrade) call.check_version = true;
  if (kind == CallKind::authorize_upgrade_without_checks) call.check_version = false;
  call.extra_bytes = reader.rest().size();
  return call;
}

// The retired calls of ParachainSystem, whose indexes differ between releases.
std::optional<DecodedCall> decode_parachain(std::uint8_t index, ByteView arguments) {
  const bool has_flag = arguments.size() == hash_bytes + 1 && arguments.back() <= 1;
  if ((index == 2 || index == 3) && (arguments.size() == hash_bytes || has_flag)) {
    auto call = decode_as(CallKind::parachain_authorize_upgrade, arguments);
    if (call && has_flag) {
      call->check_version = arguments.back() == 1;
      call->extra_bytes = 0;
    }
    return call;
  }
  if (index == 3 || index == 4) {
    auto call = decode_as(CallKind::parachain_enact_authorized_upgrade, arguments);
    if (call && call->extra_bytes == 0) return call;
  }
  return std::nullopt;
}

Bytes bytes_of_call(std::uint8_t pallet, std::uint8_t index, ByteView arguments) {
  Bytes call(2 + arguments.size());
  call[0] = pallet;
  call[1] = index;
  std::copy(arguments.begin(), arguments.end(), call.begin() + 2);
  return call;
}

void find_all(ByteView call, const Bytes& wanted, std::string_view pattern,
              std::vector<PatternMatch>& matches) {
  const std::boyer_moore_horspool_searcher searcher(wanted.begin(), wanted.end());
  auto at = std::search(call.begin(), call.end(), searcher);
  while (at != call.end() && matches.size() < matches_max) {
    matches.push_back({pattern, static_cast<std::uint64_t>(at - call.begin())});
    at = std::search(at + 1, call.end(), searcher);
  }
}

}  // namespace

std::string_view name_of(CallKind kind) noexcept {
  return kind_names[static_cast<std::size_t>(kind)].second;
}

std::optional<CallKind> call_kind_of(std::string_view name) noexcept {
  for (const auto& [kind, known] : kind_names) {
    if (known == name && kind != CallKind::unknown) return kind;
  }
  return std::nullopt;
}

DecodedCall decode_call(ByteView call, const Pallets& pallets) {
  if (call.size() < 2) return {};
  const ByteView arguments = call.subspan(2);
  std::optional<DecodedCall> decoded;
  if (call[0] == pallets.system) {
    const CallKind kind = system_call(call[1]);
    if (kind != CallKind::unknown) decoded = decode_as(kind, arguments);
  } else if (call[0] == pallets.parachain_system) {
    decoded = decode_parachain(call[1], arguments);
  }
  return decoded.value_or(DecodedCall());
}

Hash set_code_call_hash(ByteView code, const Pallets& pallets) {
  const std::array<std::uint8_t, 2> call = {pallets.system, 0x02};
  const Bytes length = compact_of(static_cast<std::uint32_t>(code.size()));
  return blake2_256({ByteView(call), ByteView(length), code});
}

Hash authorize_upgrade_call_hash(const Hash& code_hash, const Pallets& pallets) {
  const std::array<std::uint8_t, 2> call = {pallets.system, 0x09};
  return blake2_256({ByteView(call), ByteView(code_hash)});
}

std::vector<KnownCall> calls_with(const Hash& code_hash, std::optional<ByteView> code,
                                  const Pallets& pallets) {
  std::vector<KnownCall> calls;
  const auto add = [&](CallKind kind, std::optional<bool> check, const Bytes& bytes) {
    calls.push_back({kind, check, blake2_256(bytes), bytes.size()});
  };
  add(CallKind::authorize_upgrade, true, bytes_of_call(pallets.system, 0x09, code_hash));
  add(CallKind::authorize_upgrade_without_checks, false,
      bytes_of_call(pallets.system, 0x0A, code_hash));
  for (const std::uint8_t index : {std::uint8_t{2}, std::uint8_t{3}}) {
    Bytes bytes = bytes_of_call(pallets.parachain_system, index, code_hash);
    add(CallKind::parachain_authorize_upgrade, std::nullopt, bytes);
    bytes.push_back(1);
    add(CallKind::parachain_authorize_upgrade, true, bytes);
    bytes.back() = 0;
    add(CallKind::parachain_authorize_upgrade, false, bytes);
  }
  if (!code) return calls;
  const Bytes length = compact_of(static_cast<std::uint32_t>(code->size()));
  for (const auto& [index, kind] : system_calls) {
    if (!carries_code(kind)) continue;
    const std::array<std::uint8_t, 2> call = {pallets.system, index};
    calls.push_back({kind, std::nullopt, blake2_256({ByteView(call), ByteView(length), *code}),
                     2 + length.size() + code->size()});
  }
  return calls;
}

std::vector<PatternMatch> find_patterns(ByteView call, const Hash& code_hash,
                                        const Pallets& pallets) {
  std::vector<PatternMatch> matches;
  const Hash authorize = authorize_upgrade_call_hash(code_hash, pallets);
  find_all(call, bytes_of_call(pallets.system, 0x09, code_hash), "authorize_upgrade", matches);
  find_all(call, bytes_of_call(pallets.system, 0x0A, code_hash),
           "authorize_upgrade_without_checks", matches);
  find_all(call, Bytes(code_hash.begin(), code_hash.end()), "code_hash", matches);
  find_all(call, Bytes(authorize.begin(), authorize.end()), "authorize_upgrade_call_hash",
           matches);
  return matches;
}

}  // namespace turnpike::substrate
