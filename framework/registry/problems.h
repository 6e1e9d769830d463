// Problems: collected by the stages of compile(), so that one run reports all faults. Each rule of
// the language has a name and a sentence here; tests have a fixture for each. Internal to
// registry/. Used by one Thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/compile.h"

namespace turnpike::registry {

// id, sentence; each % takes the next argument.
#define TURNPIKE_REGISTRY_RULES(X)                                                                \
  X(file_unreadable, "cannot be read: %")                                                         \
  X(no_files, "no *.yaml file is below this folder; is `registry.path` the right one?")           \
  X(file_misnamed, "only *.yaml files are read: rename it")                                       \
  X(file_too_large, "holds % bytes; a file may hold %")                                           \
  X(too_many_files, "% files; a registry may have %")                                             \
  X(program_too_large, "the files hold more than % bytes in all")                                 \
  X(not_utf8, "this line is not UTF-8 text")                                                      \
  X(control_character, "holds the control character 0x%; write it as an escape in double quotes") \
  X(yaml_syntax, "is not YAML: %%")                                                               \
  X(open_quote, "the quote that begins here is left open")                                        \
  X(several_documents, "holds more than one YAML document; split it into files")                  \
  X(too_deep, "is nested deeper than % levels")                                                   \
  X(too_many_nodes, "the program has more than % values")                                         \
  X(run_too_long, "more than % bytes without a complete value; write long lists one item a line") \
  X(alias, "anchors and aliases (& and *) are not part of the language; write the value out")     \
  X(tag, "tags (!) are not part of the language; quote the value if it is text")                  \
  X(complex_key, "a key must be plain text; is a bracket left open?")                             \
  X(merge_key, "merge keys (<<) are not part of the language; write the keys out")                \
  X(duplicate_key, "the key \"%\" is here twice; first on line %")                                \
  X(unknown_key, "unknown key \"%\"%; known here: %")                                             \
  X(unclaimed_key, "unknown key \"%\", and no lane plugin claims it; known here: %")              \
  X(missing_key, "the key \"%\" is missing: %")                                                   \
  X(wrong_kind, "expected %, found %")                                                            \
  X(not_one_of, "\"%\" is none of %%")                                                            \
  X(not_integer, "expected an integer from % to %, found \"%\"")                                  \
  X(not_boolean, "expected true or false, found \"%\"")                                           \
  X(not_range, "expected MIN..MAX with integers from % to % and MIN not above MAX, found \"%\"")  \
  X(not_number_range,                                                                             \
    "expected MIN..MAX with numbers such as -90..90 or 0.5..1, MIN not above MAX, found \"%\"")   \
  X(text_length, "expected % to % bytes of text, found %")                                        \
  X(bad_name, "\"%\" does not fit: expected %")                                                   \
  X(empty_list, "expected at least one item")                                                     \
  X(too_many_items, "% entries; at most % are allowed")                                           \
  X(duplicate_item, "\"%\" is in the list twice")                                                 \
  X(duplicate_definition, "% \"%\" is defined twice; first at %")                                 \
  X(unknown_reference, "no % is named \"%\"%")                                                    \
  X(no_provider, "a file with routes or upstreams needs a provider: define it, or name one")      \
  X(path_prefix, "expected a path below /v1/gateway/, found \"%\"")                               \
  X(path_relative, "route paths continue the provider's base_path (%): leave it out here")        \
  X(path_shape, "% in the path \"%\"")                                                            \
  X(path_too_long, "the path has % %; at most % are allowed")                                     \
  X(not_in_path, "the path has no parameter \"%\"")                                               \
  X(method_unlisted, "% is not among the route's methods")                                        \
  X(method_unpriced, "% has no price: name a price policy, or say `unavailable`")                 \
  X(body_undeclared,                                                                              \
    "a POST route needs a body policy: `forbidden`, or max_bytes and media_types")                \
  X(body_without_post, "only POST takes a body; this route has none")                             \
  X(header_refused, "the header \"%\" may not be %")                                              \
  X(constraint_misplaced, "`%` does not go with type %")                                          \
  X(constraint_missing, "type % needs %")                                                         \
  X(value_out_of_bounds, "\"%\" is outside the declared %")                                       \
  X(rule_parameter, "the rule names \"%\", which is not a parameter here%")                       \
  X(rule_not_integer, "less_than compares integers and numbers; \"%\" is a %")                    \
  X(rule_shape, "expected one rule: `at_least_one: [...]` or `less_than: [left, right]`")         \
  X(reason_missing, "a blocked route needs its `reason`, one public sentence")                    \
  X(reason_misplaced, "only a blocked route has a `reason`")                                      \
  X(permit_too_short, "permits of \"%\" last % ms, no longer than the deadline of % ms")          \
  X(bucket_differs,                                                                               \
    "`%` and `%` (%) count in one bucket with different limits; give one a bucket_scope of its "  \
    "own: `route`, or {shared: NAME}")                                                            \
  X(free_without_price, "`free` is a variant of a priced operation; this route has no price")     \
  X(no_charge_without_price, "`no_charge_when` is about a price; this route has none")            \
  X(no_charge_shape, "expected one condition: %")                                                 \
  X(reply_too_long_to_keep,                                                                       \
    "the price \"%\" can be paid by %, whose replies are kept whole until they are paid for: "    \
    "at most % bytes")                                                                            \
  X(bad_pointer, "\"%\" is no JSON pointer (RFC 6901), such as /data/items")                      \
  X(lane_terms, "%")                                                                              \
  X(lane_failed, "the lane \"%\" could not read its terms: %")                                    \
  X(lane_name_taken, "the lane \"%\" has the name of a key here, so its terms cannot be told")    \
  X(argument_unfit, "the parameter \"%\" cannot be an argument of a tool: %")                     \
  X(argument_fixed,                                                                               \
    "\"%\" has a `fixed` value, so models never give it: leave its description out")              \
  X(variant_missing, "this operation has no free variant: its route names no free policy")        \
  X(fixed_refused, "the value of \"%\" %: %")                                                     \
  X(fixed_compared, "\"%\" is compared with another parameter and cannot have a fixed value")     \
  X(secret_shape, "a secret is given as {secret: {env: NAME}} or {secret: {file: PATH}}")         \
  X(setting_number, "\"%\" is no number that settings can hold; quote it if it is text")          \
  X(unknown_plugin, "no provider plugin \"%\" is loaded%")                                        \
  X(duplicate_route, "matches the same paths as %")                                               \
  X(ambiguous_route, "neither this route nor % is the narrower one: both match %")                \
  X(too_many_shapes,                                                                              \
    "more than % patterns differ in where their parameters stand, among paths of % segments")     \
  X(sample_refused, "% of the sample for % % %: %")                                               \
  X(sample_of_another, "the sample's path % is no call of %")                                     \
  X(budget_too_small,                                                                             \
    "a look each % ms is % a day, and `per_day_max` allows %: raise one of them")                 \
  X(installed_differs,                                                                            \
    "% is installed with another definition (sha256 %... then, %... now)%, and what is "          \
    "installed never changes: raise `%`, or take the change back")                                \
  X(more_problems, "and % more problems")

enum class Rule : std::uint8_t {
#define X(id, sentence) id,
  TURNPIKE_REGISTRY_RULES(X)
#undef X
};

struct RuleInfo {
  std::string_view name;
  std::string_view sentence;
};

inline constexpr RuleInfo rule_infos[] = {
#define X(id, sentence) {#id, sentence},
    TURNPIKE_REGISTRY_RULES(X)
#undef X
};

struct Place {
  std::uint32_t file = 0;  // index among the sources
  std::uint32_t line = 0;  // both from 1; 0: the whole file
  std::uint32_t column = 0;
};

class Problems {
 public:
  explicit Problems(std::span<const Source> sources) : sources_(sources) {}

  void add(Rule rule, const Place& place, std::string path,
           std::initializer_list<std::string_view> arguments);

  [[nodiscard]] bool none() const noexcept { return count_ == 0; }
  // Further problems are only counted: costly details such as suggestions can be skipped.
  [[nodiscard]] bool full() const noexcept;
  [[nodiscard]] std::string text_of(const Place& place) const;  // "file:line"
  [[nodiscard]] SourcePlace source_of(const Place& place) const;
  // Ordered by file, line and column.
  [[nodiscard]] std::vector<Problem> take();

 private:
  std::span<const Source> sources_;
  std::vector<Problem> kept_;
  std::size_t count_ = 0;
};

// Replaces each "%" of the sentence by the next argument.
std::string fill(std::string_view sentence, std::initializer_list<std::string_view> arguments);

// "; did you mean \"x\"?" for the known name nearest to `name`; empty when none is near.
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

}  // namespace turnpike::registry
