#include "app/config/config_section.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <filesystem>

#include "app/config/secrets.h"
#include "hosts/origins.h"
#include "registry/problems.h"
#include "registry/settings_tree.h"
#include "text/http_field.h"

namespace turnpike::app {
namespace {

namespace fs = std::filesystem;

std::string_view without_brackets(std::string_view host) noexcept {
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

// Returns the bytes of an IPv4 address or of an IPv6 address in brackets; empty: `host` is neither.
std::vector<unsigned char> address_bytes(std::string_view host) {
  const bool is_v6 = host.starts_with('[');
  std::vector<unsigned char> bytes(is_v6 ? 16 : 4);
  const std::string text(without_brackets(host));
  if (inet_pton(is_v6 ? AF_INET6 : AF_INET, text.c_str(), bytes.data()) != 1) return {};
  return bytes;
}

// A name has a letter; without one it is a number that other programs might read as an address.
bool is_host_name(std::string_view host) noexcept {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  };
  return std::any_of(host.begin(), host.end(), is_letter) &&
         std::all_of(host.begin(), host.end(), fits);
}

bool is_listener(std::string_view address) {
  const auto [host, port] = hosts::split_authority(address);
  std::uint16_t number = 0;
  const auto [rest, problem] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool is_port = problem == std::errc{} && rest == port.data() + port.size();
  return is_port && (is_host_name(host) || !address_bytes(host).empty());
}

// Returns the origin as browsers write it; empty: no page can have this origin.
std::string as_origin(const std::string& text) {
  if (text == "*" || text == "null") return text;
  const std::size_t end = text.find("://");
  if (end == text.npos || !text::is_visible_ascii(text)) return "";
  if (text.find_first_of("/?#", end + 3) != text.npos || text.size() == end + 3) return "";
  const bool is_web = text.starts_with("http");  // others, such as those of extensions, unchanged
  return is_web ? hosts::origin_of(text) : text;
}

}  // namespace

Section::Section(const Settings& tree, Reading& reading)
    : reading_(reading), node_(&tree), place_(tree) {}

Section::Section(Section& parent, const std::string& key)
    : reading_(parent.reading_),
      path_(parent.join(key)),
      node_(parent.child(key)),
      place_(node_ == nullptr ? parent.place_ : *node_) {
  if (node_ == nullptr || node_->kind == Settings::Kind::map) return;
  parent.report(key, "expected a map");
  node_ = nullptr;
}

Section::Section(Section& parent, const Settings* item, const std::string& name)
    : reading_(parent.reading_),
      path_(parent.join(name)),
      node_(item),
      place_(item == nullptr ? parent.place_ : *item) {
  if (item == nullptr || item->kind == Settings::Kind::map) return;
  reading_.problems.push_back(
      {"configuration", item->file, item->line, item->column, path_, "expected a map"});
  node_ = nullptr;
}

Section::~Section() {
  if (node_ == nullptr) return;
  for (const auto& [key, value] : node_->fields) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::vector<std::string_view> names(known_.begin(), known_.end());
    report(key, "unknown key \"" + key + "\"" + registry::suggestion(key, names));
  }
}

const Settings* Section::child(const std::string& key) {
  known_.push_back(key);
  reading_.keys.push_back(join(key));
  const Settings* value = find(key);
  return value == nullptr || value->kind == Settings::Kind::null ? nullptr : value;
}

std::vector<std::string> Section::keys() const {
  std::vector<std::string> names;
  if (node_ == nullptr) return names;
  for (const auto& [name, value] : node_->fields) names.push_back(name);
  return names;
}

const Settings* Section::find(const std::string& key) const {
  return node_ == nullptr ? nullptr : node_->find(key);
}

