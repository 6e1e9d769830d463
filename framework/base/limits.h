// Every bound of the gateway in one place, units in the names. Each has a test at the limit and one
// past it. Bounds that operators may change are the defaults of the same keys in the
// configuration's `limits` map.
#pragma once

#include <cstdint>

namespace turnpike::base::limits {

// Request, as read from the wire (docs/interface.md, "Limits").
inline constexpr std::uint32_t request_path_bytes_max = 8 * 1024;
inline constexpr std::uint32_t request_query_bytes_max = 65'536;
inline constexpr std::uint32_t request_header_bytes_max = 32 * 1024;
inline constexpr std::uint32_t request_header_fields_max = 100;
inline constexpr std::uint32_t request_body_bytes_max = 1024 * 1024;  // default of routes
// The most that a route may allow: 16 MiB in base64, and the text around it.
inline constexpr std::uint32_t long_body_bytes_max = 24 * 1024 * 1024;
inline constexpr std::uint32_t request_bodies_bytes_max = 256 * 1024 * 1024;  // sum in memory
inline constexpr std::uint32_t operator_body_bytes_max = 16 * 1024;
// A JSON-RPC message: the default maximum body in base64, and the text around it.
inline constexpr std::uint32_t mcp_message_bytes_max = 2 * 1024 * 1024;
// For authenticated callers, at the endpoint for accounts: the longest body as JSON.
inline constexpr std::uint32_t mcp_long_message_bytes_max = long_body_bytes_max + 64 * 1024;
// All messages in memory: they are read before their sender is authenticated.
inline constexpr std::uint32_t mcp_messages_bytes_max = 256 * 1024 * 1024;
inline constexpr std::uint32_t mcp_prompt_argument_bytes_max = 8 * 1024;
inline constexpr std::uint32_t request_head_timeout_ms = 10'000;
inline constexpr std::uint32_t request_body_timeout_ms = 30'000;
inline constexpr std::uint32_t idle_connection_timeout_ms = 75'000;
inline constexpr std::uint32_t unread_body_drain_bytes_max = 256 * 1024;
inline constexpr std::uint32_t connections_max = 20'000;

// A chunked body, in either direction, with its chunk lines and trailers: chunks of one byte take
// six.
constexpr std::uint64_t chunked_bytes_max(std::uint64_t content_bytes_max) noexcept {
  return 8 * content_bytes_max + 64 * 1024;
}

// Reply.
inline constexpr std::uint64_t response_bytes_max = 32ull * 1024 * 1024;
inline constexpr std::uint32_t response_buffer_bytes_max = 256 * 1024;  // longer ones are streamed
inline constexpr std::uint32_t response_whole_bytes_max = 1024 * 1024;  // for lanes that buffer all
inline constexpr std::uint32_t mcp_reply_bytes_max = 256 * 1024;  // per reply inside a result
inline constexpr std::uint32_t judged_body_bytes_max = 4 * 1024 * 1024;  // for no-charge conditions
inline constexpr std::uint32_t heavy_json_bytes = 1024 * 1024;  // larger: read on the pool
inline constexpr std::uint32_t withheld_bytes = 16 * 1024;      // of a stream, until it is settled
// The time for which sending a reply may be blocked by a caller who reads nothing. Bytes that the
// caller reads extend the time, at this rate; so this is the slowest caller who gets the whole
// reply, and the longest wait for one. It is shorter than the 60 s after which common servers close
// an unread upstream connection.
inline constexpr std::uint32_t transfer_timeout_ms = 30'000;
inline constexpr std::uint32_t transfer_bytes_per_second_min = 128 * 1024;
inline constexpr std::uint32_t transfer_ms_max =
    transfer_timeout_ms + response_bytes_max * 1'000 / transfer_bytes_per_second_min;
inline constexpr std::uint32_t heavy_transfer_bytes = 1024 * 1024;
inline constexpr std::uint32_t heavy_transfers_max = 32;
inline constexpr std::uint32_t heavy_transfer_wait_ms = 2'000;

// Upstream.
inline constexpr std::uint32_t upstream_deadline_ms = 30'000;
inline constexpr std::uint32_t upstream_deadline_ms_max = 300'000;
inline constexpr std::uint32_t upstream_header_bytes_max = 64 * 1024;
inline constexpr std::uint32_t upstream_connections_max = 256;  // per origin and loop

// Identity.
inline constexpr std::uint32_t authentication_timeout_ms = 2'000;
inline constexpr std::uint32_t passkey_credential_bytes_max = 16 * 1024;  // as sent by a page
inline constexpr std::uint32_t passkey_id_bytes_max = 1023;               // WebAuthn section 4
inline constexpr std::uint32_t passkey_ceremony_ms = 5 * 60 * 1000;  // from options to response

// Calls in flight; a further call is answered at once with 503 or 429.
inline constexpr std::uint32_t calls_per_loop_max = 16'384;
inline constexpr std::uint32_t calls_per_account_max = 4'096;
inline constexpr std::uint32_t calls_per_upstream_max = 16'384;

// Registry source.
inline constexpr std::uint32_t registry_file_bytes_max = 8 * 1024 * 1024;
inline constexpr std::uint32_t registry_files_max = 4'096;
inline constexpr std::uint32_t registry_bytes_max = 64 * 1024 * 1024;  // sum over all files
inline constexpr std::uint32_t registry_depth_max = 32;
inline constexpr std::uint32_t registry_nodes_max = 8'000'000;
inline constexpr std::uint32_t registry_unfinished_bytes_max = 64 * 1024;  // per value or key
inline constexpr std::uint32_t registry_problems_max = 1'000;              // reported per compile
inline constexpr std::uint32_t route_segments_max = 32;
inline constexpr std::uint32_t route_parameters_max = 16;
inline constexpr std::uint32_t declared_query_bytes_max = 16'384;
inline constexpr std::uint32_t declared_parameters_max = 256;
inline constexpr std::uint32_t declared_rules_max = 64;
inline constexpr std::uint32_t declared_values_max = 1'024;
inline constexpr std::uint32_t permit_ttl_seconds = 60;
inline constexpr std::uint32_t route_shapes_per_length_max = 32;

// Account routes.
inline constexpr std::uint32_t billing_page_max = 100;
inline constexpr std::uint32_t billing_page_default = 50;
inline constexpr std::uint32_t usage_buckets_max = 1'000;  // per summary

// Ledger.
inline constexpr std::uint32_t commit_budget_ms = 5'000;
inline constexpr std::uint32_t call_ms_max =  // longest call, from its id to its fact
    upstream_deadline_ms_max + transfer_ms_max + commit_budget_ms;

// Replay (docs/interface.md, "Idempotency-Key").
inline constexpr std::uint32_t idempotency_key_bytes_max = 255;
inline constexpr std::uint32_t replay_reply_bytes_max = 1024 * 1024;  // larger ones are not stored
inline constexpr std::uint32_t replay_with_charge_bytes_max = 64 * 1024;  // larger ones: before
inline constexpr std::uint32_t replay_kept_ms = 24 * 60 * 60 * 1000;
inline constexpr std::uint32_t replay_forgotten_at_once_max = 256;  // rows removed per heartbeat

// Records of plugins (sdk/turnpike/store.h).
inline constexpr std::uint32_t store_key_bytes_max = 200;
inline constexpr std::uint32_t store_value_bytes_max = 2 * 1024 * 1024;
inline constexpr std::uint32_t store_keys_max = 64;  // per apply
inline constexpr std::uint32_t store_apply_bytes_max = 4 * 1024 * 1024;
inline constexpr std::uint32_t store_scan_records_max = 1'000;
inline constexpr std::uint32_t store_scan_bytes_max = 4 * 1024 * 1024;
inline constexpr std::uint64_t store_waiting_bytes_max = 64 * 1024 * 1024;  // sum over all applies

}  // namespace turnpike::base::limits
