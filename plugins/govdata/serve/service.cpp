#include "govdata/serve/service.h"

#include <algorithm>
#include <limits>

#include "govdata/serve/routes.h"
#include "govdata/store/schema.h"
#include "govdata/store/digest.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t cache_entries_max = 1024;
constexpr std::size_t cache_bytes_max = 64 << 20;
constexpr std::int64_t never_ms = std::numeric_limits<std::int64_t>::max();

struct Shape {
  Operation operation;
  std::string_view name;
  std::string_view path;  // parameters without names
};

constexpr std::array<Shape, operation_count> shapes = {{
    {Operation::pricing, "pricing", "/meta/pricing"},
    {Operation::daos, "daos", "/daos"},
    {Operation::freshness, "freshness", "/system/freshness"},
    {Operation::lookup, "lookup", "/proposals/lookup"},
    {Operation::item, "item", "/items/{}/{}"},
    {Operation::brief, "brief", "/daos/{}/brief"},
    {Operation::evidence, "evidence", "/daos/{}/proposals/{}/{}/evidence"},
    {Operation::signals, "signals", "/governance-signals"},
    {Operation::activity, "activity", "/activity"},
    {Operation::events, "events", "/governance-events"},
}};

std::uint32_t max_age_s(Operation operation) {
  return operation == Operation::pricing || operation == Operation::daos ? 300 : 30;
}

Answer error_answer(const RouteError& error, std::string_view request_id) {
  Json body = {{"error", {{"code", error.code()}, {"message", error.what()}}}};
  body["error"]["details"] = error.details().is_null() ? Json::object() : error.details();
  body["requestId"] = request_id;
  return {error.status(), dump(body), {}, 0};
}

Json freshness_of(Database& database, const RouteRequest& request, std::int64_t now_ms) {
  const bool in_scope = request.dao_id && !request.dao_unknown;
  const auto sources =
      read_sources(database, in_scope ? request.dao_id : std::optional<std::string>());
  MaybeTime as_of;
  for (const SourceRow& source : sources) {
    if (source.as_of && (!as_of || *as_of < *source.as_of)) as_of = source.as_of;
  }
  return {{"generatedAt", iso_time(now_ms)},
          {"dataAsOf", iso_or_null(as_of)},
          {"cacheStatus", "registry_only"},
          {"readiness", readiness_of(sources, import_is_running(database, now_ms), now_ms)},
          {"revision", read_revision(database)}};
}

// A text that changes when a source was polled or became stale. A failed poll does not change the
// store's revision.
std::string sources_stamp(Database& database, std::int64_t now_ms) {
  std::string stamp;
  for (const SourceRow& source : read_sources(database, std::nullopt)) {
    stamp += " " + std::to_string(source.last_attempt_at.value_or(0));
    if (source.is_stale(now_ms)) stamp += "s";
  }
  return sha256_hex(stamp);
}

Json echo_of(const RouteRequest& request) {
  return {{"endpoint", request.endpoint},
          {"params", request.query.params()},
          {"clamped", request.query.clamped()}};
}

Json run_route(RouteContext& context) {
  switch (context.request.operation) {
    case Operation::daos:
      return run_daos(context);
    case Operation::freshness:
      return run_freshness(context);
    case Operation::lookup:
      return run_lookup(context);
    case Operation::item:
      return run_item(context);
    case Operation::brief:
      return run_brief(context);
    case Operation::activity:
      return run_activity(context);
    case Operation::evidence:
      return run_evidence(context);
    case Operation::signals:
      return run_signals(context);
    case Operation::events:
      return run_events(context);
    case Operation::pricing:
      break;  // answered without the store
  }
  throw RouteError(500, "internal", "an operation without a route");
}

std::string evidence_path(const ServiceOptions& options) {
  for (const PricedRoute& route : options.routes) {
    if (route.operation == Operation::evidence) return route.path;
  }
  return {};
}

// Replaces the DAO's name in the request by its canonical id.
void resolve(Database& database, RouteRequest& request) {
  if (!request.dao_id) return;
  const auto canonical = resolve_dao(database, *request.dao_id);
  request.dao_unknown = !canonical;
  if (!canonical) return;
  request.dao_id = canonical;
  request.query.echo("dao_id", *canonical);
}

}  // namespace

