#include "hosts/mcp/service_resources.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/program_fixture.h"
#include "hosts/mcp/docs.h"
#include "hosts/mcp/rpc_fixture.h"
#include "hosts/status_table.h"
#include "support/paths.h"
#include "support/sdk_fakes.h"
#include "support/x402_lane.h"

namespace turnpike::hosts::mcp {
namespace {

using testing::HasSubstr;

constexpr std::size_t resources_before_capabilities = 4;  // three texts and the catalog

std::string file_text(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(support::source_path(path)).rdbuf();
  return text.str();
}

class ServiceResourcesTest : public testing::Test {
 protected:
  void install(const std::string& yaml, const std::string& generation = "gen_1") {
    backend_.program = std::make_shared<const catalog::View>(
        catalog::tests::installed(catalog::tests::compiled(yaml), generation), readiness_,
        catalog::ViewOptions{.base_url = "http://127.0.0.1:1",
                             .cursor_key = std::string(32, 'k'),
                             .features = {},
                             .http_status = http_status});
  }
  Answer list(const std::string* cursor = nullptr) {
    return resources_.list(OneRequest().request, cursor);
  }
  Answer read(const std::string& uri) { return resources_.read(OneRequest().request, uri); }
  // Checks a resource's single content and returns its text.
  std::string text_at(const std::string& uri, const std::string& type) {
    const Json contents = result_of(read(uri))["contents"];
    EXPECT_EQ(contents.size(), 1u);
    EXPECT_EQ(contents[0]["uri"], uri);
    EXPECT_EQ(contents[0]["mimeType"], type);
    return contents[0]["text"];
  }
  Json json_at(const std::string& uri) { return Json::parse(text_at(uri, "application/json")); }

  const std::shared_ptr<catalog::tests::SettableReadiness> readiness_ =
      std::make_shared<catalog::tests::SettableReadiness>();
  const support::ManualClock clock_;
  ViewBackend backend_;
  const ServiceResources resources_{backend_, clock_};
};

// ---- lists --------------------------------------------------------------------------------------

TEST_F(ServiceResourcesTest, TheListBeginsWithTheTextsAndTheCatalog) {
  install(catalog::tests::bulk_yaml(1));
  const Json listed = result_of(list())["resources"];
  ASSERT_EQ(listed.size(), resources_before_capabilities + 1);
  EXPECT_EQ(listed[0]["uri"], "service://docs/paying");
  EXPECT_EQ(listed[1]["uri"], "service://docs/errors");
  EXPECT_EQ(listed[2]["uri"], "service://docs/registry");
  EXPECT_EQ(listed[2]["size"], registry_doc().size());
  EXPECT_EQ(listed[2]["mimeType"], "text/markdown");
  EXPECT_EQ(listed[3]["uri"], "service://capabilities");
  EXPECT_EQ(listed[4]["name"], "GET, POST /v1/gateway/bulk/item-0000");
  EXPECT_EQ(listed[4]["description"], "A route of Bulk");
  for (const Json& resource : listed) {
    EXPECT_FALSE(resource["name"].get<std::string>().empty());
    EXPECT_EQ(result_of(read(resource["uri"]))["contents"][0]["uri"], resource["uri"])
        << "what is listed can be read";
  }
}

TEST_F(ServiceResourcesTest, PagesLeadThroughEveryCapabilityOnce) {
  const int count = 2 * static_cast<int>(ServiceResources::page_resources_max) + 1;
  install(catalog::tests::bulk_yaml(count));
  std::multiset<std::string> seen;
  std::vector<std::size_t> sizes;
  std::string cursor;
  do {
    const Json page = result_of(list(cursor.empty() ? nullptr : &cursor));
    sizes.push_back(page["resources"].size());
    for (const Json& resource : page["resources"]) seen.insert(resource["uri"]);
    cursor = page.value("nextCursor", "");
  } while (!cursor.empty());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{104, 100, 1}));
  EXPECT_EQ(seen.size(), count + resources_before_capabilities);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), seen.size());
}

TEST_F(ServiceResourcesTest, APageIsRenderedOnceForEachGeneration) {
  const Answer without = list();
  install(catalog::tests::bulk_yaml(150));
  const Answer first = list();
  EXPECT_NE(first->kept, without->kept);
  EXPECT_EQ(list()->kept, first->kept);
  const std::string cursor = result_of(first)["nextCursor"];
  const Answer second = list(&cursor);
  EXPECT_NE(second->kept, first->kept);
  EXPECT_EQ(list(&cursor)->kept, second->kept);
  install(catalog::tests::bulk_yaml(3), "gen_2");
  EXPECT_EQ(result_of(list())["resources"].size(), resources_before_capabilities + 3);
}

