// Markdown to HTML: hostile Markdown runs nothing, headings can be linked to, and escaped text is
// shown unchanged.
#include "site/markdown.h"

#include <gtest/gtest.h>

#include "support/text.h"

namespace turnpike::site {
namespace {

using support::has;

TEST(Markdown, RawHtmlAndLinksThatRunSomethingAreDropped) {
  const std::string html =
      html_of("<script>alert(1)</script>\n\na <img src=x onerror=alert(1)> b\n\n"
              "[x](javascript:alert(1)) [y](data:text/html,x)\n").text;
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_FALSE(has(html, "<img"));
  EXPECT_FALSE(has(html, "javascript:"));
  EXPECT_FALSE(has(html, "data:"));
}

TEST(Markdown, HeadingsHaveAnchors) {
  const char* const text = "# How to pay\n\n## Limits\n\n## Limits\n\n## `a_b` & c\n";
  EXPECT_EQ(anchors_of(text),
            (std::vector<std::string>{"how-to-pay", "limits", "limits-1", "a_b--c"}));
  EXPECT_TRUE(has(html_of(text).text, "<h2><span id=\"limits-1\"></span>Limits</h2>"));
}

TEST(Markdown, TablesAndListingsScrollByThemselves) {
  const std::string html = html_of("| a | b |\n|---|---:|\n| 1 | 2 |\n\n```sh\ncurl x\n```\n").text;
  EXPECT_TRUE(has(html, "<div class=\"wide\""));
  EXPECT_TRUE(has(html, "<td class=\"number\">2</td>"));
  EXPECT_FALSE(has(html, "align="));
  EXPECT_TRUE(has(html, "<div class=\"listing\""));
  EXPECT_TRUE(has(html, "<code class=\"language-sh\">curl x"));
}

TEST(Markdown, NamesInCodeBreakBetweenTheirParts) {
  EXPECT_EQ(html_of("`GET /v1/a` and `<a/b>`, 1/2").text,
            "<p><code>GET /<wbr>v1/<wbr>a</code> and <code>&lt;a/<wbr>b&gt;</code>, 1/2</p>\n");
  EXPECT_TRUE(has(html_of("| [`/v1/a`](/b/c) |\n|---|\n").text,
                  "<a href=\"/b/c\"><code>/<wbr>v1/<wbr>a</code></a>"));
  EXPECT_EQ(html_of("`a.body_too_large` 1.5 `1.5` `.md`").text,
            "<p><code>a.<wbr>body_<wbr>too_<wbr>large</code> 1.5 <code>1.5</code> "
            "<code>.md</code></p>\n");
  EXPECT_TRUE(has(html_of("```\ncurl /v1/a\n```\n").text, "<code>curl /v1/a\n</code>"));
}

TEST(Markdown, LinksAreFoundWithTheirLines) {
  const auto links = links_of("# x\n\n[a](/pricing)\n\n![b](/assets/x.svg) https://example.com\n");
  ASSERT_EQ(links.size(), 3u);
  EXPECT_EQ(links[0].url, "/pricing");
  EXPECT_EQ(links[0].line, 3);
  EXPECT_EQ(links[1].url, "/assets/x.svg");
  EXPECT_EQ(links[2].url, "https://example.com");
}

TEST(Markdown, AnEscapedTextShowsAsItIs) {
  const std::string hostile = "*a* _b_ `c` [d](javascript:e) <f> | g # h ~i~ http://j \\ 1. k!";
  EXPECT_EQ(html_of(escaped_markdown(hostile)).text,
            "<p>*a* _b_ `c` [d](javascript:e) &lt;f&gt; | g # h ~i~ http://j \\ 1. k!</p>\n");
  EXPECT_TRUE(has(html_of("| " + escaped_markdown("a|b\nc") + " |\n|---|\n").text, "a|b c"));
}

}  // namespace
}  // namespace turnpike::site
