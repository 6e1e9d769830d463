// What pages say of the facts beside base/words.h: spans of time, figures, links, and sentences
// about calls. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "catalog/view.h"
#include "ledger/usage.h"

namespace turnpike::hosts::dashboard {

inline constexpr std::int64_t day_ms = 24ll * 60 * 60 * 1'000;

using base::counted;
using base::day_text;
inline std::string figure(std::int64_t number) { return base::grouped(number); }  // "12,345"
inline std::string when(std::int64_t at_ms) { return base::second_text(at_ms); }
std::string percent(std::int64_t part, std::int64_t whole);  // "99.5 %"; of nothing: "-"
// As the control for times and a query have it, in UTC: "2026-11-24T14:03".
std::string query_time(std::int64_t at_ms);
// What such a control or a person writes ("2026-11-24", "2026-11-24T14:03") as RFC 3339; anything
// else as it is.
std::string full_time(std::string_view text);
// "3 days", "2 hours", "40 seconds": the largest unit that fits.
std::string length_of(std::int64_t span_ms);
// "Each day", "Each 15 minutes", "Each 90 seconds": exactly.
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

// "GET /v1/gateway/..."; what the installed program does not know is shown by its id. `view` may be
// null.
std::string operation_name(const catalog::View* view, std::string_view route_id,
                           std::string_view method);

// Where Credits came from: "starter grant", "Auto Top-Up".
std::string_view origin_text(ledger::Origin origin) noexcept;

// The class of an outcome in the pages' language of states, and its word.
std::string_view state_of(std::string_view outcome) noexcept;

// Why a call was charged or not, in a sentence.
std::string why_charged(const ledger::UsageRow& call);

// What a call had to pass, one after the other, and how far it came.
struct Gate {
  std::string name;
  std::string_view state;  // "ok", "bad", "unknown"
  std::string word;
};
std::vector<Gate> gates_of(const ledger::UsageRow& call);

}  // namespace turnpike::hosts::dashboard
