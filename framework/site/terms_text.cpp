#include "site/terms_text.h"

#include <utility>
#include <variant>

#include "site/markdown.h"

namespace turnpike::site {

namespace {

struct ConditionText {
  std::string operator()(const registry::EmptyBody&) const { return "the reply has no body"; }
  std::string operator()(const registry::EmptyAt& condition) const {
    return "null or an empty list is at " + code_text(condition.pointer.text());
  }
  std::string operator()(const registry::UpstreamOver& condition) const {
    return "the provider took longer than " + grouped(condition.ms) + " ms";
  }
};

std::string window_text(const registry::Window& window) {
  return grouped(window.limit) + " in " + duration_text(window.seconds);
}

}  // namespace

std::string credits_text(std::uint32_t cheapest, std::uint32_t dearest) {
  if (cheapest == dearest) return credits_text(cheapest);
  return grouped(cheapest) + " to " + credits_text(dearest);
}

void set_credits(Slots slots, std::string_view name, std::int64_t credits) {
  slots.set(name, grouped(credits));
  slots.set(std::string(name) + "_UNIT", text::credits_word(credits));
}

std::string duration_text(std::uint64_t seconds) {
  constexpr std::pair<std::uint64_t, std::string_view> units[] = {
      {86'400, " days"}, {3'600, " h"}, {60, " min"}};
  for (const auto& [length, unit] : units) {
    const std::uint64_t count = seconds / length;
    if (count == 0 || seconds % length != 0) continue;
    if (length == 86'400 && count == 1) return "1 day";
    return grouped(count).append(unit);
  }
  return grouped(seconds) + " s";
}

std::string free_text(const registry::FreePolicy& policy) {
  std::string text = text::counted(policy.window.limit, "request") + " in " +
                     duration_text(policy.window.seconds) + ", " + grouped(policy.concurrency) +
                     " at once";
  if (policy.quota) text += "; " + window_text(*policy.quota);
  if (policy.cumulative_limit) text += "; " + grouped(*policy.cumulative_limit) + " in all";
  return text;
}

std::string no_charge_text(const registry::NoCharges& conditions) {
  std::string text;
  for (const registry::NoCharge& condition : conditions) {
    if (!text.empty()) text += "; ";
    text += std::visit(ConditionText{}, condition);
  }
  return text;
}

std::string code_text(std::string_view text) {
  // In a table "|" ends the cell even within a code span, and blanks at the ends would be lost.
  const bool is_fit = !text.empty() && text.find_first_of("`|\n\r\t\\") == text.npos &&
                      text.front() != ' ' && text.back() != ' ';
  return is_fit ? "`" + std::string(text) + "`" : escaped_markdown(text);
}

}  // namespace turnpike::site
