// The status behind the routes, scripted: a board and a store whose contents tests set, and sweeps
// with given answers. Called by the host's Threads while the test's Thread waits for replies.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hosts/status_source.h"

namespace turnpike::tests {

// Implements only evidence, incidents and maintenance, since routes read nothing else.
class ScriptedStatusStore final : public status::StatusStore {
 public:
  std::vector<status::StoredRound> stored;  // from the first on, without gaps
  std::string set;                          // the target set of every round
  std::string book;                         // the book after `book_round`
  std::uint64_t book_round = 0;
  std::vector<status::ShownIncident> told;  // newest first
  std::vector<status::Maintenance> announced;
  std::atomic<bool> is_down{false};

  Answer<std::uint64_t> first_verifiable(std::string_view) override {
    if (is_down) return down();
    return stored.empty() ? 0 : stored.front().round.head.round;
  }
  Answer<std::string> book_after(std::string_view, std::uint64_t round) override {
    return round == book_round ? book : std::string();
  }
  Answer<std::vector<status::StoredRound>> rounds(std::string_view, std::uint64_t from_round,
                                                  std::uint32_t limit) override {
    if (is_down) return down();
    std::vector<status::StoredRound> found;
    for (const status::StoredRound& one : stored) {
      if (one.round.head.round >= from_round && found.size() < limit) found.push_back(one);
    }
    return found;
  }
  Answer<std::string> target_set(std::string_view) override { return set; }
  Answer<std::vector<status::ShownIncident>> incidents(
      const status::IncidentQuery& query) override {
    if (is_down) return down();
    std::vector<status::ShownIncident> found;
    for (const status::ShownIncident& one : told) {
      const std::int64_t at_ms = one.incident.started_at_ms;
      const bool is_behind = query.before_started_at_ms == 0 ||
                             at_ms < query.before_started_at_ms ||
                             (at_ms == query.before_started_at_ms &&
                              one.incident.id < query.before_id);
      if (is_behind && found.size() < query.limit) found.push_back(one);
    }
    return found;
  }
  Answer<std::vector<status::Maintenance>> maintenance(std::int64_t) override {
    if (is_down) return down();
    return announced;
  }

  Answer<std::optional<status::Lease>> hold_lease(std::string_view, std::int64_t) override {
    return down();
  }
  Answer<Unit> release_lease(std::string_view) override { return down(); }
  Answer<std::optional<status::Lease>> lease() override { return down(); }
  Answer<status::Closing> close_round(const status::ClosedRound&) override { return down(); }
  Answer<std::uint64_t> newest_round(std::string_view) override { return down(); }
  Answer<std::optional<status::NewestRound>> newest(std::string_view) override { return down(); }
  Answer<std::vector<status::SigningKey>> keys() override { return down(); }
  Answer<Unit> write_report(const status::NodeReport&) override { return down(); }
  Answer<std::vector<status::NodeReport>> reports(std::int64_t) override { return down(); }
  Answer<std::vector<status::Segment>> segments(std::string_view, std::int64_t,
                                                std::int64_t) override {
    return down();
  }
  Answer<std::vector<status::Segment>> all_segments(std::int64_t, std::int64_t) override {
    return down();
  }
  Answer<std::vector<status::ShownIncident>> recent_incidents(std::int64_t) override {
    return down();
  }
  Answer<std::optional<status::ShownIncident>> incident(std::string_view) override {
    return down();
  }
  Answer<std::uint64_t> prune(const status::Retention&) override { return down(); }
  Answer<bool> add_note(std::string_view, std::string_view, const identity::Actor&) override {
    return down();
  }
  Answer<std::string> open_incident(std::string_view, status::Level, std::string_view,
                                    const identity::Actor&) override {
    return down();
  }
  Answer<bool> resolve_incident(std::string_view, std::string_view,
                                const identity::Actor&) override {
    return down();
  }
  Answer<std::string> announce(const status::Maintenance&, const identity::Actor&) override {
    return down();
  }
  Answer<bool> cancel_maintenance(std::string_view, const identity::Actor&) override {
    return down();
  }
  Answer<Unit> keep_shape(std::string_view, std::string_view) override { return down(); }
  Answer<std::vector<std::pair<std::string, std::string>>> shapes() override { return down(); }
  Answer<status::Sweep> begin_sweep(const status::Sweep&) override { return down(); }
  Answer<std::optional<status::Sweep>> sweep(std::string_view) override { return down(); }
  Answer<std::optional<status::Sweep>> running_sweep() override { return down(); }
  Answer<std::vector<status::Sweep>> sweeps(std::uint32_t) override { return down(); }
  Answer<Unit> answer_sweep(std::string_view, std::span<const status::SweepTarget>) override {
    return down();
  }
  Answer<std::optional<status::Sweep>> end_sweep(std::string_view, status::SweepState,
                                                 std::string_view) override {
    return down();
  }

 private:
  static base::Error down() {
    return {base::ErrorCode::status_unavailable, "a secret of the database", 9};
  }
};

class ScriptedStatus final : public hosts::StatusSource {
 public:
  std::shared_ptr<const status::Board> board() override {
    const std::lock_guard lock(mutex_);
    return board_;
  }
  status::StatusStore& store() override { return store_; }
  std::string stream() override { return "st_01"; }
  Result<status::Sweep, base::Error> begin_sweep(const hosts::SweepAsked& wanted) override {
    asked = wanted;
    if (refusal) return *refusal;
    return sweep;
  }
  Result<status::Sweep, base::Error> complete_sweep(std::string_view id,
                                                    std::string_view principal) override {
    completed = {std::string(id), std::string(principal)};
    if (refusal) return *refusal;
    return sweep;
  }

  void set_board(std::shared_ptr<const status::Board> board) {
    const std::lock_guard lock(mutex_);
    board_ = std::move(board);
  }

  ScriptedStatusStore store_;
  // Written and read only while no request is in progress.
  hosts::SweepAsked asked;
  std::pair<std::string, std::string> completed;
  status::Sweep sweep;
  std::optional<base::Error> refusal;

 private:
  std::mutex mutex_;
  std::shared_ptr<const status::Board> board_;
};

}  // namespace turnpike::tests
