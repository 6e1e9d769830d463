// PoolCall: one execution of a plugin on the blocking pool. It owns copies of all arguments of the
// plugin, and is itself the Call and the sink that the plugin sees: the plugin writes into its
// bounded buffer, the caller reads from the buffer (forward()). It is refcounted, so a plugin that
// is stuck past the deadline keeps it until the plugin returns.
//
// Made by the caller, shared by the caller and one Thread of the pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <turnpike/call.h>
#include <turnpike/provider.h>

#include "runtime/pool.h"
#include "runtime/wait.h"

namespace turnpike::plugin {

// A request whose views point into itself.
class OwnedRequest {
 public:
  explicit OwnedRequest(const UpstreamRequest& request);
  OwnedRequest(const OwnedRequest&) = delete;
  OwnedRequest& operator=(const OwnedRequest&) = delete;
  [[nodiscard]] const UpstreamRequest& view() const noexcept { return request_; }

 private:
  std::string text_;
  std::vector<PathParameter> parameters_;
  std::vector<HeaderField> headers_;
  UpstreamRequest request_;
};

// The plugin's Call on the pool; it outlives the caller.
class PoolCircumstances final : public Call {
 public:
  explicit PoolCircumstances(const Call& call)
      : PoolCircumstances(call.request_id(), runtime::Deadline{call.deadline_ns()}) {}
  PoolCircumstances(std::string_view request_id, runtime::Deadline deadline)
      : request_id_(request_id), deadline_ns_(deadline.ns) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return request_id_; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override {
    return deadline_ns_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool cancelled() const noexcept override { return stop_.is_set(); }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override;
  void stop() noexcept { stop_.set(); }  // any Thread
  // Copies the caller's deadline, which may have moved. Any Thread.
  void follow(const Call& call) noexcept {
    deadline_ns_.store(call.deadline_ns(), std::memory_order_relaxed);
  }

 private:
  const std::string request_id_;
  std::atomic<std::int64_t> deadline_ns_;
  mutable runtime::Event stop_;
};

class PoolCall final : public runtime::PoolWork, private ReplySink {
 public:
  static constexpr std::size_t buffer_bytes_max = 256 * 1024;

  PoolCall(std::shared_ptr<Upstream> upstream, const UpstreamRequest& request, const Call& call);

  // Passes the reply on as it arrives, on the caller's fiber. Ends `ready` when the plugin
  // returned, `cancelled` also when the sink takes no more.
  runtime::Wake forward(ReplySink& sink, const Call& call);
  // Detaches the plugin: its sink returns stop, its call is cancelled. False when the plugin has
  // not been called, and never will be. REQUIRES: forward() did not end ready.
  [[nodiscard]] bool leave() noexcept;
  // REQUIRES: forward() ended ready; call once.
  [[nodiscard]] Done take_result() { return *std::move(result_); }

  void run() noexcept override;

 private:
  struct Head {
    int status = 0;
    std::vector<OwnedHeader> headers;
    std::optional<std::uint64_t> length;
  };

  bool head(int status, Headers headers, std::optional<std::uint64_t> length) override;
  bool body(std::string_view bytes) override;
  static bool pass_head(const Head& head, ReplySink& sink);

  const std::shared_ptr<Upstream> upstream_;
  const OwnedRequest request_;
  PoolCircumstances circumstances_;

  std::mutex mutex_;  // guards all members below
  bool has_begun_ = false;
  runtime::WaitList taker_;
  runtime::WaitList writer_;
  std::optional<Head> head_;
  std::string buffer_;
  bool is_left_ = false;
  std::optional<Done> result_;
};

}  // namespace turnpike::plugin
