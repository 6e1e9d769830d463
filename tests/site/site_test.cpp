// The files of the pages: files of an overlay replace ours, asset names have a version, and a site
// with a mistake is refused as a whole.
#include "site/site.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/paths.h"
#include "support/temporary.h"
#include "support/text.h"

namespace turnpike::site {
namespace {

using support::has;

const std::string front = "---\ntitle: x\ndescription: y.\n---\n# x\n\n";

class SiteTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(directory_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] SiteSettings settings() const {
    return {.directory = directory_.path() + "/ours", .overlay = directory_.path() + "/theirs"};
  }
  static std::string page_of(const Site& site, const Frame& frame = {.title = "x"}) {
    return site.page(frame, "page.html", [](Slots slots) { slots.set("TEXT", "<i>"); });
  }
  void SetUp() override {
    write("ours/layouts/frame.html",
          "<title>{{TITLE}} {{SITE}}</title><link href=\"/assets/site.css\">{{>MAIN}}");
    write("ours/layouts/page.html", "<p>{{TEXT}}</p>");
    write("ours/assets/site.css", "body { color: red }\n");
    write("ours/assets/notes.docx", "no kind that browsers are told of");
    write("ours/pages/index.md", front + "ours");
    write("ours/pages/about.md", front + "ours");
  }

  support::TemporaryDirectory directory_;
};

TEST_F(SiteTest, APageStandsInTheFrameWithVersionsOfItsAssets) {
  const auto site = Site::load(settings());
  ASSERT_TRUE(site.ok()) << site.error();
  const Asset* const css = (*site)->assets().find("site.css");
  ASSERT_NE(css, nullptr);
  EXPECT_EQ(page_of(**site), "<title>x Turnpike</title><link href=\"/assets/site.css?v=" +
                                 css->version + "\"><p>&lt;i&gt;</p>");
  EXPECT_EQ((*site)->assets().find("notes.docx"), nullptr);
}

TEST_F(SiteTest, TheOverlayReplacesAndAdds) {
  write("theirs/layouts/page.html", "<b>{{TEXT}}</b>");
  write("theirs/pages/about.md", front + "theirs");
  write("theirs/pages/imprint.md", front + "theirs");
  const auto site = Site::load(settings());
  ASSERT_TRUE(site.ok()) << site.error();
  EXPECT_TRUE(has(page_of(**site), "<b>&lt;i&gt;</b>"));
  const Authored& authored = (*site)->authored();
  EXPECT_TRUE(has(authored.find("/")->markdown, "ours"));
  EXPECT_TRUE(has(authored.find("/about")->markdown, "theirs"));
  EXPECT_NE(authored.find("/imprint"), nullptr);
}

TEST_F(SiteTest, TheBrandIsOnEveryPageAndHostileNamesRunNothing) {
  SiteSettings hostile = settings();
  hostile.brand.name = "<script>alert(1)</script>\" onload=\"x";
  hostile.brand.colours.sign = "#123456";
  const auto site = Site::load(hostile);
  ASSERT_TRUE(site.ok()) << site.error();
  const std::string page = page_of(**site);
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_FALSE(has(page, "\" onload"));
  EXPECT_FALSE(has(page, "Turnpike"));
  EXPECT_TRUE(has((*site)->assets().find("site.css")->body, "--sign: #123456"));
}

TEST_F(SiteTest, MistakesAreRefusedWithTheirFile) {
  SiteSettings unreadable = settings();
  unreadable.brand.colours.on_sign = "#0B5D3C";
  EXPECT_TRUE(has(Site::load(unreadable).error(), "brand.colours.on_sign"));

  SiteSettings nowhere = settings();
  nowhere.directory += "/nothing";
  EXPECT_TRUE(has(Site::load(nowhere).error(), "layouts/frame.html"));

  SiteSettings no_logo = settings();
  no_logo.brand.logo = "/nothing/logo.svg";
  EXPECT_TRUE(has(Site::load(no_logo).error(), "brand.logo"));

  write("theirs/layouts/page.html", "<a href={{TEXT}}>");
  EXPECT_TRUE(has(Site::load(settings()).error(), "layouts/page.html"));
}

TEST(ShippedSite, LoadsAndIsLight) {
  const auto site = Site::load({.directory = support::source_path("site")});
  ASSERT_TRUE(site.ok()) << site.error();
  const Asset* const css = (*site)->assets().find("site.css");
  ASSERT_NE(css, nullptr);
  EXPECT_LE(css->brotli.size(), 5'000u);
  EXPECT_FALSE(has(css->body, "url(http"));
  const Asset* const icon = (*site)->assets().find("icon.svg");
  ASSERT_NE(icon, nullptr);
  EXPECT_NE(icon->etag, icon->brotli_etag);
}

}  // namespace
}  // namespace turnpike::site
