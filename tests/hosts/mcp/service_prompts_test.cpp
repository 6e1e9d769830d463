#include "hosts/mcp/service_prompts.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "hosts/mcp/rpc_fixture.h"
#include "hosts/mcp/service_resources.h"
#include "support/sdk_fakes.h"

namespace turnpike::hosts::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;

const ServicePrompts prompts;

Answer get(const std::string& name, const Json& arguments) {
  return prompts.get(OneRequest().request, name, arguments);
}

std::string text_of_prompt(const std::string& name, const Json& arguments) {
  const Json result = result_of(get(name, arguments));
  EXPECT_EQ(result["messages"].size(), 1u);
  EXPECT_EQ(result["messages"][0]["role"], "user");
  EXPECT_EQ(result["messages"][0]["content"]["type"], "text");
  EXPECT_FALSE(result["description"].get<std::string>().empty());
  return result["messages"][0]["content"]["text"];
}

TEST(ServicePromptsTest, EveryListedPromptCanBeHadWithItsRequiredArguments) {
  const Json listed = result_of(prompts.list(OneRequest().request, nullptr))["prompts"];
  std::set<std::string> names;
  for (const Json& prompt : listed) {
    names.insert(prompt["name"]);
    EXPECT_FALSE(prompt["title"].get<std::string>().empty());
    EXPECT_FALSE(prompt["description"].get<std::string>().empty());
    Json required = Json::object();
    Json all = Json::object();
    for (const Json& argument : prompt["arguments"]) {
      EXPECT_FALSE(argument["description"].get<std::string>().empty());
      all[argument["name"].get<std::string>()] = "Something \"quoted\"\nin two lines.";
      if (argument["required"]) required[argument["name"].get<std::string>()] = "x";
    }
    EXPECT_TRUE(get(prompt["name"], required).ok()) << prompt["name"];
    EXPECT_THAT(text_of_prompt(prompt["name"], all), HasSubstr("Something \"quoted\"\nin two"));
  }
  EXPECT_EQ(names, (std::set<std::string>{"find_route", "estimate_cost", "diagnose_failed_call"}));
  EXPECT_GT(prompts.list(OneRequest().request, nullptr)->ttl_ms.value_or(0), 0u);
}

TEST(ServicePromptsTest, ThereIsOnePage) {
  for (const std::string& cursor : {std::string(), std::string("x")}) {
    EXPECT_EQ(error_of(prompts.list(OneRequest().request, &cursor)).code, RpcCode::invalid_params);
  }
}

TEST(ServicePromptsTest, UnknownPromptsAreInvalid) {
  for (const char* name : {"", "find", "find_route ", "FIND_ROUTE", "../find_route"}) {
    EXPECT_EQ(error_of(get(name, {{"question", "x"}})).code, RpcCode::invalid_params) << name;
  }
}

TEST(ServicePromptsTest, ArgumentsAreCheckedByNameTypeAndPresence) {
  const std::pair<Json, const char*> wrong[] = {
      {Json::object(), "question is missing"},
      {{{"question", ""}}, "question is missing"},
      {{{"question", nullptr}}, "question is missing"},
      {{{"question", 7}}, "must be a string"},
      {{{"question", {{"a", 1}}}}, "must be a string"},
      {{{"question", "x"}, {"plan", "y"}}, "no argument plan"},
      {{{"Question", "x"}}, "no argument Question"},
  };
  for (const auto& [arguments, problem] : wrong) {
    const RpcError error = error_of(get("find_route", arguments));
    EXPECT_EQ(error.code, RpcCode::invalid_params) << arguments;
    EXPECT_THAT(error.message, HasSubstr(problem));
  }
}

TEST(ServicePromptsTest, AnArgumentIsBoundedInLength) {
  const std::string longest(base::limits::mcp_prompt_argument_bytes_max, 'x');
  EXPECT_THAT(text_of_prompt("estimate_cost", {{"plan", longest}}), HasSubstr(longest));
  EXPECT_EQ(error_of(get("estimate_cost", {{"plan", longest + "x"}})).code,
            RpcCode::invalid_params);
}

TEST(ServicePromptsTest, DiagnosisTakesEitherArgumentAndAsksWhenThereIsNone) {
  const std::string id = "019a0000-0000-7000-8000-00000000000a";
  EXPECT_THAT(text_of_prompt("diagnose_failed_call", {{"request_id", id}}),
              HasSubstr("request_id:\n" + id));
  const std::string both =
      text_of_prompt("diagnose_failed_call", {{"error", "gateway.stopping"}, {"request_id", id}});
  EXPECT_THAT(both, HasSubstr("error:\ngateway.stopping"));
  EXPECT_THAT(both, Not(HasSubstr("ask me for them")));
  EXPECT_THAT(text_of_prompt("diagnose_failed_call", Json::object()),
              HasSubstr("ask me for them first"));
}

// The tools and resources that a prompt mentions must exist.
TEST(ServicePromptsTest, ToolsAndResourcesThatAreNamedExist) {
  const std::set<std::string> tools = {"service.capabilities.list", "service.capabilities.get",
                                       "service.route.execute", "service.account.call"};
  ViewBackend backend;
  const support::ManualClock clock;
  const ServiceResources resources(backend, clock);
  std::set<std::string> named_tools;
  int named_resources = 0;
  for (const auto& [name, argument] :
       std::map<std::string, std::string>{{"find_route", "question"},
                                          {"estimate_cost", "plan"},
                                          {"diagnose_failed_call", "error"}}) {
    const std::string text = text_of_prompt(name, {{argument, "x"}});
    for (std::size_t at = text.find("service"); at != text.npos;
         at = text.find("service", at + 1)) {
      std::string word = text.substr(at, text.find_first_of(" \n,;()", at) - at);
      while (word.ends_with('.') || word.ends_with(':')) word.pop_back();
      if (word.starts_with("service://")) {
        EXPECT_TRUE(resources.read(OneRequest().request, word).ok()) << word;
        ++named_resources;
      } else if (word.starts_with("service.")) {
        EXPECT_TRUE(tools.contains(word)) << word;
        named_tools.insert(word);
      }
    }
  }
  EXPECT_EQ(named_tools, tools);
  EXPECT_GE(named_resources, 2);
}

}  // namespace
}  // namespace turnpike::hosts::mcp
