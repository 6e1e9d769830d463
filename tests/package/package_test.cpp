// The plugin that was built like an external author's (by build.cmake) passes the gates and
// answers.
#include <gtest/gtest.h>

#include "base/sources.h"
#include "plugin/call_by_hand.h"
#include "plugin/catalog.h"
#include "plugin/surroundings.h"
#include "support/paths.h"

namespace turnpike::plugin {
namespace {

TEST(Package, APluginFromOutsideLoadsAndAnswers) {
  Surroundings surroundings;
  const auto catalog = Catalog::load(
      {.directories = {support::build_path("tests/package/plugins")}}, surroundings.resources());
  ASSERT_TRUE(catalog.ok()) << catalog.error()[0].text();
  LoadedPlugin* acme = catalog->find("acme");
  ASSERT_NE(acme, nullptr);
  EXPECT_EQ(acme->info().version, "0.3.0");
  EXPECT_EQ(acme->info().fingerprint, build_fingerprint);

  const Settings settings = map({{"greeting", scalar("good day")}});
  auto bound = acme->provider()->bind({"acme", settings, {}}, acme->host());
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  const PathParameter name{"name", "Ada", "Ada"};
  UpstreamRequest request;
  request.parameters = {&name, 1};
  KeptReply reply;
  CallByHand call;
  ASSERT_TRUE((*bound)->execute(request, reply, call).ok());
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body_text, "{\"greeting\":\"good day\",\"name\":\"Ada\"}");
  EXPECT_NE(surroundings.metrics->text().find("turnpike_plugin_greetings_total"),
            std::string::npos);
}

}  // namespace
}  // namespace turnpike::plugin
