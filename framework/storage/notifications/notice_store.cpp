#include "storage/notifications/notice_store.h"

#include <limits>

#include "storage/notifications/notice_rows.h"
#include "storage/people/audit_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using notices::Delivery;
using notices::DisabledReason;
using notices::Endpoint;

#define ENDPOINT_COLUMNS                                                                     \
  "id, account_id, url, description, types, disabled, disabled_at, old_secret_until,"        \
  " failing_since, delivered_at, created_at"
constexpr char endpoint_kinds[] = "ttttttiiiii";
#define DELIVERY_COLUMNS                                                                     \
  "id, account_id, event_id, endpoint_id, type, state, attempts, due_at, last_status,"       \
  " last_problem, last_at, created_at, ended_at"
constexpr char delivery_kinds[] = "ttttttiiitiii";

constexpr Query count_endpoints{"SELECT COUNT(*) FROM notice_endpoint WHERE account_id = $1", "i"};
constexpr Query insert_endpoint{
    "INSERT INTO notice_endpoint (id, account_id, url, description, types, disabled, disabled_at,"
    " secret, created_at, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"};
constexpr Query select_endpoints{"SELECT " ENDPOINT_COLUMNS
                                 " FROM notice_endpoint WHERE account_id = $1"
                                 " ORDER BY created_at, id",
                                 endpoint_kinds};
// Locks the row.
constexpr Query lock_endpoint{
    "UPDATE notice_endpoint SET url = url WHERE account_id = $1 AND id = $2"
    " RETURNING " ENDPOINT_COLUMNS,
    endpoint_kinds};
constexpr Query update_endpoint{
    "UPDATE notice_endpoint SET url = $1, description = $2, types = $3 WHERE id = $4"};
constexpr Query enable_endpoint{
    "UPDATE notice_endpoint SET disabled = '', disabled_at = -1, failing_since = -1"
    " WHERE id = $1"};
constexpr Query disable_endpoint{
    "UPDATE notice_endpoint SET disabled = $1, disabled_at = $2 WHERE id = $3"};
constexpr Query cancel_deliveries{
    "UPDATE notice_delivery SET state = 'cancelled', due_at = -1, ended_at = $1"
    " WHERE endpoint_id = $2 AND state = 'pending'"};
constexpr Query rotate_secret{
    "UPDATE notice_endpoint SET old_secret = secret, old_secret_until = $1, secret = $2"
    " WHERE id = $3"};
constexpr Query delete_notice_deliveries{"DELETE FROM notice_delivery WHERE endpoint_id = $1"};
constexpr Query delete_endpoint{"DELETE FROM notice_endpoint WHERE id = $1"};
constexpr Query select_pending_test{
    "SELECT " DELIVERY_COLUMNS
    " FROM notice_delivery WHERE endpoint_id = $1 AND state = 'pending'"
    " AND type = 'endpoint.test' LIMIT 1",
    delivery_kinds};
constexpr Query select_notice_delivery{"SELECT " DELIVERY_COLUMNS
                                " FROM notice_delivery WHERE account_id = $1 AND id = $2",
                                delivery_kinds};
constexpr Query select_first_deliveries{
    "SELECT " DELIVERY_COLUMNS
    " FROM notice_delivery WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2",
    delivery_kinds};
constexpr Query select_next_deliveries{
    "SELECT " DELIVERY_COLUMNS
    " FROM notice_delivery WHERE account_id = $1 AND (created_at, id) < ($2, $3)"
    " ORDER BY created_at DESC, id DESC LIMIT $4",
    delivery_kinds};
constexpr Query select_notice_data{"SELECT data FROM notice_event WHERE id = $1", "t"};
constexpr Query retry_notice_delivery{
    "UPDATE notice_delivery SET state = 'pending', attempts = 0, due_at = $1, ended_at = -1"
    " WHERE id = $2 RETURNING " DELIVERY_COLUMNS,
    delivery_kinds};
constexpr Query select_notice_setting{
    "SELECT credits_low FROM notice_setting WHERE account_id = $1", "i"};
