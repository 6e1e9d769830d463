#include "x402/settings.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "x402/protocol/encoding.h"

namespace turnpike::x402 {

namespace {

void read_lost_addresses(const Settings& settings, std::vector<std::string>& into,
                         Mistakes& mistakes) {
  const Settings* list = settings.find("lost_addresses");
  if (list == nullptr || list->kind == Settings::Kind::null) return;
  if (list->kind != Settings::Kind::list) {
    return mistakes.add(Settings::wrong("lost_addresses", "a list"));
  }
  for (std::size_t at = 0; at < list->items.size(); ++at) {
    const Settings& item = list->items[at];
    if (item.kind != Settings::Kind::scalar || item.is_secret || item.text.empty()) {
      mistakes.add(
          Settings::wrong("lost_addresses[" + std::to_string(at) + "]", "an address, in quotes"));
    } else {
      into.push_back(item.text);
    }
  }
}

void read_seconds(const Settings& settings, LaneSettings& read, Mistakes& mistakes) {
  const std::tuple<std::string_view, std::uint32_t*, std::uint32_t> numbers[] = {
      {"max_timeout_seconds", &read.max_timeout_seconds, 86'400},
      {"max_validity_seconds", &read.max_validity_seconds, 30 * 86'400},
      {"offer_window_seconds", &read.offer_window_seconds, 86'400}};
  bool are_known = true;
  for (const auto& [key, into, maximum] : numbers) {
    const Done done = read_number(settings, key, *into, 30, maximum);
    mistakes.note(done);
    are_known = are_known && done.ok();
  }
  if (are_known && read.max_validity_seconds < read.max_timeout_seconds) {
    mistakes.add(Settings::wrong("max_validity_seconds", "max_timeout_seconds or more"));
  }
}

void read_algorithm(const Settings& settings, Algorithm& into, Mistakes& mistakes) {
  const auto name = settings.string("signing_algorithm", name_of(into));
  if (!name.ok()) return mistakes.add(name.error());
  const auto algorithm = algorithm_named(*name);
  if (!algorithm) return mistakes.add(Settings::wrong("signing_algorithm", "ES256K or EdDSA"));
  into = *algorithm;
}

// Hex digits of EVM addresses may have either case; base58 has one spelling.
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

LaneSettings read_settings(const Settings& settings, bool needs_facilitators, Mistakes& mistakes) {
  LaneSettings read;
  mistakes.only(settings, {"facilitators", "chains", "max_timeout_seconds", "max_validity_seconds",
                           "offer_window_seconds", "signing_algorithm", "lost_addresses"});
  if (!may_have_fields(settings)) return read;
  const Settings none;
  const Settings* list = settings.find("facilitators");
  if (list != nullptr || needs_facilitators) {
    read.facilitators =
        mistakes.take(read_facilitators(list == nullptr ? none : *list), {}, "facilitators");
  }
  const Settings* map = settings.find("chains");
  read.chains = mistakes.take(read_chains(map == nullptr ? none : *map), {}, "chains");
  read_seconds(settings, read, mistakes);
  read_algorithm(settings, read.signing_algorithm, mistakes);
  read_lost_addresses(settings, read.lost_addresses, mistakes);
  return read;
}

}  // namespace turnpike::x402
