// Site: all files of the pages, read and checked at once: layouts, assets, pages and posts, those of
// the operator's overlay in place of ours under the same name. A site with a mistake in it is
// refused as a whole, so the one in service stays.
//
// Made at start or reload, away from the loops; immutable; any Thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "site/assets.h"
#include "site/brand.h"
#include "site/frame.h"
#include "site/templates.h"

namespace turnpike::site {

struct SiteSettings {
  std::string directory;  // with layouts/, assets/, pages/ and blog/
  std::string overlay = {};  // the operator's; empty: none
  Brand brand = {};
};

// Files by their names below a folder, with where each was found, for messages.
struct SiteFile {
  std::string text;
  std::string place;
};
using SiteFiles = std::map<std::string, SiteFile>;

class Site {
 public:
  // The error says which file, and what is wrong with it.
  static Result<std::shared_ptr<const Site>, std::string> load(const SiteSettings& settings);

  [[nodiscard]] const Brand& brand() const noexcept { return brand_; }
  [[nodiscard]] const Assets& assets() const noexcept { return assets_; }
  // Markdown with its front matter, by names below pages/ ("pricing.md") and blog/.
  [[nodiscard]] const SiteFiles& pages() const noexcept { return pages_; }
  [[nodiscard]] const SiteFiles& posts() const noexcept { return posts_; }
  [[nodiscard]] bool has_layout(std::string_view name) const noexcept {
    return templates_.has(name);
  }

  // A page as it is sent. `fill` gets the values of the layout, which stands within the frame; it
  // and what stands in it have TITLE, SITE (the brand's name) and PAGE_TOKEN of the frame.
  template <class Fill>
  [[nodiscard]] std::string page(const Frame& frame, std::string_view layout, Fill&& fill) const {
    Sheet sheet;
    fill(in_frame(sheet, frame, layout));
    return templates_.render("frame.html", sheet);
  }

 private:
  Site(Brand brand, Assets assets, Templates templates, SiteFiles pages, SiteFiles posts);
  Slots in_frame(Sheet& sheet, const Frame& frame, std::string_view layout) const;

  Brand brand_;
  Assets assets_;
  Templates templates_;
  SiteFiles pages_;
  SiteFiles posts_;
};

}  // namespace turnpike::site
