#include "hosts/operator/console_sessions.h"

#include <algorithm>
#include <array>

#include "text/encoding.h"

namespace turnpike::hosts::operators {

std::string ConsoleSessions::random_text() {
  std::array<std::uint8_t, 32> bytes{};
  random_.fill(bytes);
  return text::base64url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string ConsoleSessions::begin(const crypto::Sha256& credential) {
  std::string token = random_text();
  const std::int64_t now_ns = clock_.monotonic_ns();
  const std::lock_guard lock(mutex_);
  forget_ended(now_ns);
  while (!kept_.empty() && kept_.size() >= limits_.sessions_max) {
    const auto is_idler = [](const auto& one, const auto& other) {
      return one.second.seen_ns < other.second.seen_ns;
    };
    kept_.erase(std::min_element(kept_.begin(), kept_.end(), is_idler));
  }
  kept_.insert_or_assign(crypto::sha256(token),
                         Kept{{credential, random_text()}, now_ns, now_ns});
  return token;
}

std::optional<ConsoleSession> ConsoleSessions::find(std::string_view token) {
  const std::int64_t now_ns = clock_.monotonic_ns();
  const std::lock_guard lock(mutex_);
  forget_ended(now_ns);
  const auto found = kept_.find(crypto::sha256(token));
  if (found == kept_.end()) return std::nullopt;
  found->second.seen_ns = now_ns;
  return found->second.session;
}

void ConsoleSessions::end(std::string_view token) {
  const std::lock_guard lock(mutex_);
  kept_.erase(crypto::sha256(token));
}

std::size_t ConsoleSessions::count() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

void ConsoleSessions::forget_ended(std::int64_t now_ns) {
  std::erase_if(kept_, [&](const auto& each) {
    const Kept& kept = each.second;
    return now_ns - kept.seen_ns >= limits_.idle_ms * 1'000'000 ||
           now_ns - kept.begun_ns >= limits_.whole_ms * 1'000'000;
  });
}

}  // namespace turnpike::hosts::operators
