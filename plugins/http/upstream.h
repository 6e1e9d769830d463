// HttpUpstream: forwards operations to one HTTP upstream as its Configuration says: the caller's
// query and body byte for byte, the upstream's reply byte for byte. Its own credential goes to the
// upstream alone; what the upstream reflects of it in header fields, and what the client writes of
// it into failures, is taken out.
//
// Made by bind(); execute(), state() and probe() may be called from any Thread at the same time.
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
  // A breaker, and when its state was last written to the log.
  struct Watch {
    explicit Watch(const BreakerTerms& terms) noexcept : breaker(terms) {}
    Breaker breaker;
    std::atomic<std::int64_t> last_line_ns{0};
  };
  // A call's passes through the two that it needs, its upstream's and its operation's.
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
  // Nothing: one of them refuses the call.
  std::optional<Passes> ask_breakers(std::uint32_t operation);
  void report_to_breakers(std::uint32_t operation, const Passes& passes, const Done& done,
                          const class ReplyPassage& passage, bool was_slowed);
  void tell(Watch& watch, const std::string& what, Breaker::Change change, std::string_view why);
  [[nodiscard]] Done probed(int status) const;
  // `failure` without any secret in its text.
  [[nodiscard]] Failure scrubbed(Failure failure) const;

  const Configuration configuration_;
  Host& host_;
  Watch reaching_;                // whether the upstream can be reached at all
  std::deque<Watch> operations_;  // whether it answers each operation
  RetryBudget retry_budget_;
};

}  // namespace turnpike::http
