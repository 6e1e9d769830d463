// ObjectText and Fields: writing and reading the JSON objects of the evidence. They are written
// member by member in the order of canonical JSON (RFC 8785), without a tree in between, since a
// book is written after every round. What is read is only taken when writing it again gives the
// same bytes, so that one value has one text: readers need not look for members too many.
//
// Live on one Thread's stack.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace turnpike::status {

// Greater ones are not exact in JSON (RFC 8785 section 3.2.2.3).
inline constexpr std::int64_t integer_max = (std::int64_t{1} << 53) - 1;
// Names, ids and reasons are far shorter; what is longer is refused.
inline constexpr std::size_t text_bytes_max = 4'096;
// The last millisecond that RFC 3339 can write.
inline constexpr std::int64_t time_ms_max = 253'402'300'799'999;

// Writes `{...}` behind `out`: members in ascending order of their names, then end().
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
  // Where the value of this member is to be appended.
  std::string& member(std::string_view name);
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  std::string last_;  // to find a wrong order in tests
  bool is_first_ = true;
};

// Reads one object. Whatever is missing or of another kind makes is_right() false; values that are
// read then are defaults and mean nothing.
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
  // Null as JSON when it is not there or not such a value.
  const nlohmann::json& array(const char* name);
  const nlohmann::json& object(const char* name);
  // The index among `names` of a text; 0 with is_right() false when it is none of them.
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

// "sha256:" and 64 lower-case hex digits.
bool is_hash(std::string_view text) noexcept;
std::string hash_of(std::string_view bytes);  // SHA-256, so written

}  // namespace turnpike::status
