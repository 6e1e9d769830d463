#include "storage/redis_quota.h"

#include <Poco/Exception.h>
#include <Poco/NumberParser.h>
#include <Poco/Redis/Array.h>
#include <Poco/Redis/Client.h>
#include <Poco/Timespan.h>
#include <Poco/URI.h>

#include <array>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_name.h"
#include "runtime/wait.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using Poco::Redis::Array;
using quota::Bucket;
using quota::Decision;
using quota::Limit;
using quota::Limits;
using quota::Standing;

// KEYS: counts, permits, clock. ARGV: the permit's number, or "" to read; limit and seconds of the
// window, and of the quota (0: none); the cumulative limit (0: none); permits; their time in ms.
// The clock key may lag by a second and a node's pause; counts outlive their windows by more, so
// that they still exist after a clock step back. The permits key expires with its last permit.
constexpr std::string_view script = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local latest = tonumber(redis.call('GET', KEYS[3]) or '0')
local at = math.max(now, latest)
local arg = {}
for i = 2, #ARGV do arg[i] = tonumber(ARGV[i]) end
local counts = redis.call('HMGET', KEYS[1], 'ws', 'wu', 'qs', 'qu', 'cu')
for i = 1, 5 do counts[i] = tonumber(counts[i] or '0') end
local ends = 0
local function turn(first, seconds)
  local start = math.floor(at / 1000 / seconds) * seconds
  if start > counts[first] then
    counts[first] = start
    counts[first + 1] = 0
  end
  ends = math.max(ends, (math.floor(counts[first] / seconds) + 1) * seconds * 1000)
end
turn(1, arg[3])
if arg[4] > 0 then turn(3, arg[5]) end
local used = redis.call('ZCOUNT', KEYS[2], '(' .. string.format('%.0f', now), '+inf')
local refused = 0
if arg[6] > 0 and counts[5] >= arg[6] then refused = 1
elseif arg[4] > 0 and counts[4] >= arg[4] then refused = 2
elseif counts[2] >= arg[2] then refused = 3
elseif used >= arg[7] then refused = 4 end
if ARGV[1] ~= '' and refused == 0 then
  counts[2] = counts[2] + 1
  counts[4] = counts[4] + 1
  counts[5] = counts[5] + 1
  used = used + 1
  local text = {}
  for i = 1, 5 do text[i] = string.format('%.0f', counts[i]) end
  redis.call('HSET', KEYS[1], 'ws', text[1], 'wu', text[2], 'qs', text[3], 'qu', text[4],
             'cu', text[5])
  if arg[6] > 0 then redis.call('PERSIST', KEYS[1])
  else redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ends - now + 10000)) end
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now))
  redis.call('ZADD', KEYS[2], string.format('%.0f', now + arg[8]), ARGV[1])
  local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
  redis.call('PEXPIRE', KEYS[2], string.format('%.0f', last - now + 3000))
end
if now > latest + 1000 then redis.call('SET', KEYS[3], string.format('%.0f', now)) end
local first = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. string.format('%.0f', now), '+inf',
                         'WITHSCORES', 'LIMIT', 0, 1)
return {refused, now, counts[1], counts[2], counts[3], counts[4], counts[5], used,
        tonumber(first[2] or '0')}
)lua";

// KEYS: clock. Advances the clock while no calls arrive.
constexpr std::string_view clock_script = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now > tonumber(redis.call('GET', KEYS[1]) or '0') then
  redis.call('SET', KEYS[1], string.format('%.0f', now))
end
)lua";
constexpr std::int64_t clock_interval_ms = 1'000;

constexpr std::string_view prefix = "turnpike:free:";
constexpr std::string_view clock_key = "turnpike:free:clock";
constexpr std::size_t answer_size = 9;
constexpr std::size_t permits_key_word = 1;  // in Ask::words of the script
constexpr std::size_t permit_word = 3;
constexpr std::string_view return_word = "ZREM";

base::Error unavailable() {
  return {base::ErrorCode::gateway_free_unavailable,
          "The limits of the free variant cannot be checked now.", 1};
}

