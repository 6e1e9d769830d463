// The form of a page that Accept selects: the rows of docs/protocols.md, "The web host", edge
// cases, and random fields compared with an independent, slow reader.
#include "hosts/accept.h"

#include <cctype>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

using Fields = std::vector<std::string>;

PageForm form_of(const Fields& values) {
  std::vector<HeaderField> headers = {{"Host", "text/markdown"}};
  for (const std::string& value : values) headers.push_back({"accept", value});
  return page_form(headers);
}

constexpr PageForm html = PageForm::html;
constexpr PageForm markdown = PageForm::markdown;
constexpr PageForm neither = PageForm::neither;

TEST(AcceptTest, TheTableOfForms) {
  const std::pair<Fields, PageForm> rows[] = {
      {{}, html},
      {{""}, html},
      {{"*/*"}, html},
      {{"text/*"}, html},
      {{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
       html},
      {{"text/markdown"}, markdown},
      {{"TEXT/Markdown"}, markdown},
      {{"text/markdown;charset=utf-8"}, markdown},
      {{"text/markdown, text/html;q=0.9, */*;q=0.8"}, markdown},
      {{"text/html, text/markdown"}, markdown},
      {{"text/html;q=.5, text/markdown;q=.4"}, html},
      {{"text/markdown;q=0, */*"}, html},
      {{"text/markdown;q=0"}, neither},
      {{"application/json"}, neither},
      {{"text/plain"}, neither},
      {{"application/json, */*;q=0.1"}, html},
      {{"text/html;q=0, */*"}, markdown},
      {{"image/webp, text/markdown;q=.001"}, markdown},
  };
  for (const auto& [fields, form] : rows) {
    EXPECT_EQ(form_of(fields), form) << (fields.empty() ? "none" : fields.front());
  }
}

TEST(AcceptTest, Edges) {
  const std::pair<Fields, PageForm> rows[] = {
      {{"text/html;q=0.5", "text/markdown;q=0.6"}, markdown},  // fields form one list
      {{"text/html;q=0.6", "text/markdown;q=0.5"}, html},
      {{"text/markdown ; q=0.8 , text/html;q=0.7"}, markdown},
      {{"text/markdown;Q=0.1, text/html"}, html},
      {{"text/markdown, */*"}, markdown},              // no less than the wildcard's
      {{"text/markdown;q=0.5, text/*;q=0.4, */*"}, markdown},  // the narrower range decides
      {{"text/markdown;q=0.5, text/*;q=0.6, */*;q=0.1"}, html},
      {{"text/*;q=0, */*"}, neither},
      {{"*/*;q=0"}, neither},
      {{"*/*;q=0.000"}, neither},
      {{"text/markdown;q=0.000, text/html;q=0.000"}, neither},
      {{"text/markdown;x=\",text/html\";q=0.2, text/html;q=0.1"}, markdown},  // a quoted comma
      {{"text/html;level=1;q=0.2, text/html;q=0.7, text/markdown;q=0.5"}, html},
      {{"text/markdown;q=abc"}, html},  // an invalid weight is ignored
      {{"text/markdown;q=1.5"}, html},
      {{"text/markdown;q="}, html},
      {{"text/markdown;q=-1"}, html},
      {{"text/markdown;q=1.001"}, html},
      {{"text/markdown;q=1.000"}, markdown},
      {{"markdown"}, html},
      {{"*"}, html},
      {{", ,"}, html},
      {{"/"}, html},
      {{"text/"}, html},
      {{"*/html"}, neither},
      {{"text/markdown\t;\tq=0.9"}, markdown},
      {{"\"text/markdown"}, html},
  };
  for (const auto& [fields, form] : rows) EXPECT_EQ(form_of(fields), form) << fields.front();
}

// ---- the slow reader: all ranges in a map, then one rule after the other ------------------------

std::string lower_trimmed(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.erase(0, 1);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string> split_outside_quotes(const std::string& text, char mark) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  bool escaped = false;
  for (const char c : text) {
    if (!quoted && c == mark) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
    if (escaped) {
      escaped = false;
    } else if (quoted && c == '\\') {
      escaped = true;
    } else if (c == '"') {
      quoted = !quoted;
    }
  }
  return parts;
}

bool is_token(const std::string& text) {
  const std::string others = "!#$%&'*+-.^_`|~";
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && others.find(c) == others.npos) {
      return false;
    }
  }
  return !text.empty();
}

