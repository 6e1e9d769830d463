#include "substrate/codec/code_blob.h"

#include <algorithm>
#include <array>

#include "substrate/codec/code_stream.h"
#include "substrate/codec/digest.h"
#include "substrate/codec/scale.h"
#include "substrate/codec/wasm.h"

namespace turnpike::substrate {
namespace {

constexpr std::size_t name_bytes_max = 256;
constexpr std::size_t api_bytes = 12;  // its id and its version
constexpr std::array<std::uint8_t, 7> compressed_prefix = {0x52, 0xBC, 0x53, 0x76,
                                                           0x46, 0xDB, 0x8E};
constexpr std::array<std::uint8_t, 4> wasm_magic = {0x00, 0x61, 0x73, 0x6D};
constexpr std::array<std::uint8_t, 4> pvm_magic = {0x50, 0x56, 0x4D, 0x00};

bool begins_with(ByteView bytes, ByteView prefix) noexcept {
  return bytes.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

CodeFormat format_of_magic(ByteView bytes) noexcept {
  if (begins_with(bytes, wasm_magic)) return CodeFormat::wasm;
  return begins_with(bytes, pvm_magic) ? CodeFormat::pvm : CodeFormat::unknown;
}

// Sets the facts that follow from the blob's prefix, or from its magic number if it is not
// compressed.
void read_prefix(ByteView blob, CodeFacts& facts) {
  const bool is_prefixed =
      blob.size() > compressed_prefix.size() && begins_with(blob, compressed_prefix);
  facts.prefix = hex_of(blob.first(std::min<std::size_t>(blob.size(), is_prefixed ? 8 : 4)));
  if (!is_prefixed) {
    facts.format = format_of_magic(blob);
    if (facts.format == CodeFormat::unknown) {
      facts.format_problem = "it begins with none of the known prefixes of code";
    }
    return;
  }
  facts.is_compressed = true;
  const std::uint8_t kind = blob[compressed_prefix.size()];
  if (kind == 0x05 || kind == 0x07) {
    facts.format = CodeFormat::wasm;
  } else if (kind == 0x08) {
    facts.format = CodeFormat::pvm;
  } else {
    facts.format_problem = kind == 0x06 ? "its prefix is that of a proof of validity, never of code"
                                        : "its prefix is of a kind that is not known";
  }
}

void take_version(const WasmSections& sections, CodeFacts& facts) {
  if (!sections.problem.empty()) {
    facts.version_section = VersionSection::malformed;
    facts.version_problem = "the module is not well formed: " + std::string(sections.problem);
  } else if (!sections.runtime_version) {
    facts.version_section = VersionSection::missing;
    facts.version_problem = "the code has no section runtime_version, as very old runtimes do";
  } else {
    facts.version = read_runtime_version(*sections.runtime_version);
    facts.version_section =
        facts.version ? VersionSection::present : VersionSection::malformed;
    if (!facts.version) facts.version_problem = "the section runtime_version cannot be decoded";
  }
}

void read_content(ByteView blob, CodeFacts& facts) {
  const auto kind = facts.is_compressed ? CodeStream::Kind::zstd : CodeStream::Kind::plain;
  CodeStream stream(facts.is_compressed ? blob.subspan(8) : blob, kind);
  WasmSections sections;
  if (facts.format == CodeFormat::wasm) sections = read_wasm_sections(stream);
  stream.drain();
  if (!stream.problem().empty()) {
    facts.decompress_problem = stream.problem();
    facts.version_problem = "the code cannot be decompressed";
    return;
  }
  facts.uncompressed_size = stream.size();
  facts.uncompressed_hash = stream.hash();
  if (facts.format == CodeFormat::wasm) {
    take_version(sections, facts);
  } else {
    facts.version_problem = "the version of PolkaVM code is not read";
  }
}

}  // namespace

std::string_view name_of(CodeFormat format) noexcept {
  switch (format) {
    case CodeFormat::wasm:
      return "wasm";
    case CodeFormat::pvm:
      return "pvm";
    case CodeFormat::unknown:
      break;
  }
  return "unknown";
}

std::optional<RuntimeVersion> read_runtime_version(ByteView section) {
  ScaleReader reader(section);
  RuntimeVersion version;
  version.spec_name = reader.text(name_bytes_max).value_or("");
  version.impl_name = reader.text(name_bytes_max).value_or("");
  version.authoring_version = reader.u32().value_or(0);
  version.spec_version = reader.u32().value_or(0);
  version.impl_version = reader.u32().value_or(0);
  const std::uint32_t apis = reader.compact().value_or(0);
  reader.take(std::size_t{apis} * api_bytes);
  if (reader.failed()) return std::nullopt;
  if (reader.rest().size() >= 4) version.transaction_version = reader.u32();
  if (version.transaction_version && !reader.rest().empty()) version.state_version = reader.u8();
  return version;
}

CodeFacts examine_code(ByteView blob) {
  CodeFacts facts;
  facts.size = blob.size();
  facts.code_hash = blake2_256(blob);
  facts.sha256 = sha256(blob);
  read_prefix(blob, facts);
  if (facts.format != CodeFormat::unknown) {
    read_content(blob, facts);
  } else {
    facts.version_problem = "the format of the code is not known";
  }
  return facts;
}

}  // namespace turnpike::substrate
