// The public pages over real sockets: both forms, the selection by Accept, validators, cache
// headers, redirects and unknown paths, the text files, and the cache of pages.
#include "hosts/site/site_routes.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/program_fixture.h"
#include "hosts/host_fixture.h"
#include "hosts/page.h"
#include "hosts/routed_host.h"
#include "hosts/scripted_status.h"
#include "hosts/web/page_turn.h"
#include "site/authored_pages.h"
#include "support/paths.h"
#include "support/sdk_fakes.h"
#include "support/status_story.h"
#include "support/temporary.h"

namespace turnpike::hosts::public_site {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using tests::HttpReply;

// Has one page and one path that moved, and counts renderings.
class CountingSource final : public site::PageSource {
 public:
  std::optional<site::MarkdownPage> find(const site::Site&, const site::Facts&,
                                         std::string_view path) const override {
    if (path == "/broken") throw std::runtime_error("a defect");
    if (path != "/counted") return std::nullopt;
    ++rendered;
    return site::MarkdownPage{.path = "/counted", .title = "Counted", .description = "How often.",
                              .markdown = "# Rendered " + std::to_string(rendered) + "\n"};
  }
  std::string moved_to(const site::Facts&, std::string_view path) const override {
    return path == "/was" ? "/counted" : "";
  }
  std::vector<site::MarkdownPage> list(const site::Site&, const site::Facts&) const override {
    return {{.path = "/counted", .title = "Counted", .description = "How often.",
             .markdown = "", .section = "Directory"}};
  }
  mutable std::atomic<int> rendered{0};
};

class PagesHost final : public wire::Handler {
 public:
  PagesHost(const HostParts& parts, const Pages& pages, const SiteRooms& rooms)
      : refusals_(pages), host_(parts, rows(rooms), rules(refusals_)) {}
  void handle(wire::Request& request, wire::Responder& responder) noexcept override {
    host_.handle(request, responder);
  }
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override {
    host_.refuse(error, request, responder);
  }

 private:
  static std::vector<BoundRoute> rows(const SiteRooms& rooms) {
    std::vector<BoundRoute> all = bind_routes(site_routes(), rooms);
    bind_routes(page_routes(), rooms, all);
    return all;
  }
  static HostRules rules(const RefusalPages& refusals) {
    return {.cors = Cors(Origins({}), {}),
            .nothing_here = "nothing",
            .nothing_form = as_page,
            .refusal_pages = &refusals,
            .nothing_page_policy = page_policy,
            .own_origin = "https://here.example"};
  }

  const web::SiteRefusals refusals_;
  RoutedHost host_;
};

class PublicPagesTest : public tests::HostFixture {
 protected:
  void SetUp() override {
    const std::string directory = directory_.path();
    // The assets are omitted, since their compression takes long.
    std::filesystem::copy(support::source_path("site/layouts"), directory + "/layouts",
                          std::filesystem::copy_options::recursive);
    std::filesystem::create_directories(directory + "/pages/developers");
    for (const char* const name : {"index", "about", "contact", "products", "blog"}) {
      write_page(name, "# Page " + std::string(name) + "\n");
    }
    write_page("developers/index", "# Docs\n");
    write_page("pricing", "# Prices\n\n```turnpike prices\n```\n", "layout: pricing.html\n");
    write_page("status", "# Status\n\n```turnpike status\n```\n", "layout: status.html\n");
    write_page("hidden", "# Hidden\n", "noindex: true\n");
    runtime_ = std::make_unique<runtime::Runtime>(runtime::RuntimeOptions{});
    pages_.emplace(Pages::Parts{backend_, &status_, pages_clock_,
                                {.api = "https://api.example.com",
                                 .mcp = "https://mcp.example.com",
                                 .web = "https://example.com"}},
                   load());
    rooms_.emplace(SiteRooms::Parts{*pages_, runtime_->pool(), {&authored_, &counting_},
                                    "https://docs.example.com/turnpike"});
    pages_host_ = std::make_unique<PagesHost>(
        HostParts{*runtime_, clock_, random_, access_log_}, *pages_, *rooms_);
    server_ = wire::make_server(*runtime_, {}, *log_);
    const auto started =
        server_->start({{.name = "t", .address = "127.0.0.1:0", .handler = pages_host_.get()}});
    ASSERT_TRUE(started.ok()) << started.error();
    address_ = (*started)[0].address;
  }
  void TearDown() override {
    HostFixture::TearDown();
    pages_host_.reset();
    rooms_.reset();
  }