std::string Section::join(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

registry::Problem Section::problem(const std::string& key, const std::string& message) const {
  const Settings* value = find(key);
  const Settings& at = value == nullptr ? place_ : *value;
  return {"configuration", at.file, at.line, at.column, join(key), message};
}

void Section::report(const std::string& key, const std::string& message) {
  reading_.problems.push_back(problem(key, message));
}

void Section::note(const std::string& key, const std::string& message) {
  reading_.notes.push_back(problem(key, message));
}

void Section::text(const std::string& key, std::string& out) {
  const Settings* value = child(key);
  if (value == nullptr) return;
  if (value->kind != Settings::Kind::scalar) return report(key, "expected text");
  out = value->text;
}

void Section::text_or_secret(const std::string& key, std::string& out) {
  const Settings* value = find(key);
  const auto reference = value == nullptr ? std::nullopt : registry::secret_reference(*value);
  if (!reference) return text(key, out);
  (void)child(key);
  const auto secret = read_secret(*reference);
  if (!secret) return report(key, registry::why_missing(*reference));
  out = *secret;
}

void Section::boolean(const std::string& key, bool& out) {
  if (child(key) == nullptr) return;
  const auto value = node_->boolean(key, out);
  if (!value.ok()) return report(key, value.error().message);
  out = *value;
}

void Section::integer(const std::string& key, std::uint32_t& out, std::int64_t minimum,
                      std::int64_t maximum) {
  if (child(key) == nullptr) return;
  const auto value = node_->integer(key, out, minimum, maximum);
  if (!value.ok()) return report(key, value.error().message);
  out = static_cast<std::uint32_t>(*value);
}

bool Section::texts(const std::string& key, std::optional<std::vector<std::string>>& out) {
  const Settings* value = child(key);
  if (value == nullptr) return true;
  out.emplace();
  const bool is_one = value->kind == Settings::Kind::scalar;
  bool is_list = is_one || value->kind == Settings::Kind::list;
  if (is_one) out->push_back(value->text);
  for (const Settings& item : value->items) {
    is_list = is_list && item.kind == Settings::Kind::scalar;
    out->push_back(item.text);
  }
  if (!is_list) report(key, "expected a list of texts, [] for none");
  return is_list;
}

void Section::path(const std::string& key, std::string& out) {
  text(key, out);
  const Settings* value = find(key);
  if (value == nullptr || value->kind != Settings::Kind::scalar) return;
  out = resolved(*value, std::move(out));
}

void Section::paths(const std::string& key, std::vector<std::string>& out) {
  std::optional<std::vector<std::string>> written;
  if (!texts(key, written) || !written) return;
  const Settings& value = *find(key);
  for (std::string& path : *written) {
    if (path.empty()) return report(key, "expected the path of a directory, or a list of them");
    out.push_back(resolved(value, std::move(path)));
  }
}

// Resolves a path against the place where it is written.
std::string Section::resolved(const Settings& written, std::string path) {
  const bool from_file = !written.file.empty() && written.file != "--set";
  if (!from_file || path.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(written.file).parent_path() / path).lexically_normal().string();
}

void Section::listener(const std::string& key, std::string& out) {
  text(key, out);
  if (out.empty() || is_listener(out)) return;
  report(key, "expected an address and a port, such as 127.0.0.1:8402 or [::1]:8402; found \"" +
                  out + "\"");
}

void Section::public_url(const std::string& key, std::string& out) {
  text(key, out);
  if (out.empty()) return;
  std::string_view url = out;
  while (url.ends_with('/')) url.remove_suffix(1);
  const std::size_t authority = url.find("://");
  const bool is_bare = authority != url.npos && url.find_first_of("/?#", authority + 3) == url.npos;
  const std::string origin = hosts::origin_of(url);
  if (!is_bare || origin.empty()) {
    return report(key,
                  "expected scheme and host alone, such as https://api.example.com: a host answers "
                  "at the root of its name");
  }
  out = origin;
}

void Section::origins(const std::string& key, std::optional<std::vector<std::string>>& out) {
  if (!texts(key, out) || !out) return;
  for (std::string& text : *out) {
    std::string origin = as_origin(text);
    if (origin.empty()) {
      report(key,
             "expected origins such as https://app.example.com, or \"*\"; found \"" + text + "\"");
    }
    text = std::move(origin);
  }
}

bool is_same_port(std::string_view left, std::string_view right) noexcept {
  const auto one = hosts::split_authority(left);
  const auto other = hosts::split_authority(right);
  const auto number = [](std::string_view port) {
    std::uint16_t value = 0;
    (void)std::from_chars(port.data(), port.data() + port.size(), value);
    return value;
  };
  if (number(one.port) == 0 || number(one.port) != number(other.port)) return false;
  return one.host == other.host || listens_everywhere(left) || listens_everywhere(right);
}

bool listens_everywhere(std::string_view address) noexcept {
  const auto bytes = address_bytes(hosts::split_authority(address).host);
  return !bytes.empty() &&
         std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == 0; });
}

}  // namespace turnpike::app