constexpr Query upsert_notice_setting{
    "INSERT INTO notice_setting (account_id, credits_low) VALUES ($1, $2)"
    " ON CONFLICT (account_id) DO UPDATE SET credits_low = excluded.credits_low, is_low = 0"};

Endpoint endpoint_at(const Rows& rows, std::size_t row) {
  Endpoint endpoint;
  endpoint.id = rows.text(row, 0);
  endpoint.account_id = rows.text(row, 1);
  endpoint.url = rows.text(row, 2);
  endpoint.description = rows.text(row, 3);
  endpoint.types = notices::types_of(rows.text(row, 4));
  endpoint.disabled = notices::disabled_reason_of(rows.text(row, 5));
  endpoint.disabled_at_ms = rows.number(row, 6);
  endpoint.old_secret_until_ms = rows.number(row, 7);
  endpoint.failing_since_ms = rows.number(row, 8);
  endpoint.delivered_at_ms = rows.number(row, 9);
  endpoint.created_at_ms = rows.number(row, 10);
  return endpoint;
}

Delivery delivery_at(const Rows& rows, std::size_t row) {
  Delivery delivery;
  delivery.id = rows.text(row, 0);
  delivery.account_id = rows.text(row, 1);
  delivery.event_id = rows.text(row, 2);
  delivery.endpoint_id = rows.text(row, 3);
  delivery.type = notices::event_type_of(rows.text(row, 4)).value_or(
      notices::EventType::endpoint_test);
  delivery.state = notices::delivery_state_of(rows.text(row, 5));
  delivery.attempts = static_cast<std::uint32_t>(rows.number(row, 6));
  delivery.due_at_ms = rows.number(row, 7);
  delivery.last_status = static_cast<int>(rows.number(row, 8));
  delivery.last_problem = rows.text(row, 9);
  delivery.last_at_ms = rows.number(row, 10);
  delivery.created_at_ms = rows.number(row, 11);
  delivery.ended_at_ms = rows.number(row, 12);
  return delivery;
}

base::Error endpoint_disabled() {
  return {ErrorCode::notification_endpoint_invalid,
          "Nothing is sent to this endpoint, since it is disabled: enable it first."};
}

}  // namespace

// ---- endpoints ----------------------------------------------------------------------------------

void SqlNoticeStore::audit(Transaction& transaction, const identity::Actor& actor,
                           std::string_view account_id, std::string_view action,
                           std::string_view target, std::string detail) const {
  write_audit(context_, transaction,
              {.actor = actor,
               .account_id = std::string(account_id),
               .action = std::string(action),
               .target = std::string(target),
               .detail = std::move(detail)});
}

void SqlNoticeStore::disable(Transaction& transaction, std::string_view id, DisabledReason reason,
                             std::int64_t now_ms) const {
  transaction.run(disable_endpoint, {notices::name_of(reason), now_ms, id});
  transaction.run(cancel_deliveries, {now_ms, id});
}

