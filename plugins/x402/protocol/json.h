// A strict reader of JSON (RFC 8259) from untrusted text. It reads the text once, without copies:
// it makes the text compact in place, and every value is a range of it, so that any part can be
// passed on as the caller wrote it. It refuses names that occur twice in an object (readers differ
// in which one counts), text that is not UTF-8, lone surrogates, and anything beyond the limits.
//
// A paid call is read on a loop thread, so speed matters: this reader makes one allocation and is
// about seven times as fast as a general one (benchmarks/plugins/x402). A test and a fuzz harness
// compare it with nlohmann-json.
//
// A JsonText owns the text; JsonValues point into it and must not outlive it. Immutable; safe on
// any thread.
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
  int depth = 32;              // the reader recurses, and fiber stacks are small
  std::size_t values = 2'048;  // including names
  std::size_t members = 64;    // of one object; the check for repeated names is quadratic
};

enum class JsonFault : std::uint8_t { syntax, not_utf8, repeated_name, too_deep, too_many };

enum class JsonKind : std::uint8_t { absent, null, boolean, number, string, array, object };

class JsonText;

// One value, or an absent one. Every member of an absent value is absent too, so a path may be
// followed without a check at every step.
class JsonValue {
 public:
  JsonValue() = default;

  [[nodiscard]] JsonKind kind() const noexcept;
  [[nodiscard]] bool is(JsonKind kind_) const noexcept { return kind() == kind_; }
  // True for an absent value and for null, which means absent (docs/protocols.md, "Messages").
  [[nodiscard]] bool is_missing() const noexcept { return kind() <= JsonKind::null; }

  // The value's compact text; empty if absent.
  [[nodiscard]] std::string_view text() const noexcept;

  // The member of an object; absent if there is none or this is not an object.
  [[nodiscard]] JsonValue operator[](std::string_view name) const noexcept;

  // The content of a string that was written without escapes, else an empty view. Meant for
  // contents whose grammar needs no escapes.
  [[nodiscard]] std::string_view plain() const noexcept;
  // The content of a string; empty for any other kind.
  [[nodiscard]] std::string string() const;
  // True for a string with this content.
  [[nodiscard]] bool equals(std::string_view content) const;
  // A number that is written as ^(0|[1-9][0-9]*)$ and fits; nullopt for anything else.
  [[nodiscard]] std::optional<std::uint64_t> natural() const noexcept;
  // A number, rounded to a double; infinite beyond the range. Nullopt for any other kind.
  [[nodiscard]] std::optional<double> number() const noexcept;

  // Iterate over the items of an array or the members of an object, in text order. Other kinds have
  // none.
  struct Member;
  class Iterator;
  [[nodiscard]] Iterator begin() const noexcept;
  [[nodiscard]] Iterator end() const noexcept;

 private:
  friend class JsonText;
  JsonValue(const JsonText* json, std::uint32_t index) : json_(json), index_(index) {}

  const JsonText* json_ = nullptr;  // null: absent
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

  // Nodes are in text order; a member is its name followed by its value.
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

// Deep equality: compares numbers by value, strings by content, and objects in any order.
bool json_equal(JsonValue left, JsonValue right);

// Appends `value` in quotes with the fewest escapes, as in RFC 8785. REQUIRES: UTF-8.
void append_json_string(std::string& out, std::string_view value);

}  // namespace turnpike::x402
