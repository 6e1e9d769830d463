// Live parts: what they show of a program, and that no name or text of a provider becomes markup.
#include "site/live_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "site/markdown.h"
#include "site/site_fixture.h"
#include "support/status_story.h"

namespace turnpike::site {
namespace {

using testing::HasSubstr;
using testing::Not;

class LivePartsTest : public tests::SiteFixture {
 protected:
  const Facts facts_ = facts_of(view_of(catalog::tests::varied_yaml));
  const Facts none_ = facts_of(nullptr);
};

TEST_F(LivePartsTest, PricesSayWhatEachOperationCosts) {
  const std::string table = part("prices", facts_);
  EXPECT_THAT(table, HasSubstr("| `GET /v1/gateway/alpha/v1/things` | List the things | 1 | $0.001 "
                               "| 60 requests in 1 min, 4 at once; 1,000 in 1 day |"));
  EXPECT_THAT(table, HasSubstr("| `POST /v1/gateway/alpha/v1/reports` |  | 25 | no | "));
  EXPECT_THAT(table, HasSubstr("| `GET /v1/gateway/alpha/v1/events` |  | no price | no | no |"));
  EXPECT_EQ(part("prices provider=beta", facts_), "There is no provider `beta` here.");
  EXPECT_EQ(part("prices", none_), "No operation is installed yet.");
  const Facts plain = facts_of(view_of(catalog::tests::varied_yaml, {}));
  EXPECT_THAT(part("prices", plain), Not(HasSubstr("Without an account")));
  EXPECT_THAT(part("prices", plain), Not(HasSubstr("requests in")));
}

TEST_F(LivePartsTest, RoutesNameTheirCapabilities) {
  const auto& route =
      catalog::tests::route_with(facts_.view->program(), "/v1/gateway/alpha/v1/search");
  EXPECT_THAT(part("routes", facts_),
              HasSubstr("| `GET /v1/gateway/alpha/v1/search` |  | `" + route.id + "` |"));
}

TEST_F(LivePartsTest, ErrorsAreAllThatThereAre) {
  const std::string table = part("errors", facts_);
  for (const base::ErrorInfo& info : base::all_errors()) {
    EXPECT_THAT(table, HasSubstr("| `" + std::string(info.name) + "` | "));
  }
  const std::string of_area = part("errors area=idempotency", facts_);
  EXPECT_THAT(of_area, HasSubstr("| `idempotency.conflict` | 400 | the caller's | change what"));
  EXPECT_THAT(of_area, Not(HasSubstr("`gateway.")));
}

TEST_F(LivePartsTest, LimitsAreThoseOfTheGateway) {
  const std::string table = part("limits of=requests", facts_);
  EXPECT_THAT(table, HasSubstr("| Query of a request | 64 KiB, a route may say less |"));
  EXPECT_THAT(table, HasSubstr("| How long a reply is kept under its key | 1 day |"));
  EXPECT_THAT(part("limits of=free", facts_),
              HasSubstr("| `alpha.free` | 60 requests in 1 min, 4 at once; 1,000 in 1 day |"));
}

TEST_F(LivePartsTest, SnippetsAreOneWordOfTheirLanguage) {
  const auto& route =
      catalog::tests::route_with(facts_.view->program(), "/v1/gateway/alpha/v1/things");
  const std::string curl = part("snippet in=curl operation=" + route.id, facts_);
  EXPECT_EQ(curl, "```sh\ncurl 'https://api.example.com/v1/gateway/alpha/v1/things' \\\n"
                  "  -H \"Authorization: Bearer $API_KEY\"\n```");
  const std::string all = part("snippet operation=" + route.id, facts_);
  for (const char* const heading : {"### curl", "### JavaScript", "### Python", "### MCP",
                                    "### x402, without an account"}) {
    EXPECT_THAT(all, HasSubstr(heading));
  }
  EXPECT_THAT(all, HasSubstr("\"name\": \"service.route.execute\""));
  EXPECT_THAT(all, HasSubstr("wrapFetchWithPayment"));
  const auto& events =
      catalog::tests::route_with(facts_.view->program(), "/v1/gateway/alpha/v1/events");
  EXPECT_EQ(part("snippet in=x402 operation=" + events.id, facts_),
            "This operation is not sold without an account.");
}

TEST_F(LivePartsTest, ASampleCannotLeaveItsListing) {
  const std::string yaml = R"yaml(
provider: {key: evil, name: Evil, base_path: /v1/gateway/evil}
upstreams: {main: {plugin: http}}
prices: {evil.standard: {version: 1, credit_cost: 1}}
defaults: {price: evil.standard}
routes:
  - path: /post
    methods: [POST]
    body: {max_bytes: 1024, media_types: [text/plain], required: true}
    monitoring:
      class: continuous
      per_day_max: 2880
      sample: {body: "'; rm -rf /; '\n```\n<script>x</script>", content_type: text/plain}
)yaml";
  const Facts facts = facts_of(view_of(yaml));
  const std::string curl = part("snippet in=curl", facts);
  EXPECT_TRUE(curl.starts_with("````sh\n")) << curl;
  EXPECT_THAT(curl, HasSubstr("--data ''\\''; rm -rf /; '\\''\n```\n<script>"));
  EXPECT_THAT(html_of(curl).text, Not(HasSubstr("<script>")));
  for (const char* const in : {"javascript", "python", "mcp", "x402"}) {
    EXPECT_THAT(html_of(part(std::string("snippet in=") + in, facts)).text,
                Not(HasSubstr("<script>")));
  }
}

TEST_F(LivePartsTest, HostileNamesStayText) {
  const std::string yaml = R"yaml(
provider:
  {key: evil, name: "<script>x</script> [a](javascript:b) | `c` *d* http://e.example",
   base_path: /v1/gateway/evil}
upstreams: {main: {plugin: http}}
prices: {evil.standard: {version: 1, credit_cost: 1}}
defaults: {price: evil.standard}
routes:
  - path: /a
    summary: "| x | <img src=x onerror=y> [click](javascript:z) # w"
)yaml";
  const Facts facts = facts_of(view_of(yaml));
  for (const char* const text : {"products", "prices", "routes", "snippet", "status"}) {
    const std::string html = html_of(part(text, facts)).text;
    for (const char* const bad : {"<script", "<img", "href=\"javascript", "href=\"http://e"}) {
      EXPECT_THAT(html, Not(HasSubstr(bad))) << text;
    }
  }
  EXPECT_THAT(html_of(part("products", facts)).text,
              HasSubstr("&lt;script&gt;x&lt;/script&gt; [a](javascript:b) | `c` *d* "
                        "http://e.example</a>"));
  EXPECT_THAT(html_of(part("routes", facts)).text,
              HasSubstr("<td>| x | &lt;img src=x onerror=y&gt; [click](javascript:z) # w</td>"));
}

