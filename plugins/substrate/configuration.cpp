#include "substrate/configuration.h"

#include <turnpike/helpers/mistakes.h>
#include <turnpike/helpers/private_address.h>

#include <algorithm>
#include <utility>

namespace turnpike::substrate {
namespace {

constexpr std::size_t chains_max = 256;
constexpr std::size_t endpoints_max = 8;
constexpr std::int64_t code_size_ceiling = 16 * 1024 * 1024;

std::string place_of(std::string_view list, std::size_t number) {
  return std::string(list) + "[" + std::to_string(number) + "]";
}

std::string without_line_end(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

bool is_key(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

// What is wrong with the URL; empty if it is valid.
std::string_view problem_of(std::string_view url) noexcept {
  if (!url.starts_with("https://") && !url.starts_with("http://")) {
    return "expected a URL that begins with https:// or http://";
  }
  const bool is_plain = std::all_of(url.begin(), url.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '#' && c != '"' && c != '\\';
  });
  if (!is_plain) return "expected a URL of visible ASCII characters without a fragment";
  url.remove_prefix(url.find("://") + 3);
  const std::string_view authority = url.substr(0, url.find_first_of("/?"));
  if (authority.find('@') != authority.npos) return "must hold no user or password; use `headers`";
  return authority.empty() || authority.front() == ':' ? "has no host" : "";
}

bool is_header_name(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
  });
}

bool is_header_value(std::string_view value) noexcept {
  return std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c != 0x7F; });
}

bool is_set_by_us(std::string_view name) noexcept {
  for (const std::string_view own : {"host", "content-length", "content-type", "connection",
                                     "accept", "accept-encoding", "transfer-encoding"}) {
    if (same_header_name(name, own)) return true;
  }
  return false;
}

class ChainReader {
 public:
  ChainReader(const Settings& settings, std::string place, Mistakes& mistakes)
      : settings_(settings), place_(std::move(place)), mistakes_(mistakes) {}

  ChainSettings read() {
    Mistakes own;
    own.only(settings_, {"key", "name", "endpoints", "genesis_hash", "relay_key", "para_id",
                         "system_pallet_index", "parachain_system_index", "max_code_size",
                         "allow_private_addresses", "header_hash", "call_timeout_ms",
                         "head_age_max_s", "cache_answers"});
    chain_.key = own.take(settings_.string("key", ""));
    if (!is_key(chain_.key)) {
      own.add("key", "is required: 1 to 64 of a-z, 0-9, `-`, `_` and `.`");
    }
    chain_.name = own.take(settings_.string("name", ""));
    read_genesis(own);
    read_numbers(own);
    read_relay(own);
    chain_.allows_private_addresses =
        own.take(settings_.boolean("allow_private_addresses", false));
    chain_.caches_answers = own.take(settings_.boolean("cache_answers", true));
    const std::string headers = own.take(settings_.string("header_hash", "warn"), {});
    chain_.requires_header_hash = headers == "require";
    if (headers != "warn" && headers != "require") own.add("header_hash", "is warn or require");
    read_endpoints(own);
    for (const Mistake& mistake : own.found()) {
      mistakes_.add(mistake.where.empty() ? place_ : place_ + "." + mistake.where,
                    mistake.message);
    }
    return std::move(chain_);
  }

 private:
  void read_genesis(Mistakes& own) {
    const auto hash = hash_of_hex(own.take(settings_.string("genesis_hash", "")));
    if (hash) chain_.genesis_hash = *hash;
    if (!hash) own.add("genesis_hash", "is required: the hash of block 0, 32 bytes in hex");
  }

