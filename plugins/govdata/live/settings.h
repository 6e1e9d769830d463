// The `sources` that `mode: poll` polls, from an upstream's settings. Unknown keys are refused.
// Plain values; any Thread may read them. `url` and `api_key` may be secrets, so neither may reach
// a log, an error or a reply; name() identifies a source there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <turnpike/helpers/mistakes.h>
#include <turnpike/settings.h>

namespace turnpike::govdata {

enum class SourceType : std::uint8_t { snapshot, discourse, governor };

struct SourceSettings {
  SourceType type = SourceType::snapshot;
  std::string dao_id;
  std::string dao_name;  // empty: the name that the source gives, or the id
  std::string scope;     // the space, the forum's address without scheme, eip155:<chain>:<contract>
  std::string url;       // without a trailing slash
  std::string api_key;   // empty: none is sent
  std::string user_agent;
  bool allow_private_addresses = false;
  std::int64_t every_s = 300;
  std::int64_t retry_s = 30;  // doubles with each consecutive failure
  std::int64_t request_interval_ms = 2000;
  std::int64_t timeout_ms = 20'000;
  std::int64_t stale_after_s = 3600;
  // snapshot
  bool votes = true;
  std::int64_t page_size = 500;
  // discourse: only threads of topics that were active within these days are read
  std::int64_t posts_days = 30;
  // governor
  std::int64_t chain_id = 1;
  std::string contract;    // 0x, lower case
  std::string clock_mode;  // blocknumber, timestamp; empty: decided by the size of values
  std::int64_t from_block = 0;
  std::int64_t confirmations = 12;
  std::int64_t range_blocks = 2000;

  // For logs: "snapshot ens.eth".
  [[nodiscard]] std::string name() const;
};

std::string_view name_of(SourceType type);

// Reads the list `sources`. Errors are added to `mistakes`, with their places.
std::vector<SourceSettings> read_sources_list(const Settings& settings, Mistakes& mistakes);

}  // namespace turnpike::govdata
