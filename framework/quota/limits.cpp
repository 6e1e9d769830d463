#include "quota/limits.h"

namespace turnpike::quota {
namespace {

bool turn(std::int64_t& start_s, std::uint32_t& count, const Window& window,
          std::int64_t now_ms) noexcept {
  const std::int64_t now_s = now_ms / 1000;
  const std::int64_t aligned_s = now_s - now_s % window.seconds;
  if (aligned_s <= start_s) return false;
  start_s = aligned_s;
  count = 0;
  return true;
}

}  // namespace

bool Counts::turn_to(const Limits& limits, std::int64_t now_ms) noexcept {
  const bool is_new_window = turn(window_start_s, window, limits.window, now_ms);
  const bool is_new_quota = limits.quota && turn(quota_start_s, quota, *limits.quota, now_ms);
  return is_new_window || is_new_quota;
}

std::optional<Limit> refused_by(const Limits& limits, const Counts& counts,
                                std::uint32_t in_use) noexcept {
  if (limits.cumulative_limit && counts.cumulative >= *limits.cumulative_limit) {
    return Limit::cumulative;
  }
  if (limits.quota && counts.quota >= limits.quota->limit) return Limit::quota;
  if (counts.window >= limits.window.limit) return Limit::window;
  if (in_use >= limits.concurrency) return Limit::concurrency;
  return std::nullopt;
}

std::uint32_t retry_after_seconds(const Limits& limits, const Standing& standing,
                                  Limit limit) noexcept {
  if (limit == Limit::cumulative) return 0;
  std::int64_t until_ms = limit == Limit::concurrency ? standing.permit_end_ms : 0;
  if (limits.quota && standing.counts.quota >= limits.quota->limit) {
    until_ms = std::max(until_ms, end_ms(standing.counts.quota_start_s, *limits.quota));
  }
  if (standing.counts.window >= limits.window.limit) {
    until_ms = std::max(until_ms, end_ms(standing.counts.window_start_s, limits.window));
  }
  const std::int64_t seconds = (until_ms - standing.now_ms + 999) / 1000;
  return static_cast<std::uint32_t>(std::max<std::int64_t>(seconds, 1));
}

std::optional<Limits> share_of(const Limits& limits, std::uint32_t nodes) noexcept {
  Limits share = limits;
  share.window.limit /= nodes;
  share.concurrency /= nodes;
  bool is_empty = share.window.limit == 0 || share.concurrency == 0;
  if (share.quota) {
    share.quota->limit /= nodes;
    is_empty = is_empty || share.quota->limit == 0;
  }
  if (share.cumulative_limit) {
    *share.cumulative_limit /= nodes;
    is_empty = is_empty || *share.cumulative_limit == 0;
  }
  if (is_empty) return std::nullopt;
  return share;
}

}  // namespace turnpike::quota
