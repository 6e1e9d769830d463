#include "hosts/api/status_reads.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "crypto/signed_text.h"
#include "hosts/api/status_feed.h"
#include "status/documents.h"
#include "status/evidence.h"
#include "text/canonical_json.h"
#include "text/json_text.h"

namespace turnpike::hosts::api {

namespace {

using base::Error;
using base::ErrorCode;

// Domain separation: the same key signs other things, too.
constexpr std::string_view incident_cursor_context = "turnpike incident cursor";
constexpr std::uint32_t rounds_at_once = 4;  // rounds of a large gateway are megabytes
constexpr std::uint32_t feed_incidents = 50;

Error status_query_invalid(std::string_view name, std::string problem, std::string fix) {
  return {ErrorCode::status_query_invalid,
          "The query is not one that this route takes.",
          0,
          {{"query." + std::string(name), std::move(problem), std::move(fix)}}};
}

// Reads a decimal number from 1 on, without sign or leading zero.
template <class Number>
Result<Number, Error> read_whole(const NamedValues& fields, std::string_view name, Number most,
                                 Number absent) {
  const auto text = fields.find(name);
  if (!text) return absent;
  Number value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, problem] = std::from_chars(text->data(), end, value);
  const bool is_number = problem == std::errc{} && rest == end && text->front() != '0';
  if (is_number && value <= most) return value;
  return status_query_invalid(name, "it is not a whole number from 1 to " + std::to_string(most),
                              "Pass such a number, or leave it out.");
}

Error bad_place(std::string problem) {
  return status_query_invalid("after", std::move(problem),
                              "Pass next_cursor of the page before unchanged, or leave it out to "
                              "start from the newest incident.");
}

Result<IncidentPlace, Error> read_place(std::string_view cursor, std::string_view stream,
                                        std::string_view key) {
  const auto payload = crypto::verified_text(cursor, incident_cursor_context, key);
  if (!payload) return bad_place("its signature does not hold");
  const nlohmann::json fields = text::parse_json(*payload);
  const auto id = text::text_member(fields, "id");
  const auto of_stream = text::text_member(fields, "stream");
  const bool is_whole = id && of_stream && fields.contains("at") &&
                        fields["at"].is_number_integer() && fields.value("v", 0) == 1;
  if (!is_whole) return bad_place("its version is unknown");
  if (*of_stream != stream) return bad_place("it is of another stream of evidence");
  return IncidentPlace{fields["at"].get<std::int64_t>(), *id};
}

std::string make_place(const status::Incident& last, std::string_view stream,
                       std::string_view key) {
  const nlohmann::json fields = {
      {"v", 1}, {"stream", stream}, {"at", last.started_at_ms}, {"id", last.id}};
  return crypto::sign_text(text::canonical_json(fields).value(), incident_cursor_context, key);
}

// The store's own error text is for operators, so it is not shown.
Error unreadable() {
  return {ErrorCode::status_unavailable, "The evidence cannot be read now.", 2};
}

}  // namespace

Result<EvidenceAsked, Error> read_evidence_query(const NamedValues& fields) {
  EvidenceAsked asked;
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const auto from = read_whole<std::uint64_t>(fields, "from_round", most, 0);
  if (!from.ok()) return from.error();
  if (*from != 0) asked.from_round = *from;
  const auto limit = read_whole<std::uint32_t>(fields, "limit", evidence_rounds_max,
                                               evidence_rounds_max);
  if (!limit.ok()) return limit.error();
  asked.limit = *limit;
  return asked;
}

Result<IncidentsAsked, Error> read_incidents_query(const NamedValues& fields,
                                                   std::string_view stream,
                                                   std::string_view cursor_key) {
  IncidentsAsked asked;
  const auto limit = read_whole<std::uint32_t>(fields, "limit", incidents_page_max,
                                               incidents_page_default);
  if (!limit.ok()) return limit.error();
  asked.limit = *limit;
  if (const auto cursor = fields.find("after")) {
    auto place = read_place(*cursor, stream, cursor_key);
    if (!place.ok()) return std::move(place).error();
    asked.after = *std::move(place);
  }
  return asked;
}

StatusReads::Body StatusReads::evidence(const EvidenceAsked& asked) const {
  std::string out;
  std::uint64_t next = asked.from_round.value_or(0);
  if (next == 0) {
    const auto first = store_.first_verifiable(stream_);
    if (!first.ok()) return unreadable();
    next = *first;
  }
  if (next == 0) return out;  // there is no round yet
  std::set<std::string> told_sets;
  std::uint32_t left = asked.limit;
  while (left > 0) {
    const std::uint32_t wanted = std::min(left, rounds_at_once);
    const auto rounds = store_.rounds(stream_, next, wanted);
    if (!rounds.ok()) return unreadable();
    if (out.empty() && !rounds->empty() && next > 1) {
      const auto book = store_.book_after(stream_, next - 1);
      if (!book.ok()) return unreadable();
      if (!book->empty()) status::append_book(out, next - 1, *book);
    }
    for (const status::StoredRound& round : *rounds) {
      const std::string& set_hash = round.round.head.expected_targets_hash;
      if (told_sets.insert(set_hash).second) {
        const auto set = store_.target_set(set_hash);
        if (!set.ok()) return unreadable();
        if (!set->empty()) status::append_targets(out, *set);
      }
      status::append_round(out, round);
      next = round.round.head.round + 1;
      if (out.size() >= evidence_page_bytes) return out;
    }
    if (rounds->size() < wanted) return out;
    left -= wanted;
  }
  return out;
}

StatusReads::Body StatusReads::incidents(const IncidentsAsked& asked,
                                         std::string_view cursor_key) const {
  status::IncidentQuery query;
  query.limit = asked.limit + 1;  // one more tells whether a next page exists
  if (asked.after) {
    query.before_started_at_ms = asked.after->started_at_ms;
    query.before_id = asked.after->id;
  }
  auto found = store_.incidents(query);
  if (!found.ok()) return unreadable();
  const bool has_more = found->size() > asked.limit;
  if (has_more) found->resize(asked.limit);
  using Json = nlohmann::ordered_json;
  Json shown = Json::array();
  for (const status::ShownIncident& one : *found) shown.push_back(incident_record_json(one));
  Json next;
  if (has_more) next = make_place(found->back().incident, stream_, cursor_key);
  const Json body = {{"schema_version", "service.status.incidents.v1"},
                     {"incidents", std::move(shown)},
                     {"next_cursor", std::move(next)}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

StatusReads::Body StatusReads::feed(std::string_view url, std::int64_t now_ms) const {
  status::IncidentQuery query;
  query.limit = feed_incidents;
  const auto incidents = store_.incidents(query);
  if (!incidents.ok()) return unreadable();
  const auto maintenance = store_.maintenance(now_ms);
  if (!maintenance.ok()) return unreadable();
  return feed_text({stream_, url, *incidents, *maintenance});
}

}  // namespace turnpike::hosts::api
