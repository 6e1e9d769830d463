// Shared by the benchmarks of a call, besides its program: the request, an upstream that answers at
// once with 1 kB, an unpaid lane, and the host for both. Stateless except for the host's clock; any
// Thread may use them.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/lane.h>
#include <turnpike/provider.h>

#include "base/sources.h"

namespace turnpike::exchange {

inline constexpr std::string_view bench_query =
    "dao_id=sample-dao&limit=50&hours=24&types=proposal";

// Headers that a client library sends.
inline constexpr HeaderField bench_headers[] = {{"Host", "127.0.0.1:8402"},
                                                {"User-Agent", "bench/1.0"},
                                                {"Accept", "application/json"},
                                                {"Accept-Encoding", "gzip, deflate"},
                                                {"X-Request-Id", "client-1234567890"},
                                                {"Connection", "keep-alive"}};

inline constexpr HeaderField upstream_headers[] = {{"Content-Type", "application/json"},
                                                   {"Content-Length", "1024"},
                                                   {"Date", "Sat, 21 Nov 2026 06:53:48 GMT"},
                                                   {"ETag", "\"3f9a\""}};
inline const std::string upstream_body(1024, 'x');

class InstantUpstream final : public Upstream {
 public:
  Done execute(const UpstreamRequest&, ReplySink& sink, Call&) override {
    if (sink.head(200, upstream_headers, upstream_body.size())) sink.body(upstream_body);
    return Unit{};
  }
  [[nodiscard]] State state(std::uint32_t) const noexcept override { return {}; }
  Done probe(Call&) override { return Unit{}; }
};

class InstantProvider final : public Provider {
 public:
  Result<std::unique_ptr<Upstream>> bind(const Binding&, Host&) override {
    return std::unique_ptr<Upstream>(std::make_unique<InstantUpstream>());
  }
};

// A lane with a header of its own that admits every call.
class OpenLane final : public Lane {
 public:
  static constexpr HeaderField credential{"X-Bench-Lane", "1"};

  [[nodiscard]] LaneTraits traits() const noexcept override {
    static constexpr std::string_view headers[] = {"x-bench-lane"};
    LaneTraits traits;
    traits.name = "open";
    traits.credential_headers = headers;
    return traits;
  }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding&, Host&) override {
    return std::unique_ptr<BoundLane>(std::make_unique<Bound>());
  }

 private:
  class OpenTicket final : public Ticket {
   public:
    Finish settle(const ReplyView&, Call&) override { return Charged{}; }
    std::optional<Refusal> release(Outcome, int, Call&) override { return std::nullopt; }
  };
  class Bound final : public BoundLane {
   public:
    Admission admit(const LaneRequest&, Call&) override {
      return std::unique_ptr<Ticket>(std::make_unique<OpenTicket>());
    }
  };
};

// A host with only a clock.
class BenchHost final : public Host {
 public:
  Report& report() noexcept override { std::abort(); }
  Clock& clock() noexcept override { return clock_; }
  Random& random() noexcept override { std::abort(); }
  Http& http() noexcept override { std::abort(); }
  Offload& offload() noexcept override { std::abort(); }
  Store& store() noexcept override { std::abort(); }

 private:
  base::SystemClock clock_;
};

}  // namespace turnpike::exchange
