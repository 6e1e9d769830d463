#include "x402/settings.h"

#include <tuple>
#include <utility>

namespace turnpike::x402 {

Result<LaneSettings> read_settings(const Settings& settings) {
  if (auto known =
          settings.only({"facilitators", "chains", "max_timeout_seconds", "max_validity_seconds",
                         "offer_window_seconds", "signing_algorithm"});
      !known.ok()) {
    return std::move(known).error();
  }
  LaneSettings read;
  const Settings none;
  const Settings* list = settings.find("facilitators");
  auto facilitators = read_facilitators(list == nullptr ? none : *list);
  if (!facilitators.ok()) return below("facilitators", std::move(facilitators).error());
  read.facilitators = *std::move(facilitators);
  const Settings* map = settings.find("chains");
  auto chains = read_chains(map == nullptr ? none : *map);
  if (!chains.ok()) return below("chains", std::move(chains).error());
  read.chains = *std::move(chains);
  const std::tuple<std::string_view, std::uint32_t*, std::uint32_t> numbers[] = {
      {"max_timeout_seconds", &read.max_timeout_seconds, 86'400},
      {"max_validity_seconds", &read.max_validity_seconds, 30 * 86'400},
      {"offer_window_seconds", &read.offer_window_seconds, 86'400}};
  for (const auto& [key, into, maximum] : numbers) {
    if (auto done = read_number(settings, key, *into, 30, maximum); !done.ok()) {
      return std::move(done).error();
    }
  }
  if (read.max_validity_seconds < read.max_timeout_seconds) {
    return Settings::wrong("max_validity_seconds", "max_timeout_seconds or more");
  }
  const auto name = settings.string("signing_algorithm", name_of(read.signing_algorithm));
  if (!name.ok()) return name.error();
  const auto algorithm = algorithm_named(*name);
  if (!algorithm) return Settings::wrong("signing_algorithm", "ES256K or EdDSA");
  read.signing_algorithm = *algorithm;
  return read;
}

}  // namespace turnpike::x402
