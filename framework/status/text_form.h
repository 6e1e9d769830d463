// ObjectText and Fields: write and read the JSON objects of the evidence. Objects are written
// member by member in the order of canonical JSON (RFC 8785), without a tree in between, since a
// book is written after every round. A text is only accepted if writing its value again gives the
// same bytes, so each value has exactly one text, and readers need not check for extra members.
//
// Live on one Thread's stack.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace turnpike::status {

// Greater integers are not exact in JSON (RFC 8785 section 3.2.2.3).
inline constexpr std::int64_t integer_max = (std::int64_t{1} << 53) - 1;
// Names, ids and reasons are far shorter; longer texts are refused.
inline constexpr std::size_t text_bytes_max = 4'096;
// The last millisecond that RFC 3339 can express.
inline constexpr std::int64_t time_ms_max = 253'402'300'799'999;

// Appends `{...}` to `out`: members in ascending order of their names, then end().
class ObjectText {
 public:
  explicit ObjectText(std::string& out) : out_(out) { out_ += '{'; }
  ObjectText(const ObjectText&) = delete;
  ObjectText& operator=(const ObjectText&) = delete;

  ObjectText& text(std::string_view name, std::string_view value);
  ObjectText& text_unless_empty(std::string_view name, std::string_view value);
  ObjectText& integer(std::string_view name, std::int64_t value);
  ObjectText& integer_unless_zero(std::string_view name, std::int64_t value);
  ObjectText& time(std::string_view name, std::int64_t unix_ms);
  ObjectText& boolean(std::string_view name, bool value);
  ObjectText& raw(std::string_view name, std::string_view json);
  // Returns the string to which the member's value is to be appended.
  std::string& member(std::string_view name);
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  std::string last_;  // detects a wrong order in tests
  bool is_first_ = true;
};

// Reads one object. A missing member or one of another kind makes is_right() false; the values read
// then are meaningless defaults.
class Fields {
 public:
  explicit Fields(const nlohmann::json& object)
      : object_(object), is_right_(object.is_object()) {}

  [[nodiscard]] bool has(const char* name) const;
  std::string text(const char* name);
  std::string text_or_empty(const char* name);
  std::int64_t integer(const char* name, std::int64_t minimum = 0,
                       std::int64_t maximum = integer_max);
  std::int64_t integer_or_zero(const char* name, std::int64_t minimum = 0,
                               std::int64_t maximum = integer_max);
  std::int64_t time(const char* name);
  bool boolean(const char* name);
  // JSON null if the member is absent or of another kind.
  const nlohmann::json& array(const char* name);
  const nlohmann::json& object(const char* name);
  // The index of a text in `names`; 0 with is_right() false if it is not one of them.
  template <class Names>
  std::size_t one_of(const char* name, const Names& names) {
    const std::string value = text(name);
    for (std::size_t at = 0; at < std::size(names); ++at) {
      if (names[at] == value) return at;
    }
    is_right_ = false;
    return 0;
  }
  void refuse() noexcept { is_right_ = false; }
  [[nodiscard]] bool is_right() const noexcept { return is_right_; }

 private:
  const nlohmann::json* find(const char* name);

  const nlohmann::json& object_;
  bool is_right_;
};

// True for "sha256:" and 64 lower-case hex digits.
bool is_hash(std::string_view text) noexcept;
std::string hash_of(std::string_view bytes);  // "sha256:<hex>" of the bytes

}  // namespace turnpike::status
