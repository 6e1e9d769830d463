// GET /proposals/lookup: finds proposals by id, address or title, best match first.
#include <algorithm>
#include <map>
#include <set>

#include "govdata/serve/routes.h"
#include "govdata/store/decimal.h"
#include "govdata/store/text.h"
#include "govdata/store/url.h"

namespace turnpike::govdata {
namespace {

enum Rank { id_exact = 1, url_exact, url_canonical, title_exact, title_contains };

constexpr const char* rank_names[] = {
    "", "external_id_exact", "url_exact", "url_canonical", "title_exact", "title_contains"};
// The ids of Governor Bravo are 1, 2, 3 and so on in every contract; those of OpenZeppelin are
// hashes, which have at least this many digits.
constexpr std::size_t hash_id_digits_min = 20;

struct Match {
  int rank = title_contains;
  std::set<std::string> fields;
};

class Search {
 public:
  explicit Search(RouteContext& context) : context_(context) {}

  void by_id(const std::string& text) {
    const ItemName name = read_item_name(text);
    std::set<std::string> ids = {name.external_id, lower_ascii(name.external_id)};
    if (const auto decimal = decimal_of_hex(name.external_id)) ids.insert(*decimal);
    for (const std::string& id : ids) {
      auto row = context_.database.prepare(
          "SELECT proposal_pk, dao_id, provider FROM proposal WHERE external_id = ?1");
      row.with(id);
      while (row.step()) {
        if (name.source && row.text(2) != *name.source) continue;
        if (name.dao_id && row.text(1) != lower_ascii(*name.dao_id)) continue;
        add(row.integer(0), row.text(1), id_exact, "externalId");
      }
    }
  }

  void by_url(const std::string& url) {
    const Address address = read_address(url);
    if (address.form == AddressForm::none) return;
    find_url("SELECT proposal_pk, dao_id, url FROM proposal WHERE url_norm = ?1", address.normal,
             url, "sourceUrl");
    find_url("SELECT proposal_pk, dao_id, discussion_url FROM proposal WHERE discussion_norm = ?1",
             address.normal, url, "discussionUrl");
    if (address.form == AddressForm::snapshot) by_address_id(address, "snapshot");
    if (address.form == AddressForm::tally) by_address_id(address, "governor");
    if (address.form == AddressForm::aave) by_address_id(address, "aave_governance_v3");
  }

  void by_title(const std::string& title) {
    const std::string normal = normal_title(title);
    if (normal.empty()) return;
    {
      auto row = context_.database.prepare(
          "SELECT proposal_pk, dao_id FROM proposal WHERE title_norm = ?1"
          " ORDER BY updated_at DESC, proposal_pk LIMIT 1000");
      row.with(normal);
      while (row.step()) add(row.integer(0), row.text(1), title_exact, "title");
    }
    constexpr std::size_t contains_min = 3;
    if (code_points(normal) < contains_min) return;
    const auto& dao = context_.request.dao_id;
    const std::string phrase = "\"" + normal + "\"";
    auto row = context_.database.prepare(
        "SELECT p.proposal_pk, p.dao_id FROM proposal_title_fts f"
        " JOIN proposal p ON p.proposal_pk = f.rowid"
        " WHERE f.title_norm MATCH ?1 AND instr(p.title_norm, ?2) > 0"
        " AND (?3 IS NULL OR p.dao_id = ?3)"
        " ORDER BY p.updated_at DESC, p.proposal_pk LIMIT ?4");
    row.with(phrase, normal, dao, context_.request.limit + 1);
    while (row.step()) add(row.integer(0), row.text(1), title_contains, "title");
  }

  [[nodiscard]] const std::map<std::int64_t, Match>& matches() const { return matches_; }

 private:
  void add(std::int64_t pk, const std::string& dao, int rank, const char* field) {
    if (context_.request.dao_id && dao != *context_.request.dao_id) return;
    Match& match = matches_[pk];
    match.rank = std::min(match.rank, rank);
    match.fields.insert(field);
  }

  void find_url(const char* sql, const std::string& normal, const std::string& url,
                const char* field) {
    auto row = context_.database.prepare(sql);
    row.with(normal);
    while (row.step()) {
      add(row.integer(0), row.text(1), row.text(2) == url ? url_exact : url_canonical, field);
    }
  }

  // Finds a proposal by the id in an address of a known site, even if the source did not give the
  // proposal's address.
  void by_address_id(const Address& address, std::string_view provider) {
    std::optional<std::string> dao = resolve_dao(context_.database, address.scope);
    const bool needs_dao =
        provider == "governor" && address.external_id.size() < hash_id_digits_min;
    if (needs_dao && !dao) return;
    auto row = context_.database.prepare(
        "SELECT p.proposal_pk, p.dao_id, s.scope FROM proposal p JOIN source s"
        " ON s.source_id = p.source_id WHERE p.external_id = ?1 AND p.provider = ?2");
    row.with(address.external_id, provider);
    while (row.step()) {
      if (needs_dao && row.text(1) != *dao) continue;
      if (provider == "snapshot" && lower_ascii(row.text(2)) != address.scope) continue;
      add(row.integer(0), row.text(1), url_canonical, "sourceUrl");
    }
  }

  RouteContext& context_;
  std::map<std::int64_t, Match> matches_;
};

struct Candidate {
  ProposalRow row;
  const Match* match;
};

std::vector<Candidate> ordered(RouteContext& context, const Search& search) {
  std::vector<Candidate> candidates;
  for (const auto& [pk, match] : search.matches()) {
    if (auto row = read_proposal(context.database, pk)) {
      candidates.push_back({*std::move(row), &match});
    }
  }
  const std::int64_t now_ms = context.now_ms;
  std::sort(candidates.begin(), candidates.end(), [&](const auto& left, const auto& right) {
    if (left.match->rank != right.match->rank) return left.match->rank < right.match->rank;
    if (left.match->fields.size() != right.match->fields.size()) {
      return left.match->fields.size() > right.match->fields.size();
    }
    const std::int64_t left_ms = left.row.updated(now_ms);
    const std::int64_t right_ms = right.row.updated(now_ms);
    if (left_ms != right_ms) return left_ms > right_ms;
    const auto name = [](const ProposalRow& row) {
      return std::tie(row.record.external_id, row.dao_id, row.provider, row.pk);
    };
    return name(left.row) < name(right.row);
  });
  return candidates;
}

}  // namespace

Json run_lookup(RouteContext& context) {
  const RouteRequest& request = context.request;
  Search search(context);
  if (!request.dao_unknown) {
    if (request.external_id) search.by_id(*request.external_id);
    if (request.url) search.by_url(*request.url);
    if (request.title) search.by_title(*request.title);
  }
  ItemList list;
  const auto candidates = ordered(context, search);
  bool truncated = false;
  for (const Candidate& candidate : candidates) {
    truncated = list.size() >= static_cast<std::size_t>(request.limit);
    if (truncated) break;
    const Json ref = item_ref(candidate.row);
    list.add({{"match",
               {{"type", rank_names[candidate.match->rank]},
                {"matchedFields", candidate.match->fields}}},
              {"itemRef", ref},
              {"evidenceRef", ref},
              {"evidencePath", context.present.evidence_of(candidate.row)},
              {"proposal", context.present.summary(candidate.row)}});
  }
  Json data = {{"count", list.size()}, {"truncated", truncated || list.full()}};
  data["candidates"] = list.take();
  if (request.dao_unknown) data["warnings"] = {"unknown_dao"};
  return data;
}

}  // namespace turnpike::govdata
