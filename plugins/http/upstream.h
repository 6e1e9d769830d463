// HttpUpstream: forwards operations to one HTTP upstream, as its Configuration says. The caller's
// query and body and the upstream's reply body pass through byte for byte. The credential is sent
// only to the upstream: a reply header field that contains a secret is dropped, and secrets in the
// text of failures are replaced. A caller's query parameter with the name of the credential's is
// dropped, too.
//
// Made by bind(), owned by the host. execute(), state() and probe() may be called concurrently from
// any Thread.
#pragma once

#include <deque>

#include <turnpike/host.h>
#include <turnpike/provider.h>

#include "http/breaker.h"
#include "http/configuration.h"
#include "http/retry_budget.h"

namespace turnpike::http {

class HttpUpstream final : public Upstream {
 public:
  HttpUpstream(Configuration configuration, Host& host);

  Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) override;
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override;
  Done probe(Call& call) override;

 private:
  // A breaker, and when its opening was last written to the log.
  struct Watch {
    explicit Watch(const BreakerTerms& terms) noexcept : breaker(terms) {}
    Breaker breaker;
    std::atomic<std::int64_t> last_line_ns{0};
  };
  // A call's passes through the two breakers, its upstream's and its operation's.
  struct Passes {
    Breaker::Pass upstream = Breaker::Pass::refused;
    Breaker::Pass operation = Breaker::Pass::refused;
  };
  struct Prepared {
    std::string url;
    std::vector<HeaderField> headers;
  };
  [[nodiscard]] Result<Prepared> prepare(const UpstreamRequest& request) const;
  void append_query(std::string& url, std::string_view query) const;
  Done attempt(const UpstreamRequest& request, const Prepared& prepared, bool is_repeat,
               class ReplyPassage& passage, Call& call);
  bool may_repeat(const UpstreamRequest& request, const Failure& failure) const noexcept;
  bool wait_before_repeat(std::uint32_t attempt, Call& call);
  // Empty if one of the two breakers refuses the call.
  std::optional<Passes> ask_breakers(std::uint32_t operation);
  void report_to_breakers(std::uint32_t operation, const Passes& passes, const Done& done,
                          const class ReplyPassage& passage, bool was_slowed);
  void tell(Watch& watch, const std::string& what, Breaker::Change change, std::string_view why);
  [[nodiscard]] Done probed(int status) const;
  // `failure` with every secret in its message replaced.
  [[nodiscard]] Failure scrubbed(Failure failure) const;

  const Configuration configuration_;
  Host& host_;
  Watch reaching_;                // for failures to reach the upstream at all
  std::deque<Watch> operations_;  // for failures of each operation
  RetryBudget retry_budget_;
};

}  // namespace turnpike::http
