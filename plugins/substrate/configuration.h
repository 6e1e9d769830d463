// The provider's settings: the table of chains that callers may name, and limits of the work. Read
// once by bind(), which refuses unknown keys. Plain values; any Thread may read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>
#include <turnpike/provider.h>

#include "substrate/codec/bytes.h"
#include "substrate/codec/calls.h"

namespace turnpike::substrate {

struct EndpointSettings {
  std::string key;  // "polkadot#0": its name in replies and logs
  std::string url;  // never logged, since it may contain a secret
  std::vector<OwnedHeader> headers;
  bool lacks_secret = false;
};

struct ChainSettings {
  std::string key;
  std::string name;  // for people; may be empty
  Hash genesis_hash{};
  std::vector<EndpointSettings> endpoints;
  std::string relay_key;  // key of a parachain's relay chain; empty: not a parachain
  std::uint32_t para_id = 0;
  Pallets pallets = {};
  std::uint64_t code_size_max = 5'242'880;
  bool allows_private_addresses = false;
  bool requires_header_hash = false;
  std::uint32_t call_timeout_ms = 10'000;
  std::uint32_t head_age_ms_max = 600'000;
  bool caches_answers = true;

  [[nodiscard]] bool lacks_secret() const noexcept;
};

struct Configuration {
  std::vector<ChainSettings> chains;
  std::uint32_t heavy_max = 4;  // concurrent verifications of long requests

  [[nodiscard]] const ChainSettings* find(std::string_view key) const noexcept;
};

Result<Configuration> read_configuration(const Binding& binding);

}  // namespace turnpike::substrate
