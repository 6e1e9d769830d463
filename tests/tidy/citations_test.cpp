// Which names are read as citations, and which citations lead nowhere.
#include "tidy/citations.h"

#include <gtest/gtest.h>

#include <sstream>

namespace turnpike::tidy {
namespace {

SourceFile file_of(const std::string& path, const std::string& text) {
  SourceFile file;
  file.path = path;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  return file;
}

std::vector<std::string> cited_by(const std::string& path, const std::string& text) {
  std::vector<std::string> cited;
  for (const Citation& citation : citations_of(file_of(path, text))) {
    std::string one = std::to_string(citation.line) + " " + citation.target;
    if (!citation.heading.empty()) one += " \"" + citation.heading + "\"";
    if (citation.is_link) one += " linked";
    cited.push_back(one);
  }
  return cited;
}

using Cited = std::vector<std::string>;

TEST(CitationsOf, ReadsCommentsAndNothingElse) {
  EXPECT_EQ(cited_by("a.cpp",
                     "#include \"wire/server.h\"\n"
                     "f(\"see wire/nowhere.h\");  // see books.h, wire/session and tests/tidy.\n"
                     "/* over\n two.cpp */ g();\n"),
            (Cited{"2 books.h", "2 wire/session", "2 tests/tidy", "4 two.cpp"}));
  EXPECT_EQ(cited_by("a.py", "\"\"\"As docs/x.md\nsays in y.py.\"\"\"\npath = 'z.py'  # of w.py\n"),
            (Cited{"1 docs/x.md", "2 y.py", "3 w.py"}));
  EXPECT_EQ(cited_by("a.sql", "select 1; -- as b.sql\n"), (Cited{"1 b.sql"}));
  EXPECT_EQ(cited_by("run", "#!/bin/bash\ncat c.md  # and d.md\n"), (Cited{"2 d.md"}));
  EXPECT_EQ(cited_by("seed", "# a.md\n"), Cited{}) << "no script";
}

TEST(CitationsOf, TellsNamesOfFilesFromOtherWords) {
  EXPECT_EQ(cited_by("a.h",
                     "// https://a.example/b.md, /v1/plugins/http, <name>.md, *.yaml, .sql,\n"
                     "// application/json, and/or, did.json, lane.h's, ../b/c.md\n"),
            (Cited{"2 lane.h", "2 ../b/c.md"}));
}

TEST(CitationsOf, ReadsTheHeadingOfAPageOverTheEndOfALine) {
  EXPECT_EQ(
      cited_by("a.h", "// So (docs/a.md, \"One\n// two\"), and docs/b.md, which \"is\" long.\n"),
      (Cited{"1 docs/a.md \"One two\"", "2 docs/b.md"}));
}

TEST(CitationsOf, ReadsLinksAndNamesOfPagesButNoExamples) {
  EXPECT_EQ(cited_by("docs/a.md",
                     "[x](b.md#part), [y](https://c.example/d.md), [z](#here) and `wire/e`, f.h\n"
                     "[s](/developers/errors#all-codes), [h]({{api}}/v1/status)\n"
                     "```sh\ncat g.md\n```\n    cat h.md\n"),
            (Cited{"1 wire/e", "1 b.md linked"}));
}

TEST(Shelf, FindsWhatThereIsByEveryEndOfItsPath) {
  const Shelf shelf(
      {"docs", "docs/a.md", "framework/wire", "framework/wire/session.h", "tests/quota_test.cpp"});
  const auto fault = [&](const std::string& target, bool is_link = false) {
    return shelf.fault_of({1, target, {}, is_link}, "docs/a.md");
  };
  for (const char* name : {"docs/a.md", "a.md", "session.h", "wire/session", "../wire/session.h",
                           "framework/wire", "tests/quota"}) {
    EXPECT_EQ(fault(name), "") << name;
  }
  EXPECT_EQ(fault("wire/sessions"), "names wire/sessions, which does not exist");
  EXPECT_EQ(fault("b.md"), "names b.md, which does not exist");
  EXPECT_EQ(fault("a.md", true), "");
  EXPECT_EQ(fault("../framework/wire/", true), "");
  EXPECT_EQ(fault("wire/session.h", true), "links to docs/wire/session.h, which does not exist");
}

TEST(HeadingsOf, AreWithoutTheirMarks) {
  EXPECT_EQ(headings_of({"# One", "text", "### Two: three", "#include", "####"}),
            (std::set<std::string>{"One", "Two: three"}));
}

TEST(BlankCode, KeepsTheWordsOfCommentsAndLineBreaks) {
  EXPECT_EQ(blank_code("a \"// b\"; // c\nd /* e\nf */"), "             c\n     e\nf */");
}

}  // namespace
}  // namespace turnpike::tidy
