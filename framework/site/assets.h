// Assets: the files that pages load: style sheet, scripts, fonts, logo. Read into memory at start
// or reload and compressed once. Pages name an asset with a digest of its bytes, so browsers may
// cache it forever. Immutable after reading; any Thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace turnpike::site {

struct Asset {
  std::string_view content_type;
  std::string body;
  std::string brotli;   // empty: not smaller than body
  std::string etag;     // with its quotes
  std::string brotli_etag;
  std::string version;  // 8 hex digits of the body's digest
};

class Assets {
 public:
  // `files`: bytes by name below /assets/, such as "fonts/overpass.woff2". Names without a known
  // extension are left out, since their media type is unknown.
  explicit Assets(const std::map<std::string, std::string>& files);

  // Null: there is no such asset.
  [[nodiscard]] const Asset* find(std::string_view name) const noexcept;
  // Returns the text with every quoted "/assets/NAME" replaced by "/assets/NAME?v=VERSION".
  [[nodiscard]] std::string with_versions(std::string_view text) const;

 private:
  std::map<std::string, Asset, std::less<>> assets_;
};

}  // namespace turnpike::site
