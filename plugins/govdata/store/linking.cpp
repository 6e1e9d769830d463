// The part of Writer that runs once at the end of a run: tallies, links between proposals and
// topics, governance scores, participation, and the store's revision.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "govdata/store/decimal.h"
#include "govdata/store/events.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"
#include "govdata/store/writer.h"

namespace turnpike::govdata {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Whether the title has a bracket that begins with a known stage: "[ARFC] ...", "[Temp Check] ...".
bool has_stage_tag(std::string_view title) {
  constexpr std::array<std::string_view, 8> stages = {"arfc",
                                                      "rfc",
                                                      "aip",
                                                      "temp check",
                                                      "proposal",
                                                      "constitutional",
                                                      "non constitutional",
                                                      "temperature check"};
  std::size_t open = 0;
  while ((open = title.find('[', open)) != std::string_view::npos) {
    const std::size_t close = title.find(']', open);
    if (close == std::string_view::npos) return false;
    const std::string tag = normal_title(title.substr(open + 1, close - open - 1));
    for (const std::string_view stage : stages) {
      if (tag.rfind(stage, 0) == 0) return true;
    }
    open = close;
  }
  return false;
}

// Whether the title has a number such as "BIP-12", "GIP 7" or "EIP1559".
bool has_proposal_number(std::string_view title) {
  constexpr std::array<std::string_view, 6> prefixes = {"bip", "gip", "eip", "aip", "sip", "uip"};
  const std::string normal = normal_title(title);
  const auto words = words_of(normal);
  for (std::size_t at = 0; at < words.size(); ++at) {
    for (const std::string_view prefix : prefixes) {
      const bool next_is_number = at + 1 < words.size() && is_number(words[at + 1]);
      if (words[at] == prefix && next_is_number) return true;
      if (words[at].size() > 3 && words[at].substr(0, 3) == prefix &&
          is_number(words[at].substr(3))) {
        return true;
      }
    }
  }
  return false;
}

template <std::size_t Count>
bool contains_any(std::string_view text, const std::array<std::string_view, Count>& words) {
  const std::string lower = lower_ascii(text);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

constexpr std::array<std::string_view, 5> governance_words = {"governance", "proposal", "vote",
                                                              "treasury", "grant"};

}  // namespace

int governance_score(std::string_view title, std::string_view category,
                     const std::vector<std::string>& tags, bool linked) {
  constexpr std::array<std::string_view, 4> idle_words = {"support", "off-topic", "introductions",
                                                          "memes"};
  int score = linked ? 60 : 0;
  if (has_stage_tag(title) || has_proposal_number(title)) score += 30;
  if (contains_any(category, governance_words)) score += 20;
  const bool tagged = std::any_of(tags.begin(), tags.end(), [](const std::string& tag) {
    return contains_any(tag, governance_words);
  });
  if (tagged) score += 10;
  if (contains_any(category, idle_words)) score -= 40;
  return std::clamp(score, 0, 100);
}

void Writer::finish() {
  tally_governor_votes();
  link_items();
  score_topics();
  note_uncounted_daos();
  derive_touched_events(database_, times_.now_ms);
  database_.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'revision'");
}

// On-chain sources give single votes, which are counted here. Snapshot gives its own tally.
void Writer::tally_governor_votes() {
  for (const std::int64_t pk : voted_) tally_governor(pk, false);
}

Written Writer::end_voting(std::int64_t source_id, const std::string& external_id) {
  const auto pk = proposal_pk(source_id, external_id);
  return pk ? tally_governor(*pk, true) : Written::same;
}

Written Writer::tally_governor(std::int64_t pk, bool is_over) {
  std::int64_t source_id = 0;
  std::string external_id;
  {
    auto row = database_.prepare(
        "SELECT source_id, external_id, provider FROM proposal WHERE proposal_pk=?1");
    row.with(pk);
    if (!row.step() || row.text(2) != "governor") return Written::same;
    source_id = row.integer(0);
    external_id = row.text(1);
  }
  auto record = find_proposal(source_id, external_id);
  std::string total = "0";
  std::int64_t ballots = 0;
  for (Choice& choice : record->choices) {
    choice.score = total;
    choice.votes_count = 0;
  }
  {
    auto votes = database_.prepare("SELECT choice_id, power FROM vote WHERE proposal_pk=?1");
    votes.with(pk);
    while (votes.step()) {
      ++ballots;
      const std::string id = votes.text(0);
      const std::string power = votes.maybe_text(1).value_or("0");
      total = add_decimals(total, power);
      for (Choice& choice : record->choices) {
        if (choice.id != id) continue;
        choice.score = add_decimals(*choice.score, power);
        choice.votes_count = *choice.votes_count + 1;
      }
    }
  }
  record->scores_total = total;
  record->votes_count = record->voters_count = ballots;
  is_over = is_over || (record->times.ends && *record->times.ends <= times_.as_of_ms);
  if (is_over && record->standing.outcome == Outcome::unknown) {
    record->standing.outcome = governor_outcome(record->choices, record->quorum);
  }
  return put_proposal(source_id, *record);
}

void Writer::link_items() {
  database_.execute(
      // The score of a topic that loses a link changes, too.
      "INSERT OR IGNORE INTO touched_topic SELECT topic_pk FROM item_link"
      " WHERE proposal_pk IN (SELECT pk FROM touched_proposal);"
      "DELETE FROM item_link WHERE proposal_pk IN (SELECT pk FROM touched_proposal);"
      "DELETE FROM item_link WHERE topic_pk IN (SELECT pk FROM touched_topic);"
      // In order of trust: a later statement does not change the basis of an existing link.
      "INSERT OR IGNORE INTO item_link SELECT p.proposal_pk, t.topic_pk, 'discussion_url'"
      " FROM touched_proposal x JOIN proposal p ON p.proposal_pk = x.pk"
      " JOIN forum_topic t ON t.url_norm = p.discussion_norm;"
      "INSERT OR IGNORE INTO item_link SELECT p.proposal_pk, t.topic_pk, 'discussion_url'"
      " FROM touched_topic x JOIN forum_topic t ON t.topic_pk = x.pk"
      " JOIN proposal p ON p.discussion_norm = t.url_norm AND p.discussion_norm IS NOT NULL;"
      "INSERT OR IGNORE INTO item_link SELECT r.item_pk, t.topic_pk, 'body_url'"
      " FROM touched_proposal x JOIN item_reference r ON r.item_kind='proposal' AND r.item_pk=x.pk"
      " JOIN forum_topic t ON t.url_norm = r.url_norm;"
      "INSERT OR IGNORE INTO item_link SELECT r.item_pk, t.topic_pk, 'body_url'"
      " FROM touched_topic x JOIN forum_topic t ON t.topic_pk = x.pk"
      " JOIN item_reference r ON r.url_norm = t.url_norm AND r.item_kind='proposal';"
      "INSERT OR IGNORE INTO item_link SELECT p.proposal_pk, r.item_pk, 'topic_url'"
      " FROM touched_topic x"
      " JOIN item_reference r ON r.item_kind='forum_topic' AND r.item_pk=x.pk"
      " JOIN proposal p ON p.url_norm = r.url_norm AND p.url_norm IS NOT NULL;"
      "INSERT OR IGNORE INTO item_link SELECT p.proposal_pk, r.item_pk, 'topic_url'"
      " FROM touched_proposal x JOIN proposal p ON p.proposal_pk = x.pk"
      " JOIN item_reference r ON r.url_norm = p.url_norm AND r.item_kind='forum_topic';");
  static constexpr std::int64_t title_window_ms = 60 * ms_per_day;
  for (const char* sql :
       {"INSERT OR IGNORE INTO item_link SELECT p.proposal_pk, t.topic_pk, 'title'"
        " FROM touched_proposal x JOIN proposal p ON p.proposal_pk = x.pk"
        " JOIN forum_topic t ON t.dao_id = p.dao_id AND t.title_norm = p.title_norm"
        " WHERE p.title_norm <> '' AND abs(t.created_at - p.created_at) <= ?1",
        "INSERT OR IGNORE INTO item_link SELECT p.proposal_pk, t.topic_pk, 'title'"
        " FROM touched_topic x JOIN forum_topic t ON t.topic_pk = x.pk"
        " JOIN proposal p ON p.title_norm = t.title_norm AND p.dao_id = t.dao_id"
        " WHERE t.title_norm <> '' AND abs(t.created_at - p.created_at) <= ?1"}) {
    database_.prepare(sql).with(title_window_ms).run();
  }
}

void Writer::score_topics() {
  database_.execute(
      "INSERT OR IGNORE INTO touched_topic SELECT topic_pk FROM item_link"
      " WHERE proposal_pk IN (SELECT pk FROM touched_proposal)");
  std::vector<std::pair<std::int64_t, std::int64_t>> scores;
  auto rows = database_.prepare(
      "SELECT t.topic_pk, t.title, t.category_name, t.tags_json, EXISTS (SELECT 1 FROM item_link l"
      " WHERE l.topic_pk = t.topic_pk AND l.basis IN ('discussion_url','topic_url'))"
      " FROM touched_topic x JOIN forum_topic t ON t.topic_pk = x.pk");
  while (rows.step()) {
    std::vector<std::string> tags;
    const auto list = nlohmann::json::parse(rows.text(3), nullptr, false);
    for (const auto& tag : list) {
      if (tag.is_string()) tags.push_back(tag.get<std::string>());
    }
    scores.emplace_back(rows.integer(0),
                        governance_score(rows.text(1), rows.text(2), tags, rows.integer(4) != 0));
  }
  for (const auto& [pk, score] : scores) {
    database_.prepare("UPDATE forum_topic SET governance_score=?2 WHERE topic_pk=?1")
        .with(pk, score)
        .run();
  }
}

void Writer::note_uncounted_daos() {
  const auto note = [&](const std::string& dao) {
    database_.prepare("INSERT OR IGNORE INTO uncounted_dao(dao_id) VALUES (?1)").with(dao).run();
  };
  for (const std::string& dao : recounted_daos_) note(dao);
  for (const std::int64_t pk : voted_) {
    auto row = database_.prepare("SELECT dao_id FROM proposal WHERE proposal_pk=?1");
    row.with(pk);
    if (row.step()) note(row.text(0));
  }
}

void Writer::count_participation() {
  if (database_.number("SELECT count(*) FROM uncounted_dao") == 0) return;
  database_.execute(
      "INSERT OR REPLACE INTO dao_participation(dao_id, voter_count, vote_count)"
      " SELECT u.dao_id, count(DISTINCT v.voter), count(v.voter) FROM uncounted_dao u"
      " LEFT JOIN proposal p ON p.dao_id = u.dao_id"
      " LEFT JOIN vote v ON v.proposal_pk = p.proposal_pk GROUP BY u.dao_id;"
      "DELETE FROM uncounted_dao;"
      "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'revision'");
}

}  // namespace turnpike::govdata