TEST_F(ServiceResourcesTest, AListThatFitsOnItsPageEndsThere) {
  install(catalog::tests::bulk_yaml(static_cast<int>(ServiceResources::page_resources_max)));
  EXPECT_FALSE(result_of(list()).contains("nextCursor"));
}

TEST_F(ServiceResourcesTest, CursorsThatAreNoneOfOursAreInvalid) {
  install(catalog::tests::bulk_yaml(150));
  const std::string ours = result_of(list())["nextCursor"];
  for (const std::string& cursor : {std::string(), std::string("x"), ours + "x",
                                    ours.substr(0, ours.size() - 1), std::string(5'000, 'a')}) {
    EXPECT_EQ(error_of(list(&cursor)).code, RpcCode::invalid_params) << cursor;
  }
  install(catalog::tests::bulk_yaml(151), "gen_2");
  EXPECT_EQ(error_of(list(&ours)).code, RpcCode::invalid_params) << "of another generation";
  const OneRequest one;
  for (const std::string& cursor : {std::string(), ours}) {
    EXPECT_EQ(error_of(resources_.templates(one.request, &cursor)).code, RpcCode::invalid_params);
  }
}

TEST_F(ServiceResourcesTest, ListsMayBeKeptForAWhile) {
  install(catalog::tests::bulk_yaml(1));
  const OneRequest one;
  EXPECT_GT(list()->ttl_ms.value_or(0), 0u);
  EXPECT_GT(resources_.templates(one.request, nullptr)->ttl_ms.value_or(0), 0u);
  EXPECT_GT(read("service://docs/paying")->ttl_ms.value_or(0), 0u);
  EXPECT_EQ(read("service://capabilities")->ttl_ms, 10'000u) << "as long as its observed_at";
}

TEST_F(ServiceResourcesTest, EveryTemplateLeadsToWhatCanBeRead) {
  install(catalog::tests::bulk_yaml(3));
  const OneRequest one;
  const Json templates = result_of(resources_.templates(one.request, nullptr))["resourceTemplates"];
  ASSERT_EQ(templates.size(), 2u);
  const std::string id = json_at("service://capabilities")["capabilities"][0]["capability_id"];
  const auto filled = [&](const Json& one_template, const std::string& value) {
    const std::string text = one_template["uriTemplate"];
    return text.substr(0, text.find('{')) + value;
  };
  EXPECT_TRUE(read(filled(templates[0], id)).ok());
  EXPECT_TRUE(read(filled(templates[1], "?limit=1&provider_key=bulk&method=GET")).ok());
  for (const char* name : {"limit", "cursor", "provider_key", "method", "q"}) {
    EXPECT_THAT(templates[1]["uriTemplate"].get<std::string>(), HasSubstr(name));
  }
}

// ---- the catalog --------------------------------------------------------------------------------

TEST_F(ServiceResourcesTest, CapabilitiesSayWhatTheCatalogSays) {
  install(catalog::tests::varied_yaml);
  const auto now_ms = clock_.now_ms();
  const Json page = json_at("service://capabilities");
  EXPECT_EQ(page, Json::parse((*backend_.program->page({}, now_ms))->body));
  const std::string id = page["capabilities"][0]["capability_id"];
  EXPECT_EQ(json_at("service://capabilities/" + id),
            Json::parse((*backend_.program->detail(id, now_ms))->body));
}

TEST_F(ServiceResourcesTest, ThePageTakesTheFiltersAndCursorsOfTheCatalog) {
  install(catalog::tests::bulk_yaml(9));
  const Json posts = json_at("service://capabilities?method=POST&limit=2");
  EXPECT_EQ(posts["capabilities"].size(), 2u);
  const std::string cursor = posts["next_cursor"];
  const Json rest = json_at("service://capabilities?limit=2&method=P%4FST&cursor=" + cursor);
  EXPECT_EQ(rest["capabilities"].size(), 1u);
  EXPECT_TRUE(rest["next_cursor"].is_null());
  EXPECT_EQ(json_at("service://capabilities?provider_key=nobody")["capabilities"].size(), 0u);
  EXPECT_EQ(json_at("service://capabilities?")["capabilities"].size(), 9u);
}

TEST_F(ServiceResourcesTest, BadFiltersAreInvalidAndSayWhy) {
  install(catalog::tests::bulk_yaml(1));
  for (const char* query : {"limit=0", "limit=1001", "limit=x", "method=PUT", "cursor=x",
                            "provider_key=", "page=2", "limit=1&limit=2", "limit=%zz", "limit=<"}) {
    const RpcError error = error_of(read("service://capabilities?" + std::string(query)));
    EXPECT_EQ(error.code, RpcCode::invalid_params) << query;
    EXPECT_TRUE(error.data.is_null()) << query << ": the resource is there";
    EXPECT_FALSE(error.message.empty()) << query;
  }
  EXPECT_THAT(error_of(read("service://capabilities?limit=0")).message, HasSubstr("query.limit"));
}

TEST_F(ServiceResourcesTest, UnknownResourcesAreToldByTheirUri) {
  install(catalog::tests::bulk_yaml(1));
  for (const char* uri :
       {"", "service://", "service://docs", "service://docs/", "service://docs/payin",
        "service://docs/paying/", "service://docs/paying?x=1", "service://capabilitiesx",
        "service://capabilities/", "service://capabilities/x", "service://capabilities#x",
        "service://capabilities/route-00000000000000000000000000000000",
        "service://capabilities/route-00000000000000000000000000000000/x", "SERVICE://capabilities",
        "file:///etc/passwd", "https://example.com/"}) {
    const RpcError error = error_of(read(uri));
    EXPECT_EQ(error.code, RpcCode::invalid_params) << uri;
    EXPECT_EQ(error.data, (Json{{"uri", uri}})) << uri;
  }
}

TEST_F(ServiceResourcesTest, WithoutAProgramTheTextsAreStillThere) {
  const Json listed = result_of(list())["resources"];
  EXPECT_EQ(listed.size(), resources_before_capabilities);
  EXPECT_TRUE(read("service://docs/errors").ok());
  const std::string cursor = "x";
  EXPECT_EQ(error_of(list(&cursor)).code, RpcCode::internal_error);
  for (const char* uri : {"service://capabilities", "service://capabilities?limit=1",
                          "service://capabilities/route-00000000000000000000000000000000"}) {
    const OneRequest one;
    EXPECT_EQ(error_of(resources_.read(one.request, uri)).code, RpcCode::internal_error) << uri;
    EXPECT_EQ(one.record().error, base::ErrorCode::registry_unavailable) << uri;
  }
}

// ---- texts --------------------------------------------------------------------------------------

TEST_F(ServiceResourcesTest, TextsAreTheFilesOfTheTree) {
  EXPECT_EQ(text_at("service://docs/registry", "text/markdown"), file_text("registry/README.md"));
  EXPECT_EQ(text_at("service://docs/paying", "text/markdown"),
            file_text("framework/hosts/mcp/docs/paying.md"));
}

TEST_F(ServiceResourcesTest, TheTextOfErrorsHasEveryCodeWithWhatItsTablesSay) {
  const std::string text = text_at("service://docs/errors", "text/markdown");
  for (const base::ErrorInfo& info : base::all_errors()) {
    const std::string row = "| `" + std::string(info.name) + "` | " +
                            std::to_string(http_status(info.code)) + " | " +
                            std::string(base::name_of(info.fault)) + " | " +
                            std::string(base::name_of(info.advice)) + " |\n";
    EXPECT_THAT(text, HasSubstr(row));
    EXPECT_THAT(text, HasSubstr("\n| `" + std::string(base::name_of(info.advice)) + "` | "));
  }
}

// Every code in a text must exist.
TEST_F(ServiceResourcesTest, TextsNameNoCodeThatDoesNotExist) {
  std::set<std::string> areas;
  for (const base::ErrorInfo& info : base::all_errors()) {
    areas.insert(std::string(info.name.substr(0, info.name.find('.'))));
  }
  int named = 0;
  for (const std::string_view text : {paying_doc(), diagnose_failed_call_prompt()}) {
    for (std::size_t at = text.find('.'); at != text.npos; at = text.find('.', at + 1)) {
      const auto is_name = [](char c) {
        return (c >= 'a' && c <= 'z') || c == '_' || c == '4' || c == '0' || c == '2';
      };
      std::size_t begin = at;
      std::size_t end = at + 1;
      while (begin > 0 && is_name(text[begin - 1])) --begin;
      while (end < text.size() && is_name(text[end])) ++end;
      const std::string name(text.substr(begin, end - begin));
      const bool is_tools = begin > 0 && text[begin - 1] == '.';  // "service.account.call"
      if (is_tools || end == at + 1 || !areas.contains(name.substr(0, at - begin))) continue;
      EXPECT_NE(base::find_error(name), nullptr) << name;
      ++named;
    }
  }
  EXPECT_GT(named, 10);
}

}  // namespace
}  // namespace turnpike::hosts::mcp
