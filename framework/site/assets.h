// Assets: the files that pages load: style sheet, scripts, fonts, logo. Read into memory at start
// or reload and compressed once; a page names one with a digest of its bytes, so browsers may keep
// it for good. Immutable after reading; any Thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace turnpike::site {

struct Asset {
  std::string_view content_type;
  std::string body;
  std::string brotli;   // empty: it would not be smaller
  std::string etag;     // with its quotes
  std::string brotli_etag;
  std::string version;  // 8 hex digits of the body's digest
};

class Assets {
 public:
  // `files`: bytes by name below /assets/, such as "fonts/overpass.woff2". Names of a kind that
  // browsers are not told of (no known extension) are left out.
  explicit Assets(const std::map<std::string, std::string>& files);

  // Null: there is none.
  [[nodiscard]] const Asset* find(std::string_view name) const noexcept;
  // The text with every "/assets/NAME" in quotes as "/assets/NAME?v=VERSION".
  [[nodiscard]] std::string with_versions(std::string_view text) const;

 private:
  std::map<std::string, Asset, std::less<>> assets_;
};

// Brotli (RFC 7932) at its best; empty: it would not be smaller.
std::string brotli_of(std::string_view text);
// The same fast enough for what is made while somebody waits.
std::string fast_brotli_of(std::string_view text);

}  // namespace turnpike::site
