#include "app/plugins/plugin_project.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::app {
namespace {

using ::testing::HasSubstr;

TEST(PluginProject, ANameIsWordsThatMakeAFileAClassAndAHeader) {
  for (const char* name : {"a", "dao_votes", "x2", "a_1"}) {
    EXPECT_EQ(problem_of_plugin_name(name), "") << name;
  }
  for (const char* name : {"", "Dao", "2x", "a-b", "_a", "a_", "a__b", "a b", "../a", "a.b"}) {
    EXPECT_THAT(problem_of_plugin_name(name), HasSubstr("such as dao_votes")) << name;
  }
  EXPECT_NE(problem_of_plugin_name(std::string(41, 'a')), "");
}

TEST(PluginProject, EveryPlaceOfATemplateIsFilled) {
  for (const Slot slot : {Slot::provider, Slot::lane, Slot::processor}) {
    const auto files = plugin_project(slot, "dao_votes");
    ASSERT_EQ(files.size(), 4u);
    EXPECT_EQ(files[0].name, "CMakeLists.txt");
    EXPECT_EQ(files[1].name, "README.md");
    EXPECT_EQ(files[2].name, "dao_votes.cpp");
    EXPECT_EQ(files[3].name, "dao_votes_test.cpp");
    for (const ProjectFile& file : files) {
      for (const char* word : {"name", "NAME", "Class", "Header", "header", "slot", "next"}) {
        EXPECT_EQ(file.text.find("{{" + std::string(word) + "}}"), file.text.npos) << file.name;
      }
    }
  }
  EXPECT_THAT(plugin_project(Slot::lane, "dao_votes")[2].text,
              ::testing::AllOf(HasSubstr("\"x-dao-votes\""), HasSubstr("class DaoVotesLane"),
                               HasSubstr("DAO_VOTES_PASS"), HasSubstr("`X-Dao-Votes: <pass>`")));
  EXPECT_THAT(plugin_project(Slot::processor, "dao_votes")[2].text,
              HasSubstr("TURNPIKE_PROCESSOR(\"dao_votes\""));
  EXPECT_THAT(plugin_project(Slot::processor, "dao_votes")[1].text,
              ::testing::AllOf(HasSubstr("A processor plugin"), HasSubstr("turnpike/processor.h"),
                               HasSubstr("restart the gateway")));
}

TEST(PluginProject, EverySlotHasItsWord) {
  EXPECT_EQ(slot_named("provider"), Slot::provider);
  EXPECT_EQ(slot_named("lane"), Slot::lane);
  EXPECT_EQ(slot_named("processor"), Slot::processor);
  EXPECT_EQ(slot_named("slot"), std::nullopt);
}

}  // namespace
}  // namespace turnpike::app