std::optional<Operation> operation_of_path(std::string_view pattern) {
  std::string shape;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    shape += pattern[at];
    if (pattern[at] != '{') continue;
    at = std::min(pattern.find('}', at), pattern.size());
    shape += '}';
  }
  // Take the longest path that matches, since one path may be the end of another.
  const Shape* best = nullptr;
  for (const Shape& known : shapes) {
    if (shape.ends_with(known.path) && (best == nullptr || known.path.size() > best->path.size())) {
      best = &known;
    }
  }
  return best != nullptr ? std::optional(best->operation) : std::nullopt;
}

std::optional<Operation> operation_of_name(std::string_view name) {
  for (const Shape& known : shapes) {
    if (known.name == name) return known.operation;
  }
  return std::nullopt;
}

struct Service::CachedAnswer {
  std::string key;
  std::string head, tail;  // around the freshness object
  Json freshness;
  std::string etag;
  std::uint32_t max_age_s = 0;
  std::int64_t until_ms = 0;

  [[nodiscard]] std::size_t bytes() const { return key.size() + head.size() + tail.size() + 512; }
  [[nodiscard]] Answer answer() const {
    return {200, head + dump(freshness) + tail, etag, max_age_s};
  }
};

// Borrows a connection for one call and returns it afterwards. A connection that failed is closed.
class Service::Reader {
 public:
  explicit Reader(Service& service) : service_(service), database_(service.acquire()) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (good_) service_.release(std::move(database_));
  }
  Database& operator*() { return *database_; }
  void drop() { good_ = false; }

 private:
  Service& service_;
  std::unique_ptr<Database> database_;
  bool good_ = true;
};

