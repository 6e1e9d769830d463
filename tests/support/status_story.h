// StatusStory: the status of a gateway over rounds that a test closes by hand, without a gateway.
// It has the targets of a program, looks that tests may change, a book, and the resulting boards.
// Used by the test's Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/generation.h"
#include "status/board.h"
#include "status/rules.h"
#include "text/encoding.h"

namespace turnpike::support {

class StatusStory {
 public:
  static constexpr std::int64_t begins_at_ms = 1'795'564'800'000;  // 2026-11-25T00:00:00Z
  // Changes a record before it is used; returns false to omit the record.
  using Edit = std::function<bool(status::Record&)>;

  explicit StatusStory(std::shared_ptr<const registry::Program> installed,
                       status::Surroundings surroundings = {
                           .sentinels = {"healthz", "mcp_ping", "web_login", "catalog", "database",
                                         "x402_challenge", "key_refused"},
                           .lanes = {"credits", "free", "x402"}})
      : program(std::move(installed)),
        targets(status::targets_of(*program, surroundings)),
        key_(crypto::ed25519_public_key(seed_)) {
    generation.epoch_id = "ep_01";
    generation.id = registry::generation_id(program->payload_hash());
    generation.sequence = 7;
    generation.manifest_sequence = 9;
    generation.payload_hash = program->payload_hash();
    for (const registry::Operation& operation : program->operations()) {
      const bool is_ready = program->routes()[operation.route].readiness.ready;
      offered.push_back(is_ready && operation.price.has_value());
    }
    keys.push_back({status::key_id(key_),
                    text::base64url({reinterpret_cast<const char*>(key_.data()), key_.size()}), 1});
  }

  // Closes the next round. All looks pass unless `edit` changes them.
  void close_round(const Edit& edit = {}) {
    status::RoundHead head;
    head.stream = stream;
    head.round = round_ + 1;
    head.prev = round_ == 0 ? std::string(status::first_prev) : newest.round.head.head;
    head.generation = generation.id;
    head.expected_targets_hash = targets.hash();
    head.rules_hash = status::rules_hash();
    head.started_at_ms = now_ms;
    head.ended_at_ms = now_ms + targets.round_ms;
    head.epoch = 1;
    head.node = nodes.front();
    head.nodes = nodes;
    head.kid = keys.front().kid;
    std::vector<status::Record> records = looks_of(head, edit);
    std::string lines;
    for (const status::Record& record : records) lines += status::line_of(record) + "\n";
    head.count = records.size();
    head.head = status::chained_head(head.prev, lines);
    keep(book.apply(targets, head, records));
    head.state_hash = book.hash();
    newest = {status::sign(head, seed_), targets.canonical(), book.canonical()};
    rounds.push_back({newest.round, lines});
    now_ms = head.ended_at_ms;
    ++round_;
  }

  [[nodiscard]] std::shared_ptr<const status::Board> board() const { return board(now_ms); }
  [[nodiscard]] std::shared_ptr<const status::Board> board(std::int64_t made_at_ms) const {
    std::vector<status::ShownIncident> shown;
    for (const auto& [id, incident] : incidents) shown.push_back(incident);
    std::vector<status::Segment> days;
    for (const auto& [at, day] : days_) days.push_back(day);
    const bool has_round = round_ > 0;
    return std::make_shared<status::Board>(
        status::BoardInput{.program = *program,
                           .generation = generation,
                           .targets = targets,
                           .stream = stream,
                           .newest = has_round ? &newest : nullptr,
                           .book = has_round ? &book : nullptr,
                           .offered = offered,
                           .incidents = shown,
                           .days = days,
                           .maintenance = maintenance,
                           .leader = status::Lease{nodes.front(), 1, now_ms + 20'000},
                           .keys = keys,
                           .made_at_ms = made_at_ms});
  }

  std::shared_ptr<const registry::Program> program;
  status::TargetSet targets;
  registry::Generation generation;
  std::string stream = "st_01";
  std::vector<std::string> nodes = {"n_1", "n_2"};
  std::vector<bool> offered;
  std::vector<status::SigningKey> keys;
  std::map<std::string, status::ShownIncident> incidents;
  std::vector<status::Maintenance> maintenance;
  std::int64_t now_ms = begins_at_ms;
  status::Book book;
  status::NewestRound newest;
  std::vector<status::StoredRound> rounds;

 private:
  static status::RecordKind kind_of(status::TargetKind kind) {
    switch (kind) {
      case status::TargetKind::sentinel:
        return status::RecordKind::sentinel;
      case status::TargetKind::reachability:
        return status::RecordKind::probe;
      case status::TargetKind::contract:
        return status::RecordKind::contract;
      case status::TargetKind::traffic:
        return status::RecordKind::traffic;
      case status::TargetKind::pricing:
      case status::TargetKind::lane:
        break;
    }
    return status::RecordKind::pricing;
  }

  std::vector<status::Record> looks_of(const status::RoundHead& head, const Edit& edit) {
    std::vector<status::Record> records;
    const auto add = [&](const status::Target& target, const std::string& node,
                         std::int64_t due_at_ms) {
      status::Record record;
      record.kind = kind_of(target.kind);
      record.target = target.name;
      record.generation = generation.id;
      record.node = node;
      record.due_at_ms = record.started_at_ms = due_at_ms;
      record.result = status::LookResult::pass;
      if (status::is_active(target.kind)) record.latency_ms = 12;
      if (target.kind == status::TargetKind::traffic) {
        record.traffic = status::Traffic{false, 9'997, 3, 0, std::nullopt};
      }
      if (edit && !edit(record)) return;
      record.sequence = ++sequence_;
      records.push_back(record);
    };
    for (const status::Target& target : targets.targets) {
      if (status::is_active(target.kind) && target.interval_ms == 0) continue;
      const bool is_sentinel = target.kind == status::TargetKind::sentinel;
      const std::int64_t interval_ms =
          target.interval_ms > 0 ? target.interval_ms : targets.round_ms;
      std::int64_t due_at_ms = status::phase_ms(target);
      due_at_ms += (head.started_at_ms - due_at_ms + interval_ms - 1) / interval_ms * interval_ms;
      for (; due_at_ms < head.ended_at_ms; due_at_ms += interval_ms) {
        for (const std::string& node : is_sentinel ? nodes : std::vector{nodes.front()}) {
          add(target, node, due_at_ms);
        }
      }
    }
    return records;
  }

  void keep(const status::Changes& changes) {
    for (const status::Segment& segment : changes.segments) {
      if (segment.length_ms != 86'400'000) continue;
      days_[{segment.scope, segment.started_at_ms}] = segment;
    }
    for (const status::Incident& incident : changes.incidents) {
      incidents[incident.id].incident = incident;
    }
    for (const status::IncidentEvent& event : changes.events) {
      incidents[event.incident_id].events.push_back(event);
    }
  }

  const crypto::Ed25519Seed seed_{1, 2, 3};
  const crypto::Ed25519PublicKey key_;
  std::uint64_t round_ = 0;
  std::uint64_t sequence_ = 0;
  std::map<std::pair<std::string, std::int64_t>, status::Segment> days_;
};

}  // namespace turnpike::support
