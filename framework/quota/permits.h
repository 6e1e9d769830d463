// Permits: the requests in flight in one bucket of one account, each with its expiry. Not
// synchronised; lives in an entry of NodeStore, under its lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace turnpike::quota {

class Permits {
 public:
  // Removes expired permits.
  void expire(std::int64_t now_ns) noexcept {
    while (begin_ < all_.size() && (all_[begin_].is_back || all_[begin_].end_ns <= now_ns)) {
      in_use_ -= all_[begin_].is_back ? 0 : 1;
      ++begin_;
    }
    // Returned permits may remain behind an older open one; compact() bounds their number.
    if (begin_ > in_use_ + 8 || all_.size() - begin_ > 2 * std::size_t{in_use_} + 8) compact();
  }
  // Returns the permit's number. Expiries are kept in order: after a reload that shortens permits,
  // a new one lasts as long as the last old one that is open.
  std::uint64_t add(std::int64_t end_ns) {
    if (begin_ == all_.size()) {
      all_.clear();
      begin_ = 0;
    } else {
      end_ns = std::max(end_ns, all_.back().end_ns);
    }
    all_.push_back({++last_number_, end_ns, false});
    ++in_use_;
    return last_number_;
  }
  // No effect if the permit has expired or was returned already.
  void give_back(std::uint64_t number) noexcept {
    const auto found = std::lower_bound(
        all_.begin() + static_cast<std::ptrdiff_t>(begin_), all_.end(), number,
        [](const One& permit, std::uint64_t wanted) { return permit.number < wanted; });
    if (found == all_.end() || found->number != number || found->is_back) return;
    found->is_back = true;
    --in_use_;
    while (all_.size() > begin_ && all_.back().is_back) all_.pop_back();
  }

  [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_; }
  // REQUIRES: expire() was called and some permits are open.
  [[nodiscard]] std::int64_t first_end_ns() const noexcept { return all_[begin_].end_ns; }

 private:
  struct One {
    std::uint64_t number;
    std::int64_t end_ns : 63;
    bool is_back : 1;
  };

  void compact() noexcept {
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(begin_));
    std::erase_if(all_, [](const One& permit) { return permit.is_back; });
    begin_ = 0;
  }

  std::vector<One> all_;  // by number, from begin_ on; the last one is not returned
  std::uint64_t last_number_ = 0;
  std::uint32_t begin_ = 0;
  std::uint32_t in_use_ = 0;
};

}  // namespace turnpike::quota
