#include "app/services/looks.h"

#include <algorithm>

#include "base/limits.h"
#include "exchange/live_call.h"
#include "runtime/wait.h"
#include "status/judge.h"

namespace turnpike::app {
namespace {

using status::Look;
using status::LookResult;
using status::Reason;

constexpr std::int64_t ns_per_ms = 1'000'000;
// Places that probes leave free, so that callers always find one.
constexpr std::uint32_t places_left_to_callers = 1;

// Keeps the judged parts of a reply, within bounds, and aborts a reply that can no longer pass.
class SampleSink final : public ReplySink {
 public:
  SampleSink(const registry::ResponsePolicy& policy, bool keeps_body)
      : policy_(policy), keeps_body_(keeps_body) {}

  bool head(int status, Headers headers, std::optional<std::uint64_t> length) override {
    seen_.status = status;
    for (const HeaderField& field : headers) {
      if (same_header_name(field.name, "content-type") && ++seen_.content_types == 1) {
        seen_.content_type = field.value;
      }
      if (same_header_name(field.name, "last-modified")) seen_.last_modified = field.value;
    }
    seen_.is_too_large = length.value_or(0) > policy_.max_bytes;
    const auto& successes = policy_.success_statuses;
    return !seen_.is_too_large &&
           std::find(successes.begin(), successes.end(), status) != successes.end();
  }

  bool body(std::string_view bytes) override {
    received_ += bytes.size();
    seen_.is_too_large = received_ > policy_.max_bytes;
    if (seen_.is_too_large) return false;
    if (!keeps_body_) return true;
    seen_.is_body_cut = received_ > status::judged_reply_bytes_max;
    if (!seen_.is_body_cut) seen_.body.append(bytes);
    return !seen_.is_body_cut;
  }

  [[nodiscard]] const status::ReplySeen& seen() const noexcept { return seen_; }

 private:
  const registry::ResponsePolicy& policy_;
  const bool keeps_body_;
  status::ReplySeen seen_;
  std::uint64_t received_ = 0;
};

Look look_of(LookResult result, Reason reason) {
  Look look;
  look.result = result;
  look.reason = reason;
  return look;
}

// Returns the result that follows from the operation's own state; nothing: the sample can be run.
std::optional<Look> look_without_asking(const exchange::Service& service,
                                        const registry::Operation& operation) {
  if (operation.monitoring->sample.path.empty()) return look_of(LookResult::unknown, Reason::none);
  // A block by the operator is not a failure of the provider.
  if (!service.program().routes()[operation.route].readiness.ready) {
    return look_of(LookResult::unknown, Reason::blocked);
  }
  switch (service.state(operation).condition) {
    case Condition::ready:
      return std::nullopt;
    case Condition::blocked:
      return look_of(LookResult::fail, Reason::blocked);
    case Condition::credential_missing:
      return look_of(LookResult::fail, Reason::credential);
    case Condition::evidence_stale:
      return look_of(LookResult::fail, Reason::freshness);
  }
  return look_of(LookResult::fail, Reason::plugin_fault);
}

// Returns the parameters of the sample's path, encoded and decoded, for the plugin.
std::vector<PathParameter> parameters_of(const registry::Program& program,
                                         const registry::Sample& sample) {
  std::vector<PathParameter> parameters;
  const registry::Match match = program.match(sample.path);
  for (std::size_t at = 0; at < sample.parameters.size() && at < match.parameter_count; ++at) {
    const auto& [name, value] = sample.parameters[at];
    const auto [offset, length] = match.parameters[at];
    parameters.push_back({name, std::string_view(sample.path).substr(offset, length), value});
  }
  return parameters;
}

std::uint32_t whole_ms(std::int64_t duration_ns) noexcept {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(0, duration_ns) / ns_per_ms);
}

}  // namespace

