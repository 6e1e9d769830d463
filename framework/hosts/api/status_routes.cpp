#include "hosts/api/status_routes.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/strict_object.h"
#include "hosts/accept.h"
#include "hosts/api/status_feed.h"
#include "hosts/api/status_reads.h"
#include "status/documents.h"
#include "status/evidence.h"
#include "status/rules.h"

namespace turnpike::hosts::api {

namespace {

using base::Error;
using base::ErrorCode;
using base::StrictObject;

constexpr std::string_view badge_type = "image/svg+xml";
constexpr std::uint64_t sweep_body_bytes_max = 4'096;
constexpr StrictObject::Characters sweep_text_characters{1, 200};

// Readers of evidence wait only for each other, and no other work waits for them.
constexpr std::uint32_t reading_threads_max = 1;
constexpr std::uint32_t reading_queued_max = 16;
constexpr std::uint32_t sweep_threads_max = 1;
constexpr std::uint32_t sweep_queued_max = 4;

void send_or_refuse_body(Turn& turn, const Result<std::string, Error>& body,
                         std::string_view content_type) {
  if (!body.ok()) return (void)turn.refuse(body.error());
  ReplyFields fields;
  // A page without rounds is still a page; an empty body would otherwise have no Content-Type.
  if (body->empty()) fields.add("Content-Type", content_type);
  turn.reply({.content_type = content_type, .body = *body}, fields);
}

void send_sweep(Turn& turn, const Result<status::Sweep, Error>& sweep) {
  if (!sweep.ok()) return (void)turn.refuse(sweep.error());
  using Json = nlohmann::ordered_json;
  const std::string body =
      status::sweep_json(*sweep).dump(-1, ' ', false, Json::error_handler_t::replace);
  turn.reply({.body = body});
}

Result<SweepAsked, Error> read_sweep(const Asked& asked) {
  StrictObject body(asked.body, {"release", "generation"});
  SweepAsked read;
  read.release = body.text("release", sweep_text_characters);
  const std::string generation = body.object("generation");
  Error refusal = body.refusal();
  if (!generation.empty()) {
    StrictObject inner(generation, {"id", "payload_hash"});
    read.generation_id = inner.text("id", sweep_text_characters);
    read.payload_hash = inner.text("payload_hash", sweep_text_characters);
    for (base::FieldProblem problem : inner.problems()) {
      problem.location = "/generation" + problem.location;
      refusal.fields.push_back(std::move(problem));
    }
  }
  if (!refusal.fields.empty()) return refusal;
  read.principal = identity::text_of(*asked.caller);
  return read;
}

}  // namespace

StatusRoutes::StatusRoutes(Parts parts)
    : parts_(std::move(parts)),
      reads_(parts_.pool.add_user("status_reads", reading_threads_max, reading_queued_max)),
      sweeps_(parts_.pool.add_user("status_sweeps", sweep_threads_max, sweep_queued_max)) {}

Error StatusRoutes::overloaded() {
  return {ErrorCode::status_unavailable,
          "Too many are reading evidence or incidents: try again shortly.", 1};
}

StatusRoutes::BoardView StatusRoutes::board_for(Turn& turn) const {
  BoardView board = parts_.source.board();
  if (board == nullptr) {
    turn.refuse(
        {ErrorCode::registry_unavailable, "No valid registry is installed on this gateway.", 5});
  }
  return board;
}

void StatusRoutes::send(Turn& turn, const status::BoardDocument* document,
                        std::string_view content_type) const {
  if (document == nullptr) {
    turn.refuse({ErrorCode::status_not_in_catalog,
                 "The active catalog has nothing with this name; see /v1/capabilities."});
    return;
  }
  const std::int64_t now_ms = parts_.clock.now_ms();
  const std::string& brotli = document->brotli_at(now_ms);
  ReplyFields more;
  if (!brotli.empty()) more.add("Vary", "Accept-Encoding");
  const bool is_compressed = choose_brotli(turn.request.headers(), brotli, more);
  turn.reply({.content_type = content_type, .body = is_compressed ? brotli : document->at(now_ms)},
             more);
}

void StatusRoutes::status(Turn& turn) const {
  const BoardView board = board_for(turn);
  if (board != nullptr) send(turn, &board->status(), json_type);
}

void StatusRoutes::gateway(Turn& turn) const {
  const BoardView board = board_for(turn);
  if (board != nullptr) send(turn, &board->gateway(), json_type);
}

void StatusRoutes::authority(Turn& turn) const {
  const BoardView board = parts_.source.board();
  const std::string* const found =
      board == nullptr ? nullptr : board->authority(parts_.clock.now_ms());
  if (found == nullptr) {
    turn.refuse({ErrorCode::status_authority_unavailable,
                 "There is no fresh signed round of the installed generation.", 5});
    return;
  }
  turn.reply({.body = *found});
}

void StatusRoutes::operation(Turn& turn, std::string_view capability_id) const {
  const BoardView board = board_for(turn);
  if (board != nullptr) send(turn, board->operation(capability_id), json_type);
}

void StatusRoutes::provider(Turn& turn, std::string_view key) const {
  const BoardView board = board_for(turn);
  if (board != nullptr) send(turn, board->provider(key), json_type);
}

void StatusRoutes::badge(Turn& turn, std::string_view provider_key) const {
  const BoardView board = board_for(turn);
  if (board != nullptr) send(turn, board->badge(provider_key), badge_type);
}

void StatusRoutes::rules(Turn& turn) const { turn.reply({.body = status::rules_json()}); }

void StatusRoutes::evidence(Turn& turn, const NamedValues& query) const {
  const auto asked = read_evidence_query(query);
  if (!asked.ok()) return (void)turn.refuse(asked.error());
  const auto body = ask(reads_, [&] {
    return StatusReads(parts_.source.store(), parts_.source.stream()).evidence(*asked);
  });
  send_or_refuse_body(turn, body, status::evidence_media_type);
}

void StatusRoutes::incidents(Turn& turn, const NamedValues& query) const {
  const std::string stream = parts_.source.stream();
  const auto asked = read_incidents_query(query, stream, parts_.cursor_key);
  if (!asked.ok()) return (void)turn.refuse(asked.error());
  const auto body = ask(reads_, [&] {
    return StatusReads(parts_.source.store(), stream).incidents(*asked, parts_.cursor_key);
  });
  send_or_refuse_body(turn, body, json_type);
}

void StatusRoutes::feed(Turn& turn) const {
  const auto body = ask(reads_, [&] {
    return StatusReads(parts_.source.store(), parts_.source.stream())
        .feed(parts_.url, parts_.clock.now_ms());
  });
  send_or_refuse_body(turn, body, feed_type);
}

void StatusRoutes::begin_sweep(Turn& turn, const Asked& asked) const {
  const auto read = read_sweep(asked);
  if (!read.ok()) return (void)turn.refuse(read.error());
  send_sweep(turn, ask(sweeps_, [&] { return parts_.source.begin_sweep(*read); }));
}

void StatusRoutes::complete_sweep(Turn& turn, const Asked& asked) const {
  const std::string principal = identity::text_of(*asked.caller);
  send_sweep(turn, ask(sweeps_, [&] {
               return parts_.source.complete_sweep(asked.parameters[0], principal);
             }));
}

namespace {

constexpr Parameter capability_in_path[] = {
    {.name = "capability_id",
     .description = "As in the list of capabilities.",
     .schema = R"({"type": "string", "pattern": "^route-[0-9a-f]{32}$"})"}};

constexpr Parameter provider_in_path[] = {
    {.name = "provider_key",
     .description = "As in the list of capabilities.",
     .schema = R"({"type": "string", "minLength": 1, "maxLength": 128})"}};

constexpr Parameter sweep_in_path[] = {
    {.name = "sweep_id",
     .description = "As the begin of the sweep told it.",
     .schema = R"({"type": "string", "minLength": 1, "maxLength": 128})"}};

constexpr Parameter evidence_query[] = {
    {.name = "from_round",
     .description = "The first round. Default: the oldest from which the evidence can be verified.",
     .schema = R"({"type": "integer", "minimum": 1})",
     .example = "1"},
    {.name = "limit",
     .description = "Rounds on the page, at most; a page that grows large ends earlier.",
     .schema = R"({"type": "integer", "minimum": 1, "maximum": 60, "default": 60})"}};

constexpr Parameter incidents_query[] = {
    {.name = "after",
     .description = "`next_cursor` of the page before, unchanged.",
     .schema = R"({"type": "string", "minLength": 1, "maxLength": 1024})"},
    {.name = "limit",
     .description = "Incidents on the page.",
     .schema = R"({"type": "integer", "minimum": 1, "maximum": 100, "default": 50})"}};

constexpr DescribedReply status_replies[] = {
    {.status = 200, .description = "How each component does.", .schema = "Status"}};
constexpr DescribedReply gateway_replies[] = {
    {.status = 200, .description = "How the gateway does.", .schema = "GatewayStatus"}};
constexpr DescribedReply authority_replies[] = {
    {.status = 200, .description = "What it stands on.", .schema = "StatusAuthority"}};
constexpr DescribedReply operation_replies[] = {
    {.status = 200, .description = "How the capability does.", .schema = "OperationStatus"}};
constexpr DescribedReply provider_replies[] = {
    {.status = 200, .description = "How the provider does.", .schema = "ProviderStatus"}};
constexpr DescribedReply badge_replies[] = {
    {.status = 200, .description = "A picture without scripts.", .content_type = badge_type}};
constexpr DescribedReply rules_replies[] = {
    {.status = 200, .description = "The rules as canonical JSON.", .schema = "StatusRules"}};
constexpr DescribedReply evidence_replies[] = {
    {.status = 200,
     .description = "Lines of JSON: what begins a round, and its records.",
     .content_type = status::evidence_media_type}};
constexpr DescribedReply incidents_replies[] = {
    {.status = 200, .description = "A page, newest first.", .schema = "StatusIncidentPage"}};
constexpr DescribedReply feed_replies[] = {
    {.status = 200, .description = "Atom (RFC 4287).", .content_type = "application/atom+xml"}};
constexpr DescribedReply sweep_replies[] = {
    {.status = 200, .description = "The sweep.", .schema = "ReleaseSweep"}};

#define STATUS "/v1/status"
#define SWEEPS STATUS "/probes/release-sweeps"

constexpr Route<StatusRooms> rows[] = {
    {.facts = {.method = "GET",
               .path = STATUS,
               .endpoint = "status",
               .answers_head = true,
               .described = {.operation_id = "getStatus",
                             .tag = "Status",
                             .summary = "How the service does, component by component",
                             .description =
                                 "Follows from signed evidence alone. What is missing or older "
                                 "than three intervals is `unknown`, by the clock of the reply.",
                             .replies = status_replies,
                             .refusals = "400 503"}},
     .answer = [](const StatusRooms& rooms, Turn& turn,
                  const Asked&) { rooms.status.status(turn); }},
    {.facts = {.method = "GET",
               .path = STATUS "/gateway",
               .endpoint = "status_gateway",
               .answers_head = true,
               .described = {.operation_id = "getGatewayStatus",
                             .tag = "Status",
                             .summary = "How the gateway and its providers do, with 90 days",
                             .description =
                                 "What is offered and how it is watched, a summary of each "
                                 "provider, the gateway's own sentinels, incidents and history.",
                             .replies = gateway_replies,
                             .refusals = "400 503"}},
     .answer = [](const StatusRooms& rooms, Turn& turn,
                  const Asked&) { rooms.status.gateway(turn); }},
    {.facts = {.method = "GET",
               .path = STATUS "/gateway/authority",
               .endpoint = "status_authority",
               .answers_head = true,
               .described = {.operation_id = "getStatusAuthority",
                             .tag = "Status",
                             .summary = "What the status stands on",
                             .description =
                                 "The leader, its key, the rules, the expected targets and the "
                                 "newest signed round. 503 without a fresh round of the installed "
                                 "generation.",
                             .replies = authority_replies,
                             .refusals = "400 503"}},
     .answer = [](const StatusRooms& rooms, Turn& turn,
                  const Asked&) { rooms.status.authority(turn); }},
    {.facts = {.method = "GET",
               .path = STATUS "/gateway/operations/{capability_id}",
               .endpoint = "status_operation",
               .answers_head = true,
               .described = {.operation_id = "getOperationStatus",
                             .tag = "Status",
                             .summary = "How one capability does, with 90 days",
                             .path_parameters = capability_in_path,
                             .replies = operation_replies,
                             .refusals = "400 404 503"}},
     .answer =
         [](const StatusRooms& rooms, Turn& turn, const Asked& asked) {
           rooms.status.operation(turn, asked.parameters[0]);
         }},
    {.facts = {.method = "GET",
               .path = STATUS "/gateway/providers/{provider_key}",
               .endpoint = "status_provider",
               .answers_head = true,
               .described = {.operation_id = "getProviderStatus",
                             .tag = "Status",
                             .summary = "How one provider and its capabilities do, with 90 days",
                             .path_parameters = provider_in_path,
                             .replies = provider_replies,
                             .refusals = "400 404 503"}},
     .answer =
         [](const StatusRooms& rooms, Turn& turn, const Asked& asked) {
           rooms.status.provider(turn, asked.parameters[0]);
         }},
    {.facts = {.method = "GET",
               .path = STATUS "/evidence",
               .endpoint = "status_evidence",
               .query = evidence_query,
               .answers_head = true,
               .described = {.operation_id = "listStatusEvidence",
                             .tag = "Status",
                             .summary = "Read the evidence, round by round",
                             .description =
                                 "Lines of JSON from which every published figure can be computed "
                                 "again: `turnpike status verify`. Go on with the number of the "
                                 "last round plus one until a page holds no round.",
                             .replies = evidence_replies,
                             .refusals = "400 503"}},
     .answer = [](const StatusRooms& rooms, Turn& turn,
                  const Asked& asked) { rooms.status.evidence(turn, asked.query); }},
    {.facts = {.method = "GET",
               .path = STATUS "/rules",
               .endpoint = "status_rules",
               .answers_head = true,
               .described = {.operation_id = "getStatusRules",
                             .tag = "Status",
                             .summary = "By which rules evidence becomes a status",
                             .description = "`rules_hash` of evidence is the SHA-256 of the body.",
                             .replies = rules_replies,
                             .refusals = "400"}},
     .answer = [](const StatusRooms& rooms, Turn& turn,
                  const Asked&) { rooms.status.rules(turn); }},
    {.facts = {.method = "GET",
               .path = STATUS "/incidents",
               .endpoint = "status_incidents",
               .query = incidents_query,
               .answers_head = true,
               .described = {.operation_id = "listStatusIncidents",
                             .tag = "Status",
                             .summary = "List incidents, newest first",
                             .description = "Follow `next_cursor` until it is null.",
                             .replies = incidents_replies,
                             .refusals = "400 503"}},
     .answer = [](const StatusRooms& rooms, Turn& turn,
                  const Asked& asked) { rooms.status.incidents(turn, asked.query); }},
    {.facts = {.method = "GET",
               .path = STATUS "/feed.atom",
               .endpoint = "status_feed",
               .answers_head = true,
               .described = {.operation_id = "getStatusFeed",
                             .tag = "Status",
                             .summary = "Incidents and maintenance for feed readers",
                             .replies = feed_replies,
                             .refusals = "400 503"}},
     .answer = [](const StatusRooms& rooms, Turn& turn,
                  const Asked&) { rooms.status.feed(turn); }},
    {.facts = {.method = "GET",
               .path = STATUS "/badges/{provider_key}.svg",
               .endpoint = "status_badge",
               .answers_head = true,
               .described = {.operation_id = "getStatusBadge",
                             .tag = "Status",
                             .summary = "A provider's state as a small picture",
                             .path_parameters = provider_in_path,
                             .replies = badge_replies,
                             .refusals = "400 404 503"}},
     .answer =
         [](const StatusRooms& rooms, Turn& turn, const Asked& asked) {
           rooms.status.badge(turn, asked.parameters[0]);
         }},
    {.facts = {.method = "POST",
               .path = SWEEPS,
               .endpoint = "release_sweep_begin",
               .callers = Callers::api_key(),
               .body = BodyForm::json,
               .body_bytes_max = sweep_body_bytes_max,
               .described = {.operation_id = "beginReleaseSweep",
                             .tag = "Status",
                             .summary = "Begin to look at everything once, for a release",
                             .description =
                                 "With the key that the operator bound to sweeps. The same release "
                                 "and generation again: the same sweep. Another generation than "
                                 "the installed one: 409.",
                             .body_schema = "NewReleaseSweep",
                             .replies = sweep_replies,
                             .refusals = "Sweep400 Sweep401 Sweep403 Sweep409 413 415 Sweep503"}},
     .answer = [](const StatusRooms& rooms, Turn& turn,
                  const Asked& asked) { rooms.status.begin_sweep(turn, asked); }},
    {.facts = {.method = "POST",
               .path = SWEEPS "/{sweep_id}/complete",
               .endpoint = "release_sweep_complete",
               .callers = Callers::api_key(),
               .described = {.operation_id = "completeReleaseSweep",
                             .tag = "Status",
                             .summary = "End a release sweep",
                             .description =
                                 "503 with `Retry-After` while a target has no answer; then 200 "
                                 "however often it is asked: `complete` if nothing failed or "
                                 "stayed unknown, else `failed`.",
                             .path_parameters = sweep_in_path,
                             .replies = sweep_replies,
                             .refusals = "Sweep400 Sweep401 Sweep403 Sweep404 Sweep503"}},
     .answer = [](const StatusRooms& rooms, Turn& turn,
                  const Asked& asked) { rooms.status.complete_sweep(turn, asked); }},
};

#undef SWEEPS
#undef STATUS

}  // namespace

std::span<const Route<StatusRooms>> status_routes() noexcept { return rows; }

}  // namespace turnpike::hosts::api
