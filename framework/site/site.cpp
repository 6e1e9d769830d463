#include "site/site.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "site/authored_pages.h"

namespace turnpike::site {

namespace {

namespace fs = std::filesystem;

// Adds the files below a folder; replaces files of the same name.
void read_files(const fs::path& folder, bool is_overlay, SiteFiles& files) {
  if (!fs::is_directory(folder)) return;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream) throw std::runtime_error(entry.path().string() + " cannot be read");
    std::string name = entry.path().lexically_relative(folder).generic_string();
    const bool replaces = files.contains(name);
    files[std::move(name)] = {text.str(), entry.path().string(), is_overlay, replaces};
  }
}

SiteFiles read_folder(const SiteSettings& settings, const char* name) {
  SiteFiles files;
  read_files(fs::path(settings.directory) / name, false, files);
  if (!settings.overlay.empty()) read_files(fs::path(settings.overlay) / name, true, files);
  return files;
}

std::map<std::string, std::string> texts_of(const SiteFiles& files) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, file] : files) texts.emplace(name, file.text);
  return texts;
}

Assets read_assets(const SiteSettings& settings) {
  auto files = texts_of(read_folder(settings, "assets"));
  files["site.css"] += theme_css(settings.brand.colours);
  if (!settings.brand.logo.empty()) {
    std::ifstream stream(settings.brand.logo, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream) throw std::runtime_error("brand.logo: " + settings.brand.logo + " cannot be read");
    files["logo.svg"] = text.str();
  }
  // Style sheets name fonts with their versions, too.
  const Assets unversioned(files);
  for (auto& [name, text] : files) {
    if (name.ends_with(".css")) text = unversioned.with_versions(text);
  }
  return Assets(files);
}

void add_links(Slots slots, std::string_view section, const std::vector<Link>& links) {
  for (const Link& link : links) {
    Slots row = slots.add(section);
    row.set("LABEL", link.label);
    row.set("PATH", link.path);
    row.show_if(link.is_here, "IS_HERE");
  }
}

void set_foot(Slots slots, const Foot& foot) {
  slots.set_if("GENERATION", foot.generation);
  slots.set_if("ROUND", foot.round);
  slots.set_if("HEAD", foot.head);
  slots.set_if("JUDGEMENT", foot.judgement);
  slots.set_if("EVIDENCE_URL", foot.evidence_url);
}

}  // namespace

Site::Site(Brand brand, Assets assets, Templates templates, Authored authored)
    : brand_(std::move(brand)),
      assets_(std::move(assets)),
      templates_(std::move(templates)),
      authored_(std::move(authored)) {}

Result<std::shared_ptr<const Site>, Problems> Site::read(const SiteSettings& settings) {
  const auto one = [](std::string file, std::string message) {
    return Problems{{"site", std::move(file), 0, 0, {}, std::move(message)}};
  };
  if (const auto problem = unreadable_colour(settings.brand.colours)) {
    return one({}, "brand." + *problem);
  }
  try {
    Assets assets = read_assets(settings);
    auto layouts = texts_of(read_folder(settings, "layouts"));
    if (!layouts.contains("frame.html")) {
      return one(settings.directory,
                 "the pages are not in this directory: it has no layouts/frame.html");
    }
    for (auto& [name, text] : layouts) text = assets.with_versions(text);
    auto templates = Templates::compile(layouts);
    if (!templates.ok()) return one({}, std::move(templates).error());
    Problems problems;
    Authored authored(read_folder(settings, "pages"), read_folder(settings, "blog"), problems);
    const std::shared_ptr<const Site> site(new Site(
        settings.brand, std::move(assets), *std::move(templates), std::move(authored)));
    Problems more = problems_of(*site);
    problems.insert(problems.end(), more.begin(), more.end());
    if (!problems.empty()) return problems;
    return site;
  } catch (const std::exception& error) {
    return one({}, error.what());
  }
}

Result<std::shared_ptr<const Site>, std::string> Site::load(const SiteSettings& settings) {
  auto site = read(settings);
  if (site.ok()) return *std::move(site);
  std::string lines;
  for (const registry::Problem& problem : site.error()) {
    lines += (lines.empty() ? "" : "\n") + problem.text();
  }
  return lines;
}

Slots Site::in_frame(Sheet& sheet, const Frame& frame, std::string_view layout) const {
  Slots slots = sheet.slots();
  slots.set_everywhere("TITLE", frame.title);
  slots.set_everywhere("SITE", brand_.name);
  slots.set_if("LOGO", brand_.logo.empty() ? "" : "/assets/logo.svg?v=" +
                                                      assets_.find("logo.svg")->version);
  slots.set_if("DESCRIPTION", frame.description);
  slots.show_if(frame.description.empty(), "IS_FOR_NO_INDEX");
  slots.set_if("CANONICAL", frame.canonical);
  slots.set_if("MARKDOWN", frame.markdown);
  slots.set_if("NEXT_URL", frame.next_url);
  slots.set_if("PERSON", frame.person_name);
  slots.set_if("SIGN_IN", frame.sign_in);
  slots.set("PERSON_PATH", frame.person_path);
  slots.set_everywhere("PAGE_TOKEN", frame.page_token);
  slots.show_if(!frame.page_token.empty(), "PAGE_TOKEN_IS_SET");
  slots.set("SIGN_OUT", frame.sign_out);
  for (const std::string& script : frame.scripts) {
    const Asset* const asset = assets_.find(script);
    Slots row = slots.add("SCRIPT");
    row.set("URL", "/assets/" + script + (asset == nullptr ? "" : "?v=" + asset->version));
  }
  add_links(slots, "MENU", frame.menu);
  slots.show_if(!frame.side.empty(), "HAS_SIDE");
  slots.show_if(frame.side.empty(), "HAS_NO_SIDE");
  slots.set("SIDE_TITLE", frame.side_title);
  add_links(slots, "SIDE", frame.side);
  // Footer links need the web host, which is where the menu is: the console's host does not serve
  // these pages.
  if (!frame.menu.empty()) add_links(slots, "FOOT_LINK", authored_.foot());
  for (const BrandLink& link : brand_.links) {
    Slots row = slots.add("FOOT_LINK");
    row.set("LABEL", link.label);
    row.set("PATH", link.url);
  }
  slots.show_if(brand_.powered_by, "POWERED_BY");
  set_foot(slots, frame.foot);
  return slots.include("MAIN", layout);
}

}  // namespace turnpike::site
