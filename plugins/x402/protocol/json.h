// Strict JSON (RFC 8259) of an untrusted text, read once and without copies: the text is made
// compact in place, and every value is a range of it, so that any part can be passed on as the
// caller wrote it. Refused: names that occur twice in an object (readers differ in which one
// counts), texts that are not UTF-8, lone surrogates, more than the limits. A general reader is not
// used because a paid call is read on a loop thread: this one makes one allocation and is some
// seven times as fast (benchmarks/plugins/x402); a test and a fuzz harness hold it against
// nlohmann-json.
//
// A JsonText owns, JsonValues look into it and end with it. Immutable; safe on any thread.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

namespace turnpike::x402 {

struct JsonLimits {
  int depth = 32;              // the reader recurses, and stacks of fibers are small
  std::size_t values = 2'048;  // names included
  std::size_t members = 64;    // of one object: looking for twins is quadratic in them
};

enum class JsonFault : std::uint8_t { syntax, not_utf8, repeated_name, too_deep, too_many };

enum class JsonKind : std::uint8_t { absent, null, boolean, number, string, array, object };

class JsonText;

// One value, or the absence of one: what is asked of an absent value is absent too, so a path may
// be followed without a check at every step.
class JsonValue {
 public:
  JsonValue() = default;

  [[nodiscard]] JsonKind kind() const noexcept;
  [[nodiscard]] bool is(JsonKind kind_) const noexcept { return kind() == kind_; }
  // Absent, or null, which means absent (docs/protocols.md, "Messages").
  [[nodiscard]] bool is_missing() const noexcept { return kind() <= JsonKind::null; }

  // Its compact text; empty when absent.
  [[nodiscard]] std::string_view text() const noexcept;

  // The member of an object; absent if there is none or this is no object.
  [[nodiscard]] JsonValue operator[](std::string_view name) const noexcept;

  // A string's content if it was written without escapes, else an empty view: for contents that
  // have a grammar without any.
  [[nodiscard]] std::string_view plain() const noexcept;
  // A string's content; empty for any other kind.
  [[nodiscard]] std::string string() const;
  // A string with this content.
  [[nodiscard]] bool equals(std::string_view content) const;
  // A number that is written as ^(0|[1-9][0-9]*)$ and fits.
  [[nodiscard]] std::optional<std::uint64_t> natural() const noexcept;
  // A number, rounded as any reader does; infinite beyond the range.
  [[nodiscard]] std::optional<double> number() const noexcept;

  // The items of an array or the members of an object, in their order; of anything else nothing.
  struct Member;
  class Iterator;
  [[nodiscard]] Iterator begin() const noexcept;
  [[nodiscard]] Iterator end() const noexcept;

 private:
  friend class JsonText;
  JsonValue(const JsonText* json, std::uint32_t index) : json_(json), index_(index) {}

  const JsonText* json_ = nullptr;  // nothing: absent
  std::uint32_t index_ = 0;
};

struct JsonValue::Member {
  JsonValue name;  // absent in arrays
  JsonValue value;
};

class JsonValue::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Member;
  using difference_type = std::ptrdiff_t;
  using pointer = const Member*;
  using reference = Member;

  Member operator*() const noexcept;
  Iterator& operator++() noexcept;
  bool operator==(const Iterator&) const = default;

 private:
  friend class JsonValue;
  Iterator(const JsonText* json, std::uint32_t index, bool is_object)
      : json_(json), index_(index), is_object_(is_object) {}

  const JsonText* json_;
  std::uint32_t index_;
  bool is_object_;
};

class JsonText {
 public:
  static Result<JsonText, JsonFault> parse(std::string text, const JsonLimits& limits = {});

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] JsonValue root() const noexcept { return {this, 0}; }

 private:
  friend class JsonValue;
  friend class JsonValue::Iterator;
  friend class JsonReader;

  // In the order of the text; a member is its name followed by its value.
  struct Node {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t next;  // the node after this one's last descendant
    JsonKind kind;
    bool has_escapes;
  };

  std::string text_;
  std::vector<Node> nodes_;
};

// Deep equality of two values: numbers by value, strings by content, objects without order.
bool json_equal(JsonValue left, JsonValue right);

// `value` with quotes and the fewest escapes, as RFC 8785 writes it. REQUIRES: UTF-8.
void append_json_string(std::string& out, std::string_view value);

}  // namespace turnpike::x402
