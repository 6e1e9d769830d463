#include "storage/books/replay_store.h"

#include "base/crash_points.h"
#include "base/limits.h"
#include "storage/books/leases.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using ledger::Claim;
using ledger::ClaimAnswer;
using ledger::KeptReply;
using ledger::ReplyToKeep;
using ledger::Stored;
using Kind = ledger::ClaimAnswer::Kind;
using base::CrashPoint;
namespace limits = base::limits;

constexpr Query insert_replay{
    "INSERT INTO replay (key_digest, request_digest, request_id, incarnation, state, claimed_until,"
    " expires_at) VALUES ($1, $2, $3, $4, 'claimed', $5, $6) ON CONFLICT DO NOTHING"
    " RETURNING key_digest",
    "t"};
// A later incarnation of the owner's node proves the owner dead: it holds the data directory's
// lock.
#define HELD                                                                                    \
  "SELECT request_digest, request_id, state, claimed_until, expires_at, status, headers, body," \
  " (SELECT COUNT(*) FROM incarnation o JOIN incarnation n ON n.node = o.node AND n.id > o.id"  \
  " WHERE o.id = replay.incarnation) AS successors FROM replay WHERE key_digest = $1"
constexpr char held_columns[] = "tttiiitti";
constexpr Query select_held_sqlite{HELD, held_columns};
constexpr Query select_held_postgres{HELD " FOR UPDATE", held_columns};
#undef HELD
constexpr Query take_over{
    "UPDATE replay SET request_digest = $1, request_id = $2, incarnation = $3, state = 'claimed',"
    " claimed_until = $4, expires_at = $5, status = 0, headers = '', body = ''"
    " WHERE key_digest = $6"};
constexpr Query write_reply{
    "UPDATE replay SET state = $1, status = $2, headers = $3, body = $4"
    " WHERE key_digest = $5 AND request_id = $6 AND state = 'claimed' RETURNING key_digest",
    "t"};
constexpr Query mark_stored{
    "UPDATE replay SET state = 'stored'"
    " WHERE key_digest = $1 AND request_id = $2 AND state = 'claimed' RETURNING key_digest",
    "t"};
constexpr Query select_own{
    "SELECT key_digest FROM replay WHERE key_digest = $1 AND request_id = $2"
    " AND state = 'claimed'",
    "t"};
constexpr Query delete_claim{
    "DELETE FROM replay WHERE key_digest = $1 AND request_id = $2 AND state = 'claimed'"};
constexpr Query delete_old_replays{
    "DELETE FROM replay WHERE key_digest IN (SELECT key_digest FROM replay WHERE expires_at <= $1"
    " ORDER BY expires_at LIMIT $2) RETURNING key_digest",
    "t"};

std::string text_of(const std::vector<OwnedHeader>& headers) {
  std::string text;
  for (const OwnedHeader& header : headers) text += header.name + '\n' + header.value + '\n';
  return text::base64url(text);
}

std::string decoded(const std::string& text) {
  auto bytes = text::from_base64url(text);
  if (!bytes) throw StoreError(StoreError::Kind::fatal, "a stored reply is not base64url");
  return *std::move(bytes);
}

std::vector<OwnedHeader> headers_of(const std::string& text) {
  const std::string lines = decoded(text);
  std::vector<OwnedHeader> headers;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t name_end = lines.find('\n', at);
    const std::size_t value_end = lines.find('\n', name_end + 1);
    if (name_end == lines.npos || value_end == lines.npos) {
      throw StoreError(StoreError::Kind::fatal, "the headers of a stored reply are cut short");
    }
    headers.push_back(
        {lines.substr(at, name_end - at), lines.substr(name_end + 1, value_end - name_end - 1)});
    at = value_end + 1;
  }
  return headers;
}

class SqlReplayStore final : public ledger::ReplayStore {
 public:
  SqlReplayStore(const Context& context, std::int64_t incarnation)
      : context_(context), incarnation_(incarnation) {}

  Stored<ClaimAnswer> claim(const Claim& claim) override {
    return stored<ClaimAnswer>([&] {
      pass(CrashPoint::claim_before);
      const ClaimAnswer answer = context_.database.write(
          [&](Transaction& transaction) { return claim_in(transaction, claim); });
      pass(CrashPoint::claim_after);
      return answer;
    });
  }

