#include "http/path_template.h"

#include <gtest/gtest.h>

#include <array>

namespace turnpike::http {
namespace {

std::string filled(std::string_view text, std::string_view raw, std::string_view decoded = "") {
  constexpr std::array<std::string_view, 1> names{"id"};
  const auto parsed = PathTemplate::parse(text, names);
  EXPECT_TRUE(parsed.ok()) << text;
  const PathParameter value{"id", raw, decoded};
  std::string out;
  return parsed->append_to(out, {&value, 1}) ? out : "refused";
}

TEST(PathTemplate, PutsRawSegmentsInUnchanged) {
  EXPECT_EQ(filled("/v1/daos/{id}", "abc"), "/v1/daos/abc");
  EXPECT_EQ(filled("/v1/daos/{id}/brief", "a%2Fb%20c"), "/v1/daos/a%2Fb%20c/brief");
  EXPECT_EQ(filled("/x{id}y", "1:2@3;v=1,2"), "/x1:2@3;v=1,2y");
  EXPECT_EQ(filled("/{id}/{id}", "a%c3%A9"), "/a%c3%A9/a%c3%A9");
  EXPECT_EQ(filled("/plain", "unused"), "/plain");
}

TEST(PathTemplate, EncodesWhatCouldLeaveTheSegment) {
  EXPECT_EQ(filled("/{id}", "a/b"), "/a%2Fb");
  EXPECT_EQ(filled("/{id}", "a?b=c#d"), "/a%3Fb=c%23d");
  EXPECT_EQ(filled("/{id}", "a b\r\n\\"), "/a%20b%0D%0A%5C");
  EXPECT_EQ(filled("/{id}", "100%"), "/100%25");
  EXPECT_EQ(filled("/{id}", "%zz%2"), "/%25zz%252");
  EXPECT_EQ(filled("/{id}", "\xc3\xa9"), "/%C3%A9");
}

TEST(PathTemplate, RefusesDotSegmentsInEveryDisguise) {
  for (const char* raw : {".", "..", "%2e", "%2E", ".%2e", "%2e%2E", "%2E."}) {
    EXPECT_EQ(filled("/a/{id}/b", raw), "refused") << raw;
  }
  EXPECT_EQ(filled("/{id}", "..."), "/...");
  EXPECT_EQ(filled("/{id}", ".a"), "/.a");
}

// An upstream that decodes before it normalises would otherwise leave the operator's path.
TEST(PathTemplate, RefusesToClimbThroughEncodedSlashes) {
  EXPECT_EQ(filled("/a/{id}", "..%2F..%2Fadmin", "../../admin"), "refused");
  EXPECT_EQ(filled("/a/{id}", "b%5C..%5Cadmin", "b\\..\\admin"), "refused");
  EXPECT_EQ(filled("/a/{id}", "b%2F.", "b/."), "refused");
  EXPECT_EQ(filled("/a/{id}", "b%2F..c%2F...", "b/..c/..."), "/a/b%2F..c%2F...");
}

TEST(PathTemplate, RefusesWhatIsNoPathAndParametersThatTheRouteHasNot) {
  constexpr std::array<std::string_view, 1> names{"id"};
  EXPECT_EQ(PathTemplate::parse("a/b", names).error(), "a path that begins with `/`");
  EXPECT_EQ(PathTemplate::parse("", names).error(), "a path that begins with `/`");
  EXPECT_EQ(PathTemplate::parse("/{id", names).error(), "a `}` for each `{`");
  EXPECT_EQ(PathTemplate::parse("/{dao}", names).error(),
            "parameters of the route's own path; it has no {dao}");
  EXPECT_EQ(PathTemplate::parse("/a?b=c", names).error(),
            "a path without `?`: the caller's query is appended to it");
  EXPECT_EQ(PathTemplate::parse("/a b", names).error(),
            "a path of URL bytes (RFC 3986); percent-encode the others");
}

TEST(PathTemplate, AParameterThatTheCallLacksIsRefused) {
  constexpr std::array<std::string_view, 1> names{"id"};
  std::string out;
  EXPECT_FALSE(PathTemplate::parse("/{id}", names)->append_to(out, {}));
}

TEST(PercentEncoded, KeepsUnreservedBytesAlone) {
  EXPECT_EQ(percent_encoded("aZ9-._~"), "aZ9-._~");
  EXPECT_EQ(percent_encoded("a b&c=d/+"), "a%20b%26c%3Dd%2F%2B");
}

}  // namespace
}  // namespace turnpike::http
