// The outbox of notifications: write_notice() puts an event down in the transaction in which it
// happens, with one delivery for each endpoint that wants it, so that no event is told that did not
// happen, and none that happened is forgotten. app/services/notice_services.h sends them.
//
// Private to storage/; used by the Thread that runs the transaction. Throws StoreError.
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
  std::string_view data;        // output of notices::data_of()
  std::string_view dedupe_key;  // unique among all events of the account, forever
  std::int64_t happened_at_ms = 0;
};
// Returns whether the event was written: if the account has an enabled endpoint for the type, and
// no event under this key. Otherwise nothing is written.
bool write_notice(const Context& context, Transaction& transaction, const NewNotice& notice);

// Writes purchase.credited, and allows the next low-balance event of the account.
void tell_credited(const Context& context, Transaction& transaction,
                   const commerce::Purchase& purchase, std::int64_t now_ms);

// A LIKE pattern that matches notice_endpoint.types of endpoints that subscribe to the type.
std::string pattern_of(notices::EventType type);

// Adds one delivery of a stored event.
std::string insert_delivery(const Context& context, Transaction& transaction,
                            const NewNotice& notice, std::string_view event_id,
                            std::string_view endpoint_id, std::int64_t now_ms);
// Returns the event's id; empty: the key exists already.
std::string insert_event(const Context& context, Transaction& transaction,
                         const NewNotice& notice);

}  // namespace turnpike::storage
