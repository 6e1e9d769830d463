// AnswerCache: answers of nodes that need not be asked for again. An answer about one block, named
// by its hash, never changes and is kept for a day; an answer about the head of a chain is kept for
// seconds. An answer belongs to one endpoint, so endpoints are still compared with each other. The
// cache is bounded in bytes; the older half of the answers leaves first.
//
// One per upstream. Any Thread may call it: a mutex is held for one look-up, and nothing waits
// while it is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "substrate/codec/bytes.h"
#include "substrate/verify/json.h"

namespace turnpike::substrate {

struct NodeAnswer {
  Json result;
  Hash digest{};           // BLAKE2-256 of the result's canonical text
  std::int64_t at_ms = 0;  // when the node gave it
  std::size_t bytes = 0;   // of the reply it stood in
};

class AnswerCache {
 public:
  static constexpr std::int64_t block_keep_ms = 86'400'000;
  static constexpr std::int64_t head_keep_ms = 6'000;
  static constexpr std::size_t answer_bytes_max = 16 * 1024;

  explicit AnswerCache(std::size_t bytes_max = 16 * 1024 * 1024) : bytes_max_(bytes_max) {}

  // Null when there is no answer to the question, or its time is over at `now_ms`. A question is
  // the digest of endpoint, method and parameters. `now_ms` is monotonic.
  std::shared_ptr<const NodeAnswer> find(const Hash& question, std::int64_t now_ms) const;

  // Replaces an older answer to the question. Answers above answer_bytes_max are not kept.
  void keep(const Hash& question, std::shared_ptr<const NodeAnswer> answer, std::int64_t keep_ms,
            std::int64_t now_ms);

 private:
  struct Entry {
    std::shared_ptr<const NodeAnswer> answer;
    std::int64_t end_ms = 0;
  };
  using Entries = std::map<Hash, Entry>;

  static constexpr std::size_t entry_bytes = 512;  // about what an entry takes besides its text

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  // Two generations: when the young one has half of the bytes it becomes the old one, and the old
  // one is dropped.
  Entries young_;
  Entries old_;
  std::size_t young_bytes_ = 0;
};

}  // namespace turnpike::substrate
