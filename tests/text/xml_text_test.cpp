#include "text/xml_text.h"

#include <gtest/gtest.h>

namespace turnpike::text {
namespace {

std::string xml(std::string_view text) {
  std::string out;
  append_xml(out, text);
  return out;
}

TEST(XmlTextTest, MarkupIsEscaped) {
  EXPECT_EQ(xml("plain"), "plain");
  EXPECT_EQ(xml("<a b=\"c\" d='e'>&amp;]]>"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;]]&gt;");
}

TEST(XmlTextTest, CharactersStayAndWhatIsNoneIsReplaced) {
  EXPECT_EQ(xml("\t\r\n \x7F"), "\t\r\n \x7F");
  const std::string characters = "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x8C\xA7";
  EXPECT_EQ(xml(characters), characters);
  const std::string gone = "\xEF\xBF\xBD";
  EXPECT_EQ(xml(std::string_view("a\0b", 3)), "a" + gone + "b");
  EXPECT_EQ(xml("\x01\x1F"), gone + gone);
  EXPECT_EQ(xml("\xFF<"), gone + "&lt;");
  EXPECT_EQ(xml("\xC3"), gone);                                // cut off
  EXPECT_EQ(xml("\xC3("), gone + "(");                         // not followed
  EXPECT_EQ(xml("\xC0\xAF"), gone + gone);                     // an overlong slash
  EXPECT_EQ(xml("\xED\xA0\x80"), gone + gone + gone);          // a surrogate
  EXPECT_EQ(xml("\xEF\xBF\xBE\xEF\xBF\xBF"), gone + gone);     // no characters of XML
  EXPECT_EQ(xml("\xF4\x90\x80\x80x"), gone + gone + gone + gone + "x");
}

}  // namespace
}  // namespace turnpike::text