SqlNoticeStore::Answer<Endpoint> SqlNoticeStore::create(const notices::NewEndpoint& wanted,
                                                        const identity::Actor& actor) {
  return changed_by<Endpoint>("create endpoint", [&](Transaction& transaction) -> Answer<Endpoint> {
    // Locks the account's row, so that concurrent additions are counted correctly.
    if (auto why = why_not_given(transaction, wanted.account_id)) return *std::move(why);
    if (auto why = why_not_allowed(transaction, wanted.account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const std::int64_t count = transaction.run(count_endpoints, {wanted.account_id}).number(0, 0);
    if (count >= notices::endpoints_max) {
      return base::Error{ErrorCode::notification_too_many_endpoints,
                         "The account has 10 endpoints, which is all it may have: remove one "
                         "first."};
    }
    const std::int64_t now_ms = context_.now_ms(transaction);
    const std::string id = context_.new_id("ntf_");
    const DisabledReason disabled =
        wanted.is_enabled ? DisabledReason::none : DisabledReason::by_member;
    transaction.run(insert_endpoint,
                    {id, wanted.account_id, wanted.url, wanted.description,
                     notices::types_text(wanted.types), notices::name_of(disabled),
                     wanted.is_enabled ? std::int64_t{-1} : now_ms,
                     text::base64url(wanted.secret), now_ms, actor.principal});
    audit(transaction, actor, wanted.account_id, "notification_endpoint.create", id,
          notices::host_of(wanted.url));
    return endpoint_at(transaction.run(lock_endpoint, {wanted.account_id, id}), 0);
  });
}

SqlNoticeStore::Answer<std::vector<Endpoint>> SqlNoticeStore::endpoints(
    std::string_view account_id) {
  using List = std::vector<Endpoint>;
  return read<List>("list endpoints", [&](Connection& connection) {
    const Rows rows = connection.run(select_endpoints, {account_id});
    List list;
    for (std::size_t row = 0; row < rows.size(); ++row) list.push_back(endpoint_at(rows, row));
    return list;
  });
}

SqlNoticeStore::Answer<std::optional<Endpoint>> SqlNoticeStore::change(
    std::string_view account_id, std::string_view id, const notices::EndpointWish& wish,
    const identity::Actor& actor) {
  using Changed = std::optional<Endpoint>;
  return changed_by<Changed>("change endpoint", [&](Transaction& transaction) -> Answer<Changed> {
    if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const Rows rows = transaction.run(lock_endpoint, {account_id, id});
    if (rows.empty()) return Changed{};
    const Endpoint before = endpoint_at(rows, 0);
    transaction.run(update_endpoint,
                    {wish.url.value_or(before.url), wish.description.value_or(before.description),
                     notices::types_text(wish.types.value_or(before.types)), id});
    const bool is_enabled = wish.is_enabled.value_or(before.is_enabled());
    if (is_enabled && !before.is_enabled()) transaction.run(enable_endpoint, {id});
    if (!is_enabled && before.is_enabled()) {
      disable(transaction, id, DisabledReason::by_member, context_.now_ms(transaction));
    }
    const char* const detail = is_enabled == before.is_enabled() ? "" : is_enabled ? "enabled"
                                                                                   : "disabled";
    audit(transaction, actor, account_id, "notification_endpoint.change", id, detail);
    return Changed(endpoint_at(transaction.run(lock_endpoint, {account_id, id}), 0));
  });
}

SqlNoticeStore::Answer<bool> SqlNoticeStore::remove(std::string_view account_id,
                                                    std::string_view id,
                                                    const identity::Actor& actor) {
  return changed_by<bool>("remove endpoint", [&](Transaction& transaction) -> Answer<bool> {
    if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const Rows rows = transaction.run(lock_endpoint, {account_id, id});
    if (rows.empty()) return false;
    transaction.run(delete_notice_deliveries, {id});
    transaction.run(delete_endpoint, {id});
    audit(transaction, actor, account_id, "notification_endpoint.remove", id,
          notices::host_of(rows.text(0, 2)));
    return true;
  });
}

SqlNoticeStore::Answer<std::optional<Endpoint>> SqlNoticeStore::rotate(
    std::string_view account_id, std::string_view id, std::string_view secret,
    const identity::Actor& actor) {
  using Rotated = std::optional<Endpoint>;
  return changed_by<Rotated>("rotate secret", [&](Transaction& transaction) -> Answer<Rotated> {
    if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const Rows rows = transaction.run(lock_endpoint, {account_id, id});
    if (rows.empty()) return Rotated{};
    const std::int64_t until_ms = context_.now_ms(transaction) + notices::old_secret_ms;
    transaction.run(rotate_secret, {until_ms, text::base64url(secret), id});
    audit(transaction, actor, account_id, "notification_endpoint.rotate_secret", id, "");
    return Rotated(endpoint_at(transaction.run(lock_endpoint, {account_id, id}), 0));
  });
}

SqlNoticeStore::Answer<std::optional<Delivery>> SqlNoticeStore::test(
    std::string_view account_id, std::string_view id, const identity::Actor& actor) {
  using Sent = std::optional<Delivery>;
  return changed_by<Sent>("test endpoint", [&](Transaction& transaction) -> Answer<Sent> {
    if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const Rows rows = transaction.run(lock_endpoint, {account_id, id});
    if (rows.empty()) return Sent{};
    if (!endpoint_at(rows, 0).is_enabled()) return endpoint_disabled();
    const Rows pending = transaction.run(select_pending_test, {id});
    if (!pending.empty()) return Sent(delivery_at(pending, 0));
    const std::int64_t now_ms = context_.now_ms(transaction);
    const std::string data = notices::data_of(
        notices::EndpointTest{std::string(account_id), std::string(id)});
    const std::string key = context_.new_id("endpoint.test:");
    const NewNotice notice{.account_id = account_id,
                           .type = notices::EventType::endpoint_test,
                           .data = data,
                           .dedupe_key = key,
                           .happened_at_ms = now_ms};
    const std::string event_id = insert_event(context_, transaction, notice);
    const std::string delivery_id =
        insert_delivery(context_, transaction, notice, event_id, id, now_ms);
    return Sent(delivery_at(transaction.run(select_notice_delivery, {account_id, delivery_id}), 0));
  });
}

// ---- deliveries ---------------------------------------------------------------------------------

SqlNoticeStore::Answer<std::vector<Delivery>> SqlNoticeStore::deliveries(
    const notices::DeliveryQuery& query) {
  using List = std::vector<Delivery>;
  return read<List>("list deliveries", [&](Connection& connection) {
    const Rows rows =
        query.before_ms == 0
            ? connection.run(select_first_deliveries, {query.account_id, std::int64_t{query.limit}})
            : connection.run(select_next_deliveries, {query.account_id, query.before_ms,
                                                      query.before_id, std::int64_t{query.limit}});
    List list;
    for (std::size_t row = 0; row < rows.size(); ++row) list.push_back(delivery_at(rows, row));
    return list;
  });
}

SqlNoticeStore::Answer<std::optional<Delivery>> SqlNoticeStore::retry(
    std::string_view account_id, std::string_view id, const identity::Actor& actor) {
  using Retried = std::optional<Delivery>;
  return changed_by<Retried>("retry delivery", [&](Transaction& transaction) -> Answer<Retried> {
    if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const Rows rows = transaction.run(select_notice_delivery, {account_id, id});
    if (rows.empty()) return Retried{};
    const Delivery delivery = delivery_at(rows, 0);
    const Rows endpoint = transaction.run(lock_endpoint, {account_id, delivery.endpoint_id});
    if (endpoint.empty()) return Retried{};
    if (!endpoint_at(endpoint, 0).is_enabled()) return endpoint_disabled();
    if (transaction.run(select_notice_data, {delivery.event_id}).text(0, 0).empty()) {
      return base::Error{ErrorCode::notification_endpoint_invalid,
                         "What this event said is not kept any more."};
    }
    const std::int64_t now_ms = context_.now_ms(transaction);
    return Retried(delivery_at(transaction.run(retry_notice_delivery, {now_ms, id}), 0));
  });
}

// ---- settings -----------------------------------------------------------------------------------

SqlNoticeStore::Answer<notices::NoticeSettings> SqlNoticeStore::settings(
    std::string_view account_id) {
  using notices::NoticeSettings;
  return read<NoticeSettings>("read notice settings", [&](Connection& connection) {
    const Rows rows = connection.run(select_notice_setting, {account_id});
    return rows.empty() ? NoticeSettings{} : NoticeSettings{rows.number(0, 0)};
  });
}

SqlNoticeStore::Answer<notices::NoticeSettings> SqlNoticeStore::set(
    std::string_view account_id, const notices::NoticeSettings& settings,
    const identity::Actor& actor) {
  using notices::NoticeSettings;
  return changed_by<NoticeSettings>(
      "set notice settings", [&](Transaction& transaction) -> Answer<NoticeSettings> {
        if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::admin)) {
          return *std::move(why);
        }
        transaction.run(upsert_notice_setting, {account_id, settings.credits_low});
        audit(transaction, actor, account_id, "notification_settings.change", account_id,
              settings.credits_low < 0 ? "no threshold" : std::to_string(settings.credits_low));
        return settings;
      });
}

std::unique_ptr<notices::NoticeStore> make_notice_store(const Context& context) {
  return std::make_unique<SqlNoticeStore>(context);
}

}  // namespace turnpike::storage
