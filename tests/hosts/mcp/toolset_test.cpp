#include "hosts/mcp/toolset.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace turnpike::hosts::mcp {
namespace {

class NamedTool final : public Tool {
 public:
  NamedTool(std::string name, bool is_at_payment)
      : name_(std::move(name)), is_at_payment_(is_at_payment) {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] bool is_at(Door door) const noexcept override {
    return door == Door::account || is_at_payment_;
  }
  [[nodiscard]] nlohmann::ordered_json card(Door door) const override {
    return {{"name", name_},
            {"door", static_cast<int>(door)},
            {"description", "As service.route.execute."}};
  }
  Answer call(const RpcRequest&, const Json&) const override { return RpcResult{}; }

 private:
  const std::string name_;
  const bool is_at_payment_;
};

const std::string cursor_key(32, 'k');

Toolset make_toolset(std::size_t tools, std::string generation = "gen_1") {
  std::vector<std::shared_ptr<const Tool>> all;
  for (std::size_t at = 0; at < tools; ++at) {
    all.push_back(std::make_shared<NamedTool>("tool-" + std::to_string(at), at < 3));
  }
  return Toolset(std::move(all), std::move(generation), cursor_key);
}

Json members(const Answer& answer) {
  EXPECT_TRUE(answer.ok());
  return Json::parse("{" + *answer->kept + "}");
}

TEST(ToolsetTest, EachDoorHasItsOwnList) {
  const Toolset tools = make_toolset(5);
  EXPECT_EQ(members(tools.list(Door::account, nullptr))["tools"].size(), 5u);
  const Json paid = members(tools.list(Door::payment, nullptr));
  EXPECT_EQ(paid["tools"].size(), 3u);
  EXPECT_EQ(paid["tools"][0]["door"], 1);
  EXPECT_NE(tools.find("tool-4", Door::account), nullptr);
  EXPECT_EQ(tools.find("tool-4", Door::payment), nullptr);
  EXPECT_EQ(tools.find("tool", Door::account), nullptr);
}

TEST(ToolsetTest, PagesLeadThroughEveryToolOnceInOrder) {
  const std::size_t count = 2 * Toolset::page_tools_max + 1;
  const Toolset tools = make_toolset(count);
  std::vector<std::string> seen;
  std::string cursor;
  for (int page = 0; page < 3; ++page) {
    const Json list = members(tools.list(Door::account, page == 0 ? nullptr : &cursor));
    for (const Json& tool : list["tools"]) seen.push_back(tool["name"]);
    EXPECT_EQ(list.contains("nextCursor"), page < 2);
    if (page < 2) cursor = list["nextCursor"];
  }
  ASSERT_EQ(seen.size(), count);
  for (std::size_t at = 0; at < count; ++at) EXPECT_EQ(seen[at], "tool-" + std::to_string(at));
}

TEST(ToolsetTest, APageIsRenderedOnce) {
  const Toolset tools = make_toolset(1);
  EXPECT_EQ(tools.list(Door::account, nullptr)->kept.get(),
            tools.list(Door::account, nullptr)->kept.get());
}

TEST(ToolsetTest, CursorsOfOthersAreRefused) {
  const std::size_t count = Toolset::page_tools_max + 1;
  const Toolset tools = make_toolset(count);
  const std::string good = members(tools.list(Door::account, nullptr))["nextCursor"];
  EXPECT_TRUE(tools.list(Door::account, &good).ok());
  EXPECT_EQ(tools.list(Door::payment, &good).error().code, RpcCode::invalid_params)
      << "that list has one page";
  EXPECT_FALSE(make_toolset(count, "gen_2").list(Door::account, &good).ok());
  for (std::string bad : {std::string(), std::string("x"), good + "x"}) {
    EXPECT_EQ(tools.list(Door::account, &bad).error().code, RpcCode::invalid_params) << bad;
  }
}

// Some clients accept no dots in names.
TEST(ToolsetTest, NamesAreListedAsWantedAndFoundEitherWay) {
  for (const ToolNames names : {ToolNames::dotted, ToolNames::underscored}) {
    const bool has_dots = names == ToolNames::dotted;
    std::vector<std::shared_ptr<const Tool>> one = {
        std::make_shared<NamedTool>("service.route.execute", true)};
    const Toolset tools(std::move(one), "gen_1", cursor_key, names);
    const Json card = members(tools.list(Door::account, nullptr))["tools"][0];
    const std::string name = has_dots ? "service.route.execute" : "service_route_execute";
    EXPECT_EQ(card["name"], name);
    EXPECT_EQ(card["description"], "As " + name + ".");
    for (const char* said : {"service.route.execute", "service_route_execute"}) {
      EXPECT_NE(tools.find(said, Door::account), nullptr) << said;
    }
    EXPECT_EQ(tools.find("service-route-execute", Door::account), nullptr);
  }
}

TEST(ToolsetTest, NoToolsAreAnEmptyList) {
  EXPECT_EQ(members(make_toolset(0).list(Door::account, nullptr)), Json::parse(R"({"tools":[]})"));
}

}  // namespace
}  // namespace turnpike::hosts::mcp
