#include "x402/settings.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "x402/protocol/encoding.h"

namespace turnpike::x402 {

namespace {

Done read_lost_addresses(const Settings& settings, std::vector<std::string>& into) {
  const Settings* list = settings.find("lost_addresses");
  if (list == nullptr || list->kind == Settings::Kind::null) return Unit{};
  if (list->kind != Settings::Kind::list) return Settings::wrong("lost_addresses", "a list");
  for (const Settings& item : list->items) {
    if (item.kind != Settings::Kind::scalar || item.is_secret || item.text.empty()) {
      return Settings::wrong("lost_addresses", "addresses, in quotes");
    }
    into.push_back(item.text);
  }
  return Unit{};
}

// Hex digits of EVM addresses have either case; base58 has one.
bool is_same_address(std::string_view left, std::string_view right) noexcept {
  if (left == right) return true;
  const auto one = parse_address(left), other = parse_address(right);
  return one && other && *one == *other;
}

}  // namespace

bool LaneSettings::is_lost(std::string_view address) const noexcept {
  return std::any_of(lost_addresses.begin(), lost_addresses.end(),
                     [address](const auto& lost) { return is_same_address(lost, address); });
}

Result<LaneSettings> read_settings(const Settings& settings, bool needs_facilitators) {
  if (auto known =
          settings.only({"facilitators", "chains", "max_timeout_seconds", "max_validity_seconds",
                         "offer_window_seconds", "signing_algorithm", "lost_addresses"});
      !known.ok()) {
    return std::move(known).error();
  }
  LaneSettings read;
  const Settings none;
  const Settings* list = settings.find("facilitators");
  if (list != nullptr || needs_facilitators) {
    auto facilitators = read_facilitators(list == nullptr ? none : *list);
    if (!facilitators.ok()) return below("facilitators", std::move(facilitators).error());
    read.facilitators = *std::move(facilitators);
  }
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
  if (auto done = read_lost_addresses(settings, read.lost_addresses); !done.ok()) {
    return std::move(done).error();
  }
  return read;
}

}  // namespace turnpike::x402
