#include "wire/client.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/crash_points.h"
#include "runtime/runtime.h"
#include "text/http_field.h"
#include "wire/buffer_sizes.h"
#include "wire/grammar.h"
#include "wire/head_writer.h"
#include "wire/origin_pool.h"
#include "wire/reply_head.h"
#include "wire/reply_parser.h"
#include "wire/tls.h"

namespace turnpike::wire {
namespace {

using runtime::Deadline;
using runtime::Wake;

constexpr std::size_t input_bytes_large = 64 * 1024;
// Method, version and the wire's own fields with their values.
constexpr std::size_t fixed_request_bytes_max = 256;
constexpr int interim_replies_max = 16;
constexpr std::uint32_t resolver_threads = 2;
constexpr std::uint32_t resolver_queued_max = 256;

// Fields that the wire writes itself; a plugin's fields of these names are dropped.
bool is_own_request_field(std::string_view name) noexcept {
  return is_framing_field(name) || same_text(name, "host") || same_text(name, "expect") ||
         same_text(name, "accept-encoding");
}

class HttpClient;

// One call, from the connection to the last byte of the reply.
class OutboundCall {
 public:
  OutboundCall(HttpClient& client, OriginPool& pool, Origin& origin, const HttpOptions& options,
               Call& call)
      : client_(client), pool_(pool), origin_(origin), options_(options), patience_{call} {}

  Done run(const HttpRequest& request, std::string_view target, HttpSink& sink);

 private:
  Done run_seated(const HttpRequest& request, std::string_view target, HttpSink& sink);
  Done open();
  Done connect(const Patience& brief);
  Done connect_to(const Address& address, const Patience& brief);
  Result<std::vector<Address>> addresses(const Patience& brief);
  Done send(const HttpRequest& request, std::string_view target);
  Done write_head(const HttpRequest& request, std::string_view target);
  Done receive_reply(HttpSink& sink);
  Done receive_head(std::optional<ReplyParser>& parser);
  Done receive_sized(HttpSink& sink, std::uint64_t length);
  Done receive_chunked(ReplyParser& parser, HttpSink& sink);
  Io receive_more();
  void make_room(std::size_t bytes_max);

  Failure failure(FailureKind kind, std::string_view what) const;
  Failure failure_of(Io io, std::string_view doing) const;
  Failure stopped() const { return failure(FailureKind::cancelled, "the receiver stopped"); }

  HttpClient& client_;
  OriginPool& pool_;
  Origin& origin_;
  const HttpOptions& options_;
  const Patience patience_;
  std::unique_ptr<UpstreamConnection> connection_;
  std::uint64_t reply_bytes_max_ = 0;
  std::size_t begin_ = 0;  // range of unread bytes in the connection's input
  std::size_t end_ = 0;
  bool is_begun_ = false;  // a byte of the request may have been sent
  bool is_whole_ = false;  // the whole request was sent
  bool is_reusable_ = false;
};

class HttpClient final : public Client {
 public:
  HttpClient(runtime::Runtime& runtime, const ClientSettings& settings)
      : settings_(settings),
        runtime_(runtime),
        tls_(settings.certificate_authorities),
        resolver_(runtime.pool().add_user("resolver", resolver_threads, resolver_queued_max)) {
    const OriginPoolBounds bounds{settings.origins_max, settings.idle_connection_ms};
    for (const auto& loop : runtime.loops()) {
      pools_.push_back(std::make_unique<OriginPool>(bounds, loop.get()));
    }
    shared_pool_ = std::make_unique<OriginPool>(bounds, nullptr);
  }

  ~HttpClient() override { stop(); }

  Done call(const HttpRequest& request, const HttpOptions& options, HttpSink& sink,
            Call& call) noexcept override;

