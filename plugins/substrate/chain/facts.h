// Parsers for the answers of nodes. They are strict: a malformed answer yields no value. Pure
// functions; any Thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "substrate/codec/bytes.h"
#include "substrate/codec/code_blob.h"
#include "substrate/verify/json.h"
#include "substrate/verify/report.h"

namespace turnpike::substrate {

struct Header {
  Hash parent{};
  std::uint32_t number = 0;
  Hash state_root{};
  Hash extrinsics_root{};
  std::vector<Bytes> logs = {};

  // Whether the block replaced the code or the heap pages: it has the digest item
  // RuntimeEnvironmentUpdated.
  [[nodiscard]] bool replaced_code() const noexcept;
};
std::optional<Header> read_header(const Json& value);
// The BLAKE2-256 of the header. Some chains hash their headers with another function.
Hash hash_of_header(const Header& header);

std::optional<Hash> read_hash(const Json& value) noexcept;
// Reads the result of state_getRuntimeVersion.
std::optional<RuntimeVersion> read_rpc_version(const Json& value);
// Reads the storage value System.AuthorizedUpgrade.
std::optional<Authorization> read_authorization(ByteView value);

struct LastUpgrade {
  std::uint32_t spec_version = 0;
  std::string spec_name;
};
std::optional<LastUpgrade> read_last_upgrade(ByteView value);

// Reads the storage value ParachainSystem.UpgradeGoAhead; empty if it has no signal or is
// malformed.
enum class GoAhead : std::uint8_t { abort, go };
std::optional<GoAhead> read_go_ahead(ByteView value);

}  // namespace turnpike::substrate
