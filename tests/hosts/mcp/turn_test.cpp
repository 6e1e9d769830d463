// What a turn keeps of a message for the log.
#include "hosts/turn.h"

#include <string>

#include <gtest/gtest.h>

#include "hosts/mcp/rpc_fixture.h"
#include "text/canonical_json.h"

namespace turnpike::hosts::mcp {
namespace {

std::string kept(std::string_view method, std::string_view name) {
  const OneRequest one;
  one.request.turn.keep_rpc(method, name);
  return std::string(one.record().rpc);
}

TEST(TurnTest, ALogNamesTheMethodAndWhatItIsOf) {
  EXPECT_EQ(kept("tools/list", ""), "tools/list");
  EXPECT_EQ(kept("tools/call", "a.b"), "tools/call a.b");
}

// Callers choose these texts; a log line must be valid JSON for every text.
TEST(TurnTest, LongNamesAreCutBetweenCharacters) {
  const std::string wide = "\xF0\x9F\x9A\xA7";  // four bytes
  std::string name;
  while (name.size() < 200) name += wide;
  for (const char* method : {"a", "ab", "abc", "abcd"}) {
    const std::string text = kept(method, name);
    EXPECT_TRUE(text::is_utf8(text)) << method;
    EXPECT_GT(text.size(), 96 - wide.size());
    EXPECT_LE(text.size(), 96u);
  }
  EXPECT_TRUE(text::is_utf8(kept(name, "x")));
  EXPECT_EQ(kept(std::string(200, 'a'), "x"), std::string(96, 'a'));
  EXPECT_EQ(kept(std::string(95, 'a'), "x"), std::string(95, 'a') + " ");
}

}  // namespace
}  // namespace turnpike::hosts::mcp
