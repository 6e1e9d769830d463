// OfferCache: signed offers, so that a challenge costs a look-up and not a signature. Windows of
// time are aligned to 1970, so all nodes and threads sign the same terms: an offer that is given in
// a window of W seconds is valid until the end of the next one, so for between W and 2 W from now
// on.
//
// Bounded in bytes, whatever paths callers make up: the least recently used goes first, and making
// room takes as many steps as were put in. One more look-up of an unknown path costs the caller's
// signature and nothing that grows.
//
// Safe on any thread. Threads have their own parts as long as there are parts enough, so the lock
// of a part is theirs alone; nothing suspends under it.
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
    std::uint32_t operation = 0;  // in its generation; give `terms` what else tells offers apart
    std::uint64_t terms = 0;      // of a digest of prices, pay-to addresses, the signing key
    std::string_view path;
    std::string_view query = {};

    bool operator==(const Key&) const = default;
  };

  // `bytes_max` of texts, paths and queries together, over `parts` parts (REQUIRES: at least one;
  // as many as threads call).
  OfferCache(std::uint32_t window_s, std::size_t bytes_max, std::size_t parts);
  ~OfferCache();

  [[nodiscard]] std::int64_t valid_until_s(std::int64_t now_s) const noexcept {
    return (now_s / window_s_ + 2) * window_s_;
  }

  // The text that `sign(valid_until_s)` gave, now or earlier in this window. It runs on this
  // thread, with no lock held; what two threads miss at once both sign. A hit allocates nothing.
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
    Key key;             // its path and query look into `target`
    std::string target;  // one behind the other
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
    std::list<Entry> entries_;  // the most recently used first
    std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> index_;
  };

  Part& own_part() noexcept;

  const std::int64_t window_s_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace turnpike::x402
