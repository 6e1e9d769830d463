#include "x402/premises.h"

#include <array>
#include <utility>

#include "x402/protocol/bytes.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {

std::string Premises::boot(Random& random) {
  const std::scoped_lock lock(mutex_);
  if (boot_.empty()) {
    std::array<std::uint8_t, 8> bytes{};
    random.fill(bytes);
    boot_ = hex_encode(bytes_of(bytes)).substr(2);
  }
  return boot_;
}

void Premises::show_assets(std::vector<PricedAsset> assets) {
  const std::scoped_lock lock(mutex_);
  assets_ = std::move(assets);
}

std::vector<PricedAsset> Premises::assets() const {
  const std::scoped_lock lock(mutex_);
  return assets_;
}

bool Premises::was_swept(std::int64_t monotonic_ns) const noexcept {
  constexpr std::int64_t lately_ns = 30'000'000'000;
  const std::int64_t swept_ns = swept_ns_.load(std::memory_order_relaxed);
  return swept_ns != 0 && monotonic_ns - swept_ns < lately_ns;
}

}  // namespace turnpike::x402
