#include "hosts/account/notice_routes.h"

#include <string>
#include <utility>

#include "hosts/account/account_routes.h"
#include "hosts/account/pooled_people.h"
#include "hosts/account_query.h"
#include "hosts/notice_json.h"

namespace turnpike::hosts::account {

namespace {

using identity::Role;
using notices::Office;

constexpr std::uint64_t endpoint_wish_bytes_max = 8'192;

// Sends the result of `work(office)`, or refuses with its error.
template <class Work, class Send>
void with_office(const PurchaseRooms& rooms, Turn& turn, Work&& work, Send&& send) {
  const auto office = notice_office(rooms.account);
  if (!office.ok()) return (void)turn.refuse(office.error());
  const auto done = work(**office);
  if (!done.ok()) return (void)turn.refuse(done.error());
  send(*done);
}

// ---- endpoints

void list_endpoints(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  with_office(
      rooms, turn, [&](Office& office) { return office.endpoints(asked.parameters[0]); },
      [&](const auto& endpoints) { turn.reply({.body = endpoints_body(endpoints)}); });
}

void create_endpoint(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  const auto wish = read_endpoint_wish(asked.body, true);
  if (!wish.ok()) return (void)turn.refuse(wish.error());
  with_office(
      rooms, turn,
      [&](Office& office) {
        return office.create(asked.parameters[0], *wish,
                             account::actor_of(turn, asked.caller, rooms.clients));
      },
      [&](const auto& made) { turn.reply({.status = 201, .body = endpoint_body(made)}); });
}

void change_endpoint(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  const auto wish = read_endpoint_wish(asked.body, false);
  if (!wish.ok()) return (void)turn.refuse(wish.error());
  with_office(
      rooms, turn,
      [&](Office& office) {
        return office.change(asked.parameters[0], asked.parameters[1], *wish,
                             account::actor_of(turn, asked.caller, rooms.clients));
      },
      [&](const auto& endpoint) { turn.reply({.body = endpoint_body(endpoint)}); });
}

void remove_endpoint(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  with_office(
      rooms, turn,
      [&](Office& office) {
        return office.remove(asked.parameters[0], asked.parameters[1],
                             account::actor_of(turn, asked.caller, rooms.clients));
      },
      [&](const auto&) { turn.reply({.status = 204, .content_type = {}}); });
}

void rotate_endpoint_secret(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  with_office(
      rooms, turn,
      [&](Office& office) {
        return office.rotate(asked.parameters[0], asked.parameters[1],
                             account::actor_of(turn, asked.caller, rooms.clients));
      },
      [&](const auto& made) { turn.reply({.body = endpoint_body(made)}); });
}

void test_endpoint(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  with_office(
      rooms, turn,
      [&](Office& office) {
        return office.test(asked.parameters[0], asked.parameters[1],
                           account::actor_of(turn, asked.caller, rooms.clients));
      },
      [&](const auto& delivery) {
        turn.reply({.status = 202, .body = delivery_body(delivery)});
      });
}

// ---- deliveries

void list_deliveries(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string& account_id = asked.parameters[0];
  const std::string& cursor_key = rooms.account.cursor_key();
  const auto query = read_deliveries_query(asked.query, account_id, cursor_key);
  if (!query.ok()) return (void)turn.refuse(query.error());
  with_office(
      rooms, turn,
      [&](Office& office) {
        return office.deliveries({.account_id = account_id,
                                  .before_ms = query->before.number,
                                  .before_id = query->before.id,
                                  .limit = query->limit});
      },
      [&](const auto& page) {
        turn.reply({.body = delivery_page_body(account_id, page, cursor_key,
                                               rooms.account.parts().clock.now_ms())});
      });
}

void retry_delivery(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  with_office(
      rooms, turn,
      [&](Office& office) {
        return office.retry(asked.parameters[0], asked.parameters[1],
                            account::actor_of(turn, asked.caller, rooms.clients));
      },
      [&](const auto& delivery) {
        turn.reply({.status = 202, .body = delivery_body(delivery)});
      });
}

// ---- settings

void show_notice_settings(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string& account_id = asked.parameters[0];
  with_office(
      rooms, turn, [&](Office& office) { return office.settings(account_id); },
      [&](const auto& settings) {
        turn.reply({.body = notice_settings_body(account_id, settings)});
      });
}

void set_notice_settings(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string& account_id = asked.parameters[0];
  const auto wanted = read_notice_settings(asked.body);
  if (!wanted.ok()) return (void)turn.refuse(wanted.error());
  with_office(
      rooms, turn,
      [&](Office& office) {
        return office.set(account_id, *wanted,
                          account::actor_of(turn, asked.caller, rooms.clients));
      },
      [&](const auto& settings) {
        turn.reply({.body = notice_settings_body(account_id, settings)});
      });
}

// ---- the table

constexpr Parameter deliveries_query[] = {
    {.name = "limit",
     .description = "Deliveries on the page.",
     .schema = R"({"type": "integer", "minimum": 1, "maximum": 100, "default": 20})"},
    {.name = "after",
     .description = "`nextCursor` of the page before, unchanged, for the same account.",
     .schema = R"({"type": "string", "minLength": 1, "maxLength": 1024})"},
};

constexpr Parameter endpoint_path[] = {
    account_path[0],
    {.name = "endpoint_id",
     .description = "As in the list. Another account's is 404.",
     .schema = R"({"type": "string"})"}};

constexpr Parameter delivery_path[] = {
    account_path[0],
    {.name = "delivery_id",
     .description = "As in the list. Another account's is 404.",
     .schema = R"({"type": "string"})"}};

constexpr DescribedReply endpoints_replies[] = {{.status = 200,
                                                 .description = "The endpoints.",
                                                 .schema = "NotificationEndpointList"}};
constexpr DescribedReply endpoint_replies[] = {{.status = 200,
                                                .description = "The endpoint as it is now.",
                                                .schema = "NotificationEndpoint"}};
constexpr DescribedReply made_endpoint_replies[] = {
    {.status = 201,
     .description = "The endpoint, with its secret.",
     .schema = "NotificationEndpointWithSecret"}};
constexpr DescribedReply rotated_replies[] = {{.status = 200,
                                               .description = "The endpoint, with its new secret.",
                                               .schema = "NotificationEndpointWithSecret"}};
constexpr DescribedReply removed_replies[] = {
    {.status = 204, .description = "Done.", .content_type = {}}};
constexpr DescribedReply due_replies[] = {{.status = 202,
                                           .description = "The delivery, which is due now.",
                                           .schema = "NotificationDelivery"}};
constexpr DescribedReply deliveries_replies[] = {
    {.status = 200, .description = "A page.", .schema = "NotificationDeliveryPage"}};
constexpr DescribedReply settings_replies[] = {
    {.status = 200, .description = "The settings.", .schema = "NotificationSettings"}};

#define ACCOUNT "/v1/billing-accounts/{billing_account_id}"
#define ENDPOINTS ACCOUNT "/notification-endpoints"
#define DELIVERIES ACCOUNT "/notification-deliveries"
constexpr std::string_view notices_tag = "Notifications";

constexpr Route<PurchaseRooms> notice_rows[] = {
    {.facts = {.method = "GET",
               .path = ENDPOINTS,
               .endpoint = "notification_endpoints",
               .callers = Callers::members(Role::member),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listNotificationEndpoints",
                             .tag = notices_tag,
                             .summary = "List the endpoints of an account",
                             .path_parameters = account_path,
                             .replies = endpoints_replies,
                             .refusals = "400 401 403 503"}},
     .answer = list_endpoints},
    {.facts = {.method = "POST",
               .path = ENDPOINTS,
               .endpoint = "notification_endpoints",
               .callers = Callers::members(Role::admin),
               .body = BodyForm::json,
               .body_bytes_max = endpoint_wish_bytes_max,
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "createNotificationEndpoint",
                    .tag = notices_tag,
                    .summary = "Have events sent to a server",
                    .description = "Each event is a POST in the form of Standard Webhooks 1.0, "
                                   "signed with the secret that is in this reply and nowhere else. "
                                   "Answer 2xx within 15 seconds; 410 ends it. Ten at most.",
                    .path_parameters = account_path,
                    .body_schema = "NewNotificationEndpoint",
                    .replies = made_endpoint_replies,
                    .refusals = "400 401 403 404 409 413 415 503"}},
     .answer = create_endpoint},
    {.facts = {.method = "PATCH",
               .path = ENDPOINTS "/{endpoint_id}",
               .endpoint = "notification_endpoint",
               .callers = Callers::members(Role::admin),
               .body = BodyForm::json,
               .body_bytes_max = endpoint_wish_bytes_max,
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "changeNotificationEndpoint",
                    .tag = notices_tag,
                    .summary = "Change an endpoint, disable it or enable it again",
                    .description = "What is pending for one that is disabled is cancelled; events "
                                   "that happen meanwhile are not kept for it.",
                    .path_parameters = endpoint_path,
                    .body_schema = "NotificationEndpointChange",
                    .replies = endpoint_replies,
                    .refusals = "400 401 403 404 413 415 503"}},
     .answer = change_endpoint},
    {.facts = {.method = "DELETE",
               .path = ENDPOINTS "/{endpoint_id}",
               .endpoint = "notification_endpoint",
               .callers = Callers::members(Role::admin),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "removeNotificationEndpoint",
                             .tag = notices_tag,
                             .summary = "Remove an endpoint and its deliveries",
                             .path_parameters = endpoint_path,
                             .replies = removed_replies,
                             .refusals = "400 401 403 404 503"}},
     .answer = remove_endpoint},
    {.facts = {.method = "POST",
               .path = ENDPOINTS "/{endpoint_id}/rotate-secret",
               .endpoint = "notification_endpoint_secret",
               .callers = Callers::members(Role::admin),
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "rotateNotificationSecret",
                    .tag = notices_tag,
                    .summary = "Give an endpoint a new secret",
                    .description = "The one before signs beside it for 24 hours: "
                                   "`webhook-signature` then has two, divided by a blank.",
                    .path_parameters = endpoint_path,
                    .replies = rotated_replies,
                    .refusals = "400 401 403 404 503"}},
     .answer = rotate_endpoint_secret},
    {.facts = {.method = "POST",
               .path = ENDPOINTS "/{endpoint_id}/test",
               .endpoint = "notification_endpoint_test",
               .callers = Callers::members(Role::admin),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "testNotificationEndpoint",
                             .tag = notices_tag,
                             .summary = "Send endpoint.test to an endpoint",
                             .description = "While one is pending, there is no other.",
                             .path_parameters = endpoint_path,
                             .replies = due_replies,
                             .refusals = "400 401 403 404 503"}},
     .answer = test_endpoint},
    {.facts = {.method = "GET",
               .path = DELIVERIES,
               .endpoint = "notification_deliveries",
               .callers = Callers::members(Role::member),
               .query = deliveries_query,
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "listNotificationDeliveries",
                             .tag = notices_tag,
                             .summary = "List what was sent, and what is to be",
                             .description = "Newest first. Follow `nextCursor` until it is null. "
                                            "What ended is kept for 30 days.",
                             .path_parameters = account_path,
                             .replies = deliveries_replies,
                             .refusals = "400 401 403 503"}},
     .answer = list_deliveries},
    {.facts = {.method = "POST",
               .path = DELIVERIES "/{delivery_id}/retry",
               .endpoint = "notification_delivery_retry",
               .callers = Callers::members(Role::admin),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "retryNotificationDelivery",
                             .tag = notices_tag,
                             .summary = "Send a delivery again now",
                             .description = "Also one that was delivered, under the same "
                                            "`webhook-id`, with all its tries before it.",
                             .path_parameters = delivery_path,
                             .replies = due_replies,
                             .refusals = "400 401 403 404 503"}},
     .answer = retry_delivery},
    {.facts = {.method = "GET",
               .path = ACCOUNT "/notification-settings",
               .endpoint = "notification_settings",
               .callers = Callers::members(Role::member),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "getNotificationSettings",
                             .tag = notices_tag,
                             .summary = "Show when an account is told of low Credits",
                             .path_parameters = account_path,
                             .replies = settings_replies,
                             .refusals = "400 401 403 503"}},
     .answer = show_notice_settings},
    {.facts = {.method = "PUT",
               .path = ACCOUNT "/notification-settings",
               .endpoint = "notification_settings",
               .callers = Callers::members(Role::admin),
               .body = BodyForm::json,
               .body_bytes_max = 4'096,
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "setNotificationSettings",
                    .tag = notices_tag,
                    .summary = "Set when an account is told of low Credits",
                    .description = "`credits.low` is sent once when the balance falls below the "
                                   "threshold, and again only after it was above it by a fifth, or "
                                   "after a purchase.",
                    .path_parameters = account_path,
                    .body_schema = "NotificationSettingsChange",
                    .replies = settings_replies,
                    .refusals = "400 401 403 413 415 503"}},
     .answer = set_notice_settings},
};
#undef DELIVERIES
#undef ENDPOINTS
#undef ACCOUNT

}  // namespace

std::span<const Route<PurchaseRooms>> notice_routes() noexcept { return notice_rows; }

Result<notices::Office*, base::Error> notice_office(const AccountReads& account) {
  notices::Office* const office = account.parts().notices;
  if (office != nullptr) return office;
  return base::Error{base::ErrorCode::notification_unavailable, "Nobody is notified here.", 1};
}

}  // namespace turnpike::hosts::account
