#include "site/assets.h"

#include <array>
#include <optional>
#include <utility>

#include "catalog/rendering.h"
#include "text/brotli.h"

namespace turnpike::site {

namespace {

constexpr std::pair<std::string_view, std::string_view> types[] = {
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".webp", "image/webp"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".txt", "text/plain; charset=utf-8"},
};

std::optional<std::string_view> type_of(std::string_view name) noexcept {
  for (const auto& [ending, type] : types) {
    if (name.ends_with(ending)) return type;
  }
  return std::nullopt;
}

}  // namespace

Assets::Assets(const std::map<std::string, std::string>& files) {
  for (const auto& [name, body] : files) {
    const auto type = type_of(name);
    if (!type) continue;
    std::string etag = catalog::etag_of(body);
    std::string version = etag.substr(1, 8);
    std::string brotli_etag = "\"br-" + etag.substr(1);
    // Fonts and pictures are already compressed.
    const bool is_text = type->starts_with("text/") || *type == "image/svg+xml";
    assets_.emplace(name, Asset{*type, body, is_text ? text::brotli_of(body) : std::string(),
                                std::move(etag), std::move(brotli_etag), std::move(version)});
  }
}

const Asset* Assets::find(std::string_view name) const noexcept {
  const auto found = assets_.find(name);
  return found == assets_.end() ? nullptr : &found->second;
}

std::string Assets::with_versions(std::string_view text) const {
  constexpr std::string_view begin = "\"/assets/";
  std::string out;
  while (true) {
    const std::size_t at = text.find(begin);
    const std::size_t end = at == text.npos ? at : text.find('"', at + 1);
    if (end == text.npos) break;
    const std::string_view name = text.substr(at + begin.size(), end - at - begin.size());
    out += text.substr(0, end);
    if (const Asset* const asset = find(name)) out += "?v=" + asset->version;
    out += '"';
    text.remove_prefix(end + 1);
  }
  return out += text;
}

}  // namespace turnpike::site
