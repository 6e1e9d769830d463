// Input: a caller's request, read strictly from its JSON. A caller cannot give addresses of nodes:
// `chain` is a key in the operator's table. Plain values and pure functions; any Thread may use
// them, but long input must not be read on an event loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "substrate/codec/bytes.h"
#include "substrate/codec/calls.h"

namespace turnpike::substrate {

inline constexpr std::size_t code_bytes_max = 16 * 1024 * 1024;

enum class VerifyMode : std::uint8_t { blob, authorization, live, transition };
std::string_view name_of(VerifyMode mode) noexcept;

enum class BlockTag : std::uint8_t { finalized, best };

struct BlockAsk {
  std::optional<Hash> hash = std::nullopt;
  std::optional<std::uint64_t> number = std::nullopt;
  std::optional<BlockTag> tag = std::nullopt;  // `finalized` if no member is set

  [[nodiscard]] bool is_best() const noexcept { return tag == BlockTag::best; }
};

struct Expected {
  std::optional<std::string> spec_name = std::nullopt;
  std::optional<std::uint32_t> spec_version = std::nullopt;
  std::optional<std::uint32_t> transaction_version = std::nullopt;
  std::optional<std::uint32_t> state_version = std::nullopt;
  std::optional<std::uint32_t> impl_version = std::nullopt;
  std::optional<Hash> code_hash = std::nullopt;
  std::optional<Hash> uncompressed_code_hash = std::nullopt;
  std::optional<Hash> sha256 = std::nullopt;
  std::optional<Hash> call_hash = std::nullopt;
  std::optional<Hash> set_code_hash = std::nullopt;
  std::optional<Hash> authorized_hash = std::nullopt;
  std::optional<bool> check_version = std::nullopt;
};

struct Proposal {
  std::optional<Bytes> call = std::nullopt;
  std::optional<Hash> preimage_hash = std::nullopt;
  std::optional<std::uint32_t> preimage_length = std::nullopt;
  std::optional<CallKind> kind = std::nullopt;  // empty: any
};

struct Input {
  VerifyMode mode = VerifyMode::blob;
  std::optional<std::string> chain = std::nullopt;
  BlockAsk at = {};
  std::optional<BlockAsk> from = std::nullopt;
  Expected expected = {};
  bool has_expected = false;
  std::optional<Bytes> code = std::nullopt;
  std::optional<Proposal> proposal = std::nullopt;
  std::optional<std::uint8_t> system_pallet_index = std::nullopt;
  int min_assurance = 0;
};

// What is wrong with the input, and where, as a JSON pointer.
struct InputProblem {
  std::string location;
  std::string problem;
};

Result<Input, std::vector<InputProblem>> read_input(std::string_view body);

}  // namespace turnpike::substrate
