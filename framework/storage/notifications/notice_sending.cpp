#include "storage/notifications/notice_store.h"
#include "storage/people/audit_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using notices::Attempt;
using notices::DisabledReason;
using notices::DueDelivery;

// At most one delivery per endpoint at a time, the longest due one: an unresponsive receiver then
// occupies only one sender, and deliveries keep their order.
#define DUE_NOTICES                                                                              \
  "SELECT d.id FROM notice_delivery d JOIN notice_endpoint e ON e.id = d.endpoint_id"            \
  " WHERE d.state = 'pending' AND d.due_at <= $2 AND d.lease_until <= $2 AND e.disabled = ''"    \
  " AND d.id = (SELECT f.id FROM notice_delivery f WHERE f.endpoint_id = d.endpoint_id"          \
  " AND f.state = 'pending' AND f.due_at <= $2 ORDER BY f.due_at, f.id LIMIT 1)"                 \
  " AND NOT EXISTS (SELECT 1 FROM notice_delivery b WHERE b.endpoint_id = d.endpoint_id"         \
  " AND b.state = 'pending' AND b.lease_until > $2)"                                             \
  " ORDER BY d.due_at, d.id LIMIT $3"
constexpr Query take_notices_sqlite{
    "UPDATE notice_delivery SET lease_until = $1 WHERE id IN (" DUE_NOTICES ") RETURNING id", "t"};
constexpr Query take_notices_postgres{
    "UPDATE notice_delivery SET lease_until = $1 WHERE id IN (" DUE_NOTICES
    " FOR UPDATE OF d SKIP LOCKED) RETURNING id",
    "t"};
#undef DUE_NOTICES
constexpr Query select_due_notice{
    "SELECT v.id, d.endpoint_id, v.type, v.happened_at, v.data, e.url, e.secret,"
    " CASE WHEN e.old_secret_until > $1 THEN e.old_secret ELSE '' END AS old_secret"
    " FROM notice_delivery d JOIN notice_event v ON v.id = d.event_id"
    " JOIN notice_endpoint e ON e.id = d.endpoint_id WHERE d.id = $2",
    "tttitttt"};
// Locks the endpoint before the delivery, as everywhere.
constexpr Query lock_endpoint_of{
    "UPDATE notice_endpoint SET url = url WHERE id = $1"
    " RETURNING account_id, disabled, failing_since",
    "tti"};
constexpr Query end_notice_lease{
    "UPDATE notice_delivery SET lease_until = 0 WHERE id = $1 AND lease_until = $2"};
constexpr Query count_attempt{
    "UPDATE notice_delivery SET attempts = attempts + 1, lease_until = 0, last_status = $1,"
    " last_problem = $2, last_at = $3 WHERE id = $4 AND lease_until = $5 AND state = 'pending'"
    " RETURNING attempts",
    "i"};
constexpr Query update_notice_delivery{
    "UPDATE notice_delivery SET state = $1, due_at = $2, ended_at = $3 WHERE id = $4"};
constexpr Query endpoint_delivered{
    "UPDATE notice_endpoint SET failing_since = -1, delivered_at = $1 WHERE id = $2"};
constexpr Query endpoint_failed{
    "UPDATE notice_endpoint SET failing_since = $1 WHERE id = $2 AND failing_since = -1"};
constexpr Query select_notice_standing{
    "SELECT (SELECT COUNT(*) FROM notice_delivery WHERE state = 'pending') AS pending,"
    " (SELECT COALESCE(MIN(due_at), -1) FROM notice_delivery WHERE state = 'pending') AS oldest,"
    " (SELECT COUNT(*) FROM notice_endpoint WHERE disabled IN ('gone', 'failing')) AS disabled",
    "iii"};

