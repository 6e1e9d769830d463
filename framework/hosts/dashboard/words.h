// The texts of pages besides text/words.h: spans of time, figures, links, and sentences about
// calls. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/view.h"
#include "ledger/usage.h"
#include "text/words.h"

namespace turnpike::hosts::dashboard {

inline constexpr std::int64_t day_ms = 24ll * 60 * 60 * 1'000;

using text::counted;
using text::day_text;
inline std::string figure(std::int64_t number) { return text::grouped(number); }  // "12,345"
inline std::string when(std::int64_t at_ms) { return text::second_text(at_ms); }
std::string percent(std::int64_t part, std::int64_t whole);  // "99.5 %"; of nothing: "-"
// Returns a time in UTC in the form of an HTML time control and of a query: "2026-11-24T14:03".
std::string query_time(std::int64_t at_ms);
// Returns a time of such a control, or one that a person types ("2026-11-24", "2026-11-24T14:03"),
// in RFC 3339; other texts unchanged.
std::string full_time(std::string_view text);
// Returns "3 days", "2 hours", "40 seconds": in the largest unit that fits.
std::string length_of(std::int64_t span_ms);
// Returns "Each day", "Each 15 minutes", "Each 90 seconds": exact.
std::string each_span(std::uint64_t seconds);

// A path with a query; empty values are left out.
class Href {
 public:
  explicit Href(std::string path) : text_(std::move(path)) {}
  Href& add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  bool has_query_ = false;
};

// Returns "GET /v1/gateway/..."; an operation that the installed program does not know is shown by
// its id. `view` may be null.
std::string operation_name(const catalog::View* view, std::string_view route_id,
                           std::string_view method);

// Returns the origin of Credits: "starter grant", "Auto Top-Up".
std::string_view origin_text(ledger::Origin origin) noexcept;

// Return the CSS class of an outcome, and its word.
std::string_view state_of(std::string_view outcome) noexcept;

// Returns a sentence on why a call was charged or not.
std::string why_charged(const ledger::UsageRow& call);

// A step that a call passes through; the gates show how far the call came.
struct Gate {
  std::string name;
  std::string_view state;  // "ok", "bad", "unknown"
  std::string word;
};
std::vector<Gate> gates_of(const ledger::UsageRow& call);

}  // namespace turnpike::hosts::dashboard
