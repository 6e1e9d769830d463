// The part of Writer that undoes the effects of blocks that are no longer on the chain.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "govdata/store/writer.h"

namespace turnpike::govdata {
namespace {

using Json = nlohmann::json;

MaybeInteger number_in(const Json& snapshot, const char* name) {
  const auto value = snapshot.find(name);
  if (value == snapshot.end() || !value->is_number_integer()) return std::nullopt;
  return value->get<std::int64_t>();
}

MaybeText text_in(const Json& value) {
  return value.is_string() ? MaybeText(value.get<std::string>()) : std::nullopt;
}

// Restores from a revision's snapshot all fields that a contract's events change after the
// creation.
void restore(ProposalRecord& record, const Json& snapshot) {
  record.source_status = text_in(snapshot.value("source_status", Json()));
  record.standing = {outcome_of(snapshot.value("outcome", "unknown")),
                     execution_of(snapshot.value("execution", "unknown"))};
  record.quorum = text_in(snapshot.value("quorum", Json()));
  record.scores_total = text_in(snapshot.value("scores_total", Json()));
  record.votes_count = number_in(snapshot, "votes");
  record.voters_count = number_in(snapshot, "voters");
  record.times.starts = number_in(snapshot, "start");
  record.times.ends = number_in(snapshot, "end");
  record.times.canceled = number_in(snapshot, "canceled");
  record.times.queued = number_in(snapshot, "queued");
  record.times.executed = number_in(snapshot, "executed");
  record.time_confidence = confidence_of(snapshot.value("time_confidence", "exact"));
  const Json blocks = snapshot.value("blocks", Json::array());
  if (blocks.size() == 3 && blocks[2].is_number_integer()) {
    record.end_block = blocks[2].get<std::int64_t>();
  }
  const Json scores = snapshot.value("scores", Json::array());
  for (std::size_t at = 0; at < record.choices.size(); ++at) {
    Choice& choice = record.choices[at];
    choice.score.reset();
    choice.votes_count.reset();
    if (at >= scores.size() || !scores[at].is_array() || scores[at].size() != 2) continue;
    choice.score = text_in(scores[at][0]);
    if (scores[at][1].is_number_integer()) {
      choice.votes_count = scores[at][1].get<std::int64_t>();
    }
  }
}

}  // namespace

std::string place_on_chain(std::int64_t block, std::int64_t log_index) {
  char place[48];
  std::snprintf(place, sizeof(place), "%015lld-%07lld", static_cast<long long>(block),
                static_cast<long long>(log_index));
  return place;
}

void Writer::rewind(std::int64_t source_id, std::int64_t block, std::int64_t run_id) {
  drop_votes_after(source_id, block);
  std::vector<std::pair<std::int64_t, MaybeInteger>> touched;  // with the revision to restore
  {
    auto row = database_.prepare(
        "SELECT p.proposal_pk, (SELECT max(k.revision) FROM proposal_revision k"
        "  WHERE k.proposal_pk = p.proposal_pk AND coalesce(k.run_id, 0) <= ?2)"
        " FROM proposal p WHERE p.source_id = ?1 AND EXISTS (SELECT 1 FROM proposal_revision r"
        "  WHERE r.proposal_pk = p.proposal_pk AND r.run_id > ?2)");
    row.with(source_id, run_id);
    while (row.step()) touched.emplace_back(row.integer(0), row.maybe_integer(1));
  }
  for (const auto& [pk, revision] : touched) {
    if (revision) {
      restore_revision(pk, *revision);
    } else {
      drop_proposal(pk);
    }
  }
}

void Writer::drop_votes_after(std::int64_t source_id, std::int64_t block) {
  const std::string from = place_on_chain(block + 1, 0);
  {
    auto row = database_.prepare(
        "SELECT DISTINCT v.proposal_pk, p.dao_id FROM proposal p"
        " JOIN vote v ON v.proposal_pk = p.proposal_pk"
        " WHERE p.source_id=?1 AND v.external_id >= ?2");
    row.with(source_id, from);
    while (row.step()) {
      voted_.insert(row.integer(0));
      recounted_daos_.insert(row.text(1));
    }
  }
  database_
      .prepare(
          "DELETE FROM vote WHERE external_id >= ?2 AND proposal_pk IN"
          " (SELECT proposal_pk FROM proposal WHERE source_id=?1)")
      .with(source_id, from)
      .run();
}

void Writer::restore_revision(std::int64_t pk, std::int64_t revision) {
  std::int64_t source_id = 0;
  std::string external_id;
  Json snapshot;
  {
    auto row = database_.prepare(
        "SELECT p.source_id, p.external_id, r.snapshot_json FROM proposal p"
        " JOIN proposal_revision r USING (proposal_pk) WHERE p.proposal_pk=?1 AND r.revision=?2");
    row.with(pk, revision);
    if (!row.step()) return;
    source_id = row.integer(0);
    external_id = row.text(1);
    snapshot = Json::parse(row.text(2), nullptr, false);
  }
  auto record = find_proposal(source_id, external_id);
  if (!record || !snapshot.is_object()) return;
  restore(*record, snapshot);
  update_proposal(pk, *record);
  write_parts(pk, *record);
  database_.prepare("DELETE FROM proposal_revision WHERE proposal_pk=?1 AND revision>?2")
      .with(pk, revision)
      .run();
  database_.prepare("UPDATE proposal SET revision=?2 WHERE proposal_pk=?1")
      .with(pk, revision)
      .run();
  drop_events(pk);
}

void Writer::drop_proposal(std::int64_t pk) {
  drop_events(pk);
  voted_.erase(pk);
  database_
      .prepare(
          "INSERT OR IGNORE INTO touched_topic SELECT topic_pk FROM item_link"
          " WHERE proposal_pk=?1")
      .with(pk)
      .run();
  database_.prepare("DELETE FROM item_reference WHERE item_kind='proposal' AND item_pk=?1")
      .with(pk)
      .run();
  database_.prepare("DELETE FROM proposal WHERE proposal_pk=?1").with(pk).run();
}

// The next derivation writes the proposal's events again.
void Writer::drop_events(std::int64_t pk) {
  database_.prepare("DELETE FROM governance_event WHERE item_kind='proposal' AND item_pk=?1")
      .with(pk)
      .run();
}

}  // namespace turnpike::govdata
