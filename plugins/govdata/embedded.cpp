// Answers from the store in the data directory, and updates the store in the mode poll.
#include "govdata/live/poller.h"
#include "govdata/upstream.h"

namespace turnpike::govdata {
namespace {

class Embedded final : public Upstream {
 public:
  Embedded(const Configuration& configuration, Host& host)
      : host_(host),
        stale_blocks_(configuration.stale_blocks),
        service_(configuration.service, host.clock()) {
    for (const PricedRoute& route : configuration.service.routes) {
      operations_.push_back(route.operation);
    }
    if (!configuration.sources.empty()) {
      poller_ =
          std::make_unique<Poller>(configuration.sources, configuration.service.database, host);
    }
    service_.check();
  }

  // Runs the polls that are due. Without sources there is no work, and the host never calls it
  // again.
  Result<std::uint32_t> run(Call& call) override {
    if (poller_ == nullptr) return std::uint32_t{0};
    auto next_ms = poller_->run(call);
    if (poller_->has_written()) service_.check();
    return next_ms;
  }

  Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) override {
    if (request.operation >= operations_.size()) {
      return Failure{FailureKind::contract, "an operation that was not bound", {}, false};
    }
    ServiceCall wanted;
    wanted.operation = operations_[request.operation];
    for (const PathParameter& parameter : request.parameters) {
      wanted.path_values.push_back(parameter.value);
    }
    wanted.query = request.query;
    wanted.request_id = call.request_id();
    const Answer answer = service_.answer(wanted);
    if (answer.status >= 500) host_.report().count("store_errors", 1);
    if (request.reply_bytes_max > 0 && answer.body.size() > request.reply_bytes_max) {
      return Failure{
          FailureKind::too_large, "the answer is larger than the route allows", {}, false};
    }
    const std::string caching = "private, max-age=" + std::to_string(answer.max_age_s);
    std::vector<HeaderField> headers = {{"Content-Type", "application/json"}};
    if (!answer.etag.empty()) {
      headers.push_back({"ETag", answer.etag});
      headers.push_back({"Cache-Control", caching});
    }
    if (sink.head(answer.status, headers, answer.body.size())) sink.body(answer.body);
    return Unit{};
  }

  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    if (operation >= operations_.size()) return {Condition::blocked, "the operation is not bound"};
    const Operation known = operations_[operation];
    if (known == Operation::pricing) return {};
    switch (service_.health()) {
      case StoreHealth::missing:
        return {Condition::blocked, "The governance data store has not been created yet."};
      case StoreHealth::unreadable:
        return {Condition::blocked, "The governance data store cannot be read."};
      case StoreHealth::newer:
        return {Condition::blocked, "The governance data store was written by a newer release."};
      case StoreHealth::ready:
        break;
    }
    const bool needs_fresh = stale_blocks_[operation] && known != Operation::freshness;
    if (needs_fresh && host_.clock().now_ms() > service_.fresh_until_ms()) {
      return {Condition::evidence_stale, service_.stale_reason()};
    }
    return {};
  }

  Done probe(Call&) override {
    if (service_.check() == StoreHealth::ready) return Unit{};
    return Failure{FailureKind::unavailable, "the store is missing or cannot be read", {}, false};
  }

 private:
  Host& host_;
  const std::vector<bool> stale_blocks_;
  std::vector<Operation> operations_;
  Service service_;
  std::unique_ptr<Poller> poller_;
};

}  // namespace

std::unique_ptr<Upstream> make_embedded(const Configuration& configuration, Host& host) {
  return std::make_unique<Embedded>(configuration, host);
}

}  // namespace turnpike::govdata