struct Server {
  std::string host;
  std::uint16_t port = 6379;
  std::string user;
  std::string password;
  std::string database;
};

Result<Server, std::string> read_redis_url(const std::string& url) {
  try {
    const Poco::URI uri(url);
    Server server;
    server.host = uri.getHost();
    if (uri.getScheme() != "redis" || server.host.empty()) throw Poco::SyntaxException();
    if (uri.getPort() != 0) server.port = uri.getPort();
    const std::string& user = uri.getUserInfo();
    const std::size_t colon = user.find(':');
    server.user = user.substr(0, colon);
    if (colon != std::string::npos) server.password = user.substr(colon + 1);
    if (!user.empty() && server.password.empty()) throw Poco::SyntaxException();
    server.database = uri.getPath().empty() ? "" : uri.getPath().substr(1);
    if (!server.database.empty()) (void)Poco::NumberParser::parseUnsigned(server.database);
    return server;
  } catch (const Poco::Exception&) {
    return std::string(
        "expected redis://[[user]:password@]host[:port][/database], such as redis://host:6379/0");
  }
}

// The server's error reply; empty: the reply is a result.
std::string error_at(const Array& replies, std::size_t at) {
  using Poco::Redis::Error;
  if (replies.getType(at) != Poco::Redis::RedisTypeTraits<Error>::TypeId) return {};
  return replies.get<Error>(at).getMessage();
}

std::array<std::int64_t, answer_size> numbers_of(const Array& replies, std::size_t at) {
  const Array reply = replies.get<Array>(at);
  if (reply.isNull() || reply.size() != answer_size) {
    throw Poco::DataFormatException("the script answered something else");
  }
  std::array<std::int64_t, answer_size> numbers{};
  for (std::size_t each = 0; each < answer_size; ++each) {
    numbers[each] = reply.get<Poco::Int64>(each);
  }
  return numbers;
}

class PipelinedQuota final : public RedisQuota {
 public:
  PipelinedQuota(Server server, const RedisSettings& settings, std::string node, base::Log& log)
      : server_(std::move(server)),
        settings_(settings),
        node_(std::move(node)),
        log_(log),
        queue_(settings.asks_max),
        thread_([this] {
          base::name_this_thread("redis");
          talk();
        }) {}
  ~PipelinedQuota() override {
    queue_.close();
    thread_.join();
  }

  const Bucket& bucket(std::string_view key) override { return buckets_.find_or_add(key); }

  Result<Decision, base::Error> take(std::string_view account_id, const Bucket& bucket,
                                     const Limits& limits, runtime::Deadline deadline) override {
    const std::string permit = node_ + std::to_string(next_permit_.fetch_add(1));
    return ask(account_id, bucket, limits, permit, deadline);
  }

  Result<Standing, base::Error> read(std::string_view account_id, const Bucket& bucket,
                                     const Limits& limits, runtime::Deadline deadline) override {
    auto seen = ask(account_id, bucket, limits, "", deadline);
    if (!seen.ok()) return seen.error();
    return seen->standing;
  }

  [[nodiscard]] bool is_reachable() const noexcept override {
    return !is_down_.load(std::memory_order_relaxed);
  }

 private:
  using Answer = Result<Decision, base::Error>;

  struct Ask {
    std::vector<std::string> words;  // of the command; for the script from KEYS on
    std::shared_ptr<runtime::OneShot<Answer>> answer;  // null: another command than the script
  };

  static Ask return_of(std::string key, std::string permit) {
    return {{std::string(return_word), std::move(key), std::move(permit)}, nullptr};
  }

  // A permit that the server holds for a caller. The destructor returns it, also if the waiter is
  // gone and the decision is never read.
  class RedisPermit final : public quota::Permit {
   public:
    RedisPermit(PipelinedQuota& store, std::string key, std::string permit)
        : store_(store), key_(std::move(key)), permit_(std::move(permit)) {}
    ~RedisPermit() override {
      // If it cannot be queued, the permit ends when its time is over.
      (void)store_.queue_.push(return_of(key_, permit_));
    }
    Result<Unit, base::Error> confirm(runtime::Deadline) override { return Unit{}; }

