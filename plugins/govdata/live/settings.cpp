#include "govdata/live/settings.h"

#include <algorithm>
#include <set>

#include "govdata/store/text.h"
#include "govdata/store/url.h"

namespace turnpike::govdata {
namespace {

constexpr const char* hub_url = "https://hub.snapshot.org/graphql";
constexpr const char* poll_user_agent = "turnpike-govdata/1";
constexpr std::int64_t day_s = 86'400;

bool is_hex_address(std::string_view text) {
  return text.size() == 42 && text.substr(0, 2) == "0x" &&
         std::all_of(text.begin() + 2, text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_visible_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

// Whether `text` may be the id of a space on a hub, such as ens.eth or s:ens.eth.
bool is_space(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == ':';
  });
}

class SourceReader {
 public:
  SourceReader(const Settings& node, std::string where, Mistakes& mistakes)
      : node_(node), where_(std::move(where)), mistakes_(mistakes) {}

  SourceSettings read() {
    read_type();
    read_common();
    switch (source_.type) {
      case SourceType::snapshot:
        read_snapshot();
        break;
      case SourceType::discourse:
        read_discourse();
        break;
      case SourceType::governor:
        read_governor();
        break;
    }
    check_dao();
    return source_;
  }

 private:
  template <class T>
  T take(Result<T> read, T instead = {}) {
    return mistakes_.take(std::move(read), std::move(instead), where_);
  }
  void wrong(std::string_view key, const std::string& expected) {
    mistakes_.add(Settings::wrong(key, expected), where_);
  }
  std::int64_t number(std::string_view key, std::int64_t fallback, std::int64_t minimum,
                      std::int64_t maximum) {
    return take(node_.integer(key, fallback, minimum, maximum), fallback);
  }
  void only(std::initializer_list<std::string_view> known) {
    Mistakes found;
    found.only(node_, known);
    if (!found.none()) mistakes_.add(found.failure(), where_);
  }

  void read_type() {
    const std::string type = take(node_.string("type", ""));
    if (type == "discourse") {
      source_.type = SourceType::discourse;
    } else if (type == "governor") {
      source_.type = SourceType::governor;
    } else if (type != "snapshot") {
      wrong("type", "snapshot, discourse or governor");
    }
  }

  void read_common() {
    source_.dao_id = take(node_.string("dao", ""));
    source_.dao_name = take(node_.string("name", ""));
    source_.user_agent = take(node_.string("user_agent", poll_user_agent));
    source_.allow_private_addresses = take(node_.boolean("allow_private_addresses", false));
    source_.every_s = number("every_seconds", 300, 1, day_s);
    source_.retry_s = number("retry_seconds", 30, 1, 3600);
    source_.timeout_ms = number("timeout_ms", 20'000, 100, 60'000);
    // By default, a few polls may fail before a source is stale. It is never less than one
    // interval.
    const std::int64_t patience_s = std::max<std::int64_t>(3600, 3 * source_.every_s);
    source_.stale_after_s = number("stale_after_seconds", patience_s, source_.every_s, 365 * day_s);
    const bool is_agent = !source_.user_agent.empty() && source_.user_agent.size() <= 256 &&
                          std::all_of(source_.user_agent.begin(), source_.user_agent.end(),
                                      [](char c) { return c >= 0x20 && c < 0x7F; });
    if (!is_agent) wrong("user_agent", "1 to 256 printable ASCII characters");
  }

  // Reads an address. Its text is never repeated in a mistake, since it may be a secret.
  std::string address(std::string_view key, std::string_view fallback, bool may_be_secret) {
    const Settings* node = node_.find(key);
    const bool is_secret = node != nullptr && node->is_secret;
    if (is_secret && !may_be_secret) {
      wrong(key, "an address that is no secret");
      return {};
    }
    std::string url = is_secret ? take(node_.secret(key)) : take(node_.string(key, fallback));
    while (!url.empty() && (url.back() == '/' || url.back() == '\n' || url.back() == '\r')) {
      url.pop_back();
    }
    if (is_secret && url.empty()) return url;  // not available now: reported when it is polled
    const bool is_http = url.rfind("https://", 0) == 0 || url.rfind("http://", 0) == 0;
    const bool has_query = url.find('?') != std::string::npos;
    if (!is_http || url.size() > 2048 || !is_visible_ascii(url) ||
        url.find('#') != std::string::npos || (has_query && !may_be_secret)) {
      wrong(key, "an http or https address" + std::string(may_be_secret ? "" : " without query"));
      return {};
    }
    return url;
  }

  void read_key() {
    if (node_.find("api_key") == nullptr) return;
    source_.api_key = take(node_.secret("api_key"));
    while (!source_.api_key.empty() && source_.api_key.back() == '\n') source_.api_key.pop_back();
    if (!is_visible_ascii(source_.api_key)) wrong("api_key", "a key of visible ASCII");
  }

