#include "storage/notifications/notice_rows.h"

namespace turnpike::storage {
namespace {

constexpr Query select_wanting{
    "SELECT id FROM notice_endpoint WHERE account_id = $1 AND disabled = ''"
    " AND (types = '' OR types LIKE $2) ORDER BY id",
    "t"};
constexpr Query insert_notice_event{
    "INSERT INTO notice_event (id, account_id, type, dedupe_key, happened_at, data)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING id",
    "t"};
constexpr Query insert_notice_delivery{
    "INSERT INTO notice_delivery (id, account_id, event_id, endpoint_id, type, state, due_at,"
    " created_at) VALUES ($1, $2, $3, $4, $5, 'pending', $6, $6)"};
constexpr Query forget_low{
    "UPDATE notice_setting SET is_low = 0 WHERE account_id = $1 AND is_low = 1"};

}  // namespace

std::string pattern_of(notices::EventType type) {
  return "%" + std::string(notices::name_of(type)) + "%";
}

std::string insert_event(const Context& context, Transaction& transaction,
                         const NewNotice& notice) {
  const std::string id = context.new_id("evt_");
  const Rows written = transaction.run(
      insert_notice_event, {id, notice.account_id, notices::name_of(notice.type),
                            notice.dedupe_key, notice.happened_at_ms, notice.data});
  return written.empty() ? std::string() : id;
}

std::string insert_delivery(const Context& context, Transaction& transaction,
                            const NewNotice& notice, std::string_view event_id,
                            std::string_view endpoint_id, std::int64_t now_ms) {
  const std::string id = context.new_id("dlv_");
  transaction.run(insert_notice_delivery, {id, notice.account_id, event_id, endpoint_id,
                                           notices::name_of(notice.type), now_ms});
  return id;
}

bool write_notice(const Context& context, Transaction& transaction, const NewNotice& notice) {
  const Rows endpoints =
      transaction.run(select_wanting, {notice.account_id, pattern_of(notice.type)});
  if (endpoints.empty()) return false;
  const std::string event_id = insert_event(context, transaction, notice);
  if (event_id.empty()) return false;
  const std::int64_t now_ms = context.now_ms(transaction);
  for (std::size_t row = 0; row < endpoints.size(); ++row) {
    insert_delivery(context, transaction, notice, event_id, endpoints.text(row, 0), now_ms);
  }
  return true;
}

void tell_credited(const Context& context, Transaction& transaction,
                   const commerce::Purchase& purchase, std::int64_t now_ms) {
  transaction.run(forget_low, {purchase.account_id});
  const std::string data =
      notices::data_of(notices::PurchaseCredited{.account_id = purchase.account_id,
                                                 .purchase_id = purchase.id,
                                                 .origin = std::string(
                                                     ledger::name_of(purchase.origin)),
                                                 .currency = purchase.currency,
                                                 .amount = commerce::amount_text(purchase.minor),
                                                 .credits = purchase.credits,
                                                 .allocation_id =
                                                     commerce::allocation_of(purchase.id),
                                                 .credited_at_ms = now_ms});
  write_notice(context, transaction,
               {.account_id = purchase.account_id,
                .type = notices::EventType::purchase_credited,
                .data = data,
                .dedupe_key = "purchase.credited:" + purchase.id,
                .happened_at_ms = now_ms});
}

}  // namespace turnpike::storage