TEST_F(LivePartsTest, TheStatusIsReadFromTheBoard) {
  support::StatusStory story(catalog::tests::compiled(catalog::tests::varied_yaml));
  story.close_round();
  Facts facts = facts_;
  facts.board = story.board();
  facts.now_ms = story.now_ms;
  const std::string fresh = part("status", facts);
  EXPECT_THAT(fresh, HasSubstr("The gateway is **operational**"));
  EXPECT_THAT(fresh, HasSubstr("| Alpha data | "));
  facts.now_ms += 86'400'000;
  EXPECT_THAT(part("status", facts), HasSubstr("The gateway is **unknown**"));
  EXPECT_THAT(part("status provider=alpha", facts), HasSubstr("Alpha data is **unknown**"));
  EXPECT_EQ(part("status", none_), "Nothing has been observed yet.");
}

TEST_F(LivePartsTest, PostsAreListedNewestFirst) {
  write("blog/a.md", "---\ntitle: Older\ndescription: One.\nupdated: 2026-01-02\n---\n# A\n");
  write("blog/b.md", "---\ntitle: \"*Newer*\"\ndescription: Two.\nupdated: 2026-02-02\n---\n# B\n");
  EXPECT_EQ(part("blog", none_), "- 2026-02-02: [\\*Newer\\*](/blog/b). Two.\n"
                                 "- 2026-01-02: [Older](/blog/a). One.");
  EXPECT_EQ(part("blog count=1", none_), "- 2026-02-02: [\\*Newer\\*](/blog/b). Two.");
}

TEST_F(LivePartsTest, TheBrandSaysWhatItKnows) {
  settings_.brand.name = "A|B";
  const std::string table = part("brand", none_);
  EXPECT_THAT(table, HasSubstr("| Name of the service | A\\|B |"));
  EXPECT_THAT(table, HasSubstr("| Who runs it | not said yet |"));
}

}  // namespace
}  // namespace turnpike::site