  void stop() noexcept override {
    if (is_stopped_.exchange(true)) return;
    runtime::Semaphore done(0);
    for (std::size_t at = 0; at < pools_.size(); ++at) {
      runtime_.loops()[at]->post([&done, pool = pools_[at].get()] {
        pool->clear();
        done.release();
      });
    }
    shared_pool_->clear();
    const runtime::CancelMask mask;
    for (std::size_t at = 0; at < pools_.size(); ++at) done.acquire(Deadline::never());
  }

  // Fibers wait for the blocking pool; a plain Thread may block itself.
  Result<std::vector<Address>> resolve_name(const Origin& origin, Deadline deadline);

  [[nodiscard]] const ClientSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] TlsContext& tls() noexcept { return tls_; }

 private:
  const ClientSettings settings_;
  runtime::Runtime& runtime_;
  TlsContext tls_;
  runtime::PoolUser resolver_;
  std::vector<std::unique_ptr<OriginPool>> pools_;  // indexed by loop
  std::unique_ptr<OriginPool> shared_pool_;
  std::atomic<bool> is_stopped_{false};
};

Failure failure_without_origin(FailureKind kind, std::string message) {
  return Failure{kind, std::move(message), {}, false};
}

Done HttpClient::call(const HttpRequest& request, const HttpOptions& options, HttpSink& sink,
                      Call& call) noexcept {
  try {
    if (call.cancelled()) return failure_without_origin(FailureKind::cancelled, "cancelled");
    if (Deadline{call.deadline_ns()}.passed()) {
      return failure_without_origin(FailureKind::timeout, "the deadline has passed");
    }
    const std::optional<UpstreamUrl> url = parse_upstream_url(request.url);
    if (!url) {
      return failure_without_origin(FailureKind::unavailable,
                                    "the upstream's URL is not an absolute http or https URL");
    }
    runtime::Loop* const loop = runtime::Loop::current();
    OriginPool& pool = loop == nullptr ? *shared_pool_ : *pools_[loop->index()];
    const std::uint32_t connections_max =
        options.connections_max == 0 ? settings_.connections_max : options.connections_max;
    const OriginKey key{url->authority, connections_max, url->is_tls,
                        options.allow_private_addresses};
    Origin* const origin = pool.enter(key, url->host, url->port);
    if (origin == nullptr) {
      return failure_without_origin(FailureKind::unavailable, "too many upstream origins in use");
    }
    struct Leaving {
      OriginPool& pool;
      Origin& origin;
      ~Leaving() { pool.leave(origin); }
    } const leaving{pool, *origin};
    return OutboundCall(*this, pool, *origin, options, call).run(request, url->target, sink);
  } catch (const std::bad_alloc&) {
    return Failure{FailureKind::unavailable, {}, {}, true};
  } catch (...) {  // the sink threw
    return Failure{FailureKind::plugin_fault, {}, {}, true};
  }
}

Result<std::vector<Address>> HttpClient::resolve_name(const Origin& origin, Deadline deadline) {
  std::vector<Address> found;
  if (runtime::Loop::current() == nullptr) {
    found = resolve(origin.host, origin.port);
  } else {
    auto reply = runtime_.pool().call(
        resolver_, [host = origin.host, port = origin.port] { return resolve(host, port); },
        deadline);
    switch (reply.outcome) {
      case runtime::PoolOutcome::done:
        found = std::move(*reply.value);
        break;
      case runtime::PoolOutcome::refused:
        return Failure{FailureKind::unavailable, "too many names to resolve", {}, false};
      case runtime::PoolOutcome::deadline:
        return Failure{
            FailureKind::timeout, "resolving " + origin.host + " took too long", {}, false};
      case runtime::PoolOutcome::cancelled:
        return Failure{FailureKind::cancelled, "cancelled", {}, false};
    }
  }
  if (found.empty()) {
    return Failure{FailureKind::transport, "cannot resolve " + origin.host, {}, false};
  }
  return found;
}

Failure OutboundCall::failure(FailureKind kind, std::string_view what) const {
  std::string message = origin_.is_tls ? "https://" : "http://";
  message.append(origin_.authority).append(": ").append(what);
  return Failure{kind, std::move(message), {}, is_begun_};
}

Failure OutboundCall::failure_of(Io io, std::string_view doing) const {
  std::string text(doing);
  switch (io) {
    case Io::deadline:
      return failure(FailureKind::timeout, text + " took too long");
    case Io::cancelled:
      return failure(FailureKind::cancelled, text + " was cancelled");
    case Io::end:
      return failure(FailureKind::transport, text + ": the upstream closed");
    case Io::lacking:
      return failure(FailureKind::unavailable, text + ": " + connection_->problem());
    default:
      return failure(FailureKind::transport, text + ": " + connection_->problem());
  }
}

Done OutboundCall::run(const HttpRequest& request, std::string_view target, HttpSink& sink) {
  const Wake seated = origin_.seats.acquire(patience_.deadline());
  if (seated == Wake::cancelled) return failure(FailureKind::cancelled, "cancelled");
  if (seated == Wake::deadline) {
    return failure(FailureKind::timeout, "no connection became free in time");
  }
  struct Seat {
    Origin& origin;
    ~Seat() { origin.seats.release(); }
  } const seat{origin_};
  const std::uint64_t ceiling = client_.settings().reply_bytes_max;
  reply_bytes_max_ =
      options_.reply_bytes_max == 0 ? ceiling : std::min(ceiling, options_.reply_bytes_max);
  Done done = run_seated(request, target, sink);
  if (connection_ != nullptr && done.ok() && is_reusable_) {
    if (connection_->output.capacity() > kept_bytes_max) std::string().swap(connection_->output);
    if (connection_->input_bytes > input_bytes_initial) {
      connection_->input.reset();
      connection_->input_bytes = 0;
    }
    pool_.give_back(std::move(connection_));
  }
  return done;
}

Done OutboundCall::run_seated(const HttpRequest& request, std::string_view target, HttpSink& sink) {
  if (!options_.fresh_connection) connection_ = pool_.take(origin_);
  if (connection_ == nullptr) {
    pool_.make_room(origin_);
    if (Done opened = open(); !opened) return opened;
  }
  pass(base::CrashPoint::upstream_before);
  if (Done sent = send(request, target); !sent) return sent;
  pass(base::CrashPoint::upstream_sent);
  const Done received = receive_reply(sink);
  pass(base::CrashPoint::upstream_whole);
  return received;
}

// Cached for a short time per origin; one call resolves, the others wait for its answer.
Result<std::vector<Address>> OutboundCall::addresses(const Patience& brief) {
  if (origin_.literal) return std::vector<Address>{*origin_.literal};
  const runtime::MutexLock lock(origin_.resolving, brief.deadline());
  if (!lock.owns()) {
    return failure_of(lock.wake() == Wake::deadline ? Io::deadline : Io::cancelled, "resolving");
  }
  const std::int64_t now = runtime::now_ns();
  if (origin_.addresses.empty() || now >= origin_.addresses_until_ns) {
    auto found = client_.resolve_name(origin_, brief.deadline());
    if (!found) return found;
    origin_.addresses = *std::move(found);
    origin_.addresses_until_ns =
        now + std::int64_t{client_.settings().resolution_cache_ms} * 1'000'000;
  }
  return origin_.addresses;
}

// The connect timeout covers everything from resolving the name to the end of the handshake.
Done OutboundCall::open() {
  const Patience brief{patience_.call, Deadline::after_ms(options_.connect_timeout_ms)};
  Done done = connect(brief);
  // Only the call's own deadline counts as a timeout of the call.
  if (!done.ok() && done.error().kind == FailureKind::timeout && !patience_.deadline().passed()) {
    done.error().kind = FailureKind::transport;
  }
  return done;
}

Done OutboundCall::connect(const Patience& brief) {
  auto found = addresses(brief);
  if (!found) return found.error();
  const Reach farthest = origin_.allows_private ? Reach::nearby : Reach::everywhere;
  std::erase_if(*found, [=](const Address& address) { return reach_of(address) > farthest; });
  Done last = failure(FailureKind::transport,
                      "its address is private, loopback or otherwise not public, which is refused "
                      "without allow_private_addresses");
  for (std::size_t at = 0; at < found->size(); ++at) {
    // Each address gets an even share of the remaining time, so that one silent address cannot use
    // it up.
    const std::int64_t now = runtime::now_ns();
    const std::int64_t left = brief.at_most.ns - now;
    const auto shares = static_cast<std::int64_t>(found->size() - at);
    last = connect_to((*found)[at], {brief.call, Deadline{now + left / shares}});
    if (last.ok() || brief.deadline().passed() || brief.call.cancelled()) return last;
  }
  return last;
}

Done OutboundCall::connect_to(const Address& address, const Patience& brief) {
  connection_ = std::make_unique<UpstreamConnection>(pool_, origin_);
  Io io = connection_->connect(address, brief);
  if (io == Io::done && origin_.is_tls) {
    io = connection_->handshake(client_.tls(), origin_.host, brief);
  }
  if (io == Io::done) return Unit{};
  Failure why = failure_of(io, "connecting");
  connection_.reset();
  return why;
}

Done OutboundCall::write_head(const HttpRequest& request, std::string_view target) {
  const std::string& agent = client_.settings().user_agent;
  std::size_t bytes_max =
      fixed_request_bytes_max + target.size() + origin_.authority.size() + agent.size();
  bool has_agent = false;
  for (const HeaderField& field : request.headers) {
    if (is_own_request_field(field.name)) continue;
    if (!text::is_field_name(field.name) || !text::is_field_value(field.value)) {
      return failure(FailureKind::unavailable, "a header for the upstream is malformed");
    }
    has_agent = has_agent || same_text(field.name, "user-agent");
    bytes_max += field.name.size() + field.value.size() + 4;
  }
  connection_->output.clear();
  HeadWriter head(connection_->output, bytes_max);
  head.put(name_of(request.method)).put(" ").put(target).put(" HTTP/1.1\r\n");
  head.put_field("Host", origin_.authority).put_field("Accept-Encoding", "identity");
  for (const HeaderField& field : request.headers) {
    if (!is_own_request_field(field.name)) head.put_field(field.name, field.value);
  }
  if (!has_agent) head.put_field("User-Agent", agent);
  if (!request.body.empty() || request.method == Method::post) {
    head.put("Content-Length: ").put_number(request.body.size()).put("\r\n");
  }
  head.put("\r\n").finish();
  return Unit{};
}

Done OutboundCall::send(const HttpRequest& request, std::string_view target) {
  if (Done written = write_head(request, target); !written) return written;
  std::string_view body = request.body;
  if (body.size() <= joined_bytes_max) {
    connection_->output.append(body);
    body = {};
  }
  const Io io = connection_->send(connection_->output, body, patience_, is_begun_, is_whole_);
  // An upstream that answered and closed before reading the whole request has still answered.
  if (io == Io::done || (io == Io::broken && is_begun_)) return Unit{};
  return failure_of(io, "sending");
}

void OutboundCall::make_room(std::size_t bytes_max) {
  UpstreamConnection& connection = *connection_;
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ < connection.input_bytes) return;
  if (begin_ > 0) {
    std::memmove(connection.input.get(), connection.input.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    return;
  }
  const std::size_t size = std::clamp(connection.input_bytes * 2, input_bytes_initial, bytes_max);
  std::unique_ptr<char[]> larger(new char[size]);
  if (end_ > 0) std::memcpy(larger.get(), connection.input.get(), end_);
  connection.input = std::move(larger);
  connection.input_bytes = size;
}

Io OutboundCall::receive_more() {
  UpstreamConnection& connection = *connection_;
  std::size_t received = 0;
  const Io io = connection.receive(connection.input.get() + end_, connection.input_bytes - end_,
                                   received, patience_);
  if (io == Io::done) end_ += received;
  return io;
}

// Receives the head of the final reply; interim replies are skipped.
Done OutboundCall::receive_head(std::optional<ReplyParser>& parser) {
  const std::uint32_t head_bytes_max = client_.settings().reply_header_bytes_max;
  for (int interim = 0; interim <= interim_replies_max; ++interim) {
    parser.emplace(head_bytes_max, connection_->fields);
    for (;;) {
      const ParseStep step =
          end_ == begin_ ? ParseStep::need_more
                         : parser->parse_head(connection_->input.get() + begin_, end_ - begin_);
      if (step == ParseStep::refused) return failure(FailureKind::contract, parser->problem());
      if (step == ParseStep::complete) break;
      make_room(std::size_t{head_bytes_max} + input_bytes_initial);
      const Io io = receive_more();
      if (io != Io::done) return failure_of(io, "waiting for the reply");
    }
    begin_ += parser->head_bytes();
    if (parser->status() >= 200) return Unit{};
    if (parser->status() == 101) break;
  }
  return failure(FailureKind::contract, "the upstream sent interim replies only");
}

Done OutboundCall::receive_reply(HttpSink& sink) {
  std::optional<ReplyParser> parser;
  if (Done head = receive_head(parser); !head) return head;
  pass(base::CrashPoint::upstream_begun);
  const bool has_body = !has_no_body(parser->status());
  const std::uint64_t length = has_body ? parser->body_length() : 0;
  if (length > reply_bytes_max_) return failure(FailureKind::too_large, "the reply is too large");
  const bool is_chunked = has_body && parser->is_chunked();
  if (!sink.head(parser->status(), connection_->fields,
                 is_chunked ? std::nullopt : std::optional<std::uint64_t>(length))) {
    return stopped();
  }
  Done body = is_chunked ? receive_chunked(*parser, sink) : receive_sized(sink, length);
  if (!body) return body;
  // Unexpected bytes after the reply make the connection unusable for another request.
  is_reusable_ = is_whole_ && begin_ == end_ && parser->keeps_alive();
  return body;
}

Done OutboundCall::receive_sized(HttpSink& sink, std::uint64_t length) {
  while (length > 0) {
    if (begin_ == end_) {
      begin_ = end_ = 0;
      if (length > connection_->input_bytes && connection_->input_bytes < input_bytes_large) {
        connection_->input.reset(new char[input_bytes_large]);
        connection_->input_bytes = input_bytes_large;
      }
      const Io io = receive_more();
      if (io != Io::done) return failure_of(io, "reading the reply's body");
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(length, end_ - begin_));
    const std::string_view bytes(connection_->input.get() + begin_, size);
    begin_ += size;
    length -= size;
    if (!sink.body(bytes)) return stopped();
  }
  return Unit{};
}

Done OutboundCall::receive_chunked(ReplyParser& parser, HttpSink& sink) {
  for (;;) {
    if (end_ > begin_) {
      std::size_t taken = 0;
      const ParseStep step = parser.parse_chunks({connection_->input.get() + begin_, end_ - begin_},
                                                 taken, sink, reply_bytes_max_);
      begin_ += taken;
      if (step == ParseStep::complete) return Unit{};
      if (parser.is_stopped()) return stopped();
      if (step == ParseStep::refused) {
        return failure(parser.is_too_large() ? FailureKind::too_large : FailureKind::contract,
                       parser.problem());
      }
    }
    make_room(input_bytes_large);
    const Io io = receive_more();
    if (io != Io::done) return failure_of(io, "reading the reply's body");
  }
}

}  // namespace

std::unique_ptr<Client> make_client(runtime::Runtime& runtime, const ClientSettings& settings) {
  return std::make_unique<HttpClient>(runtime, settings);
}

}  // namespace turnpike::wire
