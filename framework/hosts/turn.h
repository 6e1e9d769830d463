// Turn: one request in a public host: its ids, the headers that every host reads, and the only way
// to answer the request outside of the gateway routes. Every reply is sent through it, so each has
// X-Request-Id and the cross-origin fields, and each is in the access log.
//
// Made on the fiber of the request and used by it alone.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <turnpike/host.h>

#include "base/error.h"
#include "base/ids.h"
#include "exchange/serve.h"
#include "hosts/access_log.h"
#include "hosts/cors.h"
#include "hosts/location.h"
#include "hosts/reply_fields.h"
#include "wire/server.h"

namespace turnpike::hosts {

struct RouteFacts;
class RefusalPages;

// The reply of a handler. The row decides cache lifetime, validator and page header fields.
struct Reply {
  int status = 200;
  std::string_view content_type = json_type;
  std::string_view body = {};
  std::string_view etag = {};           // with its quotes; empty: not computed yet
  std::string_view cache_control = {};  // replaces the row's
};

// 1 to 255 visible ASCII characters.
bool is_idempotency_key(std::string_view text) noexcept;

class Turn {
 public:
  Turn(wire::Request& wire_request, wire::Responder& wire_responder, const Cors& cors,
       base::UuidText id, std::int64_t started_ns);
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  wire::Request& request;
  wire::Responder& responder;

  [[nodiscard]] std::string_view request_id() const noexcept { return base::view(id_); }
  [[nodiscard]] std::string_view client_request_id() const noexcept { return client_request_id_; }
  [[nodiscard]] std::string_view content_type() const noexcept { return content_type_; }
  // The coding of the body, as in Content-Encoding; empty: none, or "identity".
  [[nodiscard]] std::string_view content_coding() const noexcept { return content_coding_; }
  [[nodiscard]] std::string_view idempotency_key() const noexcept { return idempotency_key_; }
  [[nodiscard]] std::string_view origin() const noexcept { return origin_; }
  // Describes a header field that is malformed or must not be repeated; empty: there is none.
  [[nodiscard]] const std::string& header_problem() const noexcept { return header_problem_; }

  // Adds to every reply the field that makes browsers use https from now on (RFC 6797).
  void ask_for_https() noexcept { asks_for_https_ = true; }
  // Sets the row that answers the request. It outlives the turn.
  void follow(const RouteFacts& row) noexcept { row_ = &row; }
  // Sets the site that renders refusals for people. It outlives the turn.
  void refuse_on(const RefusalPages* pages) noexcept { refusal_pages_ = pages; }

  // Adds the fields of every reply: X-Request-Id, the cross-origin fields, and those of a page.
  void add_common_fields(ReplyFields& fields) const;

  bool send(int status, ReplyFields& fields, std::string_view body);
  // Sends the reply by the rules of the row; it may become a 304 (RFC 9110 section 13.1.2). `more`:
  // further fields.
  bool reply(const Reply& reply, ReplyFields& more);
  bool reply(const Reply& reply);
  // 303: the client continues with GET.
  bool redirect(const Location& location, ReplyFields& more);
  // Sends a public document: pages of any origin may read it, whatever origins the host allows
  // otherwise.
  bool reply_to_everyone(const Reply& reply, ReplyFields& more);
  bool reply_to_everyone(const Reply& reply);
  // Refuses in the form that the row names; `allow` is for 405. `more`: further fields.
  bool refuse(const base::Error& error, ReplyFields& more, std::string_view allow = {});
  bool refuse(const base::Error& error, std::string_view allow = {});

  // Copies the facts of a served call into the record, since the views in `served` end with the
  // program.
  void keep_served(exchange::Served served) noexcept;

  // Stores why the request failed, for the operator.
  void keep_reason(std::string reason) noexcept;

  // Store the owner of the credential, and the method and name of a JSON-RPC message, in the
  // record.
  void keep_principal(std::shared_ptr<const identity::Principal> principal) noexcept;
  void keep_rpc(std::string_view method, std::string_view name) noexcept;

  // Filled in by the code that knows the members; the times are added when the record is logged.
  AccessRecord record;
  void log(AccessLog& access_log, std::int64_t ended_ns);
  // Answers for a handler that threw, because memory is exhausted or the code has a defect. The
  // caller learns no more than that; the operator gets `why`.
  void fail(std::string_view why) noexcept;

 private:
  void read_headers();
  [[nodiscard]] std::string_view keep(std::initializer_list<std::string_view> parts,
                                      std::size_t bytes_max) noexcept;

  const Cors& cors_;
  const RouteFacts* row_ = nullptr;  // null: no row was found yet
  const RefusalPages* refusal_pages_ = nullptr;
  base::UuidText id_;
  std::int64_t started_ns_;
  std::string_view origin_;
  std::string_view client_request_id_;
  std::string_view content_type_;
  std::string_view content_coding_;
  std::string_view idempotency_key_;
  std::string_view if_none_match_;
  std::string header_problem_;
  bool is_for_everyone_ = false;
  bool asks_for_https_ = false;
  std::shared_ptr<const identity::Principal> principal_;
  std::string operator_note_;
  std::size_t kept_bytes_ = 0;
  std::array<char, 512> kept_;  // the bytes that keep() copied; uninitialized before
};

// Handles a whole request: `answer()` sends its reply; the request is always logged.
template <class Answer>
void run_turn(Turn& turn, const Clock& clock, AccessLog& access_log, Answer answer) noexcept {
  try {
    answer();
  } catch (const std::exception& error) {
    turn.fail(error.what());
  } catch (...) {
    turn.fail("the handler threw something");
  }
  turn.log(access_log, clock.monotonic_ns());
}

}  // namespace turnpike::hosts
