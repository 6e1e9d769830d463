#include "app/generations.h"

#include "base/ids.h"
#include "base/thread_name.h"

namespace turnpike::app {
namespace {

// The live state of a program's operations, for the public views.
class LiveReadiness final : public catalog::ReadinessSource {
 public:
  explicit LiveReadiness(std::shared_ptr<const exchange::Service> service)
      : service_(std::move(service)) {}
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    return service_->state(service_->program().operations()[operation]);
  }
  [[nodiscard]] State payment_state(std::uint32_t operation) const noexcept override {
    return service_->payment_state(service_->program().operations()[operation]);
  }

 private:
  const std::shared_ptr<const exchange::Service> service_;
};

Reloaded refused(std::vector<registry::Problem> problems) {
  return {std::nullopt, std::move(problems), {}};
}

Reloaded refused(const std::string& file, const std::string& message) {
  registry::Problem problem;
  problem.rule = "not_reloaded";
  problem.file = file;
  problem.message = message;
  return refused({problem});
}

}  // namespace

Generations::Generations(Parts parts) : parts_(std::move(parts)) {
  for (const auto& provider : parts_.providers) plugin_names_.emplace_back(provider.name);
  undertaker_ = std::thread([this] { bury(); });
}

Generations::~Generations() {
  published_.publish(nullptr);
  dead_.close();
  undertaker_.join();
}

Reloaded Generations::reload() {
  const std::scoped_lock lock(reload_mutex_);
  Reloaded reloaded = try_reload();
  report(reloaded);
  return reloaded;
}

Reloaded Generations::try_reload() {
  if (programs_alive_.load() >= programs_alive_max) {
    return refused(parts_.registry_path,
                   "calls in flight still use " + std::to_string(programs_alive_max) +
                       " earlier programs; reload again when they have ended");
  }
  auto sources = registry::read_sources(parts_.registry_path);
  if (!sources.ok()) return refused(std::move(sources).error());
  auto facts = parts_.manifest.facts();
  if (!facts.ok()) return refused("database", facts.error().message);
  auto compiled =
      registry::compile({.sources = *sources, .installed = *facts, .plugins = plugin_names_});
  if (!compiled.ok()) return refused(std::move(compiled).error());
  const std::int64_t compiled_at_ms = parts_.clock.now_ms();

  // Bound before it is installed: a program that cannot be bound leaves no trace in the manifest.
  const auto current = published_.current();
  registry::Generation provisional;
  provisional.payload_hash = (*compiled)->payload_hash();
  provisional.id = registry::generation_id(provisional.payload_hash);
  auto service =
      exchange::bind_service({.installed = {*compiled, provisional},
                              .providers = parts_.providers,
                              .lanes = parts_.lanes,
                              .secrets = &parts_.secrets,
                              .public_origin = parts_.view.base_url,
                              .data_dir = parts_.data_dir,
                              .calls_per_upstream_max = parts_.calls_per_upstream_max,
                              .previous = current == nullptr ? nullptr : current->service.get()});
  if (!service.ok()) return refused(std::move(service).error());
  auto generation = parts_.manifest.install(**compiled, compiled_at_ms);
  if (!generation.ok()) return refused("database", generation.error().message);
  (*service)->installed_as(*generation);
  const registry::Installed installed{*compiled, *generation};
  catalog::ViewOptions options = parts_.view;
  options.features.x402 = options.features.x402 && (*compiled)->x402().enabled;
  auto view = std::make_shared<const catalog::View>(
      installed, std::make_shared<const LiveReadiness>(*service), std::move(options));
  published_.publish(own({*service, std::move(view), parts_.toolset(installed)}));
  return {*generation, {}, (*service)->missing_secrets()};
}

void Generations::report(const Reloaded& reloaded) {
  std::string refusal;
  if (reloaded.generation) {
    parts_.log.write(Severity::info, "registry_installed",
                     {{"generation", reloaded.generation->id},
                      {"sequence", reloaded.generation->sequence},
                      {"payload_hash", reloaded.generation->payload_hash}});
    for (const registry::Problem& secret : reloaded.missing_secrets) {
      parts_.log.write(Severity::warning, "secret_missing", {{"problem", secret.text()}});
    }
  } else {
    for (const registry::Problem& problem : reloaded.problems) {
      parts_.log.write(Severity::error, "registry_refused", {{"problem", problem.text()}});
    }
    refusal = reloaded.problems.front().text();
  }
  parts_.metrics
      .counter("turnpike_registry_reloads_total", "Reloads of the registry, by outcome.",
               {{"outcome", reloaded.generation ? "installed" : "refused"}})
      .add();
  const std::scoped_lock lock(refusal_mutex_);
  last_refusal_ = refusal;
}

std::string Generations::last_refusal() const {
  const std::scoped_lock lock(refusal_mutex_);
  return last_refusal_;
}

std::shared_ptr<const InService> Generations::own(InService program) {
  programs_alive_.fetch_add(1);
  return {new InService(std::move(program)), [this](const InService* dead) {
            // On whichever loop let it go last: freeing 100,000 routes is not for a loop.
            auto* mutable_dead = const_cast<InService*>(dead);
            if (!dead_.push(mutable_dead)) delete mutable_dead;
            programs_alive_.fetch_sub(1);
          }};
}

void Generations::bury() {
  base::name_this_thread("undertaker");
  for (;;) {
    std::vector<InService*> dead;
    const auto wake = dead_.take(dead, 1, runtime::Deadline::never());
    for (InService* program : dead) delete program;
    if (wake == runtime::Wake::ready && dead.empty()) return;  // closed
  }
}

}  // namespace turnpike::app
