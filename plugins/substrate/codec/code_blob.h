// Code blobs: facts about a runtime's code that can be read without running it. A blob is a prefix
// and one zstd stream, or plain wasm or PolkaVM code. All bytes may be hostile. Pure functions; any
// Thread may call them, but long blobs must not be examined on an event loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "substrate/codec/bytes.h"

namespace turnpike::substrate {

struct RuntimeVersion {
  std::string spec_name;
  std::string impl_name;
  std::uint32_t authoring_version = 0;
  std::uint32_t spec_version = 0;
  std::uint32_t impl_version = 0;
  std::optional<std::uint32_t> transaction_version = std::nullopt;  // old runtimes have none
  std::optional<std::uint32_t> state_version = std::nullopt;

  bool operator==(const RuntimeVersion&) const = default;
};

// Reads the content of the section `runtime_version`.
std::optional<RuntimeVersion> read_runtime_version(ByteView section);

enum class CodeFormat : std::uint8_t { unknown, wasm, pvm };
std::string_view name_of(CodeFormat format) noexcept;

// The state of the code's version section. `unread`: the code was not searched, because its format
// is unknown or not supported, or because it cannot be decompressed.
enum class VersionSection : std::uint8_t { present, missing, malformed, unread };

struct CodeFacts {
  std::uint64_t size = 0;
  Hash code_hash{};  // of the blob as given, which is the hash that chains authorise
  Hash sha256{};
  CodeFormat format = CodeFormat::unknown;
  std::string format_problem = {};  // why the format is unknown
  bool is_compressed = false;
  std::string prefix = {};  // the first bytes, in hex
  std::string decompress_problem = {};
  std::optional<std::uint64_t> uncompressed_size = std::nullopt;
  std::optional<Hash> uncompressed_hash = std::nullopt;
  VersionSection version_section = VersionSection::unread;
  std::string version_problem = {};  // why there is no version
  std::optional<RuntimeVersion> version = std::nullopt;
};

CodeFacts examine_code(ByteView blob);

}  // namespace turnpike::substrate
