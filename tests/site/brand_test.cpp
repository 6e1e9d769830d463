// The brand: unreadable colours are refused with their contrast ratio, and settings replace the
// defaults in the style sheet.
#include "site/brand.h"

#include <gtest/gtest.h>

#include "support/text.h"

namespace turnpike::site {
namespace {

using support::has;

TEST(Brand, ContrastIsThatOfTheStandard) {
  EXPECT_NEAR(contrast_of("#000000", "#FFFFFF"), 21.0, 0.001);
  EXPECT_NEAR(contrast_of("#FFFFFF", "#000000"), 21.0, 0.001);
  EXPECT_NEAR(contrast_of("#777777", "#FFFFFF"), 4.48, 0.005);
  EXPECT_NEAR(contrast_of("#767676", "#FFFFFF"), 4.54, 0.005);
  EXPECT_EQ(contrast_of("green", "#FFFFFF"), 0);
  EXPECT_EQ(contrast_of("#12345G", "#FFFFFF"), 0);
}

TEST(Brand, TheDefaultsAreReadable) { EXPECT_EQ(unreadable_colour({}), std::nullopt); }

TEST(Brand, EachColourThatCannotBeReadIsRefusedByName) {
  const auto problem = [](auto change) {
    BrandColours colours;
    change(colours);
    return unreadable_colour(colours).value_or("");
  };
  // One step on either side of 4.5:1, on the darkest light background.
  EXPECT_TRUE(has(problem([](auto& c) { c.on_sign = "#3A7D5F"; }), "colours.on_sign"));
  const std::string light = problem([](auto& c) { c.link_light = "#6E6E6E"; });
  EXPECT_TRUE(has(light, "colours.link_light")) << light;
  EXPECT_TRUE(has(light, "4.2:1")) << light;
  EXPECT_EQ(problem([](auto& c) { c.link_light = "#666666"; }), "");
  EXPECT_TRUE(has(problem([](auto& c) { c.link_dark = "#0B5D3B"; }), "colours.link_dark"));
  EXPECT_TRUE(has(problem([](auto& c) { c.lane = "#202020"; }), "colours.lane"));
  EXPECT_TRUE(has(problem([](auto& c) { c.sign = "green"; }), "expected a colour"));
  EXPECT_TRUE(has(problem([](auto& c) { c.sign = "#fff;}x"; }), "expected a colour"));
}

TEST(Brand, OnlyWhatIsSetStandsInTheStyleSheet) {
  EXPECT_EQ(theme_css({}), "");
  BrandColours colours;
  colours.sign = "#123456";
  colours.link_dark = "#9FD3FF";
  EXPECT_EQ(theme_css(colours),
            ":root {\n  --sign: #123456;\n  --link: light-dark(#0B5D3B, #9FD3FF);\n}\n");
}

}  // namespace
}  // namespace turnpike::site
