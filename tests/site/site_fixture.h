// A site in a temporary directory, with the project's layouts and the pages that a test writes, and
// the facts of a program. Used by the test's Thread.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "catalog/program_fixture.h"
#include "site/authored_pages.h"
#include "support/paths.h"
#include "support/temporary.h"

namespace turnpike::site::tests {

class SiteFixture : public testing::Test {
 protected:
  SiteFixture() {
    settings_.directory = directory_.path() + "/site";
    std::filesystem::create_directory(settings_.directory);
    // The assets are omitted, since their compression takes long.
    std::filesystem::copy(support::source_path("site/layouts"), settings_.directory + "/layouts",
                          std::filesystem::copy_options::recursive);
  }

  // `name` is relative to the site's directory, as "pages/pricing.md".
  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = settings_.directory + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  // Writes a page with valid front matter.
  std::string write_page(const std::string& name, const std::string& markdown,
                         const std::string& more = "") {
    return write(name, "---\ntitle: A page\ndescription: What it says.\n" + more + "---\n" +
                           markdown);
  }

  // The problems of the site, one per line, with file names only.
  std::string problems() {
    const auto site = Site::read(settings_);
    if (site.ok()) return "";
    std::string lines;
    for (registry::Problem problem : site.error()) {
      problem.file = std::filesystem::path(problem.file).filename().string();
      lines += problem.text() + "\n";
    }
    return lines;
  }

  std::shared_ptr<const Site> load() {
    auto site = Site::load(settings_);
    if (site.ok()) return *site;
    ADD_FAILURE() << site.error();
    return nullptr;
  }

  static std::shared_ptr<const catalog::View> view_of(const std::string& yaml,
                                                      catalog::Features features = {true, true}) {
    return std::make_shared<const catalog::View>(
        catalog::tests::installed(catalog::tests::compiled(yaml)),
        std::make_shared<const catalog::tests::SettableReadiness>(),
        catalog::ViewOptions{.base_url = "https://api.example.com",
                             .cursor_key = std::string(32, 'k'),
                             .features = features,
                             .http_status = catalog::tests::status_for_tests,
                             .openapi_frame = catalog::tests::frame_for_tests});
  }
  static Facts facts_of(std::shared_ptr<const catalog::View> view) {
    return {.view = std::move(view),
            .board = nullptr,
            .now_ms = 1'795'564'800'000,
            .urls = {.api = "https://api.example.com",
                     .mcp = "https://mcp.example.com",
                     .web = "https://example.com"}};
  }

  // The Markdown of the page at that path, or "" if there is none.
  std::string markdown(const Facts& facts, std::string_view path) {
    const auto site = load();
    if (site == nullptr) return "";
    const auto page = pages_.find(*site, facts, path);
    return page ? page->markdown : "";
  }
  // The Markdown that a live part produces.
  std::string part(const std::string& text, const Facts& facts) {
    write_page("pages/part.md", "# Part\n\n```turnpike " + text + "\n```\nEnd\n");
    const std::string made = markdown(facts, "/part");
    const std::string begin = "# Part\n\n";
    const std::string end = "\nEnd\n";
    EXPECT_TRUE(made.starts_with(begin) && made.ends_with(end)) << made;
    return made.substr(begin.size(), made.size() - begin.size() - end.size());
  }

  support::TemporaryDirectory directory_;
  SiteSettings settings_;
  const AuthoredPages pages_{{.http_status = catalog::tests::status_for_tests}};
};

}  // namespace turnpike::site::tests
