#include "app/config/config_site.h"

namespace turnpike::app {

namespace {

void read_colours(Section& brand, site::BrandColours& colours) {
  Section section(brand, "colours");
  section.text("sign", colours.sign);
  section.text("on_sign", colours.on_sign);
  section.text("lane", colours.lane);
  section.text("link_light", colours.link_light);
  section.text("link_dark", colours.link_dark);
}

// Browsers would execute a link of another scheme, such as javascript:.
bool is_fit_for_links(std::string_view url) noexcept {
  return url.starts_with("https://") || url.starts_with("http://") || url.starts_with("mailto:") ||
         (url.starts_with('/') && !url.starts_with("//"));
}

void read_links(Section& brand, std::vector<site::BrandLink>& links) {
  brand.each("links", [&](Section& section, std::optional<std::size_t> place) {
    site::BrandLink link;
    section.text("label", link.label);
    section.text("url", link.url);
    if (!place) return;
    if (link.label.empty()) section.report("label", "expected the text that people read");
    if (!is_fit_for_links(link.url)) {
      section.report("url", "expected an https URL, mailto: or a path; found \"" + link.url + "\"");
    }
    links.push_back(std::move(link));
  });
}

void read_brand(Section& site, site::Brand& brand) {
  Section section(site, "brand");
  section.text("name", brand.name);
  section.text("legal_name", brand.legal_name);
  section.text("tagline", brand.tagline);
  section.path("logo", brand.logo);
  section.text("contact", brand.contact);
  section.boolean("powered_by", brand.powered_by);
  read_colours(section, brand.colours);
  read_links(section, brand.links);
  if (brand.name.empty()) section.report("name", "expected a name for people");
  if (const auto problem = site::unreadable_colour(brand.colours)) {
    section.report("colours", problem->substr(problem->find('.') + 1));
  }
}

}  // namespace

void read_site(Section& top, site::SiteSettings& settings) {
  Section section(top, "site");
  section.path("directory", settings.directory);
  section.path("overlay", settings.overlay);
  read_brand(section, settings.brand);
}

}  // namespace turnpike::app