  void read_snapshot() {
    only({"type", "dao", "name", "user_agent", "allow_private_addresses", "every_seconds",
          "retry_seconds", "timeout_ms", "stale_after_seconds", "url", "api_key", "space", "votes",
          "page_size", "request_interval_ms"});
    source_.url = address("url", hub_url, false);
    read_key();
    source_.scope = take(node_.string("space", ""));
    if (!is_space(source_.scope)) wrong("space", "the id of a space, such as ens.eth");
    source_.votes = take(node_.boolean("votes", true), true);
    source_.page_size = number("page_size", 500, 1, 1000);
    source_.request_interval_ms = number("request_interval_ms", 2000, 10, 60'000);
    if (source_.dao_id.empty()) source_.dao_id = minted_dao_id(source_.scope);
  }

  void read_discourse() {
    only({"type", "dao", "name", "user_agent", "allow_private_addresses", "every_seconds",
          "retry_seconds", "timeout_ms", "stale_after_seconds", "url", "requests_per_minute",
          "posts_days"});
    source_.url = address("url", "", false);
    const Address forum = read_address(source_.url);
    if (!source_.url.empty() && forum.form != AddressForm::plain) {
      wrong("url", "the address of a forum");
    }
    source_.scope = forum.normal;
    const std::int64_t per_minute = number("requests_per_minute", 30, 1, 6000);
    source_.request_interval_ms = 60'000 / per_minute;
    source_.posts_days = number("posts_days", 30, 0, 3650);
  }

  void read_governor() {
    only({"type", "dao", "name", "user_agent", "allow_private_addresses", "every_seconds",
          "retry_seconds", "timeout_ms", "stale_after_seconds", "url", "request_interval_ms",
          "chain_id", "contract", "clock_mode", "from_block", "confirmations", "range_blocks"});
    // Addresses of nodes often have a key in their path.
    source_.url = address("url", "", true);
    source_.request_interval_ms = number("request_interval_ms", 200, 10, 60'000);
    constexpr std::int64_t blocks_max = 1'000'000'000'000;
    source_.chain_id = number("chain_id", 1, 1, std::int64_t{1} << 52);
    source_.from_block = number("from_block", 0, 0, blocks_max);
    source_.confirmations = number("confirmations", 12, 0, 100'000);
    source_.range_blocks = number("range_blocks", 2000, 1, 1'000'000);
    source_.contract = lower_ascii(take(node_.string("contract", "")));
    if (!is_hex_address(source_.contract)) wrong("contract", "0x and 40 hexadecimal digits");
    source_.clock_mode = take(node_.string("clock_mode", ""));
    if (!source_.clock_mode.empty() && source_.clock_mode != "blocknumber" &&
        source_.clock_mode != "timestamp") {
      wrong("clock_mode", "blocknumber or timestamp");
    }
    source_.scope = "eip155:" + std::to_string(source_.chain_id) + ":" + source_.contract;
  }

  void check_dao() {
    if (is_dao_id(source_.dao_id)) return;
    wrong("dao", "a DAO id of 1 to 128 of a-z, 0-9, '-', '_' and '.'");
  }

  const Settings& node_;
  const std::string where_;
  Mistakes& mistakes_;
  SourceSettings source_;
};

}  // namespace

std::string_view name_of(SourceType type) {
  switch (type) {
    case SourceType::snapshot:
      return "snapshot";
    case SourceType::discourse:
      return "discourse";
    case SourceType::governor:
      return "governor";
  }
  return {};
}

std::string SourceSettings::name() const { return std::string(name_of(type)) + " " + scope; }

std::vector<SourceSettings> read_sources_list(const Settings& settings, Mistakes& mistakes) {
  constexpr std::size_t sources_max = 256;
  std::vector<SourceSettings> sources;
  const Settings* list = settings.find("sources");
  if (list == nullptr || list->kind != Settings::Kind::list || list->items.empty() ||
      list->items.size() > sources_max) {
    mistakes.add(Settings::wrong("sources", "a list of 1 to 256 places to poll, each with `type`"));
    return sources;
  }
  std::set<std::string> names;
  for (std::size_t at = 0; at < list->items.size(); ++at) {
    const std::string where = "sources[" + std::to_string(at) + "]";
    const Settings& node = list->items[at];
    if (node.kind != Settings::Kind::map) {
      mistakes.add(where, "expected a map with `type`");
      continue;
    }
    sources.push_back(SourceReader(node, where, mistakes).read());
    if (!names.insert(sources.back().name()).second) {
      mistakes.add(where, "is polled by an earlier entry already; remove one of the two");
    }
  }
  return sources;
}

}  // namespace turnpike::govdata
