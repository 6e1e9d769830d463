#include "govdata/live/poller.h"

#include <algorithm>

#include "govdata/store/schema.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

constexpr std::int64_t pause_max_ms = 60'000;
constexpr std::int64_t retry_max_ms = 1'800'000;
constexpr std::uint32_t doublings_max = 10;

// "https://hub.snapshot.org/graphql" -> "hub.snapshot.org".
std::string budget_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != url.npos) url.remove_prefix(scheme + 3);
  return lower_ascii(url.substr(0, url.find_first_of("/?#")));
}

std::unique_ptr<Source> make_source(const SourceSettings& settings) {
  switch (settings.type) {
    case SourceType::snapshot:
      return make_snapshot_source(settings);
    case SourceType::discourse:
      return make_discourse_source(settings);
    case SourceType::governor:
      return make_governor_source(settings);
  }
  return nullptr;
}

}  // namespace

Poller::Poller(std::vector<SourceSettings> settings, std::string database_path, Host& host)
    : host_(host), database_path_(std::move(database_path)) {
  for (SourceSettings& source : settings) {
    Polled polled;
    polled.source = make_source(source);
    polled.host = budget_of(source.url);
    polled.settings = std::move(source);
    polled_.push_back(std::move(polled));
  }
}

Poller::~Poller() = default;

std::int64_t Poller::monotonic_ms() const { return host_.clock().monotonic_ns() / 1'000'000; }

std::int64_t Poller::due_ms(const Polled& polled) const {
  const auto busy = free_at_ms_.find(polled.host);
  return busy == free_at_ms_.end() ? polled.due_ms : std::max(polled.due_ms, busy->second);
}

Result<std::uint32_t> Poller::run(Call& call) {
  has_written_ = false;
  try {
    const auto database = open_for_import(database_path_);
    for (Polled& polled : polled_) {
      if (call.cancelled()) break;
      if (due_ms(polled) <= monotonic_ms()) step(polled, *database, call);
    }
  } catch (const SqliteError& error) {
    return Failure{FailureKind::unavailable,
                   std::string("the store for what is polled: ") + error.what(),
                   {},
                   false};
  }
  std::int64_t next_ms = monotonic_ms() + pause_max_ms;
  for (const Polled& polled : polled_) next_ms = std::min(next_ms, due_ms(polled));
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(next_ms - monotonic_ms(), 1, pause_max_ms));
}

void Poller::step(Polled& polled, Database& database, Call& call) {
  const std::int64_t now_ms = host_.clock().now_ms();
  Step step;
  try {
    if (polled.source_id == 0) {
      polled.source_id = open_source(database, polled.settings, now_ms);
      has_written_ = true;
    }
    StepContext context{database, host_, call, polled.source_id, now_ms};
    step = polled.settings.url.empty() ? failed_step("its address (a secret) is not available")
                                       : polled.source->step(context);
  } catch (const SqliteError& error) {
    // Callers can read the noted problem. SQLite's text is only for operators.
    host_.report().log(Severity::warning,
                       std::string("the store of what is polled: ") + error.what());
    step = failed_step("the store could not be read or written");
  }
  free_at_ms_[polled.host] = monotonic_ms() + polled.settings.request_interval_ms;
  take(polled, step, database);
}

void Poller::take(Polled& polled, const Step& step, Database& database) {
  if (step.kind == StepKind::failed) return fail(polled, step.problem, database);
  if (step.kind == StepKind::limited) {
    free_at_ms_[polled.host] = monotonic_ms() + step.wait_ms;
    host_.report().count("poll_limited", 1);
    host_.report().log(Severity::info, "poll of " + polled.settings.name() + ": " + step.problem +
                                           "; asking again in " +
                                           std::to_string((step.wait_ms + 999) / 1000) + " s");
    return note(polled, step.problem, database);
  }
  has_written_ = true;
  if (polled.failures > 0) {
    host_.report().log(Severity::info, "poll of " + polled.settings.name() + " works again");
  }
  polled.failures = 0;
  polled.due_ms = monotonic_ms();
  if (step.kind == StepKind::done) {
    polled.due_ms += polled.settings.every_s * 1000;
    host_.report().count("poll_rounds", 1);
  }
}

void Poller::fail(Polled& polled, const std::string& problem, Database& database) {
  const std::uint32_t doublings = std::min(polled.failures, doublings_max);
  ++polled.failures;
  const std::int64_t wait_ms = std::min(polled.settings.retry_s * 1000 << doublings,
                                        std::max(retry_max_ms, polled.settings.retry_s * 1000));
  polled.due_ms = monotonic_ms() + wait_ms;
  host_.report().count("poll_failures", 1);
  host_.report().log(Severity::warning, "poll of " + polled.settings.name() + ": " + problem +
                                            "; trying again in " + std::to_string(wait_ms / 1000) +
                                            " s");
  note(polled, problem, database);
}

void Poller::note(const Polled& polled, const std::string& problem, Database& database) {
  if (polled.source_id == 0) return;
  try {
    note_failure(database, polled.source_id, problem, host_.clock().now_ms());
    has_written_ = true;
  } catch (const SqliteError& error) {
    host_.report().log(Severity::warning,
                       std::string("the store of what is polled: ") + error.what());
  }
}

}  // namespace turnpike::govdata
