// OfferCache: keeps signed offers, so that a challenge costs a look-up and not a signature. Windows
// of time are aligned to 1970, so that all nodes and threads sign the same terms. An offer given in
// a window of W seconds is valid until the end of the next window, that is, for W to 2 W seconds.
//
// Bounded in bytes, whatever paths callers make up: the least recently used entry goes first, and
// making room takes as many steps as entries were put in. A look-up of an unknown path costs one
// signature and lets nothing grow.
//
// Safe on any thread. While there are enough parts, each thread has a part of its own, so that
// nobody else takes the lock of that part. Nothing suspends under a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace turnpike::x402 {

class OfferCache {
 public:
  using Text = std::shared_ptr<const std::string>;

  struct Key {
    std::uint32_t operation = 0;  // in its generation; `terms` has what else tells offers apart
    std::uint64_t terms = 0;      // a digest of prices, pay-to addresses, the signing key
    std::string_view path;
    std::string_view query = {};

    bool operator==(const Key&) const = default;
  };

  // `bytes_max` bounds texts, paths and queries together, over `parts` parts. REQUIRES: at least
  // one part; it should be as many as threads call.
  OfferCache(std::uint32_t window_s, std::size_t bytes_max, std::size_t parts);
  ~OfferCache();

  [[nodiscard]] std::int64_t valid_until_s(std::int64_t now_s) const noexcept {
    return (now_s / window_s_ + 2) * window_s_;
  }

  // Returns what `sign(valid_until_s)` returned, now or earlier in this window. `sign` runs on this
  // thread with no lock held; two threads that miss at once both sign. A hit allocates nothing.
  template <class Sign>
  Text get(const Key& key, std::int64_t now_s, Sign&& sign) {
    const std::int64_t until_s = valid_until_s(now_s);
    Part& part = own_part();
    if (Text found = part.find(key, until_s)) return found;
    return part.keep(key, until_s, std::make_shared<const std::string>(sign(until_s)));
  }

  [[nodiscard]] std::size_t bytes() const;  // held now

 private:
  struct Entry {
    Key key;             // its path and query point into `target`
    std::string target;  // the path, then the query
    std::int64_t valid_until_s;
    Text text;

    [[nodiscard]] std::size_t bytes() const noexcept;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  class alignas(64) Part {
   public:
    explicit Part(std::size_t bytes_max) : bytes_max_(bytes_max) {}
    Text find(const Key& key, std::int64_t valid_until_s);
    Text keep(const Key& key, std::int64_t valid_until_s, Text text);
    [[nodiscard]] std::size_t bytes() const;

   private:
    void drop(std::list<Entry>::iterator entry);

    mutable std::mutex mutex_;
    const std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    std::list<Entry> entries_;  // most recently used first
    std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> index_;
  };

  Part& own_part() noexcept;

  const std::int64_t window_s_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace turnpike::x402