DueDelivery due_notice_at(const Rows& rows, std::string id, std::int64_t lease_until_ms) {
  const auto secret = text::from_base64url(rows.text(0, 6));
  const auto old_secret = text::from_base64url(rows.text(0, 7));
  const auto type = notices::event_type_of(rows.text(0, 2));
  if (!secret || !old_secret || !type) {
    throw StoreError(StoreError::Kind::unavailable, "a delivery's row cannot be read");
  }
  DueDelivery due;
  due.id = std::move(id);
  due.event_id = rows.text(0, 0);
  due.endpoint_id = rows.text(0, 1);
  due.type = *type;
  due.happened_at_ms = rows.number(0, 3);
  due.data = rows.text(0, 4);
  due.url = rows.text(0, 5);
  due.secret = *secret;
  due.old_secret = *old_secret;
  due.lease_until_ms = lease_until_ms;
  return due;
}

}  // namespace

SqlNoticeStore::Answer<std::vector<DueDelivery>> SqlNoticeStore::take_due(std::int64_t lease_ms,
                                                                          std::uint32_t limit) {
  using List = std::vector<DueDelivery>;
  return changed_by<List>("take due deliveries", [&](Transaction& transaction) -> Answer<List> {
    const std::int64_t now_ms = context_.now_ms(transaction);
    const bool is_sqlite = context_.database.engine() == Engine::sqlite;
    const Rows taken = transaction.run(is_sqlite ? take_notices_sqlite : take_notices_postgres,
                                       {now_ms + lease_ms, now_ms, std::int64_t{limit}});
    List due;
    for (std::size_t row = 0; row < taken.size(); ++row) {
      const Rows rows = transaction.run(select_due_notice, {now_ms, taken.text(row, 0)});
      if (!rows.empty()) due.push_back(due_notice_at(rows, taken.text(row, 0), now_ms + lease_ms));
    }
    return due;
  });
}

SqlNoticeStore::Answer<DisabledReason> SqlNoticeStore::finish(const DueDelivery& delivery,
                                                              const Attempt& attempt,
                                                              std::uint32_t chance) {
  using Finished = Answer<DisabledReason>;
  return changed_by<DisabledReason>("finish delivery", [&](Transaction& transaction) -> Finished {
    if (attempt.is_cut) {
      transaction.run(end_notice_lease, {delivery.id, delivery.lease_until_ms});
      return DisabledReason::none;
    }
    const Rows endpoint = transaction.run(lock_endpoint_of, {delivery.endpoint_id});
    if (endpoint.empty()) return DisabledReason::none;  // removed with its deliveries
    const std::int64_t now_ms = context_.now_ms(transaction);
    const Rows counted =
        transaction.run(count_attempt, {std::int64_t{attempt.status}, attempt.problem, now_ms,
                                        delivery.id, delivery.lease_until_ms});
    if (counted.empty()) return DisabledReason::none;  // the lease expired, or it is cancelled
    const notices::AfterAttempt after = notices::after_attempt(
        attempt, static_cast<std::uint32_t>(counted.number(0, 0)), now_ms, chance);
    const bool has_ended = after.state != notices::DeliveryState::pending;
    transaction.run(update_notice_delivery, {notices::name_of(after.state), after.due_at_ms,
                                      has_ended ? now_ms : std::int64_t{-1}, delivery.id});
    if (notices::is_delivered(attempt)) {
      transaction.run(endpoint_delivered, {now_ms, delivery.endpoint_id});
      return DisabledReason::none;
    }
    transaction.run(endpoint_failed, {now_ms, delivery.endpoint_id});
    const DisabledReason reason = notices::disabled_by(attempt, endpoint.number(0, 2), now_ms);
    if (reason == DisabledReason::none || !endpoint.text(0, 1).empty()) return DisabledReason::none;
    disable(transaction, delivery.endpoint_id, reason, now_ms);
    audit(transaction, {.principal = "system:gateway"}, endpoint.text(0, 0),
          "notification_endpoint.disable", delivery.endpoint_id,
          std::string(notices::name_of(reason)));
    return reason;
  });
}

SqlNoticeStore::Answer<notices::NoticeStanding> SqlNoticeStore::standing() {
  return read<notices::NoticeStanding>("sum deliveries", [&](Connection& connection) {
    const Rows sums = connection.run(select_notice_standing);
    return notices::NoticeStanding{sums.number(0, 0), sums.number(0, 1), sums.number(0, 2)};
  });
}

}  // namespace turnpike::storage
