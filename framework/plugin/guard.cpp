#include "plugin/guard.h"

#include <utility>

#include "plugin/checked_sink.h"
#include "plugin/guarded.h"
#include "runtime/fault.h"

namespace turnpike::plugin {

using runtime::Deadline;
using runtime::PoolOutcome;
using runtime::Wake;

namespace {

class GuardedUpstream final : public GuardedBound<Upstream> {
 public:
  GuardedUpstream(Guard& guard, std::shared_ptr<Upstream> inner)
      : GuardedBound(guard, inner), inner_(std::move(inner)) {}

  Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) override {
    const Guard::Visit visit(guard_);
    return guard_.finish(
        guard_.uses_pool() ? on_pool(request, sink, call) : on_fiber(request, sink, call),
        call.request_id());
  }

  // state() never waits by its contract, so it is called directly.
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    return inner_->state(operation);
  }

  // As state().
  [[nodiscard]] const OperationTool* tool(std::uint32_t operation) const noexcept override {
    return inner_->tool(operation);
  }

  Done probe(Call& call) override {
    return call_plugin(guard_, call, [inner = inner_](Call& own) { return inner->probe(own); });
  }

 private:
  Done on_fiber(const UpstreamRequest& request, ReplySink& sink, Call& call) {
    const Guard::Tag tag(guard_);
    CheckedSink checked(sink, request, call);
    return checked.verdict(contained([&] { return inner_->execute(request, checked, call); }));
  }

  Done on_pool(const UpstreamRequest& request, ReplySink& sink, Call& call) {
    const auto work = std::make_shared<PoolCall>(inner_, request, call);
    if (!guard_.pool().begin(guard_.pool_user(), work)) return no_room();
    const Wake wake = work->forward(sink, call);
    if (wake == Wake::ready) {
      const runtime::CancelMask mask;  // it has returned; only the Thread's last steps remain
      guard_.pool().end(guard_.pool_user(), work, Deadline::never());
      return work->take_result();
    }
    const bool has_begun = work->leave();
    const PoolOutcome outcome = guard_.pool().end(guard_.pool_user(), work, Deadline{0});
    if (outcome == PoolOutcome::refused) return no_room();  // the pool stopped
    if (wake == Wake::cancelled) {
      return Failure{FailureKind::cancelled, "the caller took no more", {}, has_begun};
    }
    return Failure{FailureKind::timeout, "it had not replied at the deadline", {}, has_begun};
  }

  static Failure no_room() {
    return Failure{FailureKind::unavailable, "its share of the pool is full", {}, false};
  }

  const std::shared_ptr<Upstream> inner_;  // also held by abandoned calls
};

class GuardedProvider final : public GuardedSlot<Provider> {
 public:
  using GuardedSlot::GuardedSlot;

  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host& host) override {
    auto bound =
        bind_guarded<Upstream>(guard_, "upstream", [&] { return inner_.bind(binding, host); });
    if (!bound.ok()) return bound;
    return std::unique_ptr<Upstream>(
        std::make_unique<GuardedUpstream>(guard_, share(guard_, *std::move(bound))));
  }
};

constexpr std::string_view kind_names[] = {
    "invalid_settings", "timeout",    "transport",   "contract",  "too_large",
    "redirect",         "credential", "unavailable", "cancelled", "plugin_fault"};

}  // namespace

std::string_view name_of(FailureKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kind_names) ? kind_names[index] : "plugin_fault";
}

Guard::Guard(std::string name, std::uint32_t number, Execution execution,
             const GuardSurroundings& surroundings, const GuardOptions& options)
    : name_(std::move(name)),
      number_(number),
      stalls_max_(options.stalls_max),
      pool_(surroundings.pool),
      pool_user_(surroundings.pool.add_user("plugin " + name_, options.pool_threads_max,
                                            options.pool_queued_max)),
      log_(surroundings.log),
      uses_pool_(execution == Execution::blocking) {
  static_assert(std::size(kind_names) == kinds);
  runtime::name_tag(number_, name_);
  calls_ = &surroundings.metrics.counter("turnpike_guard_calls_total", "Calls into a plugin.",
                                         {{"plugin", name_}});
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    failures_[kind] = &surroundings.metrics.counter(
        "turnpike_guard_failures_total", "Calls into a plugin that failed, by kind.",
        {{"plugin", name_}, {"kind", std::string(kind_names[kind])}});
  }
}

std::unique_ptr<Provider> Guard::wrap(Provider& provider) {
  return std::make_unique<GuardedProvider>(*this, provider);
}

void Guard::note_stall(std::int64_t now_ns) noexcept {
  // Over weeks a few stalls accumulate that are not the plugin's fault.
  constexpr std::int64_t window_ns = 60'000'000'000;
  if (stalls_ == 0 || now_ns - stalls_since_ns_ >= window_ns) {
    stalls_ = 0;
    stalls_since_ns_ = now_ns;
  }
  if (++stalls_ <= stalls_max_) return;
  if (uses_pool_.exchange(true, std::memory_order_relaxed)) return;
  log_.write(Severity::warning, "plugin_moved_to_pool",
             {{"plugin", name_}, {"reason", "it held up a loop too often; declare it blocking"}});
}

Done Guard::finish(Done done, std::string_view request_id) noexcept {
  if (done.ok()) return done;
  Failure& failure = done.error();
  auto kind = static_cast<std::size_t>(failure.kind);
  if (kind >= kinds) {  // the plugin cast an invalid value to the enum
    failure.kind = FailureKind::plugin_fault;
    kind = kinds - 1;
  }
  failures_[kind]->add();
  if (failure.kind == FailureKind::plugin_fault) {
    log_.write(Severity::error, "plugin_fault",
               {{"plugin", name_}, {"reason", failure.message}, {"request_id", request_id}});
  }
  failure.message.insert(0, "plugin " + name_ + ": ");
  return done;
}

Guard::Visit::Visit(Guard& guard) noexcept : guard_(guard) {
  guard_.in_flight_.fetch_add(1, std::memory_order_relaxed);
  guard_.calls_->add();
}

Guard::Tag::Tag(const Guard& guard) noexcept : fiber_(runtime::Fiber::current()) {
  if (fiber_ == nullptr) return;
  outer_ = fiber_->tag();
  fiber_->set_tag(guard.number());
}

Guard::Tag::~Tag() {
  if (fiber_ != nullptr) fiber_->set_tag(outer_);
}

}  // namespace turnpike::plugin