Service::Service(ServiceOptions options, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      fresh_until_ms_(never_ms),
      stale_reason_(&*reasons_.emplace().first) {}

Service::~Service() = default;

std::unique_ptr<Database> Service::acquire() {
  {
    const std::lock_guard lock(readers_mutex_);
    if (!readers_.empty()) {
      auto database = std::move(readers_.back());
      readers_.pop_back();
      return database;
    }
  }
  return open_for_reading(options_.database);
}

void Service::release(std::unique_ptr<Database> database) {
  const std::lock_guard lock(readers_mutex_);
  if (readers_.size() < options_.readers_kept) readers_.push_back(std::move(database));
}

void Service::note_freshness(Database& database) {
  std::int64_t fresh_until = never_ms;
  std::string reason = "A source of the governance data store is stale.";
  for (const SourceRow& source : read_sources(database, std::nullopt)) {
    const std::int64_t until = source.as_of ? *source.as_of + source.stale_after_s * 1000 : 0;
    if (until >= fresh_until) continue;
    fresh_until = until;
    reason = "The source " + source.provider + " " + source.scope + " of the governance data is " +
             (source.as_of ? "stale." : "not read yet.");
  }
  const std::lock_guard lock(reasons_mutex_);
  stale_reason_.store(&*reasons_.insert(reason).first);
  fresh_until_ms_.store(fresh_until);
}

StoreHealth Service::check() {
  StoreHealth health = StoreHealth::ready;
  try {
    // Open a new connection to notice a file that was replaced or removed.
    auto database = open_for_reading(options_.database);
    note_freshness(*database);
    const std::lock_guard lock(readers_mutex_);
    readers_.clear();
    readers_.push_back(std::move(database));
  } catch (const SchemaError& error) {
    const bool newer = std::string_view(error.what()).find("newer build") != std::string::npos;
    health = newer ? StoreHealth::newer : StoreHealth::unreadable;
  } catch (const SqliteError& error) {
    health =
        (error.code() & 0xFF) == SQLITE_CANTOPEN ? StoreHealth::missing : StoreHealth::unreadable;
  }
  if (health != StoreHealth::ready) {
    const std::lock_guard lock(readers_mutex_);
    readers_.clear();
  }
  health_.store(health);
  return health;
}

// The cached answer with the current freshness. Only generatedAt stays that of the cached data.
std::optional<Answer> Service::cached(const std::string& key, const Json& freshness,
                                      std::int64_t now_ms) {
  const std::lock_guard lock(cache_mutex_);
  const auto found = cache_index_.find(key);
  if (found == cache_index_.end()) return std::nullopt;
  if (found->second->until_ms <= now_ms) {
    cache_bytes_ -= found->second->bytes();
    cache_.erase(found->second);
    cache_index_.erase(found);
    return std::nullopt;
  }
  const Json generated_at = found->second->freshness["generatedAt"];
  found->second->freshness = freshness;
  found->second->freshness["generatedAt"] = generated_at;
  found->second->freshness["cacheStatus"] = "memory_cache";
  return found->second->answer();
}

void Service::remember(const std::string& key, CachedAnswer answer) {
  const std::lock_guard lock(cache_mutex_);
  if (cache_index_.count(key) > 0) return;  // a concurrent call has stored its answer
  cache_bytes_ += answer.bytes();
  cache_.push_back(std::move(answer));
  cache_index_[key] = std::prev(cache_.end());
  while (cache_.size() > cache_entries_max || cache_bytes_ > cache_bytes_max) {
    cache_bytes_ -= cache_.front().bytes();
    cache_index_.erase(cache_.front().key);
    cache_.pop_front();
  }
}

Answer Service::answer_checked(const ServiceCall& call, std::int64_t now_ms) {
  RouteRequest request = parse_request(call, now_ms);
  if (call.operation == Operation::pricing && health_.load() != StoreHealth::ready) {
    const Json freshness = {{"generatedAt", iso_time(now_ms)},
                            {"dataAsOf", nullptr},
                            {"cacheStatus", "registry_only"},
                            {"readiness", "unavailable"},
                            {"revision", 0}};
    const Json body = {
        {"request", echo_of(request)}, {"freshness", freshness}, {"pricing", pricing_of(options_)}};
    return {200, dump(body), {}, 0};
  }
  Reader reader(*this);
  try {
    return answer_from(*reader, request, now_ms);
  } catch (const SqliteError&) {
    reader.drop();
    throw;
  }
}

Answer Service::answer_from(Database& database, RouteRequest& request, std::int64_t now_ms) {
  const Transaction snapshot(database, Transaction::Kind::read);
  resolve(database, request);
  const std::string echo = dump(echo_of(request));
  Json freshness = freshness_of(database, request, now_ms);
  std::string key = echo + std::to_string(read_revision(database));
  if (request.operation == Operation::freshness) key += sources_stamp(database, now_ms);
  if (auto known = cached(key, freshness, now_ms)) return *std::move(known);
  RouteContext context{
      database, now_ms, options_, request, {database, now_ms, evidence_path(options_)}};
  const bool is_pricing = request.operation == Operation::pricing;
  const std::string data = dump(is_pricing ? pricing_of(options_) : run_route(context));
  CachedAnswer fresh;
  fresh.key = key;
  fresh.head = "{\"request\":" + echo + ",\"freshness\":";
  fresh.tail = std::string(is_pricing ? ",\"pricing\":" : ",\"data\":") + data + "}";
  fresh.freshness = std::move(freshness);
  fresh.max_age_s = max_age_s(request.operation);
  fresh.until_ms = now_ms + std::int64_t{fresh.max_age_s} * 1000;
  // A weak ETag, since an answer from the cache differs in cacheStatus.
  fresh.etag = "W/\"" + sha256_hex(key + std::to_string(now_ms)).substr(0, 32) + "\"";
  Answer answer = fresh.answer();
  if (answer.body.size() > reply_bytes_max) {
    throw RouteError(500, "internal", "the answer is larger than 2 MiB");
  }
  remember(key, std::move(fresh));
  return answer;
}

Answer Service::answer(const ServiceCall& call) {
  const std::int64_t now_ms = clock_.now_ms();
  try {
    return answer_checked(call, now_ms);
  } catch (const RouteError& error) {
    return error_answer(error, call.request_id);
  } catch (const SchemaError&) {
    return error_answer({503, "unavailable", "the store cannot be read"}, call.request_id);
  } catch (const SqliteError& error) {
    const int code = error.code() & 0xFF;
    const bool passing = code == SQLITE_BUSY || code == SQLITE_CANTOPEN || code == SQLITE_LOCKED;
    return error_answer(passing ? RouteError(503, "unavailable", "the store cannot be read now")
                                : RouteError(500, "internal", "the store failed"),
                        call.request_id);
  }
}

}  // namespace turnpike::govdata
