#include "registry/read_listing.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/uri.h"

namespace turnpike::registry {
namespace {

constexpr std::size_t name_bytes_max = 100;
constexpr std::size_t url_bytes_max = 2'048;
constexpr std::size_t description_bytes_max = 600;

// Text for a page: it must not be empty after trimming.
std::string read_words(const Cursor& value, std::size_t bytes_max) {
  const auto text = value.text(1, bytes_max);
  if (!text) return {};
  const std::size_t begin = text->find_first_not_of(" \t\r\n");
  if (begin == text->npos) {
    value.report(Rule::bad_name, {*text, "words for people"});
    return {};
  }
  return std::string(text->substr(begin, text->find_last_not_of(" \t\r\n") - begin + 1));
}

bool is_slug(std::string_view text) noexcept {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > listing_slug_bytes_max) return false;
  if (!is_word(text.front()) || !is_word(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return is_word(c) || c == '-'; });
}

std::optional<std::string> read_slug(const Cursor& value) {
  if (!value.expect(NodeKind::scalar, "a name for addresses of pages")) return std::nullopt;
  const std::string_view text = value.raw_text();
  if (is_slug(text)) return std::string(text);
  const std::string most = std::to_string(listing_slug_bytes_max);
  value.report(Rule::bad_name,
               {text, "lower-case letters and digits with - between them, at most " + most});
  return std::nullopt;
}

// Sorted, since the order in the file has no meaning.
std::vector<std::string> read_slugs(const Cursor& list) {
  std::vector<std::string> slugs;
  if (!list.list_of(listing_words_max, "a list of names for addresses of pages")) return slugs;
  for (const Cursor& item : list.items()) {
    auto slug = read_slug(item);
    if (!slug) continue;
    const auto at = std::lower_bound(slugs.begin(), slugs.end(), *slug);
    if (at != slugs.end() && *at == *slug) {
      item.report(Rule::duplicate_item, {*slug});
    } else {
      slugs.insert(at, *std::move(slug));
    }
  }
  return slugs;
}

bool is_authority(std::string_view text) noexcept {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view host = text.substr(0, colon);
  constexpr std::string_view digits = "0123456789";
  if (host.empty() || host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789.-") != host.npos) {
    return false;
  }
  if (colon == text.size()) return true;
  const std::string_view port = text.substr(colon + 1);
  return !port.empty() && port.size() <= 5 && port.find_first_not_of(digits) == port.npos;
}

// An https URL by RFC 3986, with a host name that DNS allows and without user information.
bool is_https_url(std::string_view text) noexcept {
  constexpr std::string_view scheme = "https://";
  if (!text.starts_with(scheme)) return false;
  text.remove_prefix(scheme.size());
  const std::size_t begin = std::min(text.find_first_of("/?#"), text.size());
  if (!is_authority(text.substr(0, begin))) return false;
  std::string_view rest = text.substr(begin);
  const std::size_t mark = std::min(rest.find('#'), rest.size());
  const std::string_view fragment = rest.substr(std::min(mark + 1, rest.size()));
  rest = rest.substr(0, mark);
  const std::size_t question = std::min(rest.find('?'), rest.size());
  const std::string_view query = rest.substr(std::min(question + 1, rest.size()));
  return text::path_fault(rest.substr(0, question)) == rest.npos &&
         text::query_fault(query) == query.npos && text::query_fault(fragment) == fragment.npos;
}

std::string read_url(const Cursor& value) {
  const auto text = value.text(1, url_bytes_max);
  if (!text) return {};
  if (!is_https_url(*text)) {
    value.report(Rule::bad_name, {*text, "a URL such as https://data.example.org/about"});
    return {};
  }
  return std::string(*text);
}

// A YYYY-MM-DD date that exists.
bool is_date(std::string_view text) noexcept {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const std::size_t at : {0, 1, 2, 3, 5, 6, 8, 9}) {
    if (text[at] < '0' || text[at] > '9') return false;
  }
  const auto number = [&](std::size_t begin, std::size_t count) {
    int value = 0;
    for (const char digit : text.substr(begin, count)) value = value * 10 + (digit - '0');
    return value;
  };
  const std::chrono::year_month_day date{
      std::chrono::year(number(0, 4)), std::chrono::month(static_cast<unsigned>(number(5, 2))),
      std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  return date.ok();
}

std::string read_date(const Cursor& value) {
  if (!value.expect(NodeKind::scalar, "a date, such as 2026-11-24")) return {};
  const std::string_view text = value.raw_text();
  if (is_date(text)) return std::string(text);
  value.report(Rule::bad_name, {text, "a date, such as 2026-11-24"});
  return {};
}

void read_source(const Cursor& value, ListingSource& source) {
  if (!value.map_of({"name", "url", "licence", "updated"})) return;
  if (const auto name = value.need("name", "who the data is from")) {
    source.name = read_words(*name, name_bytes_max);
  }
  if (const auto url = value.find("url")) source.url = read_url(*url);
  if (const auto licence = value.find("licence")) {
    source.licence = read_words(*licence, name_bytes_max);
  }
  if (const auto updated = value.find("updated")) source.updated = read_date(*updated);
}

}  // namespace

std::shared_ptr<const Listing> read_listing(const Cursor& value) {
  auto listing = std::make_shared<Listing>();
  if (!value.map_of({"category", "chains", "topics", "source", "description"})) return nullptr;
  if (const auto category = value.need("category", "what providers are compared within")) {
    listing->category = read_slug(*category).value_or("");
  }
  if (const auto description = value.need("description", "what callers find there")) {
    listing->description = read_words(*description, description_bytes_max);
  }
  if (const auto chains = value.find("chains")) listing->chains = read_slugs(*chains);
  if (const auto topics = value.find("topics")) listing->topics = read_slugs(*topics);
  if (const auto source = value.find("source")) read_source(*source, listing->source);
  return listing;
}

}  // namespace turnpike::registry
