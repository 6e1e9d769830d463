// Turn: one request in a public host: its ids, the headers that matter to every host, and the only
// way to answer it outside of the gateway routes. Every reply leaves through it, so none goes
// without X-Request-Id and cross-origin fields, and each ends in the access log.
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

// The answer of a handler. How long caches may keep it, whether it has a validator, and the
// header fields of a page are its row's to say.
struct Reply {
  int status = 200;
  std::string_view content_type = json_type;
  std::string_view body = {};
  std::string_view etag = {};           // with its quotes, if it is known already
  std::string_view cache_control = {};  // in place of the row's
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
  // The body's coding, as in Content-Encoding; empty: none but "identity".
  [[nodiscard]] std::string_view content_coding() const noexcept { return content_coding_; }
  [[nodiscard]] std::string_view idempotency_key() const noexcept { return idempotency_key_; }
  [[nodiscard]] std::string_view origin() const noexcept { return origin_; }
  // A header that may come once came twice, or is not in its form: what to refuse with.
  [[nodiscard]] const std::string& header_problem() const noexcept { return header_problem_; }

  // Every reply tells browsers to come by https alone from now on (RFC 6797).
  void ask_for_https() noexcept { asks_for_https_ = true; }
  // The row that the request is answered by from now on. It outlives the turn.
  void follow(const RouteFacts& row) noexcept { row_ = &row; }
  // Where people read refusals. Outlive the turn.
  void refuse_on(const RefusalPages* pages) noexcept { refusal_pages_ = pages; }

  // Adds what every reply has: X-Request-Id, the cross-origin fields, and those of a page.
  void add_common_fields(ReplyFields& fields) const;

  bool send(int status, ReplyFields& fields, std::string_view body);
  // The reply by the rules of the row, which may be 304 (RFC 9110 section 13.1.2). `more`: further
  // fields.
  bool reply(const Reply& reply, ReplyFields& more);
  bool reply(const Reply& reply);
  // 303: the client goes on with GET.
  bool redirect(const Location& location, ReplyFields& more);
  // A document for everyone: pages of any origin may read it, whichever the host allows otherwise.
  bool reply_to_everyone(const Reply& reply, ReplyFields& more);
  bool reply_to_everyone(const Reply& reply);
  // Refuses in the form that the row names for refusals; `allow` comes with 405. `more`: further
  // fields.
  bool refuse(const base::Error& error, ReplyFields& more, std::string_view allow = {});
  bool refuse(const base::Error& error, std::string_view allow = {});

  // Takes what the exchange says about the call into the record; what it views is copied, since
  // that ends with the program.
  void keep_served(exchange::Served served) noexcept;

  // Why the request failed, for the operator.
  void keep_reason(std::string reason) noexcept;

  // Take the owner of the credential, and what a JSON-RPC message asked for, into the record.
  void keep_principal(std::shared_ptr<const identity::Principal> principal) noexcept;
  void keep_rpc(std::string_view method, std::string_view name) noexcept;

  // The code that knows the other members fills them in; the times are added when it is logged.
  AccessRecord record;
  void log(AccessLog& access_log, std::int64_t ended_ns);
  // The answer of a handler that threw: memory exhaustion or a defect, of which the caller learns
  // no more than that, and the operator `why`.
  void fail(std::string_view why) noexcept;

 private:
  void read_headers();
  [[nodiscard]] std::string_view keep(std::initializer_list<std::string_view> parts,
                                      std::size_t bytes_max) noexcept;

  const Cors& cors_;
  const RouteFacts* row_ = nullptr;  // null: none was found yet
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
  std::array<char, 512> kept_;  // what keep() copied; not set before
};

// The whole of a request: `answer()` sends its reply, and it is logged whatever happens.
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
