// GatewayCall: connects HTTP and the exchange for one call on a gateway route. It makes the
// Invocation from the request, and turns reply or refusal into HTTP, with the header fields that
// report what happened. Used on the fiber of the request; only standing() may be called from
// another Thread.
#pragma once

#include <atomic>
#include <string>

#include "exchange/invocation.h"
#include "exchange/reply.h"
#include "hosts/backend.h"
#include "hosts/byte_budget.h"
#include "hosts/metered_body.h"
#include "hosts/turn.h"

namespace turnpike::hosts::api {

class GatewayCall final : public exchange::BodySource,
                          public exchange::Caller,
                          public exchange::ReplyWriter {
 public:
  // `bodies`: the budget of all calls.
  GatewayCall(Turn& turn, const std::atomic<bool>& is_stopping, ByteBudget& bodies,
              identity::Authenticator& authenticator)
      : turn_(turn), is_stopping_(is_stopping), body_(bodies, turn.request, authenticator) {}

  [[nodiscard]] exchange::Invocation invocation() noexcept;

  // The interface BodySource.
  [[nodiscard]] std::optional<std::uint64_t> declared_length() const noexcept override;
  [[nodiscard]] Result<std::string_view, base::Error> read(std::uint64_t bytes_max) override;

  // The interface Caller.
  [[nodiscard]] exchange::Standing standing() const noexcept override;

  // The interface ReplyWriter.
  bool reply(const exchange::ReplyHead& head, std::string_view body) override;
  bool begin(const exchange::ReplyHead& head, std::optional<std::uint64_t> length) override;
  bool write(std::string_view bytes) override;
  bool finish(std::string_view last_bytes) override;
  void cut() noexcept override;
  bool refuse(const base::Error& error, const exchange::RefusalHead& head) override;

 private:
  void add_facts(const exchange::ReplyFacts& facts, ReplyFields& fields) const;
  void add_head(const exchange::ReplyHead& head, ReplyFields& fields);

  Turn& turn_;
  const std::atomic<bool>& is_stopping_;
  MeteredBody body_;
  std::string caching_;  // Cache-Control of the reply
};

// The calls of a host: passes each to the exchange and writes its outcome into its access record.
// Owned by the host; call() on the fibers of all loop Threads, stop() on any Thread.
class GatewayCalls {
 public:
  // `bodies`: the budget of all requests to the host.
  GatewayCalls(Backend& backend, identity::Authenticator& authenticator, ByteBudget& bodies)
      : backend_(backend), authenticator_(authenticator), bodies_(bodies) {}

  void call(Turn& turn);
  // Tells calls in flight that the gateway stops.
  void stop() noexcept { is_stopping_.store(true, std::memory_order_relaxed); }

 private:
  Backend& backend_;
  identity::Authenticator& authenticator_;
  ByteBudget& bodies_;
  std::atomic<bool> is_stopping_{false};
};

}  // namespace turnpike::hosts::api