// The weight in thousandths; further digits are ignored.
std::optional<int> slow_weight(const std::string& text) {
  const std::size_t dot = text.find('.');
  const std::string whole = text.substr(0, dot);
  std::string part = dot == text.npos ? "" : text.substr(dot + 1);
  if (whole.empty() && dot == text.npos) return std::nullopt;
  if (!whole.empty() && whole != "0" && whole != "1") return std::nullopt;
  if (part.find_first_not_of("0123456789") != part.npos) return std::nullopt;
  part = (part + "000").substr(0, 3);
  const int thousandths = (whole == "1" ? 1000 : 0) + std::stoi(part);
  if (thousandths > 1000) return std::nullopt;
  return thousandths;
}

PageForm slow_form(const Fields& fields) {
  std::map<std::string, int> ranges;
  for (const std::string& field : fields) {
    for (const std::string& element : split_outside_quotes(field, ',')) {
      const auto parts = split_outside_quotes(element, ';');
      const std::string type = lower_trimmed(parts[0]);
      const std::size_t slash = type.find('/');
      if (slash == type.npos || !is_token(type.substr(0, slash)) ||
          !is_token(type.substr(slash + 1))) {
        continue;
      }
      std::optional<int> weight = 1000;
      for (std::size_t at = 1; at < parts.size(); ++at) {
        const std::string parameter = lower_trimmed(parts[at]);
        if (parameter.rfind("q=", 0) != 0) continue;
        weight = slow_weight(parameter.substr(2));
        break;
      }
      if (!weight) continue;
      const auto known = ranges.find(type);
      if (known == ranges.end() || known->second < *weight) ranges[type] = *weight;
    }
  }
  if (ranges.empty()) return html;
  const auto weight_of = [&](const std::string& type) {
    for (const std::string& range : {type, std::string("text/*"), std::string("*/*")}) {
      if (ranges.count(range) > 0) return ranges[range];
    }
    return 0;
  };
  const int of_html = weight_of("text/html");
  const int of_markdown = weight_of("text/markdown");
  if (of_html == 0 && of_markdown == 0) return neither;
  if (of_html == 0) return markdown;
  const bool is_named = ranges.count("text/markdown") > 0;
  return is_named && of_markdown > 0 && of_markdown >= of_html ? markdown : html;
}

std::string random_field(std::mt19937& random) {
  static const std::vector<std::string> pieces = {
      "text/html", "text/markdown", "text/*",  "*/*",    "application/json", "TEXT/HTML",
      "Text/Markdown", ";q=0",      ";q=1",    ";q=0.5", ";q=.4",            ";q=0.999",
      ";q=1.0",    ";q=0.0001",     ";q=x",    ";Q=0.3", " ; q=0.7",         ";charset=utf-8",
      ";a=\"b,c\"", ";a=\"b\\\"\"", ",",       ", ",     ",,",               " ",
      "\t",        "\"",            "\\",      "/",      "*",                "text/",
      "q=1",       ";",             ";;",      "=",      ";level=1",         ";q=2"};
  std::uniform_int_distribution<std::size_t> piece(0, pieces.size() - 1);
  std::uniform_int_distribution<int> count(0, 12);
  std::uniform_int_distribution<int> byte(0x20, 0x7E);
  std::string field;
  for (int at = count(random); at > 0; --at) {
    if (piece(random) == 0) {
      field += static_cast<char>(byte(random));
    } else {
      field += pieces[piece(random)];
    }
    // Adds commas often, so that whole elements occur and the rules are tested, not only the
    // grammar.
    if (piece(random) < pieces.size() / 3) field += ",";
  }
  return field;
}

TEST(AcceptTest, RandomFieldsAreReadAsTheSlowReaderDoes) {
  std::mt19937 random(19);  // NOLINT: the same fields in every run
  std::map<PageForm, int> seen;
  for (int round = 0; round < 10'000; ++round) {
    Fields fields;
    for (std::size_t at = random() % 3 + 1; at > 0; --at) fields.push_back(random_field(random));
    const PageForm form = form_of(fields);
    ++seen[form];
    std::string shown;
    for (const std::string& field : fields) shown += "[" + field + "] ";
    ASSERT_EQ(form, slow_form(fields)) << shown;
  }
  for (const PageForm form : {html, markdown, neither}) EXPECT_GT(seen[form], 300);
}

}  // namespace
}  // namespace turnpike::hosts
