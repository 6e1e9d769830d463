// The reader of sources, on which all rules rely.
#include "tidy/source_tree.h"

#include <gtest/gtest.h>

namespace turnpike::tidy {
namespace {

SourceFile file_of(const std::string& text) {
  SourceFile file;
  file.code = blank_literals(text);
  return file;
}

TEST(BlankLiterals, KeepsCodeAndLineBreaksOnly) {
  EXPECT_EQ(blank_literals("a // { \"\nb"), "a       \nb");
  EXPECT_EQ(blank_literals("f(\"{\\\"\", '{', 1'000)"), "f(\"   \", ' ', 1'000)");
  EXPECT_EQ(blank_literals("x /* {\n} */ y"), "x     \n     y");
  EXPECT_EQ(blank_literals("R\"(a\"{)\" z"), "R        z");
}

TEST(FunctionsOf, FindsBodiesAndTheirLength) {
  const auto functions =
      functions_of(file_of("namespace a {\n"
                           "#define X(y) { \\\n"
                           "  y {\n"
                           "class B : public C {\n"
                           "  int f() const noexcept {\n"
                           "    if (x) { return 1; }\n"
                           "  }\n"
                           "  int g_ = 0;\n"
                           "  std::vector<int> h_{1, 2};\n"
                           "};\n"
                           "constexpr int table[] = {1, 2};\n"
                           "B::B(int x) : y_(x) {\n"
                           "}\n"
                           "}\n"));
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].first_line, 5);
  EXPECT_EQ(functions[0].last_line, 7);
  EXPECT_EQ(functions[1].first_line, 12);
  EXPECT_EQ(functions[1].last_line, 13);
}

}  // namespace
}  // namespace turnpike::tidy