   private:
    PipelinedQuota& store_;
    const std::string key_;
    const std::string permit_;
  };

  Answer ask(std::string_view account_id, const Bucket& bucket, const Limits& limits,
             const std::string& permit, runtime::Deadline deadline) {
    if (is_down_.load(std::memory_order_relaxed) &&
        runtime::now_ns() < retry_at_ns_.load(std::memory_order_relaxed)) {
      return unavailable();
    }
    std::string key(prefix);
    key.append(account_id).append(":").append(bucket.key);
    const quota::Window quota = limits.quota.value_or(quota::Window{0, 1});
    std::vector<std::string> words = {key + ":counts",
                                      key + ":permits",
                                      std::string(clock_key),
                                      permit,
                                      std::to_string(limits.window.limit),
                                      std::to_string(limits.window.seconds),
                                      std::to_string(quota.limit),
                                      std::to_string(quota.seconds),
                                      std::to_string(limits.cumulative_limit.value_or(0)),
                                      std::to_string(limits.concurrency),
                                      std::to_string(limits.permit_ttl_seconds * 1000ull)};
    const auto answer = std::make_shared<runtime::OneShot<Answer>>();
    if (!queue_.push({std::move(words), answer})) return unavailable();
    const auto patience = runtime::Deadline::after_ms(3 * std::int64_t{settings_.timeout_ms});
    if (answer->wait(deadline.earlier(patience)) != runtime::Wake::ready) return unavailable();
    return answer->take();
  }

  void talk() {
    while (true) {
      std::vector<Ask> asks;
      const auto wake = queue_.take(asks, 1, runtime::Deadline::after_ms(clock_interval_ms));
      if (asks.empty()) {
        if (wake == runtime::Wake::ready) return;  // closed
        asks.push_back({{"EVAL", std::string(clock_script), "1", std::string(clock_key)}, nullptr});
      }
      bool is_sent = false;
      try {
        if (client_ == nullptr && runtime::now_ns() < retry_at_ns_.load()) {
          refuse(asks, is_sent);
          continue;
        }
        if (client_ == nullptr) connect();
        asks.insert(asks.begin(), std::move_iterator(owed_.begin()),
                    std::move_iterator(owed_.end()));
        owed_.clear();
        is_sent = true;
        answer(asks, send(asks));
      } catch (const std::exception& error) {  // from Poco, or a malformed reply
        fail(error);
        refuse(asks, is_sent);
      }
    }
  }

