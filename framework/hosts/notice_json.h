// The bodies of notification endpoints, deliveries and settings, and the parsers of their request
// bodies. Credits are whole numbers as text. Pure functions; any Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "notices/office.h"

namespace turnpike::hosts {

std::string endpoint_body(const notices::Endpoint& endpoint);
// Includes the secret, which is never shown again.
std::string endpoint_body(const notices::WithSecret& made);
std::string endpoints_body(const std::vector<notices::Endpoint>& endpoints);
std::string delivery_body(const notices::Delivery& delivery);
std::string delivery_page_body(std::string_view account_id, const notices::DeliveryPage& page,
                               std::string_view cursor_key, std::int64_t now_ms);
std::string notice_settings_body(std::string_view account_id,
                                 const notices::NoticeSettings& settings);

// Reads url (if `needs_url`), description, eventTypes and enabled. Error: request.body_rejected.
Result<notices::EndpointWish, base::Error> read_endpoint_wish(std::string_view json,
                                                              bool needs_url);
Result<notices::NoticeSettings, base::Error> read_notice_settings(std::string_view json);

}  // namespace turnpike::hosts