  void read_numbers(Mistakes& own) {
    chain_.pallets.system = static_cast<std::uint8_t>(
        own.take(settings_.integer("system_pallet_index", 0, 0, 255)));
    chain_.pallets.parachain_system = static_cast<std::uint8_t>(
        own.take(settings_.integer("parachain_system_index", 1, 0, 255)));
    chain_.code_size_max = static_cast<std::uint64_t>(
        own.take(settings_.integer("max_code_size", 5'242'880, 1, code_size_ceiling)));
    chain_.call_timeout_ms = static_cast<std::uint32_t>(
        own.take(settings_.integer("call_timeout_ms", 10'000, 100, 60'000)));
    chain_.head_age_ms_max = static_cast<std::uint32_t>(
        1'000 * own.take(settings_.integer("head_age_max_s", 600, 1, 1'000'000)));
  }

  void read_relay(Mistakes& own) {
    chain_.relay_key = own.take(settings_.string("relay_key", ""));
    chain_.para_id = static_cast<std::uint32_t>(
        own.take(settings_.integer("para_id", 0, 0, 0xFFFF'FFFF)));
    if (chain_.relay_key.empty() == (chain_.para_id != 0)) {
      own.add("para_id", "goes with relay_key: give both, or none");
    }
  }

  void read_endpoints(Mistakes& own) {
    const Settings* const list = settings_.find("endpoints");
    if (list == nullptr || list->kind != Settings::Kind::list || list->items.empty() ||
        list->items.size() > endpoints_max) {
      own.add("endpoints", "is required: a list of 1 to 8 URLs of JSON-RPC nodes");
      return;
    }
    for (std::size_t at = 0; at < list->items.size(); ++at) {
      const std::string place = place_of("endpoints", at);
      EndpointSettings endpoint;
      endpoint.key = chain_.key + "#" + std::to_string(at);
      read_endpoint(list->items[at], place, endpoint, own);
      chain_.endpoints.push_back(std::move(endpoint));
    }
  }

  void read_endpoint(const Settings& node, const std::string& place, EndpointSettings& endpoint,
                     Mistakes& own) {
    const Settings* url = &node;
    if (node.kind == Settings::Kind::map) {
      Mistakes of_map;
      of_map.only(node, {"url", "headers"});
      for (const Mistake& mistake : of_map.found()) {
        own.add(place + "." + mistake.where, mistake.message);
      }
      url = node.find("url");
      if (const Settings* headers = node.find("headers")) {
        read_headers(*headers, place + ".headers", endpoint, own);
      }
    }
    if (url == nullptr || url->kind != Settings::Kind::scalar) {
      return own.add(place, "needs a URL, or a secret that holds one");
    }
    endpoint.url = without_line_end(url->text);
    if (url->is_secret && endpoint.url.empty()) {
      endpoint.lacks_secret = true;
      return;
    }
    const std::string_view problem = problem_of(endpoint.url);
    if (!problem.empty()) {
      own.add(place, problem);
    } else if (!chain_.allows_private_addresses && names_private_address(endpoint.url)) {
      own.add(place,
              "is an address of this machine or a private network, which is not asked: set "
              "`allow_private_addresses: true` if it is meant");
    }
  }

  static void read_headers(const Settings& headers, const std::string& place,
                           EndpointSettings& endpoint, Mistakes& own) {
    if (headers.kind != Settings::Kind::map) {
      return own.add(place, "expected a map of header fields");
    }
    for (const auto& [name, value] : headers.fields) {
      const std::string where = place + "." + name;
      if (!is_header_name(name) || is_set_by_us(name)) {
        own.add(where, "is no header that can be set here");
      } else if (value.kind != Settings::Kind::scalar) {
        own.add(where, "expected a string");
      } else if (value.is_secret && value.text.empty()) {
        endpoint.lacks_secret = true;
      } else if (std::string text = without_line_end(value.text); is_header_value(text)) {
        endpoint.headers.push_back({name, std::move(text)});
      } else {
        own.add(where, "holds control characters");
      }
    }
  }

  const Settings& settings_;
  const std::string place_;
  Mistakes& mistakes_;
  ChainSettings chain_;
};

void check_table(const std::vector<ChainSettings>& chains, Mistakes& mistakes) {
  for (std::size_t at = 0; at < chains.size(); ++at) {
    const ChainSettings& chain = chains[at];
    const auto named = [&](std::string_view key) {
      return std::count_if(chains.begin(), chains.end(),
                           [&](const ChainSettings& other) { return other.key == key; });
    };
    const std::string place = place_of("chains", at);
    if (named(chain.key) > 1) mistakes.add(place + ".key", "names two chains");
    if (!chain.relay_key.empty() && (named(chain.relay_key) == 0 || chain.relay_key == chain.key)) {
      mistakes.add(place + ".relay_key", "names no other chain of the table");
    }
  }
}

void check_operations(const Binding& binding, Mistakes& mistakes) {
  for (std::size_t at = 0; at < binding.operations.size(); ++at) {
    const BoundOperation& operation = binding.operations[at];
    if (operation.method != Method::post) {
      mistakes.add(of_operation(at), "is no POST: what is to be verified comes as its body");
    }
    if (operation.settings != nullptr) {
      Mistakes own;
      own.only(*operation.settings, {});
      for (const Mistake& mistake : own.found()) {
        mistakes.add(of_operation(at) + "." + mistake.where, mistake.message);
      }
    }
  }
}

}  // namespace

bool ChainSettings::lacks_secret() const noexcept {
  return std::all_of(endpoints.begin(), endpoints.end(),
                     [](const EndpointSettings& endpoint) { return endpoint.lacks_secret; });
}

const ChainSettings* Configuration::find(std::string_view key) const noexcept {
  const auto found = std::find_if(chains.begin(), chains.end(),
                                  [&](const ChainSettings& chain) { return chain.key == key; });
  return found == chains.end() ? nullptr : &*found;
}

Result<Configuration> read_configuration(const Binding& binding) {
  Mistakes mistakes;
  Configuration configuration;
  const Settings& settings = binding.settings;
  mistakes.only(settings, {"chains", "heavy_max"});
  configuration.heavy_max =
      static_cast<std::uint32_t>(mistakes.take(settings.integer("heavy_max", 4, 1, 64)));
  if (const Settings* const chains = settings.find("chains")) {
    const bool is_none = chains->kind == Settings::Kind::null;
    if (!is_none && (chains->kind != Settings::Kind::list || chains->items.size() > chains_max)) {
      mistakes.add("chains", "expected a list of up to 256 chains");
    } else {
      for (std::size_t at = 0; at < chains->items.size(); ++at) {
        configuration.chains.push_back(
            ChainReader(chains->items[at], place_of("chains", at), mistakes).read());
      }
    }
  }
  check_table(configuration.chains, mistakes);
  check_operations(binding, mistakes);
  if (!mistakes.none()) return mistakes.failure();
  return configuration;
}

}  // namespace turnpike::substrate
