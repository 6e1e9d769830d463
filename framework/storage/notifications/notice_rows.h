// The outbox of notifications: write_notice() puts an event down in the transaction in which it
// happens, with one delivery for each endpoint that wants it, so that no event is told that did not
// happen, and none that happened is forgotten. app/services/notice_services.h sends them.
//
// Private to storage/; used by the Thread that has the transaction. Throws StoreError.
#pragma once

#include <string>
#include <string_view>

#include "commerce/purchase.h"
#include "notices/event.h"
#include "storage/stores.h"

namespace turnpike::storage {

struct NewNotice {
  std::string_view account_id;
  notices::EventType type = notices::EventType::endpoint_test;
  std::string_view data;        // notices::data_of() of it
  std::string_view dedupe_key;  // whatever tells it from all others of the account, for ever
  std::int64_t happened_at_ms = 0;
};
// Whether it was written: the account has an enabled endpoint that wants the type, and no event
// under this key. Otherwise nothing is.
bool write_notice(const Context& context, Transaction& transaction, const NewNotice& notice);

// purchase.credited; the account is told that its Credits are low anew, if they still are.
void tell_credited(const Context& context, Transaction& transaction,
                   const commerce::Purchase& purchase, std::int64_t now_ms);

// What a row of notice_endpoint has in `types`, as a pattern of LIKE for those that want the type.
std::string pattern_of(notices::EventType type);

// One delivery of an event that is written.
std::string insert_delivery(const Context& context, Transaction& transaction,
                            const NewNotice& notice, std::string_view event_id,
                            std::string_view endpoint_id, std::int64_t now_ms);
// The event's id; empty: there is one under this key.
std::string insert_event(const Context& context, Transaction& transaction,
                         const NewNotice& notice);

}  // namespace turnpike::storage
