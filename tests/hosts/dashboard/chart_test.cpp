#include "hosts/dashboard/chart.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace turnpike::hosts::dashboard {
namespace {

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Bars, AreRectanglesOfAttributesAloneAndSayWhatTheyShow) {
  const std::vector<Bar> all = {{"2026-11-23", 10, 0}, {"2026-11-24", 3, 2}};
  const std::string svg = bars(all, "Calls by day.").text;
  EXPECT_TRUE(svg.starts_with("<svg class=\"bars\" role=\"img\"")) << svg;
  EXPECT_NE(svg.find("aria-label=\"Calls by day.\""), svg.npos);
  EXPECT_EQ(count(svg, "<rect "), 3u);  // a part of zero is not drawn
  EXPECT_EQ(count(svg, "class=\"warn\""), 1u);
  EXPECT_EQ(svg.find("style"), svg.npos);
  EXPECT_NE(svg.find("2026-11-24: 3 charged, 2 not"), svg.npos);
  // The highest bar fills the chart (114 units for 10); the others are in proportion.
  EXPECT_NE(svg.find("y=\"16\" width=\"288\" height=\"114\""), svg.npos) << svg;
  EXPECT_NE(svg.find("height=\"34.2\""), svg.npos) << svg;
  EXPECT_NE(svg.find("height=\"22.8\" class=\"warn\""), svg.npos) << svg;
}

TEST(Bars, OfNothingAreNothingAndOfZeroHaveNoHeight) {
  EXPECT_EQ(bars({}, "Calls").text, "");
  const std::vector<Bar> all(30, Bar{"day", 0, 0});
  const std::string svg = bars(all, "Calls").text;
  EXPECT_EQ(count(svg, "<rect "), 0u);
  EXPECT_NE(svg.find("<text"), svg.npos);
}

TEST(Bars, RunNoTextThatIsMarkup) {
  const std::vector<Bar> all = {{"<script>alert(1)</script>", 1, 0}};
  const std::string svg = bars(all, "\"><script>").text;
  EXPECT_EQ(svg.find("<script"), svg.npos) << svg;
}

TEST(Bars, OfMoreThanAHundredHaveNoWordsOfTheirOwn) {
  const std::vector<Bar> hundred(100, Bar{"hour", 1, 0});
  const std::vector<Bar> more(101, Bar{"hour", 1, 0});
  EXPECT_EQ(count(bars(hundred, "Calls").text, "<title>"), 100u);
  EXPECT_EQ(count(bars(more, "Calls").text, "<title>"), 0u);
}

TEST(Meter, ShowsAPartAndNeverMoreThanAll) {
  const std::string half = meter(30, 60, "30 of 60 used").text;
  EXPECT_NE(half.find("class=\"rest\""), half.npos);
  EXPECT_NE(half.find("width=\"120\" height=\"16\"/>"), half.npos) << half;
  EXPECT_EQ(count(meter(0, 60, "none").text, "<rect "), 1u);
  EXPECT_NE(meter(48, 60, "much").text.find("width=\"192\" height=\"16\" class=\"warn\""),
            std::string::npos);
  for (const std::uint64_t used : {60u, 61u, 6'000u}) {
    EXPECT_NE(meter(used, 60, "all").text.find("width=\"240\" height=\"16\" class=\"bad\""),
              std::string::npos);
  }
  EXPECT_NE(meter(0, 0, "nothing is granted").text.find("class=\"bad\""), std::string::npos);
}

}  // namespace
}  // namespace turnpike::hosts::dashboard
