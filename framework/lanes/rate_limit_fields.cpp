#include "lanes/rate_limit_fields.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace turnpike::lanes {
namespace {

using quota::Limit;
using quota::Limits;
using quota::Standing;

constexpr std::uint64_t integer_max = 999'999'999'999'999;  // RFC 9651 section 3.3.1

// The items of a list, each a name with parameters, in one buffer.
class Items {
 public:
  Items& item(std::string_view name) {
    put(size_ == 0 ? "\"" : ", \"");
    put(name);
    put("\"");
    return *this;
  }
  Items& with(std::string_view parameter, std::uint64_t value) {
    put(parameter);
    char* const at = text_ + size_;
    const auto end = std::to_chars(at, std::end(text_), std::min(value, integer_max)).ptr;
    size_ = static_cast<std::size_t>(end - text_);
    return *this;
  }
  void put(std::string_view text) {
    std::copy(text.begin(), text.end(), text_ + size_);
    size_ += text.size();
  }
  [[nodiscard]] std::string text() const { return {text_, size_}; }

 private:
  char text_[256];  // four items of at most 60 bytes
  std::size_t size_ = 0;
};

std::uint64_t seconds_until(std::int64_t end_ms, std::int64_t now_ms) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, (end_ms - now_ms + 999) / 1000));
}

}  // namespace

std::string rate_limit_policy(const Limits& limits) {
  Items items;
  items.item("window").with(";q=", limits.window.limit).with(";w=", limits.window.seconds);
  if (limits.quota) {
    items.item("quota").with(";q=", limits.quota->limit).with(";w=", limits.quota->seconds);
  }
  items.item("concurrency").with(";q=", limits.concurrency);
  items.put(";qu=\"concurrent-requests\"");
  if (limits.cumulative_limit) items.item("total").with(";q=", *limits.cumulative_limit);
  return items.text();
}

std::string rate_limit(const Limits& limits, const Standing& standing,
                       std::optional<Limit> refused_by) {
  const quota::Counts& counts = standing.counts;
  const auto shows = [&](Limit limit, std::uint64_t left) {
    if (!refused_by) return true;
    // A cumulative limit never recovers, so there is nothing to wait for.
    if (*refused_by == Limit::cumulative) return limit == Limit::cumulative;
    return left == 0 && limit != Limit::cumulative &&
           (limit != Limit::concurrency || *refused_by == Limit::concurrency);
  };
  Items items;
  const auto add_window = [&](Limit limit, std::string_view name, const quota::Window& window,
                              std::uint32_t used, std::int64_t start_s) {
    const std::uint64_t left = quota::left(window.limit, used);
    if (!shows(limit, left)) return;
    items.item(name)
        .with(";r=", left)
        .with(";t=", seconds_until(quota::end_ms(start_s, window), standing.now_ms));
  };
  add_window(Limit::window, "window", limits.window, counts.window, counts.window_start_s);
  if (limits.quota) {
    add_window(Limit::quota, "quota", *limits.quota, counts.quota, counts.quota_start_s);
  }
  const std::uint64_t permits_left = quota::left(limits.concurrency, standing.in_use);
  if (shows(Limit::concurrency, permits_left)) items.item("concurrency").with(";r=", permits_left);
  if (limits.cumulative_limit) {
    const std::uint64_t left = quota::left(*limits.cumulative_limit, counts.cumulative);
    if (shows(Limit::cumulative, left)) items.item("total").with(";r=", left);
  }
  return items.text();
}

}  // namespace turnpike::lanes
