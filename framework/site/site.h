// Site: all files of the pages, read and checked together: layouts, assets, pages and posts. Files
// of the operator's overlay replace or remove the release's files of the same name. A site with a
// mistake is refused as a whole, so the site in service stays.
//
// Made at start or reload, away from the loops; immutable; any Thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "site/assets.h"
#include "site/authored.h"
#include "site/brand.h"
#include "site/frame.h"
#include "site/templates.h"

namespace turnpike::site {

struct SiteSettings {
  std::string directory;  // with layouts/, assets/, pages/ and blog/
  std::string overlay = {};  // the operator's; empty: none
  Brand brand = {};
};

class Site {
 public:
  // The error lists the files, lines and mistakes.
  static Result<std::shared_ptr<const Site>, Problems> read(const SiteSettings& settings);
  // The same with the problems as lines of one text.
  static Result<std::shared_ptr<const Site>, std::string> load(const SiteSettings& settings);

  [[nodiscard]] const Brand& brand() const noexcept { return brand_; }
  [[nodiscard]] const Assets& assets() const noexcept { return assets_; }
  [[nodiscard]] const Authored& authored() const noexcept { return authored_; }
  // The menu for the frame of every page of the web host. `path`: of the current page.
  [[nodiscard]] std::vector<Link> menu(std::string_view path) const {
    return authored_.menu(path);
  }
  [[nodiscard]] bool has_layout(std::string_view name) const noexcept {
    return templates_.has(name);
  }

  // Renders a whole page. `fill` sets the values of the layout, which is included in the frame. The
  // layout and its included layouts also have TITLE, SITE (the name of the brand) and PAGE_TOKEN of
  // the frame.
  template <class Fill>
  [[nodiscard]] std::string page(const Frame& frame, std::string_view layout, Fill&& fill) const {
    Sheet sheet;
    fill(in_frame(sheet, frame, layout));
    return templates_.render("frame.html", sheet);
  }

 private:
  Site(Brand brand, Assets assets, Templates templates, Authored authored);
  Slots in_frame(Sheet& sheet, const Frame& frame, std::string_view layout) const;

  Brand brand_;
  Assets assets_;
  Templates templates_;
  Authored authored_;
};

}  // namespace turnpike::site
