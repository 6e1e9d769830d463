// point() compared with a slow equivalent that parses the whole document and walks it.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "text/json_pointer.h"

namespace turnpike::text {
namespace {

using nlohmann::json;

const json* slow_value(const json& document, const JsonPointer& pointer) {
  const json* at = &document;
  for (const JsonPointer::Token& token : pointer.tokens()) {
    if (at->is_object() && at->contains(token.name)) {
      at = &at->at(token.name);
    } else if (at->is_array() && token.index && *token.index < at->size()) {
      at = &at->at(*token.index);
    } else {
      return nullptr;
    }
  }
  return at;
}

Pointed slow_point(std::string_view text, const JsonPointer& pointer) {
  // The library treats a NUL as the end of the text.
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded() || text.find('\0') != text.npos) return Pointed::malformed;
  const json* const at = slow_value(document, pointer);
  if (at == nullptr) return Pointed::missing;
  if (at->is_null()) return Pointed::null;
  return at->is_array() && at->empty() ? Pointed::empty_list : Pointed::other;
}

// text_at() must return the value and nothing around it.
void expect_same_value(const std::string& text, const JsonPointer& pointer) {
  const Pointed slow = slow_point(text, pointer);
  const auto found = text_at(text, pointer);
  ASSERT_EQ(found.has_value(), slow != Pointed::malformed && slow != Pointed::missing) << text;
  if (!found) return;
  const json document = json::parse(text);
  EXPECT_EQ(json::parse(*found), *slow_value(document, pointer)) << text;
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  EXPECT_FALSE(is_blank(found->front()) || is_blank(found->back())) << *found;
}

const std::vector<std::string> pointers = {"",          "/",    "/a",    "/a/b", "/0",
                                           "/1/a",      "/a/0", "/~01",  "/a~1", "/-",
                                           "/\xC3\xA9", "/00",  "/b/a/0"};

void expect_agreement(const std::string& text) {
  for (const std::string& each : pointers) {
    const auto pointer = JsonPointer::parse(each);
    ASSERT_TRUE(pointer.has_value()) << each;
    EXPECT_EQ(point(text, *pointer), slow_point(text, *pointer)) << each << " in " << text;
    expect_same_value(text, *pointer);
  }
}

// Every text of up to six of these pieces, so that every piece follows every other.
TEST(JsonPointerOracle, AgreesOnAllShortTexts) {
  const std::vector<std::string> pieces = {"{", "}", "[", "]", ",", ":", "\"a\"", "null", "1"};
  std::vector<std::string> texts = {""};
  for (std::size_t first = 0, length = 0; length < 6; ++length) {
    const std::size_t last = texts.size();
    for (; first < last; ++first) {
      for (const std::string& piece : pieces) texts.push_back(texts[first] + piece);
    }
  }
  const auto pointer = JsonPointer::parse("/a");
  const auto item = JsonPointer::parse("/0");
  const auto whole = JsonPointer::parse("");
  for (const std::string& text : texts) {
    ASSERT_EQ(point(text, *pointer), slow_point(text, *pointer)) << text;
    expect_same_value(text, *pointer);
    ASSERT_EQ(point(text, *item), slow_point(text, *item)) << text;
    ASSERT_EQ(point(text, *whole), slow_point(text, *whole)) << text;
  }
}

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : engine_(seed) {}

  std::string document() { return value(0); }

  // A text with one byte changed, removed or inserted.
  std::string damaged(std::string text) {
    static const std::string bytes =
        std::string("{}[],:\"\\ \n\tu0ax-+.eE19tn", 23) + "\xC3\x80\xFF" + std::string(1, '\0');
    const std::size_t at = below(text.size() + 1);
    const char c = bytes[below(bytes.size())];
    if (at == text.size() || below(3) == 0) return text.insert(at, 1, c);
    if (below(2) == 0) return text.erase(at, 1);
    text[at] = c;
    return text;
  }

 private:
  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(engine_);
  }
  std::string blank() {
    static const char* const blanks[] = {"", "", "", " ", "\n\t ", "\r"};
    return blanks[below(6)];
  }
  std::string name() {
    static const char* const names[] = {
        R"("a")", R"("b")",      R"("\u0061")",       R"("0")", R"("a\/")", R"("~1")",
        R"("é")", R"("\u00e9")", R"("\ud83d\ude00")", R"("")",  R"("aa")"};
    return names[below(11)];
  }
  std::string value(int depth) {
    static const char* const scalars[] = {"null", "true",   "false",    "0",  "-1.5e+3", "12",
                                          "\"\"", "\"[]\"", "\"\\\"\"", "[]", "{}"};
    const std::size_t kind = below(depth < 4 ? 4 : 2);
    if (kind < 2) return scalars[below(11)];
    std::string text = kind == 2 ? "[" : "{";
    const std::size_t count = below(4);
    for (std::size_t at = 0; at < count; ++at) {
      if (at > 0) text += ",";
      text += blank();
      if (kind == 3) text += name() + blank() + ":";
      text += blank() + value(depth + 1) + blank();
    }
    return text + (kind == 2 ? "]" : "}");
  }

  std::mt19937_64 engine_;
};

TEST(JsonPointerOracle, AgreesOnRandomDocumentsWholeAndDamaged) {
  Writer writer(20'261'121);
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = writer.document();
    expect_agreement(text);
    expect_agreement(writer.damaged(text));
    if (HasFailure()) return;
  }
}

TEST(JsonPointer, HoldsItsBoundsAndOnePast) {
  EXPECT_TRUE(JsonPointer::parse("/" + std::string(255, 'a')).has_value());
  EXPECT_FALSE(JsonPointer::parse("/" + std::string(256, 'a')).has_value());
  std::string tokens;
  for (std::size_t at = 0; at < JsonPointer::tokens_max; ++at) tokens += "/a";
  EXPECT_TRUE(JsonPointer::parse(tokens).has_value());
  EXPECT_FALSE(JsonPointer::parse(tokens + "/a").has_value());
  const auto nested = [](std::size_t depth) {
    return point(std::string(depth, '[') + std::string(depth, ']'), *JsonPointer::parse("/a"));
  };
  EXPECT_EQ(nested(json_depth_max), Pointed::missing);
  EXPECT_EQ(nested(json_depth_max + 1), Pointed::malformed);
  EXPECT_EQ(point(std::string(10'000'000, '['), *JsonPointer::parse("")), Pointed::malformed);
}

TEST(JsonPointer, RefusesWhatIsNone) {
  for (const char* text : {"a", "a/b", "#/a", "/~", "/~2", "/a~", "/\xFF"}) {
    EXPECT_FALSE(JsonPointer::parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace turnpike::text
