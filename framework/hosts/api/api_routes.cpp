#include "hosts/api/api_routes.h"

#include <string>
#include <vector>

#include "hosts/account/account_routes.h"
#include "hosts/account/grant_routes.h"
#include "hosts/account/people_routes.h"
#include "hosts/account/auto_top_up_routes.h"
#include "hosts/account/notice_routes.h"
#include "hosts/account/purchase_routes.h"
#include "hosts/account_json.h"
#include "hosts/api/status_routes.h"
#include "hosts/openapi_frame.h"

namespace turnpike::hosts::api {

namespace {

using account::kept_by_nobody;
using account::send_or_refuse;

// Caches may store the reply but must revalidate it before each use: readiness is live, and a 304
// is cheap.
constexpr std::string_view revalidate = "public, no-cache";
constexpr std::string_view kept_for_a_while = "public, max-age=300";

std::string account_of(const Asked& asked) { return std::string(asked.caller->account_id); }

void send_well_known(const ApiRooms& rooms, Turn& turn, const Asked&) {
  rooms.public_routes.well_known(turn);
}

constexpr DescribedReply health_replies[] = {
    {.status = 200, .description = "The process is up.", .schema = "Health"}};

constexpr DescribedReply readiness_replies[] = {
    {.status = 200, .description = "Ready to serve.", .schema = "Readiness"},
    {.status = 503,
     .description = "Not ready; the failing checks give their reasons.",
     .schema = "Readiness"}};

constexpr DescribedReply version_replies[] = {
    {.status = 200, .description = "The identity of the running gateway.", .schema = "Version"}};

constexpr DescribedReply open_api_replies[] = {
    {.status = 200, .description = "The OpenAPI document of the operations that are ready now."}};

constexpr DescribedReply reference_replies[] = {
    {.status = 200, .description = "The API reference.", .content_type = "text/html"}};

constexpr Parameter capabilities_query[] = {
    {.name = "limit",
     .description = "Entries on the page.",
     .schema = R"({"type": "integer", "minimum": 1, "maximum": 1000, "default": 50})"},
    {.name = "cursor",
     .description =
         "`next_cursor` of the page before, unchanged. Versions 3, 4 and 5 are accepted; "
         "5 is given out.",
     .schema = R"({"type": "string", "maxLength": 1024})"},
    {.name = "provider_key",
     .description = "Only capabilities of this provider; exact.",
     .schema = R"({"type": "string", "minLength": 1, "maxLength": 128})"},
    {.name = "method",
     .description = "Only capabilities with this method; exact.",
     .schema = R"({"type": "string", "enum": ["GET", "POST"]})"},
    {.name = "q",
     .description = "Only capabilities with all of these words, up to 8, in their path, their "
                    "summary, or the key or name of their provider; the case of letters does not "
                    "matter.",
     .schema = R"({"type": "string", "maxLength": 200})"},
};

constexpr DescribedReply capabilities_replies[] = {
    {.status = 200, .description = "A page.", .schema = "PublicCapabilityPage"}};

constexpr Parameter capability_path[] = {
    {.name = "capability_id",
     .description = "As in the list.",
     .schema = R"({"type": "string", "pattern": "^route-[0-9a-f]{32}$"})"},
};

constexpr DescribedReply capability_replies[] = {
    {.status = 200, .description = "The capability.", .schema = "PublicCapabilityDetail"}};

constexpr DescribedReply service_identity_replies[] = {
    {.status = 200, .description = "The document.", .content_type = "application/did+json"}};

constexpr DescribedReply mcp_manifest_replies[] = {{.status = 200, .description = "The manifest."}};

constexpr DescribedReply payable_resources_replies[] = {
    {.status = 200, .description = "The list."}};

constexpr DescribedReply operation_pricing_inventory_replies[] = {
    {.status = 200, .description = "The inventory.", .schema = "OperationPricingInventory"}};

constexpr DescribedReply auth_context_replies[] = {
    {.status = 200,
     .description = "The principal and its billing account.",
     .schema = "AuthContext"}};

constexpr Parameter call_path[] = {
    {.name = "request_id",
     .description =
         "`X-Request-Id` of the call's reply. One that is unknown, or another account's, "
         "is 404; so is a call that still runs, with advice `after_delay`.",
     .schema = R"({"type": "string", "format": "uuid"})"},
};

constexpr DescribedReply call_replies[] = {
    {.status = 200, .description = "The call.", .schema = "Call"}};

// Calls come first, since most requests are calls.
constexpr Route<ApiRooms> routes[] = {
    {.facts = {.method = "GET, POST",
               .path = "/v1/gateway/{path...}",
               .endpoint = "gateway",
               .takes_all = true,
               .takes_any_method = true},
     .take = [](const ApiRooms& rooms, Turn& turn) { rooms.calls.call(turn); }},
    // The plugins in service decide which paths and methods exist.
    {.facts = {.method = "GET, POST",
               .path = "/v1/plugins/{path...}",
               .endpoint = "plugin_intake",
               .takes_all = true,
               .takes_any_method = true},
     .take = [](const ApiRooms& rooms, Turn& turn) { rooms.intake.receive(turn); }},
    {.facts =
         {.method = "GET",
          .path = "/healthz",
          .endpoint = "health",
          .answers_head = true,
          .described = {.operation_id = "getHealth",
                        .tag = "Service",
                        .summary = "Is the process up",
                        .description =
                            "Says that the process answers, whether or not it can serve calls.",
                        .replies = health_replies,
                        .refusals = "400"}},
     .answer = [](const ApiRooms& rooms, Turn& turn,
                  const Asked&) { rooms.public_routes.health(turn); }},
    {.facts = {.method = "GET",
               .path = "/readyz",
               .endpoint = "readiness",
               .answers_head = true,
               .described = {.operation_id = "getReadiness",
                             .tag = "Service",
                             .summary = "Can the gateway serve calls",
                             .replies = readiness_replies,
                             .refusals = "400"}},
     .answer = [](const ApiRooms& rooms, Turn& turn,
                  const Asked&) { rooms.public_routes.readiness(turn); }},
    {.facts = {.method = "GET",
               .path = "/version",
               .endpoint = "version",
               .answers_head = true,
               .described = {.operation_id = "getVersion",
                             .tag = "Service",
                             .summary = "Which build and which registry generation runs",
                             .replies = version_replies,
                             .refusals = "400"}},
     .answer = [](const ApiRooms& rooms, Turn& turn,
                  const Asked&) { rooms.public_routes.version(turn); }},
    {.facts = {.method = "GET",
               .path = "/openapi.json",
               .endpoint = "openapi",
               .answers_head = true,
               .cache_control = revalidate,
               .has_etag = true,
               .described = {.operation_id = "getOpenApi",
                             .tag = "Service",
                             .summary = "This document",
                             .replies = open_api_replies,
                             .refusals = "400 Catalog503"}},
     .answer = [](const ApiRooms& rooms, Turn& turn,
                  const Asked&) { rooms.public_routes.openapi(turn); }},
    {.facts = {.method = "GET",
               .path = "/reference",
               .endpoint = "reference",
               .answers_head = true,
               .cache_control = revalidate,
               .has_etag = true,
               .described = {.operation_id = "getReference",
                             .tag = "Service",
                             .summary = "This document as a page for people",
                             .description = "404 where its files are not installed.",
                             .replies = reference_replies,
                             .refusals = "400 404"}},
     .answer = [](const ApiRooms& rooms, Turn& turn,
                  const Asked&) { rooms.public_routes.reference(turn, {}); }},
    {.facts = {.method = "GET",
               .path = "/reference/{file}",
               .endpoint = "reference",
               .answers_head = true,
               .cache_control = revalidate,
               .has_etag = true},
     .answer =
         [](const ApiRooms& rooms, Turn& turn, const Asked& asked) {
           rooms.public_routes.reference(turn, asked.parameters[0]);
         }},
    {.facts =
         {.method = "GET",
          .path = "/v1/capabilities",
          .endpoint = "capabilities",
          .query = capabilities_query,
          .answers_head = true,
          .cache_control = revalidate,
          .has_etag = true,
          .described =
              {.operation_id = "listCapabilities",
               .tag = "Catalog",
               .summary = "List the installed capabilities",
               .description =
                   "A page of the catalog, bound to one registry generation and one projection. "
                   "Follow `next_cursor` with the same filters until it is null: a page may hold "
                   "fewer entries than `limit`, and of a large catalog none. When the generation "
                   "changes in between, the answer is 409 with `retry.advice` `restart_paging`.",
               .replies = capabilities_replies,
               .refusals = "400 409 503"}},
     .answer = [](const ApiRooms& rooms, Turn& turn,
                  const Asked& asked) { rooms.public_routes.capabilities(turn, asked.query); }},
    {.facts = {.method = "GET",
               .path = "/v1/capabilities/{capability_id}",
               .endpoint = "capability",
               .answers_head = true,
               .cache_control = revalidate,
               .has_etag = true,
               .described = {.operation_id = "getCapability",
                             .tag = "Catalog",
                             .summary = "Show one capability in full",
                             .path_parameters = capability_path,
                             .replies = capability_replies,
                             .refusals = "400 404 503"}},
     .answer =
         [](const ApiRooms& rooms, Turn& turn, const Asked& asked) {
           rooms.public_routes.capability(turn, asked.parameters[0]);
         }},
    {.facts =
         {.method = "GET",
          .path = "/.well-known/did.json",
          .endpoint = "well_known",
          .answers_head = true,
          .cache_control = kept_for_a_while,
          .has_etag = true,
          .described =
              {.operation_id = "getServiceIdentity",
               .tag = "Service",
               .summary = "The keys that sign x402 offers and receipts",
               .description =
                   "A did:web document: active keys are in `assertionMethod`, retired ones are "
                   "still listed. 404 while no payment per call is taken.",
               .replies = service_identity_replies,
               .refusals = "400 404"}},
     .answer = send_well_known},
    {.facts =
         {.method = "GET",
          .path = "/.well-known/mcp.json",
          .endpoint = "well_known",
          .answers_head = true,
          .cache_control = kept_for_a_while,
          .has_etag = true,
          .described =
              {.operation_id = "getMcpManifest",
               .tag = "Service",
               .summary = "Where the same routes are tools of an MCP server",
               .description =
                   "Endpoints, protocol versions and how callers authenticate. 404 where no MCP "
                   "host is configured.",
               .replies = mcp_manifest_replies,
               .refusals = "400 404"}},
     .answer = send_well_known},
    {.facts =
         {.method = "GET",
          .path = "/.well-known/x402",
          .endpoint = "well_known",
          .answers_head = true,
          .cache_control = kept_for_a_while,
          .has_etag = true,
          .described =
              {.operation_id = "getPayableResources",
               .tag = "Service",
               .summary = "What can be paid for per call by x402",
               .description =
                   "Every operation that takes a payment per call, with its terms. 404 while none "
                   "does. The challenge of an operation (402) decides.",
               .replies = payable_resources_replies,
               .refusals = "400 404"}},
     .answer = send_well_known},
    {.facts = {.method = "GET",
               .path = "/.well-known/{document}",
               .endpoint = "well_known",
               .answers_head = true,
               .cache_control = kept_for_a_while,
               .has_etag = true},
     .answer = send_well_known},
    {.facts = {.method = "GET",
               .path = "/v1/operation-pricing-inventory",
               .endpoint = "inventory",
               .answers_head = true,
               .cache_control = revalidate,
               .has_etag = true,
               .described =
                   {.operation_id = "getOperationPricingInventory",
                    .tag =
                        "Catalog",
                    .summary = "List every operation with its closure and bounds",
                    .description =
                        "The complete inventory or 503, never a part of it. Read `schema_version`.",
                    .replies = operation_pricing_inventory_replies,
                    .refusals = "400 503"}},
     .answer = [](const ApiRooms& rooms, Turn& turn,
                  const Asked&) { rooms.public_routes.inventory(turn); }},
    {.facts = {.method = "GET",
               .path = "/v1/auth/context",
               .endpoint = "auth_context",
               .callers = Callers::api_key(),
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "getAuthContext",
                    .tag =
                        "Account",
                    .summary = "Show whom the API key speaks for",
                    .description =
                        "Accepts an API key alone and no query parameters. `private, no-store`.",
                    .replies = auth_context_replies,
                    .refusals = "400 401 503"}},
     .answer = [](const ApiRooms&, Turn& turn,
                  const Asked& asked) { send_or_refuse(turn, auth_context_body(*asked.caller)); }},
    {.facts =
         {.method = "GET",
          .path = "/v1/calls/{request_id}",
          .endpoint = "call",
          .callers = Callers::account(),
          .cache_control = kept_by_nobody,
          .described =
              {.operation_id = "getCall",
               .tag = "Account",
               .summary = "Show what became of a call",
               .description =
                   "Outcome, charge, ledger entry and timings of one paid call of the key's own "
                   "account, `pending` while an unknown settlement is not proven. `private, "
                   "no-store`.",
               .path_parameters = call_path,
               .replies = call_replies,
               .refusals = "400 401 403 404 502 503"}},
     .answer =
         [](const ApiRooms& rooms, Turn& turn, const Asked& asked) {
           send_or_refuse(
               turn, rooms.account.call(account_of(asked), asked.parameters[0], turn.request_id()));
         }},
};

}  // namespace

std::span<const Route<ApiRooms>> api_routes() noexcept { return routes; }

std::string_view api_openapi_frame() {
  static const std::string frame = [] {
    std::vector<const RouteFacts*> facts;
    for (const auto& route : routes) facts.push_back(&route.facts);
    for (const auto& route : status_routes()) facts.push_back(&route.facts);
    for (const auto& route : account::account_routes()) facts.push_back(&route.facts);
    for (const auto& route : account::people_routes()) facts.push_back(&route.facts);
    for (const auto& route : account::grant_routes()) facts.push_back(&route.facts);
    for (const auto& route : account::purchase_routes()) facts.push_back(&route.facts);
    for (const auto& route : account::auto_top_up_routes()) facts.push_back(&route.facts);
    for (const auto& route : account::notice_routes()) facts.push_back(&route.facts);
    return openapi_frame(openapi_components(), facts);
  }();
  return frame;
}

}  // namespace turnpike::hosts::api
