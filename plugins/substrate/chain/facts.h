// What nodes answer, read strictly: an answer that is not of its form says nothing. Pure functions;
// any Thread.
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

  // It replaced the code, or the heap pages: the digest RuntimeEnvironmentUpdated.
  [[nodiscard]] bool replaced_code() const noexcept;
};
std::optional<Header> read_header(const Json& value);
// Of chains that hash their headers with BLAKE2-256, which most do.
Hash hash_of_header(const Header& header);

std::optional<Hash> read_hash(const Json& value) noexcept;
// What state_getRuntimeVersion says.
std::optional<RuntimeVersion> read_rpc_version(const Json& value);
// The value of System.AuthorizedUpgrade.
std::optional<Authorization> read_authorization(ByteView value);

struct LastUpgrade {
  std::uint32_t spec_version = 0;
  std::string spec_name;
};
std::optional<LastUpgrade> read_last_upgrade(ByteView value);

// The value of ParachainSystem.UpgradeGoAhead; nothing: there is no signal, or it is not read.
enum class GoAhead : std::uint8_t { abort, go };
std::optional<GoAhead> read_go_ahead(ByteView value);

}  // namespace turnpike::substrate
