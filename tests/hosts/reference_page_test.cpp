#include "hosts/api/reference_page.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/host_fixture.h"
#include "support/paths.h"

namespace turnpike::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string packages = support::source_path("framework/hosts/api/reference/node_modules");

TEST(ReferencePageTest, AMissingBundleIsToldByItsPath) {
  const auto page =
      hosts::api::ReferencePage::load("/nowhere", "https://api.example.test", "Acme <Data>");
  ASSERT_FALSE(page.ok());
  EXPECT_THAT(page.error(), HasSubstr("/nowhere/swagger-ui-dist/swagger-ui.css"));
}

class ServedReferenceTest : public HostFixture {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(packages + "/swagger-ui-dist")) {
      GTEST_SKIP() << "the npm packages of the API reference are not installed; run ./dev deps";
    }
    auto page =
        hosts::api::ReferencePage::load(packages, "https://api.example.test", "Acme <Data>");
    ASSERT_TRUE(page.ok()) << page.error();
    start({.cors_origins = {}, .build = {}, .reference = *std::move(page)});
  }
};

TEST_F(ServedReferenceTest, ServesThePageAndWhatItNeeds) {
  const HttpReply page = get("/reference");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  std::size_t at = 0;
  int files = 0;
  while ((at = page.body.find("\"/reference/", at)) != std::string::npos) {
    const std::size_t end = page.body.find('"', at + 1);
    const std::string target = page.body.substr(at + 1, end - at - 1);
    const HttpReply file = get(target);
    EXPECT_EQ(file.status, 200) << target;
    EXPECT_TRUE(file.is_whole);
    EXPECT_FALSE(file.body.empty());
    EXPECT_EQ(get(target, {"If-None-Match: " + file.header("etag")}).status, 304);
    at = end;
    ++files;
  }
  EXPECT_EQ(files, 3);
  EXPECT_EQ(get("/reference/start.js").header("content-type"), "text/javascript; charset=utf-8");
}

TEST_F(ServedReferenceTest, ThePolicyForbidsEveryOtherOrigin) {
  const HttpReply page = get("/reference");
  const std::string policy = page.header("content-security-policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'self';"));
  EXPECT_THAT(policy, HasSubstr("connect-src 'self' https://api.example.test;"));
  EXPECT_THAT(page.body, Not(HasSubstr("http")));
}

TEST_F(ServedReferenceTest, OtherFilesAreNotFound) {
  for (const char* target : {"/reference/package.json", "/reference/..%2Fpackage.json",
                             "/reference/swagger-ui-bundle.js.map", "/reference/%2e%2e"}) {
    EXPECT_EQ(get(target).status, 404) << target;
  }
}

}  // namespace
}  // namespace turnpike::tests
