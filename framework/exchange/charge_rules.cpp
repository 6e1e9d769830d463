#include "exchange/charge_rules.h"

#include <algorithm>

#include "base/limits.h"

namespace turnpike::exchange {
namespace {

constexpr std::uint32_t threads_max = 2;
constexpr std::uint32_t queued_max = 256;

bool holds(const registry::EmptyAt& condition, std::string_view body) noexcept {
  const text::Pointed found = text::point(body, condition.pointer);
  return found == text::Pointed::null || found == text::Pointed::empty_list;
}

}  // namespace

ChargeRules::ChargeRules(runtime::BlockingPool& pool)
    : pool_(pool), user_(pool.add_user("charge_rules", threads_max, queued_max)) {}

bool ChargeRules::waive(const registry::NoCharges& conditions, std::string_view body,
                        std::int64_t upstream_ns) const {
  if (conditions.empty()) return false;
  if (waive_unseen(conditions, upstream_ns)) return true;
  const auto is_empty_body = [](const registry::NoCharge& each) {
    return std::holds_alternative<registry::EmptyBody>(each);
  };
  if (body.empty()) return std::any_of(conditions.begin(), conditions.end(), is_empty_body);
  return body.size() <= base::limits::judged_body_bytes_max && is_nothing_at(conditions, body);
}

bool ChargeRules::waive_unseen(const registry::NoCharges& conditions,
                               std::int64_t upstream_ns) noexcept {
  return std::any_of(conditions.begin(), conditions.end(), [&](const auto& each) {
    const auto* over = std::get_if<registry::UpstreamOver>(&each);
    return over != nullptr && upstream_ns > std::int64_t{over->ms} * 1'000'000;
  });
}

std::size_t ChargeRules::readings(const registry::NoCharges& conditions) noexcept {
  const auto reads = [](const registry::NoCharge& each) {
    return std::holds_alternative<registry::EmptyAt>(each);
  };
  return static_cast<std::size_t>(std::count_if(conditions.begin(), conditions.end(), reads));
}

bool ChargeRules::is_nothing_at(const registry::NoCharges& conditions,
                                std::string_view body) const {
  const std::size_t bytes = body.size() * readings(conditions);
  if (bytes == 0) return false;
  bool is_waived = false;
  const auto look = [&]() noexcept {
    is_waived = std::any_of(conditions.begin(), conditions.end(), [&](const auto& each) {
      const auto* at = std::get_if<registry::EmptyAt>(&each);
      return at != nullptr && holds(*at, body);
    });
  };
  // A full pool must not decide what a call costs: the check then runs on the loop.
  if (bytes <= base::limits::heavy_json_bytes || !pool_.run_to_end(user_, look)) look();
  return is_waived;
}

}  // namespace turnpike::exchange