  void connect() {
    auto client = std::make_unique<Poco::Redis::Client>();
    const Poco::Timespan timeout(std::int64_t{settings_.timeout_ms} * 1'000);
    client->connect(server_.host, server_.port, timeout);
    client->setReceiveTimeout(timeout);
    if (!server_.password.empty()) {
      Array auth;
      auth << "AUTH";
      if (!server_.user.empty()) auth << server_.user;
      client->execute<std::string>(auth << server_.password);
    }
    if (!server_.database.empty()) {
      client->execute<std::string>(Array() << "SELECT" << server_.database);
    }
    client_ = std::move(client);
    load_script();
    if (is_down_.exchange(false)) log_.write(Severity::info, "free_store_reached");
  }

  void load_script() {
    Array load;
    load << "SCRIPT"
         << "LOAD" << std::string(script);
    script_sha_ = client_->execute<Poco::Redis::BulkString>(load).value();
  }

  Array send(const std::vector<Ask>& asks) {
    std::vector<Array> commands;
    commands.reserve(asks.size());
    for (const Ask& ask : asks) {
      Array& command = commands.emplace_back();
      if (ask.answer != nullptr) command << "EVALSHA" << script_sha_ << "3";
      for (const std::string& word : ask.words) command << word;
    }
    return client_->sendCommands(commands);
  }

  void answer(std::vector<Ask>& asks, const Array& replies, bool is_loaded_anew = false) {
    for (std::size_t at = 0; at < asks.size(); ++at) {
      if (asks[at].answer == nullptr) continue;
      if (const std::string error = error_at(replies, at); error.empty()) {
        Decision decision = decision_of(asks[at], numbers_of(replies, at));
        std::exchange(asks[at].answer, nullptr)->set(std::move(decision));
      } else if (is_loaded_anew || !error.starts_with("NOSCRIPT")) {
        throw Poco::Redis::RedisException(error);
      }
    }
    // The remaining asks were not run, since the server has lost its scripts.
    std::erase_if(asks, [](const Ask& ask) { return ask.answer == nullptr; });
    if (asks.empty()) return;
    load_script();
    answer(asks, send(asks), true);
  }

  Decision decision_of(Ask& ask, const std::array<std::int64_t, answer_size>& numbers) {
    Decision decision;
    const auto& [refused, now_ms, window_start, window, quota_start, quota, cumulative, in_use,
                 permit_end_ms] = numbers;
    decision.standing.now_ms = now_ms;
    decision.standing.counts = {window_start, quota_start, static_cast<std::uint64_t>(cumulative),
                                static_cast<std::uint32_t>(window),
                                static_cast<std::uint32_t>(quota)};
    decision.standing.in_use = static_cast<std::uint32_t>(in_use);
    decision.standing.permit_end_ms = permit_end_ms;
    if (refused != 0) {
      decision.refused_by = static_cast<Limit>(refused - 1);
    } else if (!ask.words[permit_word].empty()) {
      decision.permit = std::make_unique<RedisPermit>(*this, std::move(ask.words[permits_key_word]),
                                                      std::move(ask.words[permit_word]));
    }
    return decision;
  }

  void fail(const std::exception& error) {
    client_.reset();
    if (!is_down_.exchange(true)) {
      const auto* poco = dynamic_cast<const Poco::Exception*>(&error);
      log_.write(Severity::error, "free_store_unreachable",
                 {{"reason", poco != nullptr ? poco->displayText() : error.what()}});
    }
    retry_at_ns_.store(runtime::now_ns() + std::int64_t{settings_.retry_ms} * 1'000'000);
  }

  // If the asks were sent, permits may have been granted although the reply was lost.
  void refuse(std::vector<Ask>& asks, bool is_sent) {
    for (Ask& ask : asks) {
      if (ask.answer == nullptr) {
        if (ask.words.front() == return_word) owe(std::move(ask));
        continue;
      }
      ask.answer->set(unavailable());
      if (is_sent && !ask.words[permit_word].empty()) {
        owe(return_of(std::move(ask.words[permits_key_word]), std::move(ask.words[permit_word])));
      }
    }
  }

  void owe(Ask permit) {
    if (owed_.size() < settings_.asks_max) owed_.push_back(std::move(permit));
  }

  const Server server_;
  const RedisSettings settings_;
  const std::string node_;  // distinguishes this process's permits
  base::Log& log_;
  quota::Buckets buckets_;
  std::atomic<std::uint64_t> next_permit_{0};
  std::atomic<bool> is_down_{false};
  std::atomic<std::int64_t> retry_at_ns_{0};
  runtime::BatchQueue<Ask> queue_;

  // Used by the Thread only.
  std::unique_ptr<Poco::Redis::Client> client_;
  std::string script_sha_;
  std::vector<Ask> owed_;  // permits to return once the server can be reached
  std::thread thread_;     // declared last: it uses all members above
};

}  // namespace

std::string redis_url_fault(const std::string& url) {
  const auto server = read_redis_url(url);
  return server.ok() ? std::string() : server.error();
}

Result<std::unique_ptr<RedisQuota>, std::string> make_redis_quota(const RedisSettings& settings,
                                                                  Random& random, base::Log& log) {
  auto server = read_redis_url(settings.url);
  if (!server.ok()) return std::move(server).error();
  std::array<std::uint8_t, 16> bytes{};
  random.fill(bytes);
  return std::unique_ptr<RedisQuota>(std::make_unique<PipelinedQuota>(
      *std::move(server), settings, text::base62(bytes, 22) + ":", log));
}

}  // namespace turnpike::storage