  void write_page(const std::string& name, const std::string& markdown,
                  const std::string& more = "") {
    std::ofstream(directory_.path() + "/pages/" + name + ".md", std::ios::binary)
        << "---\ntitle: Title of " << name << "\ndescription: About it.\n" << more << "---\n"
        << markdown;
  }
  std::shared_ptr<const site::Site> load() {
    auto site = site::Site::load({.directory = directory_.path()});
    if (!site.ok()) ADD_FAILURE() << site.error();
    return site.ok() ? *site : nullptr;
  }
  void install_program() {
    backend_.set_view(std::make_shared<const catalog::View>(
        catalog::tests::installed(catalog::tests::compiled(catalog::tests::varied_yaml)),
        std::make_shared<const catalog::tests::SettableReadiness>(),
        catalog::ViewOptions{.base_url = "https://api.example.com",
                             .cursor_key = std::string(32, 'k'),
                             .features = {true, true},
                             .http_status = catalog::tests::status_for_tests,
                             .openapi_frame = catalog::tests::frame_for_tests}));
  }

  support::TemporaryDirectory directory_;
  support::ManualClock pages_clock_{support::StatusStory::begins_at_ms};
  tests::ScriptedStatus status_;
  const site::AuthoredPages authored_{{.http_status = catalog::tests::status_for_tests}};
  CountingSource counting_;
  std::optional<Pages> pages_;
  std::optional<SiteRooms> rooms_;
  std::unique_ptr<PagesHost> pages_host_;
};

TEST_F(PublicPagesTest, APageHasTwoForms) {
  const HttpReply html = get("/blog");
  EXPECT_EQ(html.status, 200);
  EXPECT_EQ(html.header("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(html.header("cache-control"), "no-cache");
  EXPECT_EQ(html.header("vary"), "Accept-Encoding");
  EXPECT_EQ(html.header("content-location"), "/blog");
  EXPECT_EQ(html.header("link"), "</blog.md>; rel=\"alternate\"; type=\"text/markdown\"");
  EXPECT_THAT(html.header("content-security-policy"), HasSubstr("default-src 'none'"));
  EXPECT_THAT(html.body, HasSubstr("Page blog</h1>"));
  EXPECT_THAT(html.body, HasSubstr("<link rel=\"canonical\" href=\"https://example.com/blog\">"));
  const HttpReply markdown = get("/blog.md");
  EXPECT_EQ(markdown.status, 200);
  EXPECT_EQ(markdown.header("content-type"), "text/markdown; charset=utf-8");
  EXPECT_EQ(markdown.header("cache-control"), "public, max-age=300");
  EXPECT_EQ(markdown.header("access-control-allow-origin"), "*");
  EXPECT_EQ(markdown.body, "# Page blog\n");
  EXPECT_NE(markdown.header("etag"), html.header("etag"));
  EXPECT_EQ(get("/blog", {"Accept: text/markdown"}).header("content-type"),
            "text/html; charset=utf-8");  // Accept selects only on the six
}

TEST_F(PublicPagesTest, AcceptChoosesTheFormOfSixPages) {
  for (const char* const path : {"/", "/about", "/contact", "/developers", "/products",
                                 "/pricing"}) {
    const HttpReply html = get(path, {"Accept: text/html, */*;q=0.8"});
    EXPECT_EQ(html.header("content-type"), "text/html; charset=utf-8") << path;
    EXPECT_EQ(html.header("vary"), "Accept, Accept-Encoding") << path;
    EXPECT_EQ(html.header("content-location"), path);
    EXPECT_EQ(get(path).body, html.body) << path;
    const HttpReply markdown = get(path, {"Accept: text/markdown, text/html;q=0.9"});
    EXPECT_EQ(markdown.status, 200) << path;
    EXPECT_EQ(markdown.header("content-type"), "text/markdown; charset=utf-8") << path;
    EXPECT_EQ(markdown.header("cache-control"), "private, no-store") << path;
    EXPECT_EQ(markdown.header("vary"), "Accept, Accept-Encoding") << path;
    EXPECT_EQ(markdown.header("content-location"), markdown_path(path)) << path;
    EXPECT_EQ(markdown.header("access-control-allow-origin"), "");
    EXPECT_EQ(markdown.body, get(markdown_path(path)).body) << path;
    EXPECT_NE(markdown.header("etag"), html.header("etag")) << path;
    const HttpReply neither = get(path, {"Accept: application/json"});
    EXPECT_EQ(neither.status, 406) << path;
    EXPECT_EQ(neither.header("vary"), "Accept") << path;
    EXPECT_EQ(neither.header("cache-control"), "no-store") << path;
    EXPECT_NE(neither.body.find("request.not_acceptable"), std::string::npos) << path;
    const HttpReply head =
        call({.method = "HEAD", .target = path, .headers = {"Accept: text/markdown"}});
    EXPECT_EQ(head.status, 200) << path;
    EXPECT_EQ(head.header("etag"), markdown.header("etag")) << path;
    EXPECT_EQ(head.header("content-length"), std::to_string(markdown.body.size())) << path;
    EXPECT_TRUE(head.body.empty()) << path;
  }
}

TEST_F(PublicPagesTest, EachFormHasItsOwnValidator) {
  const HttpReply plain = get("/pricing");
  const HttpReply coded = get("/pricing", {"Accept-Encoding: gzip, br"});
  EXPECT_EQ(coded.header("content-encoding"), "br");
  EXPECT_LT(coded.body.size(), plain.body.size());
  EXPECT_NE(coded.header("etag"), plain.header("etag"));
  const HttpReply same = get("/pricing", {"If-None-Match: " + plain.header("etag")});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.header("vary"), "Accept, Accept-Encoding");
  EXPECT_EQ(same.header("etag"), plain.header("etag"));
  EXPECT_EQ(get("/pricing", {"Accept-Encoding: br", "If-None-Match: " + plain.header("etag")})
                .status,
            200);
  EXPECT_EQ(get("/pricing", {"Accept: text/markdown", "If-None-Match: " + plain.header("etag")})
                .status,
            200);
}

TEST_F(PublicPagesTest, TheFirstPageNamesWhatMachinesRead) {
  const std::string link = get("/").header("link");
  for (const char* const relation : {"rel=\"alternate\"", "rel=\"api-catalog\"", "rel=\"ard\"",
                                     "rel=\"ai-catalog\"", "rel=\"service-doc\"",
                                     "<https://api.example.com/openapi.json>; "
                                     "rel=\"service-desc\""}) {
    EXPECT_THAT(link, HasSubstr(relation));
  }
  EXPECT_EQ(get("/index.md").body, "# Page index\n");
  EXPECT_EQ(get("/index").status, 308);
  EXPECT_EQ(get("/index").header("location"), "/");
}

TEST_F(PublicPagesTest, WhereNothingIsSaysSoInBothForms) {
  for (const char* const path : {"/nothing", "/nothing.md", "/pricing/", "/robots.txt.md",
                                 "/products/alpha", "/.md", "//", "/%2e%2e/x"}) {
    const HttpReply html = get(path, {"Accept: text/html"});
    EXPECT_EQ(html.status, 404) << path;
    EXPECT_EQ(html.header("content-type"), "text/html; charset=utf-8") << path;
    EXPECT_EQ(html.header("vary"), "Accept") << path;
    EXPECT_THAT(html.body, HasSubstr("There is nothing here")) << path;
    const HttpReply markdown = get(path, {"Accept: text/markdown"});
    EXPECT_EQ(markdown.status, 404) << path;
    EXPECT_EQ(markdown.header("content-type"), "text/markdown; charset=utf-8") << path;
    EXPECT_THAT(markdown.body, StartsWith("# There is nothing here\n"));
    EXPECT_EQ(call({.method = "POST", .target = path, .headers = {"Origin: https://here.example"}})
                  .status,
              404)
        << path;
  }
  EXPECT_EQ(code_of(get("/v1/nothing")), "request.not_found");
}

TEST_F(PublicPagesTest, PagesAnswerGetAndHeadAlone) {
  for (const char* const path : {"/", "/blog", "/blog.md", "/llms.txt"}) {
    const HttpReply posted =
        call({.method = "POST", .target = path, .headers = {"Origin: https://here.example"}});
    EXPECT_EQ(posted.status, 405) << path;
    EXPECT_EQ(posted.header("allow"), "GET, HEAD, OPTIONS") << path;
    EXPECT_EQ(call({.method = "OPTIONS", .target = path}).status, 204) << path;
    EXPECT_EQ(call({.target = path, .body = "x"}).status, 400) << path;
    EXPECT_EQ(get(std::string(path) + "?utm_source=x").status, 200) << path;
  }
}

TEST_F(PublicPagesTest, OtherHostsAreRedirectedTo) {
  const std::pair<const char*, const char*> rows[] = {
      {"/openapi.json", "https://api.example.com/openapi.json"},
      {"/api", "https://api.example.com/reference"},
      {"/api-reference", "https://api.example.com/reference"},
      {"/docs", "https://docs.example.com/turnpike"},
      {"/docs/a/b?c=d", "https://docs.example.com/turnpike/a/b?c=d"},
      {"/docs//evil.example", "https://docs.example.com/turnpike//evil.example"}};
  for (const auto& [path, to] : rows) {
    const HttpReply reply = get(path);
    EXPECT_EQ(reply.status, 307) << path;
    EXPECT_EQ(reply.header("location"), to) << path;
    EXPECT_EQ(call({.method = "HEAD", .target = path}).status, 307) << path;
  }
  EXPECT_EQ(get("/was").status, 308);
  EXPECT_EQ(get("/was.md").header("location"), "/counted.md");
}

TEST_F(PublicPagesTest, TextFilesAreMadeOfTheListOfPages) {
  const HttpReply llms = get("/llms.txt");
  EXPECT_EQ(llms.header("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(llms.header("access-control-allow-origin"), "*");
  EXPECT_THAT(llms.body, StartsWith("# Turnpike\n\n> Pay-per-call"));
  EXPECT_THAT(llms.body, HasSubstr("\n## Docs\n\n- [Title of developers/index]"
                                   "(https://example.com/developers.md): About it.\n"));
  EXPECT_THAT(llms.body, HasSubstr("(https://example.com/counted.md)"));
  EXPECT_THAT(llms.body, Not(HasSubstr("hidden")));
  const std::string of_developers = get("/developers/llms.txt").body;
  EXPECT_THAT(of_developers, HasSubstr("/developers.md"));
  EXPECT_THAT(of_developers, Not(HasSubstr("/pricing.md")));
  const std::string full = get("/llms-full.txt").body;
  EXPECT_THAT(full, HasSubstr("Source: https://example.com/pricing.md\n\n# Prices\n"));
  EXPECT_THAT(full, Not(HasSubstr("# Hidden")));
  const HttpReply sitemap = get("/sitemap.xml");
  EXPECT_EQ(sitemap.header("content-type"), "application/xml");
  EXPECT_THAT(sitemap.body, HasSubstr("<loc>https://example.com/pricing</loc>"));
  EXPECT_THAT(sitemap.body, Not(HasSubstr("hidden")));
  const std::string robots = get("/robots.txt").body;
  EXPECT_THAT(robots, HasSubstr("Sitemap: https://example.com/sitemap.xml\n"));
}

TEST_F(PublicPagesTest, TheCalculatorAnswersByItself) {
  install_program();
  const std::string empty = get("/pricing").body;
  EXPECT_THAT(empty, HasSubstr("<form method=\"get\" action=\"/pricing#calculator\""));
  EXPECT_THAT(empty, HasSubstr("<option value=\"25\""));
  EXPECT_THAT(empty, Not(HasSubstr("role=\"status\"")));
  const HttpReply result = get("/pricing?calls=40000&price=25");
  EXPECT_EQ(result.header("vary"), "Accept, Accept-Encoding");
  EXPECT_THAT(result.body, HasSubstr("<b>40,000</b> calls that succeed cost "
                                     "<b>1,000,000 Credits</b>"));
  EXPECT_THAT(result.body, HasSubstr("<option value=\"25\" selected>"));
  for (const char* const query : {"calls=-1&price=25", "calls=x&price=25", "calls=5&price=7",
                                  "calls=99999999999999999999&price=25", "calls=5"}) {
    const HttpReply wrong = get("/pricing?" + std::string(query));
    EXPECT_EQ(wrong.status, 200) << query;
    EXPECT_THAT(wrong.body, HasSubstr("role=\"alert\"")) << query;
  }
  EXPECT_EQ(get("/pricing?calls=40000&price=25", {"Accept: text/markdown"}).body,
            get("/pricing.md").body);
}

TEST_F(PublicPagesTest, TheStatusIsShownAsBarsWithTheSameFigures) {
  support::StatusStory story(catalog::tests::compiled(catalog::tests::varied_yaml));
  story.close_round();
  pages_clock_.move_ms(story.now_ms - pages_clock_.now_ms());
  status_.set_board(story.board());
  const std::string html = get("/status").body;
  EXPECT_THAT(html, HasSubstr("<span class=\"state ok\">operational</span>"));
  std::size_t bars = 0;
  for (auto at = html.find("<rect "); at != html.npos; at = html.find("<rect ", at + 1)) ++bars;
  EXPECT_EQ(bars, 90u);
  EXPECT_THAT(get("/status.md").body, HasSubstr("The gateway is **operational**"));
  pages_clock_.move_ms(86'400'000);
  EXPECT_THAT(get("/status").body, HasSubstr("<span class=\"state unknown\">unknown</span>"));
  EXPECT_THAT(get("/status.md").body, HasSubstr("The gateway is **unknown**"));
}

TEST_F(PublicPagesTest, APageIsRenderedOnceForEachEdition) {
  const std::string first = get("/counted.md").body;
  EXPECT_EQ(get("/counted.md").body, first);
  EXPECT_THAT(get("/counted").body, HasSubstr("Rendered 1"));
  EXPECT_EQ(counting_.rendered, 1);
  install_program();
  EXPECT_EQ(get("/counted.md").body, "# Rendered 2\n");
  pages_->install(load());
  EXPECT_EQ(get("/counted.md").body, "# Rendered 3\n");
  pages_clock_.move_ms(cached_page_ms_max - 1);
  EXPECT_EQ(get("/counted.md").body, "# Rendered 3\n");
  pages_clock_.move_ms(1);
  EXPECT_EQ(get("/counted.md").body, "# Rendered 4\n");
  support::StatusStory story(catalog::tests::compiled(catalog::tests::varied_yaml));
  story.close_round();
  status_.set_board(story.board());
  EXPECT_EQ(get("/counted.md").body, "# Rendered 5\n");
}

TEST_F(PublicPagesTest, ADefectOfAPageIsOneReply) {
  const HttpReply reply = get("/broken");
  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(reply.body, Not(HasSubstr("a defect")));
  EXPECT_EQ(access_log_.wait_for(reply.header("x-request-id")).reason, "a defect");
  EXPECT_EQ(get("/blog").status, 200);
}

TEST(PageCacheTest, ItIsBounded) {
  PageCache cache(8 * 4'096);
  const Edition edition;
  const auto page_of = [&](std::size_t bytes) {
    auto page = std::make_shared<CachedPage>();
    page->edition = edition;
    page->good_until_ms = 10;
    page->markdown.body = std::string(bytes, 'x');
    return page;
  };
  std::size_t kept = 0;
  for (int at = 0; at < 1'000; ++at) cache.store("/" + std::to_string(at), page_of(1'000));
  for (int at = 0; at < 1'000; ++at) {
    if (cache.find("/" + std::to_string(at), edition, 0) != nullptr) ++kept;
  }
  EXPECT_GT(kept, 7u);
  EXPECT_LE(kept, 32u);
  cache.store("/huge", page_of(5'000));
  EXPECT_EQ(cache.find("/huge", edition, 0), nullptr);
  cache.store("/small", page_of(10));
  EXPECT_NE(cache.find("/small", edition, 9), nullptr);
  EXPECT_EQ(cache.find("/small", edition, 10), nullptr);
}

}  // namespace
}  // namespace turnpike::hosts::public_site
