#include "hosts/operator/status_route.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "hosts/operator/status_words.h"
#include "hosts/origins.h"

namespace turnpike::hosts::operators {
namespace {

using status::StatusStore;

constexpr std::uint32_t status_threads_max = 2;
constexpr std::uint32_t status_queued_max = 64;
constexpr std::int64_t status_timeout_ms = 5'000;

// Operators reach the listener directly, so the peer is the operator.
identity::Actor actor_of(Turn& turn, const Asked& asked) {
  identity::Actor actor;
  actor.principal = text_of(*asked.caller);
  actor.address = split_authority(turn.request.peer_address()).host;
  actor.request_id = turn.request_id();
  return actor;
}

// Returns the current incident, if `is_done` says that the change was accepted.
StatusRoute::Document shown_after(StatusStore& store, const Result<bool, base::Error>& is_done,
                                  const std::string& id, base::Error missing) {
  if (!is_done.ok()) return is_done.error();
  if (!*is_done) return missing;
  const auto shown = store.incident(id);
  if (!shown.ok()) return shown.error();
  if (!*shown) return missing;
  return document_of(**shown).dump();
}

}  // namespace

StatusRoute::StatusRoute(StatusStore& store, runtime::BlockingPool& pool)
    : store_(store),
      pool_(pool),
      user_(pool.add_user("operator_status", status_threads_max, status_queued_max)) {}

StatusRoute::Document StatusRoute::ask(std::function<Document(StatusStore&)> work) const {
  auto reply = pool_.call(
      user_, [store = &store_, work = std::move(work)] { return work(*store); },
      runtime::Deadline::after_ms(status_timeout_ms));
  if (reply.outcome == runtime::PoolOutcome::done) return *std::move(reply.value);
  return base::Error{base::ErrorCode::status_unavailable,
                     "The store did not answer in time: look whether the word is there before you "
                     "repeat it.",
                     1};
}

StatusRoute::Document StatusRoute::open_incident(Turn& turn, const Asked& asked) const {
  auto words = read_incident(asked.body);
  if (!words.ok()) return std::move(words).error();
  return ask([words = *std::move(words), actor = actor_of(turn, asked)](StatusStore& store) {
    const auto id = store.open_incident(words.scope, words.severity, words.note, actor);
    if (!id.ok()) return Document(id.error());
    return shown_after(store, true, *id, no_incident(*id));
  });
}

StatusRoute::Document StatusRoute::add_note(Turn& turn, const Asked& asked) const {
  auto note = read_note(asked.body);
  if (!note.ok()) return std::move(note).error();
  return ask([note = *std::move(note), id = asked.parameters[0],
              actor = actor_of(turn, asked)](StatusStore& store) {
    return shown_after(store, store.add_note(id, note, actor), id, no_incident(id));
  });
}

StatusRoute::Document StatusRoute::resolve_incident(Turn& turn, const Asked& asked) const {
  auto note = read_note(asked.body);
  if (!note.ok()) return std::move(note).error();
  return ask([note = *std::move(note), id = asked.parameters[0],
              actor = actor_of(turn, asked)](StatusStore& store) {
    return shown_after(store, store.resolve_incident(id, note, actor), id, not_to_resolve(id));
  });
}

StatusRoute::Document StatusRoute::announce(Turn& turn, const Asked& asked) const {
  auto read = read_maintenance(asked.body);
  if (!read.ok()) return std::move(read).error();
  return ask([maintenance = *std::move(read),
              actor = actor_of(turn, asked)](StatusStore& store) mutable {
    auto id = store.announce(maintenance, actor);
    if (!id.ok()) return Document(id.error());
    maintenance.id = *std::move(id);
    return Document(document_of(maintenance).dump());
  });
}

StatusRoute::Document StatusRoute::cancel_maintenance(Turn& turn, const Asked& asked) const {
  return ask([id = asked.parameters[0], actor = actor_of(turn, asked)](StatusStore& store) {
    const auto is_cancelled = store.cancel_maintenance(id, actor);
    if (!is_cancelled.ok()) return Document(is_cancelled.error());
    if (!*is_cancelled) return Document(no_maintenance(id));
    return Document(nlohmann::json{{"maintenance_id", id}, {"cancelled", true}}.dump());
  });
}

}  // namespace turnpike::hosts::operators
