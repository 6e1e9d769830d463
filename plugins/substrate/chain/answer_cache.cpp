#include "substrate/chain/answer_cache.h"

#include <utility>

namespace turnpike::substrate {

std::shared_ptr<const NodeAnswer> AnswerCache::find(const Hash& question,
                                                    std::int64_t now_ms) const {
  const std::lock_guard lock(mutex_);
  for (const Entries* const entries : {&young_, &old_}) {
    const auto found = entries->find(question);
    if (found == entries->end()) continue;
    return now_ms < found->second.end_ms ? found->second.answer : nullptr;
  }
  return nullptr;
}

void AnswerCache::keep(const Hash& question, std::shared_ptr<const NodeAnswer> answer,
                       std::int64_t keep_ms, std::int64_t now_ms) {
  if (answer->bytes > answer_bytes_max) return;
  const std::size_t bytes = answer->bytes + entry_bytes;
  Entries dropped;  // outlives the lock, so that nothing is freed under it
  const std::lock_guard lock(mutex_);
  if (young_bytes_ + bytes > bytes_max_ / 2) {
    dropped = std::exchange(old_, std::exchange(young_, {}));
    young_bytes_ = 0;
  }
  young_.insert_or_assign(question, Entry{std::move(answer), now_ms + keep_ms});
  young_bytes_ += bytes;  // what was replaced is counted until its generation ends
}

}  // namespace turnpike::substrate
