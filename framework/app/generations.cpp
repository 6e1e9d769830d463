#include "app/generations.h"

#include "app/services/status_services.h"
#include "base/ids.h"

namespace turnpike::app {
namespace {

// The live readiness of a program's operations, for the public views.
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

std::string rolled_back_to(const std::string& generation_id) {
  return "rolled back to " + generation_id + "; the registry's files hold another program";
}

Reloaded refused(std::vector<registry::Problem> problems) {
  return {std::nullopt, std::move(problems), {}, {}};
}

Reloaded refused(const std::string& subject, const std::string& message) {
  return refused(problem_of(subject, message));
}

}  // namespace

Reloaded Generations::start(RefusedStart refused_start) {
  const std::scoped_lock lock(reload_mutex_);
  std::vector<std::string> notes;
  auto files = compile_files(notes);
  if (files.ok()) {
    if (auto kept = rollback_that_holds(*files); kept.ok()) {
      Reloaded reloaded = serve_again(*kept);
      if (reloaded.generation) {
        reloaded.notes.push_back(rollback_note(parts_.registry_path, kept->installed));
        report(reloaded, rolled_back_to(reloaded.generation->id));
        return reloaded;
      }
    }
  }
  Reloaded reloaded = files.ok() ? install(*files) : refused(std::move(files).error());
  if (reloaded.generation) {
    reloaded.notes.insert(reloaded.notes.begin(), notes.begin(), notes.end());
  }
  report(reloaded, "");
  if (reloaded.generation || refused_start == RefusedStart::serve_nothing) return reloaded;
  return serve_last_installed(std::move(reloaded.problems));
}

// `problems`: of the files that were refused.
Reloaded Generations::serve_last_installed(std::vector<registry::Problem> problems) {
  auto last = compile_last_installed(parts_.manifest, parts_.registry_path, loaded());
  Reloaded fallback = last.ok() ? serve_again(*last) : refused(std::move(last).error());
  if (!fallback.generation) {
    parts_.log.write(Severity::error, "nothing_to_serve",
                     {{"problem", fallback.problems.front().text()}});
    return refused(std::move(problems));
  }
  const std::string standing = "the registry's files were refused at the start; serving " +
                               fallback.generation->id + ", which was installed last";
  parts_.log.write(Severity::error, "registry_fallback",
                   {{"generation", fallback.generation->id},
                    {"problem", standing + "; mend the files and run `turnpike reload`"}});
  report(fallback, standing);
  fallback.problems = std::move(problems);
  keep_last(fallback);
  return fallback;
}

// Returns the program of a rollback, if the last installation is a rollback from the program that
// the files still hold.
Kept Generations::rollback_that_holds(const KeptProgram& files) {
  const auto last = parts_.manifest.history(1);
  if (!last.ok() || last->empty() ||
      last->front().rolled_back_from != files.program->payload_hash()) {
    return std::vector<registry::Problem>();
  }
  return compile_kept(parts_.manifest, last->front(), parts_.registry_path, loaded());
}

Reloaded Generations::reload() {
  const std::scoped_lock lock(reload_mutex_);
  std::vector<std::string> notes;
  auto files = compile_files(notes);
  Reloaded reloaded = files.ok() ? install(*files) : refused(std::move(files).error());
  if (reloaded.generation) {
    reloaded.notes.insert(reloaded.notes.begin(), notes.begin(), notes.end());
  }
  report(reloaded, "");
  return reloaded;
}

Reloaded Generations::rollback(const std::string& generation_id) {
  const std::scoped_lock lock(reload_mutex_);
  auto kept = prepare_rollback(parts_.manifest, generation_id, parts_.registry_path, loaded());
  if (!kept.ok()) {
    Reloaded reloaded = refused(std::move(kept).error());
    report(reloaded, "");
    return reloaded;
  }
  Reloaded reloaded = install(*kept);
  if (reloaded.generation) {
    reloaded.notes.push_back(rollback_note(parts_.registry_path, kept->installed));
  }
  report(reloaded, kept->installed.rolled_back_from.empty() ? "" : rolled_back_to(generation_id));
  return reloaded;
}

Kept Generations::compile_files(std::vector<std::string>& notes) {
  auto taken = parts_.plugins.take_new();
  if (!taken.ok()) return std::move(taken).error();
  providers_ = parts_.plugins.providers();
  plugin_names_.clear();
  for (const auto& provider : providers_) plugin_names_.emplace_back(provider.name);
  auto sources = registry::read_sources(parts_.registry_path);
  if (!sources.ok()) return std::move(sources).error();
  auto facts = parts_.manifest.facts();
  if (!facts.ok()) return problem_of("database", facts.error().message);
  std::vector<registry::Redefinition> redefinitions;
  auto compiled =
      registry::compile({.sources = *sources,
                         .installed = *facts,
                         .plugins = plugin_names_,
                         .definition = installed_definition(parts_.manifest),
                         .lane = exchange::lane_with_terms(parts_.lanes),
                         .redefinitions = parts_.may_redefine ? &redefinitions : nullptr});
  if (!compiled.ok()) return std::move(compiled).error();
  notes = notes_of(redefinitions);
  notes.insert(notes.end(), taken->notes.begin(), taken->notes.end());
  return KeptProgram{{},
                     *std::move(compiled),
                     registry::without_directory(*std::move(sources), parts_.registry_path)};
}

// Installs the program as a new line of the manifest.
Reloaded Generations::install(const KeptProgram& what) {
  const std::int64_t compiled_at_ms = parts_.clock.now_ms();
  return put_in_service(what, [&] {
    return parts_.manifest.install({.program = *what.program,
                                    .files = what.files,
                                    .compiled_at_ms = compiled_at_ms,
                                    .rolled_back_from = what.installed.rolled_back_from,
                                    .may_redefine = parts_.may_redefine});
  });
}

// Serves the program under its existing line of the manifest.
Reloaded Generations::serve_again(const KeptProgram& what) {
  return put_in_service(what, [&] { return what.installed.generation; });
}

Reloaded Generations::put_in_service(const KeptProgram& what, const Record& record) {
  if (parts_.serving.is_full()) {
    return refused(parts_.registry_path,
                   "calls in flight still use " + std::to_string(Serving::programs_alive_max) +
                       " earlier programs; reload again when they have ended");
  }
  const auto current = parts_.serving.current();
  registry::Generation provisional;
  provisional.payload_hash = what.program->payload_hash();
  provisional.id = registry::generation_id(provisional.payload_hash);
  auto service =
      exchange::bind_service({.installed = {what.program, std::move(provisional)},
                              .providers = providers_,
                              .lanes = parts_.lanes,
                              .secrets = &parts_.secrets,
                              .public_origin = parts_.view.base_url,
                              .data_dir = parts_.data_dir,
                              .calls_per_upstream_max = parts_.calls_per_upstream_max,
                              .previous = current == nullptr ? nullptr : current->service.get(),
                              .reports = &parts_.reports,
                              .record = record});
  if (!service.ok()) return refused(std::move(service).error());
  const registry::Installed installed{what.program, (*service)->generation()};
  catalog::ViewOptions options = parts_.view;
  const registry::LaneTerms* const terms = what.program->lane_terms();
  options.features.per_call = options.features.per_call && terms != nullptr && terms->is_enabled;
  auto readiness = std::make_shared<const LiveReadiness>(*service);
  auto view = std::make_shared<const catalog::View>(installed, readiness, std::move(options));
  auto tools = parts_.tools.make(installed, **service);
  parts_.serving.serve({*service, std::move(view), std::move(tools), readiness,
                        make_traffic_cells(*what.program, parts_.loops)});
  std::vector<std::string> notes;
  for (const registry::Problem& note : (*service)->notes()) notes.push_back(note.text());
  return {installed.generation, {}, (*service)->missing_secrets(), std::move(notes)};
}

LastReload Generations::last() const {
  const std::scoped_lock lock(last_mutex_);
  return last_;
}

void Generations::keep_last(const Reloaded& reloaded) {
  const std::scoped_lock lock(last_mutex_);
  last_ = {parts_.clock.now_ms(), reloaded};
}

void Generations::report(const Reloaded& reloaded, std::string standing) {
  keep_last(reloaded);
  if (reloaded.generation) {
    parts_.log.write(Severity::info, "registry_installed",
                     {{"generation", reloaded.generation->id},
                      {"sequence", reloaded.generation->sequence},
                      {"payload_hash", reloaded.generation->payload_hash}});
    for (const registry::Problem& secret : reloaded.missing_secrets) {
      parts_.log.write(Severity::warning, "secret_missing", {{"problem", secret.text()}});
    }
    for (const std::string& note : reloaded.notes) {
      parts_.log.write(Severity::warning, "registry_note", {{"note", note}});
    }
  } else {
    for (const registry::Problem& problem : reloaded.problems) {
      parts_.log.write(Severity::error, "registry_refused", {{"problem", problem.text()}});
    }
  }
  parts_.metrics
      .counter("turnpike_registry_reloads_total", "Reloads of the registry, by outcome.",
               {{"outcome", reloaded.generation ? "installed" : "refused"}})
      .add();
  const bool is_of_files = reloaded.generation && standing.empty();
  parts_.metrics
      .gauge("turnpike_registry_files_in_service",
             "1 while what serves is what the registry's files held at the last start or reload.",
             {})
      .set(is_of_files ? 1 : 0);
  if (reloaded.generation) {
    parts_.serving.stand(std::move(standing));
  } else {
    parts_.serving.refuse();
  }
}

}  // namespace turnpike::app
