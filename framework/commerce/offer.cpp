#include "commerce/offer.h"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

#include "crypto/digest.h"
#include "text/canonical_json.h"
#include "text/encoding.h"

namespace turnpike::commerce {
namespace {

constexpr std::size_t id_bytes = 16;
constexpr std::size_t id_characters = 22;
constexpr ledger::Credits unit_credits_max = 1'000'000'000;

bool is_digit(char each) noexcept { return each >= '0' && each <= '9'; }

}  // namespace

std::string problem_of(const Terms& terms) {
  if (terms.currency != "USD") return "the currency must be USD";
  if (terms.unit_minor < 1 || terms.unit_minor > minor_max) {
    return "the amount that Credits are counted for must be from 0.01 to 9999.99";
  }
  if (terms.unit_credits < 1 || terms.unit_credits > unit_credits_max) {
    return "the Credits for it must be from 1 to 1000000000";
  }
  if (terms.minimum_minor < 1 || terms.maximum_minor < terms.minimum_minor ||
      terms.maximum_minor > minor_max) {
    return "the least and the greatest amount must be from 0.01 to 9999.99, in this order";
  }
  if (terms.step_minor < 1 || terms.minimum_minor % terms.step_minor != 0) {
    return "the least amount must be a multiple of the step";
  }
  if (terms.step_minor * terms.unit_credits % terms.unit_minor != 0) {
    return "a step does not buy whole Credits";
  }
  if (terms.validity_days < 1 || terms.validity_days > validity_days_max) {
    return "the Credits must be valid for 1 to 3650 days";
  }
  return {};
}

std::string offer_id(const Terms& terms, std::string_view processor) {
  const auto canonical = text::canonical_json({{"currency", terms.currency},
                                               {"maximum", terms.maximum_minor},
                                               {"minimum", terms.minimum_minor},
                                               {"processor", std::string(processor)},
                                               {"step", terms.step_minor},
                                               {"unitAmount", terms.unit_minor},
                                               {"unitCredits", terms.unit_credits},
                                               {"validityDays", terms.validity_days}});
  const crypto::Sha256 digest = crypto::sha256(*canonical);
  return "off_" + text::base62(std::span(digest).first<id_bytes>(), id_characters);
}

std::optional<ledger::Credits> credits_for(const Terms& terms, std::int64_t minor) noexcept {
  const bool is_amount = minor >= terms.minimum_minor && minor <= terms.maximum_minor &&
                         minor % terms.step_minor == 0;
  if (!is_amount || minor * terms.unit_credits % terms.unit_minor != 0) return std::nullopt;
  return minor * terms.unit_credits / terms.unit_minor;
}

base::Error amount_refusal(const Terms& terms) {
  return {base::ErrorCode::purchase_amount_invalid,
          "The amount must be from " + amount_text(terms.minimum_minor) + " to " +
              amount_text(terms.maximum_minor) + " " + terms.currency + ", in steps of " +
              amount_text(terms.step_minor) + "."};
}

std::string amount_text(std::int64_t minor) {
  const std::string cents = std::to_string(minor % 100);
  return std::to_string(minor / 100) + "." + std::string(2 - cents.size(), '0') + cents;
}

std::optional<std::int64_t> parse_amount(std::string_view text,
                                         std::size_t whole_digits_max) noexcept {
  const std::size_t point = text.find('.');
  if (point == text.npos || point < 1 || point > whole_digits_max || text.size() != point + 3) {
    return std::nullopt;
  }
  if (text[0] == '0' && point > 1) return std::nullopt;
  std::int64_t minor = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at == point) continue;
    if (!is_digit(text[at])) return std::nullopt;
    minor = minor * 10 + (text[at] - '0');
  }
  return minor;
}

}  // namespace turnpike::commerce