Look Looks::reach(const exchange::Service& service, std::uint32_t upstream,
                  runtime::Deadline deadline) const {
  const registry::Program& program = service.program();
  const registry::Upstream& known = program.upstreams()[upstream];
  exchange::LiveCall call("", deadline, nullptr);
  const std::int64_t started_ns = clock_.monotonic_ns();
  const Done done = service.upstream(upstream).upstream->probe(call);
  const std::int64_t ended_ns = clock_.monotonic_ns();
  if (runtime::cancelled()) return look_of(LookResult::unknown, Reason::stopping);
  Look look = status::judge_probe(done, known.probe.uses_credential);
  look.latency_ms = whole_ms(ended_ns - started_ns);
  reports_.of(program.providers()[known.provider].key, known.id).probed(done, ended_ns);
  return look;
}

Look Looks::run_sample(const exchange::Service& service, std::uint32_t operation,
                       runtime::Deadline deadline, status::Shape* shape) const {
  const registry::Program& program = service.program();
  const registry::Operation& known = program.operations()[operation];
  const registry::Monitoring& monitoring = *known.monitoring;
  if (auto look = look_without_asking(service, known)) {
    look->expect_hash = monitoring.expect.hash;
    return *std::move(look);
  }
  exchange::BoundUpstream& upstream =
      service.upstream(program.routes()[known.route].upstream);
  const auto seat = upstream.in_flight.try_enter_leaving(places_left_to_callers);
  if (!seat) return look_of(LookResult::unknown, Reason::none);

  const std::vector<PathParameter> parameters = parameters_of(program, monitoring.sample);
  UpstreamRequest request;
  request.operation = known.upstream_operation;
  request.method = known.method;
  request.path = monitoring.sample.path;
  request.query = monitoring.sample.query;
  request.parameters = parameters;
  request.content_type = monitoring.sample.content_type;
  request.body = monitoring.sample.body;
  request.reply_bytes_max = known.response->max_bytes;
  SampleSink sink(*known.response, status::needs_body(monitoring.expect));
  exchange::LiveCall call("", deadline, nullptr);
  const std::int64_t started_ns = clock_.monotonic_ns();
  const Done done = upstream.upstream->execute(request, sink, call);
  const std::int64_t ended_ns = clock_.monotonic_ns();
  if (runtime::cancelled()) return look_of(LookResult::unknown, Reason::stopping);

  const std::int64_t now_ms = clock_.now_ms();
  Look look = status::judge(*known.response, monitoring.expect, sink.seen(), done,
                            deadline.passed(), now_ms);
  look.latency_ms = whole_ms(ended_ns - started_ns);
  if (shape != nullptr && monitoring.expect.learns_shape && look.result == LookResult::pass) {
    look.difference = status::bounded_difference(shape->look(sink.seen().body, now_ms));
    if (!look.difference.empty()) {
      look.result = LookResult::fail;
      look.reason = Reason::contract;
    }
  }
  return look;
}

void LearnedShapes::load(const std::vector<std::pair<std::string, std::string>>& kept) {
  shapes_.clear();
  for (const auto& [operation, text] : kept) {
    if (auto shape = status::Shape::read(text); shape.ok()) {
      shapes_.insert_or_assign(operation, *std::move(shape));
    }
  }
}

status::Shape* LearnedShapes::of(const registry::Program& program, std::uint32_t operation) {
  const registry::Operation& known = program.operations()[operation];
  const registry::Expectation& expect = known.monitoring->expect;
  if (!expect.learns_shape) return nullptr;
  const registry::Route& route = program.routes()[known.route];
  const std::string basis = status::Shape::basis_of(expect, route.revision);
  const std::string name = route.id + ":" + std::string(name_of(known.method));
  const auto found = shapes_.find(name);
  if (found != shapes_.end() && found->second.basis() == basis) return &found->second;
  return &shapes_.insert_or_assign(name, status::Shape(basis)).first->second;
}

std::vector<std::pair<std::string, std::string>> LearnedShapes::take_changed() {
  std::vector<std::pair<std::string, std::string>> changed;
  for (auto& [operation, shape] : shapes_) {
    if (shape.take_changed()) changed.emplace_back(operation, shape.canonical());
  }
  return changed;
}

}  // namespace turnpike::app
