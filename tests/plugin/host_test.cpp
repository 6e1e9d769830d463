// The services of the host for a plugin.
#include "plugin/host.h"

#include <algorithm>

#include <gmock/gmock.h>

#include <turnpike/helpers/test_host.h>

#include "plugin/surroundings.h"

namespace turnpike::plugin {
namespace {

using testing::HasSubstr;
using testing::Not;

class PluginHostTest : public testing::Test {
 protected:
  Surroundings surroundings_;
  PluginHost host_{"shop", surroundings_.resources()};
};

TEST_F(PluginHostTest, CountsAndGaugesCarryTheNameOfThePlugin) {
  host_.report().count("sales", 2);
  host_.report().count("sales", 1);
  host_.report().set("stock", 7.5);
  host_.report().set("stock", -1);
  const std::string text = surroundings_.metrics->text();
  EXPECT_THAT(text, HasSubstr("turnpike_plugin_sales_total{plugin=\"shop\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("turnpike_plugin_stock{plugin=\"shop\"} -1\n"));
}

// The chain's name and the asset's address, as a lane counts its revenue.
TEST_F(PluginHostTest, ACurrencyMayBeAnAssetOfAChain) {
  const std::string asset = "eip155_8453_0x" + std::string(40, 'a');
  host_.report().count("paid_calls_" + asset, 2);
  EXPECT_THAT(surroundings_.metrics->text(),
              HasSubstr("turnpike_plugin_paid_calls_" + asset + "_total{plugin=\"shop\"} 2\n"));
}

TEST_F(PluginHostTest, AMetricHasANameThatIsOne) {
  host_.report().count(std::string(101, 'a'), 1);
  for (const char* name : {"", "Sales", "sales-of", "1st", "so{much}"}) {
    host_.report().count(name, 1);
    host_.report().set(name, 1);
  }
  host_.report().set("sales_total", 1);  // the name of a counter
  EXPECT_THAT(surroundings_.metrics->text(), Not(HasSubstr("turnpike_plugin_")));
  const std::string lines = surroundings_.log.take();
  EXPECT_THAT(lines, HasSubstr("plugin_metric_refused"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << "the first one is told";
}

TEST_F(PluginHostTest, APluginHasSoManyMetricsOfEachKindAndNoMore) {
  for (std::size_t at = 0; at <= PluginReport::metrics_max; ++at) {
    host_.report().count("c" + std::to_string(at), 1);
    host_.report().set("g" + std::to_string(at), 1);
  }
  const std::string last = std::to_string(PluginReport::metrics_max - 1);
  const std::string beyond = std::to_string(PluginReport::metrics_max);
  const std::string text = surroundings_.metrics->text();
  EXPECT_THAT(text, HasSubstr("turnpike_plugin_c" + last + "_total"));
  EXPECT_THAT(text, HasSubstr("turnpike_plugin_g" + last + "{"));
  EXPECT_THAT(text, Not(HasSubstr("turnpike_plugin_c" + beyond + "_total")));
  EXPECT_THAT(text, Not(HasSubstr("turnpike_plugin_g" + beyond + "{")));
}

TEST_F(PluginHostTest, TheStoreIsThatOfThePluginsName) {
  TestCall call;
  const StoreWrite write[] = {{"key", "value"}};
  EXPECT_EQ(host_.store().apply({}, write, call).outcome, StoreOutcome::applied);
  EXPECT_EQ(surroundings_.stores.of("shop").records().size(), 1u);
  PluginHost namesake("shop", surroundings_.resources());
  EXPECT_TRUE(namesake.store().get("key", call)->has_value());
  PluginHost other("shop2", surroundings_.resources());
  EXPECT_FALSE(other.store().get("key", call)->has_value());
}

}  // namespace
}  // namespace turnpike::plugin
