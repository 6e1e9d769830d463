// Arguments: the arguments of a call to one of the service's own tools, read by name. All problems
// are collected and reported at once, each with the JSON pointer of its argument. Null means
// absent, since models fill it in, and numbers and booleans may come as text.
//
// Lives on the stack of a call, on the fiber of its request.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hosts/mcp/json_rpc.h"

namespace turnpike::hosts::mcp {

class Arguments {
 public:
  // `arguments`: an object that outlives this one; names that are not `known` are reported.
  Arguments(const Json& arguments, std::initializer_list<std::string_view> known);

  // Null: the argument is absent.
  [[nodiscard]] const Json* given(const char* name) const noexcept;
  [[nodiscard]] std::optional<std::string> text(const char* name);
  [[nodiscard]] std::string required(const char* name, std::string_view fix);
  [[nodiscard]] std::optional<bool> flag(const char* name);
  // An integer, or its digits.
  [[nodiscard]] std::optional<std::string> integer(const char* name);
  // A raw query: as text, with or without its '?', or as an object of names and values; empty:
  // none.
  [[nodiscard]] std::string query(const char* name);

  void report(std::string_view name, std::string problem, std::string fix);
  [[nodiscard]] std::optional<base::Error> error();

 private:
  void append_pair(std::string& query, const char* name, std::string_view key, const Json& value);

  const Json& arguments_;
  std::vector<base::FieldProblem> problems_;
};

}  // namespace turnpike::hosts::mcp
