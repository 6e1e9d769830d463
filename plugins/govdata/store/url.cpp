#include "govdata/store/url.h"

#include <algorithm>
#include <vector>

#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

struct Parts {
  std::string host;
  std::vector<std::string_view> path;
  std::string_view query;
};

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) segments.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return segments;
}

// Single-page sites write a path as a fragment that begins with `/` or `!/`.
Parts parts_of(std::string_view url) {
  Parts parts;
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos && scheme < 8) {
    url.remove_prefix(scheme + 3);
  } else if (url.substr(0, 2) == "//") {
    url.remove_prefix(2);
  }
  const std::size_t host_end = std::min(url.find_first_of("/?#"), url.size());
  parts.host = lower_ascii(url.substr(0, host_end));
  if (parts.host.rfind("www.", 0) == 0) parts.host.erase(0, 4);
  url.remove_prefix(host_end);
  std::string_view fragment;
  if (const std::size_t hash = url.find('#'); hash != std::string_view::npos) {
    fragment = url.substr(hash + 1);
    url = url.substr(0, hash);
  }
  const std::size_t question = std::min(url.find('?'), url.size());
  parts.query = question < url.size() ? url.substr(question + 1) : std::string_view{};
  parts.path = segments_of(url.substr(0, question));
  if (!fragment.empty() && fragment[0] == '!') fragment.remove_prefix(1);
  if (fragment.empty() || fragment[0] != '/') return parts;
  const std::size_t late_question = std::min(fragment.find('?'), fragment.size());
  if (late_question < fragment.size()) parts.query = fragment.substr(late_question + 1);
  for (const auto segment : segments_of(fragment.substr(0, late_question))) {
    parts.path.push_back(segment);
  }
  return parts;
}

std::string_view query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    if (pair.size() > name.size() && pair.substr(0, name.size()) == name &&
        pair[name.size()] == '=') {
      return pair.substr(name.size() + 1);
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

Address snapshot_address(const Parts& parts) {
  const auto& path = parts.path;
  if (path.size() < 3 || path[1] != "proposal") return {};
  std::string_view space = path[0];
  if (space.substr(0, 2) == "s:") space.remove_prefix(2);
  std::string id(path[2]);
  if (id.rfind("0x", 0) == 0 || id.rfind("0X", 0) == 0) id = lower_ascii(id);
  Address address{AddressForm::snapshot, {}, lower_ascii(space), id};
  address.normal = "snapshot.org/" + address.scope + "/proposal/" + id;
  return address;
}

Address tally_address(const Parts& parts) {
  const auto& path = parts.path;
  if (path.size() < 4 || path[0] != "gov" || path[2] != "proposal") return {};
  Address address{AddressForm::tally, {}, lower_ascii(path[1]), std::string(path[3])};
  address.normal = "tally.xyz/gov/" + address.scope + "/proposal/" + address.external_id;
  return address;
}

Address aave_address(const Parts& parts) {
  const std::string_view id = query_value(parts.query, "proposalId");
  if (!is_id(id)) return {};
  return {AddressForm::aave, "vote.onaave.com/proposal/" + std::string(id), {}, std::string(id)};
}

// `<forum>/t/[slug/]<topic>[/post]`
Address topic_address(const Parts& parts) {
  const auto mark = std::find(parts.path.begin(), parts.path.end(), "t");
  if (mark == parts.path.end()) return {};
  auto next = mark + 1;
  if (next != parts.path.end() && !is_id(*next)) ++next;
  if (next == parts.path.end() || !is_id(*next)) return {};
  Address address{AddressForm::topic, {}, parts.host, std::string(*next)};
  for (auto segment = parts.path.begin(); segment != mark; ++segment) {
    address.scope += "/" + std::string(*segment);
  }
  address.normal = address.scope + "/t/" + address.external_id;
  return address;
}

}  // namespace

Address read_address(std::string_view url) {
  constexpr std::size_t url_bytes_max = 4096;
  url = trimmed(url);
  if (url.empty() || url.size() > url_bytes_max) return {};
  const Parts parts = parts_of(url);
  const bool is_host =
      parts.host.find('.') != std::string::npos || parts.host.rfind("localhost", 0) == 0;
  if (!is_host) return {};
  Address address;
  if (parts.host == "snapshot.org" || parts.host == "snapshot.box") {
    address = snapshot_address(parts);
  } else if (parts.host == "tally.xyz") {
    address = tally_address(parts);
  } else if (parts.host == "vote.onaave.com" || parts.host == "app.aave.com") {
    address = aave_address(parts);
  } else {
    address = topic_address(parts);
  }
  if (address.form != AddressForm::none) return address;
  address.form = AddressForm::plain;
  address.normal = parts.host;
  for (const auto segment : parts.path) address.normal += "/" + std::string(segment);
  for (const std::string_view name : {"proposalId", "id"}) {
    const std::string_view id = query_value(parts.query, name);
    if (!id.empty()) address.normal += "?" + std::string(name) + "=" + std::string(id);
  }
  return address;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15]};
  }
  return encoded;
}

}  // namespace turnpike::govdata
