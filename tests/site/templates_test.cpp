// Layouts: every value is escaped for its place, and only markup is inserted unchanged.
#include "site/templates.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace turnpike::site {
namespace {

std::string rendered(const std::string& layout, const std::function<void(Slots)>& fill) {
  auto templates = Templates::compile({{"page.html", layout}});
  EXPECT_TRUE(templates.ok()) << templates.error();
  Sheet sheet;
  fill(sheet.slots());
  return templates->render("page.html", sheet);
}

TEST(Templates, LongNamesMayBreakBetweenTheirPartsAndAreEscaped) {
  EXPECT_EQ(rendered("<a title=\"{{ROUTE}}\">{{ROUTE_HTML:none}}</a>",
                     [](Slots slots) { slots.set_long_name("ROUTE", "GET /v1/<b>/x"); }),
            "<a title=\"GET /v1/&lt;b&gt;/x\">GET /<wbr>v1/<wbr>&lt;b&gt;/<wbr>x</a>");
  EXPECT_EQ(rendered("<code>{{NAME_HTML:none}}</code>",
                     [](Slots slots) { slots.set_long_name("NAME", "grant.token_reuse/"); }),
            "<code>grant.<wbr>token_<wbr>reuse/</code>");
}

TEST(Templates, AValueIsEscapedByWhereItStands) {
  const auto fill = [](Slots slots) {
    slots.set("TEXT", "<b>&\"'");
    slots.set("URL", "javascript:alert(1)");
  };
  EXPECT_EQ(rendered("<p title=\"{{TEXT}}\">{{TEXT}}</p>", fill),
            "<p title=\"&lt;b&gt;&amp;&quot;&#39;\">&lt;b&gt;&amp;&quot;&#39;</p>");
  EXPECT_EQ(rendered("<a href=\"{{URL}}\">x</a>", fill), "<a href=\"#\">x</a>");
}

TEST(Templates, OnlyWhatIsNamedAsMarkupIsShownAsItIs) {
  const auto none = Templates::compile({{"page.html", "{{TEXT:none}}"}});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().find("TEXT"), std::string::npos);
  EXPECT_EQ(rendered("{{BODY_HTML:none}}",
                     [](Slots slots) { slots.set("BODY_HTML", Markup{"<p>x</p>"}); }),
            "<p>x</p>");
  Sheet sheet;
  EXPECT_THROW(sheet.slots().set("BODY_HTML", "<p>x</p>"), std::logic_error);
  EXPECT_THROW(sheet.slots().set("TEXT", Markup{"<p>x</p>"}), std::logic_error);
}

TEST(Templates, ALayoutThatCannotBeEscapedIsRefused) {
  const auto unquoted = Templates::compile({{"page.html", "<a href={{URL}}>x</a>"}});
  ASSERT_FALSE(unquoted.ok());
  EXPECT_NE(unquoted.error().find("layouts/page.html"), std::string::npos);
  EXPECT_FALSE(Templates::compile({{"page.html", "{{#ROW}}x"}}).ok());
}

TEST(Templates, ARowSeesTheValuesAroundIt) {
  EXPECT_EQ(rendered("{{#ROW}}{{SITE}}:{{NAME}};{{/ROW}}",
                     [](Slots slots) {
                       slots.set("SITE", "a");
                       slots.add("ROW").set("NAME", "1");
                       slots.add("ROW").set("NAME", "2");
                     }),
            "a:1;a:2;");
}

TEST(Templates, ALayoutWithinAnotherSeesItsOwnValuesAndThoseOfAll) {
  auto templates = Templates::compile(
      {{"page.html", "{{SITE}}{{NAME}}{{>MAIN}}"}, {"main.html", "[{{SITE}}{{NAME}}]"}});
  ASSERT_TRUE(templates.ok());
  Sheet sheet;
  sheet.slots().set_everywhere("SITE", "<a>");
  sheet.slots().set("NAME", "outer");
  sheet.slots().include("MAIN", "main.html");
  EXPECT_EQ(templates->render("page.html", sheet), "&lt;a&gt;outer[&lt;a&gt;]");
  EXPECT_THROW(sheet.slots().set_everywhere("BODY_HTML", "<p>"), std::logic_error);
}

TEST(Templates, AMissingLayoutIsADefect) {
  auto templates = Templates::compile({{"page.html", "{{>MAIN}}"}});
  ASSERT_TRUE(templates.ok());
  Sheet sheet;
  sheet.slots().include("MAIN", "nothing.html");
  EXPECT_THROW((void)templates->render("page.html", sheet), std::logic_error);
  EXPECT_FALSE(templates->has("nothing.html"));
}

}  // namespace
}  // namespace turnpike::site