  Stored<bool> keep(const ReplyToKeep& reply) override {
    return stored<bool>([&] {
      pass(CrashPoint::keep_before);
      const bool is_kept = context_.database.write([&](Transaction& transaction) {
        ReplyColumns columns = reply_columns_of(reply);
        columns.state = "claimed";  // until the call is charged
        return !transaction
                    .run(write_reply, {columns.state, columns.status, columns.headers, columns.body,
                                       reply.key_digest, reply.request_id})
                    .empty();
      });
      pass(CrashPoint::keep_after);
      return is_kept;
    });
  }

  Stored<Unit> free(std::string_view key_digest, std::string_view request_id) override {
    return stored<Unit>([&] {
      pass(CrashPoint::free_before);
      const Unit freed = context_.database.write([&](Transaction& transaction) {
        transaction.run(delete_claim, {key_digest, request_id});
        return Unit{};
      });
      pass(CrashPoint::free_after);
      return freed;
    });
  }

 private:
  ClaimAnswer claim_in(Transaction& transaction, const Claim& claim) const {
    const std::int64_t now_ms = ledger_now_ms(context_, transaction);
    const std::int64_t until_ms = now_ms + claim.ends_in_ms;
    // A reply is stored by `until_ms` at the latest and kept for the full retention time
    // afterwards.
    const std::int64_t expires_ms = until_ms + limits::replay_kept_ms;
    if (!transaction
             .run(insert_replay, {claim.key_digest, claim.request_digest, claim.request_id,
                                  incarnation_, until_ms, expires_ms})
             .empty()) {
      return {Kind::claimed};
    }
    const Rows held = transaction.run(
        context_.database.engine() == Engine::sqlite ? select_held_sqlite : select_held_postgres,
        {claim.key_digest});
    if (held.empty()) return {Kind::in_progress};  // freed just now: the retry claims the key
    ClaimAnswer answer = answer_of(held, claim, now_ms);
    if (answer.kind == Kind::claimed) {
      transaction.run(take_over, {claim.request_digest, claim.request_id, incarnation_, until_ms,
                                  expires_ms, claim.key_digest});
    }
    return answer;
  }

  // `claimed`: the key may be taken over.
  static ClaimAnswer answer_of(const Rows& held, const Claim& claim, std::int64_t now_ms) {
    if (held.number(0, 4) <= now_ms) return {Kind::claimed};
    if (held.text(0, 0) != claim.request_digest) return {Kind::conflict};
    const std::string& state = held.text(0, 2);
    if (state == "too_large") return {Kind::not_stored};
    if (state == "stored") {
      return {Kind::replay, KeptReply{static_cast<int>(held.number(0, 5)),
                                      headers_of(held.text(0, 6)), decoded(held.text(0, 7))}};
    }
    const bool is_dead = held.number(0, 8) > 0 || held.number(0, 3) <= now_ms;
    if (!is_dead) return {Kind::in_progress};
    return {claim.is_repeatable ? Kind::claimed : Kind::outcome_unknown};
  }

  const Context& context_;
  const std::int64_t incarnation_;
};

}  // namespace

ReplyColumns reply_columns_of(const ReplyToKeep& reply) {
  if (reply.how == ReplyToKeep::How::too_large) return {"too_large", 0, "", ""};
  return {"stored", reply.reply.status, text_of(reply.reply.headers),
          text::base64url(reply.reply.body)};
}

bool keep_charged_reply(Transaction& transaction, const ReplyToKeep& reply) {
  if (reply.how == ReplyToKeep::How::kept_before) {
    return !transaction.run(mark_stored, {reply.key_digest, reply.request_id}).empty();
  }
  const ReplyColumns columns = reply_columns_of(reply);
  return !transaction
              .run(write_reply, {columns.state, columns.status, columns.headers, columns.body,
                                 reply.key_digest, reply.request_id})
              .empty();
}

bool owns_claim(Connection& connection, const ReplyToKeep& reply) {
  return !connection.run(select_own, {reply.key_digest, reply.request_id}).empty();
}

std::uint32_t forget_old_replies(Transaction& transaction, std::int64_t now_ms) {
  const auto most = std::int64_t{limits::replay_forgotten_at_once_max};
  return static_cast<std::uint32_t>(transaction.run(delete_old_replays, {now_ms, most}).size());
}

std::unique_ptr<ledger::ReplayStore> make_replay_store(const Context& context,
                                                       std::int64_t incarnation) {
  return std::make_unique<SqlReplayStore>(context, incarnation);
}

}  // namespace turnpike::storage
