// Premises: what the lane and the processor of one process share besides the plugin's store: the
// name of this life of the node, by which each treats the other's leases as its own; the assets
// that calls are paid in under the registry in service; and when the lane last swept open payments.
//
// Made by the plugin's factories; owned by both objects and what they bind. Any Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>

namespace turnpike::x402 {

// A token that is accepted on a network, and our address there.
struct PricedAsset {
  std::string network;  // CAIP-2
  std::string address;  // token contract or mint
  std::string pay_to;
  std::string name;  // EIP-712 domain; empty where not applicable
  std::string version;
  std::string transfer;        // "permit2", or empty
  std::uint32_t decimals = 0;  // 0: not known

  bool operator==(const PricedAsset&) const = default;
};

class Premises {
 public:
  // Drawn at the first call, then the same for the life of this object.
  std::string boot(Random& random);

  // The assets of the generation in service.
  void show_assets(std::vector<PricedAsset> assets);
  [[nodiscard]] std::vector<PricedAsset> assets() const;

  // The lane has swept open payments, so the processor need not for a while.
  void note_sweep(std::int64_t monotonic_ns) noexcept {
    swept_ns_.store(monotonic_ns, std::memory_order_relaxed);
  }
  [[nodiscard]] bool was_swept(std::int64_t monotonic_ns) const noexcept;

 private:
  mutable std::mutex mutex_;  // held only to copy
  std::string boot_;
  std::vector<PricedAsset> assets_;
  std::atomic<std::int64_t> swept_ns_{0};  // 0: never
};

}  // namespace turnpike::x402
