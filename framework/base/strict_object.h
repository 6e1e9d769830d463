// StrictObject: a request body that is exactly one JSON object, flat except for members that have a
// reader of their own. Every member must be known, occur once and have its type. Problems are
// collected; each names the member by its JSON pointer and says what would be accepted, so that one
// reply reports everything.
//
//   StrictObject body(bytes, {"name"});
//   const std::string name = body.text("name", {1, 200});
//   if (!body.problems().empty()) refuse(body.problems());
//
// Values that are read after a problem are meaningless defaults. Lives on one Thread's stack.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace turnpike::base {

class StrictObject {
 public:
  struct Characters {  // Unicode code points, both ends included
    std::size_t minimum = 0;
    std::size_t maximum = 0;
  };

  // `json` must outlive the object.
  StrictObject(std::string_view json, std::initializer_list<std::string_view> known);

  [[nodiscard]] std::string text(std::string_view name, Characters length);
  // As text(), or `absent` when the member is missing.
  [[nodiscard]] std::string text_or(std::string_view name, Characters length,
                                    std::string_view absent);
  [[nodiscard]] std::size_t one_of(std::string_view name,
                                   std::span<const std::string_view> choices);
  // A canonical integer string from 1 on ("1", "250"; docs/decisions.md, "Bodies").
  [[nodiscard]] std::int64_t units(std::string_view name, std::int64_t maximum);

  // As units(), or nullopt for null.
  [[nodiscard]] std::optional<std::int64_t> units_or_null(std::string_view name,
                                                          std::int64_t maximum);
  // Milliseconds of an RFC 3339 time, or nullopt for null.
  [[nodiscard]] std::optional<std::int64_t> time_or_null(std::string_view name);
  // A JSON integer in the given range, both ends included.
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t minimum,
                                     std::int64_t maximum);
  [[nodiscard]] bool boolean(std::string_view name);
  // As text(), or nullopt for null.
  [[nodiscard]] std::optional<std::string> text_or_null(std::string_view name, Characters length);
  // The JSON text of an object member, for a reader of its own.
  [[nodiscard]] std::string object(std::string_view name);
  [[nodiscard]] bool has(std::string_view name) const noexcept { return find(name) != nullptr; }

  [[nodiscard]] const std::vector<FieldProblem>& problems() const noexcept { return problems_; }
  // request.body_rejected with the problems.
  [[nodiscard]] Error refusal(
      std::string message = "The body is not what this route takes.") const {
    return {ErrorCode::request_body_rejected, std::move(message), 0, problems_};
  }

 private:
  enum class Kind : std::uint8_t { text, number, boolean, null, array, object };
  struct Member {
    std::string name;
    Kind kind = Kind::null;
    std::string text;
  };
  class Reader;

  [[nodiscard]] const Member* find(std::string_view name) const noexcept;
  [[nodiscard]] std::int64_t whole(std::string_view name, std::int64_t minimum,
                                   std::int64_t maximum);
  [[nodiscard]] const std::string* text_of(std::string_view name, std::string_view form);
  void report(std::string_view name, std::string problem, std::string fix);

  const std::string_view json_;
  std::vector<Member> members_;
  std::vector<FieldProblem> problems_;
  bool is_object_ = false;
};

// "/a~1b" for the member "a/b" (RFC 6901).
std::string pointer_to(std::string_view member);

}  // namespace turnpike::base
