#include "x402/commands.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <turnpike/helpers/csv.h>

#include "x402/calls.h"
#include "x402/offers/did.h"
#include "x402/offers/keys.h"
#include "x402/offers/receipt_verify.h"
#include "x402/payments.h"
#include "x402/published_keys.h"
#include "x402/purchase_record.h"
#include "x402/remote/resolve.h"
#include "x402/settings.h"

namespace turnpike::x402 {
namespace {

using Json = nlohmann::ordered_json;

constexpr int done = 0;
constexpr int failed = 1;
constexpr int usage = 2;
constexpr std::int64_t command_timeout_ms = 60'000;
constexpr std::uint32_t printed_records = 500;

constexpr std::string_view no_refund_owed = "no refund is owed for the payment ";

constexpr std::string_view x402_usage =
    "usage: turnpike x402 payments [--format ndjson|csv]\n"
    "       turnpike x402 totals\n"
    "       turnpike x402 obligations\n"
    "       turnpike x402 refunded PAYMENT --transaction HASH\n"
    "       turnpike x402 unknown\n"
    "       turnpike x402 doubted\n"
    "       turnpike x402 resolve PAYMENT --settled TRANSACTION [--reason TEXT]\n"
    "       turnpike x402 resolve PAYMENT --not-settled --reason TEXT\n"
    "       turnpike x402 keys\n"
    "       turnpike x402 rotate [--algorithm ES256K|EdDSA]\n"
    "All take --config, --set and --json.\n";
constexpr std::string_view receipt_usage =
    "usage: turnpike receipt verify FILE|- [--did FILE]\n"
    "FILE holds a receipt, an offer, or a PAYMENT-RESPONSE or PAYMENT-REQUIRED header. Without "
    "--did the\nkeys of this service are used.\n";

// The words of a command: options with values, flags, and the remaining words in order.
struct Words {
  std::map<std::string_view, std::string_view> options;
  std::vector<std::string_view> rest;
  bool is_sound = true;
};

Words read_words(std::span<const std::string_view> words,
                 std::initializer_list<std::string_view> options, std::string_view flag = {}) {
  Words read;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (!words[at].starts_with("--")) {
      read.rest.push_back(words[at]);
      continue;
    }
    if (words[at] == flag) {
      read.options[flag] = "";
      continue;
    }
    const bool is_known = std::find(options.begin(), options.end(), words[at]) != options.end();
    if (!is_known || at + 1 == words.size()) {
      read.is_sound = false;
      break;
    }
    read.options[words[at]] = words[at + 1];
    ++at;
  }
  return read;
}

class X402Command {
 public:
  X402Command(const CommandInput& input, Console& console, Host& host)
      : input_(input),
        console_(console),
        host_(host),
        call_(host.clock(), command_timeout_ms),
        payments_(host.store()) {}

  int run();

 private:
  using Each = std::function<bool(const StoreRecord&)>;  // false: it cannot be read

  int fail(const std::string& message) {
    console_.error(message);
    return failed;
  }
  // Visits every record below `prefix`. Returns false if one cannot be read, after reporting it.
  bool each(std::string_view prefix, const Each& visit);
  void print(const Json& value, const std::string& text) {
    console_.out((input_.json ? value.dump() : text) + "\n");
  }

  int list_payments(std::string_view format);
  int totals();
  enum class Listed : std::uint8_t { owed, open, doubted };
  static bool is_listed(Listed what, const PaymentRecord& record) noexcept;
  int list_states(Listed what);
  int refunded(std::string_view key, std::string_view transaction);
  // `name` is "<payment>/<refund>", as it is listed.
  int refunded_of_purchase(std::string_view name, std::string_view transaction);
  // Ends an open settlement that nothing else can end, on the operator's word. `transaction`
  // settled it; if empty, the payment was not settled and never will be.
  int declare(std::string_view key, std::string_view transaction, std::string_view reason);
  // Returns why an operator's word is not accepted yet; nullopt if it is.
  std::optional<std::string> can_end_otherwise(const PaymentRecord& record) const;
  int list_keys();
  int rotate(std::string_view algorithm);
  [[nodiscard]] std::string keys_folder() const {
    return std::string(input_.data_dir) + "/x402/keys";
  }

  const CommandInput& input_;
  Console& console_;
  Host& host_;
  OwnCall call_;
  Payments payments_;
};

// What was settled, owed and refunded of one asset.
struct Sums {
  std::uint64_t payments = 0;
  std::string settled = "0";
  std::string owed = "0";
  std::string refunded = "0";
  std::string disproved = "0";  // the part of `settled` that a chain disproved
};
using Totals = std::map<std::pair<std::string, std::string>, Sums>;

void add(Totals& totals, const Json& entry) {
  Sums& sums = totals[{entry.value("network", ""), entry.value("asset", "")}];
  const std::string what = entry.value("entry", "");
  const std::string amount = entry.value("amount", "0");
  if (what == "settled") {
    ++sums.payments;
    sums.settled = decimal_sum(sums.settled, amount);
  } else if (what == "refund_owed") {
    sums.owed = decimal_sum(sums.owed, amount);
  } else if (what == "refunded") {
    sums.refunded = decimal_sum(sums.refunded, amount);
  } else if (what == "disproved") {
    sums.disproved = decimal_sum(sums.disproved, amount);
  }
}

Json to_json(const Totals& totals) {
  Json list = Json::array();
  for (const auto& [asset, sums] : totals) {
    list.push_back({{"network", asset.first},
                    {"asset", asset.second},
                    {"payments", sums.payments},
                    {"settled", sums.settled},
                    {"refunds_owed", sums.owed},
                    {"refunded", sums.refunded},
                    {"disproved", sums.disproved}});
  }
  return list;
}

constexpr const char* columns[] = {"entry",       "at_ms",     "payment",    "network",
                                   "asset",       "amount",    "payer",      "pay_to",
                                   "transaction", "operation", "route_id",   "price_version",
                                   "offer_id",    "resource",  "request_id", "note",
                                   "purchase"};

std::string csv_line(const Json& entry) {
  std::string line;
  for (const char* column : columns) {
    if (column != columns[0]) line += ',';
    const auto value = entry.find(column);
    if (value == entry.end()) continue;
    line += csv_field(value->is_string() ? value->get<std::string>() : value->dump());
  }
  return line += '\n';
}

int X402Command::run() {
  constexpr std::string_view not_settled = "--not-settled";
  const Words words = read_words(
      input_.words, {"--format", "--transaction", "--algorithm", "--settled", "--reason"},
      not_settled);
  const std::string_view what = words.rest.empty() ? "" : words.rest.front();
  const auto option = [&](std::string_view name, std::string_view fallback) {
    const auto found = words.options.find(name);
    return found == words.options.end() ? fallback : found->second;
  };
  if (words.is_sound && words.rest.size() == 1) {
    if (what == "payments") return list_payments(option("--format", "ndjson"));
    if (what == "totals") return totals();
    if (what == "obligations") return list_states(Listed::owed);
    if (what == "unknown") return list_states(Listed::open);
    if (what == "doubted") return list_states(Listed::doubted);
    if (what == "keys") return list_keys();
    if (what == "rotate") return rotate(option("--algorithm", ""));
  }
  if (words.is_sound && words.rest.size() == 2 && what == "refunded") {
    return refunded(words.rest[1], option("--transaction", ""));
  }
  const std::string_view settled = option("--settled", "");
  const bool is_one_outcome = settled.empty() == words.options.contains(not_settled);
  if (words.is_sound && words.rest.size() == 2 && what == "resolve" && is_one_outcome) {
    return declare(words.rest[1], settled, option("--reason", ""));
  }
  console_.error(std::string(x402_usage));
  return usage;
}

bool X402Command::each(std::string_view prefix, const Each& visit) {
  std::string after;
  bool all_read = true;
  for (;;) {
    OwnCall call(host_.clock(), command_timeout_ms);
    const auto page = host_.store().scan(prefix, after, printed_records, call);
    if (!page.ok()) {
      console_.error("the database cannot be read: " + page.error().message);
      return false;
    }
    for (const StoreRecord& record : *page) {
      if (visit(record)) continue;
      console_.error("the record " + record.key + " cannot be read");
      all_read = false;
    }
    if (page->empty()) return all_read;
    after = page->back().key;
  }
}

// Prints entries alone, for any reader; the totals have a command of their own.
int X402Command::list_payments(std::string_view format) {
  if (format != "ndjson" && format != "csv") return fail("--format is ndjson or csv");
  const bool is_csv = format == "csv";
  if (is_csv) {
    std::string head;
    for (const char* column : columns) head.append(head.empty() ? "" : ",").append(column);
    console_.out(head + "\n");
  }
  const bool is_read = each(keys::entries, [&](const StoreRecord& record) {
    const Json entry = Json::parse(record.value, nullptr, false);
    if (!entry.is_object()) return false;
    console_.out(is_csv ? csv_line(entry) : record.value + "\n");
    return true;
  });
  return is_read ? done : failed;
}

int X402Command::totals() {
  Totals sums;
  const bool is_read = each(keys::entries, [&](const StoreRecord& record) {
    const Json entry = Json::parse(record.value, nullptr, false);
    if (entry.is_object()) add(sums, entry);
    return entry.is_object();
  });
  if (!is_read) return failed;
  std::string text;
  for (const auto& [asset, total] : sums) {
    text += asset.first + " " + asset.second + ": " + std::to_string(total.payments) +
            " payments, " + total.settled + " settled, " + total.owed + " owed as refunds, " +
            total.refunded + " refunded, " + total.disproved + " disproved (atomic units)\n";
  }
  if (text.empty()) text = "no payments\n";
  text.pop_back();
  print(to_json(sums), text);
  return done;
}

// Whether a payment that is named below the list's prefix belongs in the list as it now stands.
bool X402Command::is_listed(Listed what, const PaymentRecord& record) noexcept {
  switch (what) {
    case Listed::owed:
      return true;
    case Listed::doubted:
      return record.audit == Audit::doubted;
    case Listed::open:
      break;
  }
  return record.state == PaymentState::settling || record.state == PaymentState::settlement_unknown;
}

int X402Command::list_states(Listed what) {
  const bool is_owed = what == Listed::owed;
  const std::string_view prefix = is_owed                ? keys::owed_refunds
                                  : what == Listed::open ? keys::open
                                                         : keys::audits;
  Json list = Json::array();
  std::string text;
  const bool is_read = each(prefix, [&](const StoreRecord& record) {
    std::string name = record.key.substr(record.key.rfind('/') + 1);
    std::optional<RefundRecord> part;  // set for a part of what paid for a purchase
    if (is_owed && record.key.size() > prefix.size() + name.size()) {
      part = refund_of_json(record.value);
      if (!part) return false;
      name = record.key.substr(prefix.size());
    }
    const std::string key = name.substr(0, name.find('/'));
    OwnCall call(host_.clock(), command_timeout_ms);
    const auto payment = payments_.find(key, call);
    if (!payment.ok()) return false;
    if (!*payment) return true;  // ended meanwhile
    const PaymentRecord& known = (*payment)->record;
    if (!is_listed(what, known)) return true;
    const std::string& amount = part ? part->amount : known.amount;
    list.push_back({{"payment", name},
                    {"purchase", known.purchase},
                    {"state", part ? name_of(PaymentState::owed) : name_of(known.state)},
                    {"network", known.network},
                    {"asset", known.asset},
                    {"amount", amount},
                    {"payer", known.payer},
                    {"transaction", known.transaction},
                    {"operation", known.operation},
                    {"since_ms", part      ? part->owed_ms
                                 : is_owed ? known.ended_ms
                                           : known.settling_ms},
                    {"audit", name_of(known.audit)},
                    {"facilitator", known.facilitator},
                    {"attempts", known.attempts}});
    text += name + "  " + amount + " of " + known.asset + " on " + known.network +
            (is_owed ? " to " : " from ") + known.payer + "  " + known.operation + "\n";
    return true;
  });
  if (!is_read && list.empty()) return failed;
  if (text.empty()) {
    text = is_owed                ? "no refunds are owed\n"
           : what == Listed::open ? "no outcome is open\n"
                                  : "no settlement is doubted\n";
  }
  text.pop_back();
  print(list, text);
  return is_read ? done : failed;
}

int X402Command::refunded(std::string_view key, std::string_view transaction) {
  if (transaction.empty()) return fail("name the refund's transaction with --transaction");
  if (key.find('/') != key.npos) return refunded_of_purchase(key, transaction);
  const auto found = payments_.find(key, call_);
  if (!found.ok()) return fail("the database cannot be read: " + found.error().message);
  if (!*found || (*found)->record.state != PaymentState::owed) {
    return fail(std::string(no_refund_owed) + std::string(key) +
                "; see turnpike x402 obligations");
  }
  KnownPayment payment = **found;
  PaymentRecord next = payment.record;
  next.state = PaymentState::refunded;
  next.reason = "refunded by " + std::string(transaction);
  const Step step = payments_.write(payment, std::move(next), {.entry = "refunded"}, call_);
  if (step != Step::done) return fail("it could not be recorded; nothing was changed");
  print({{"ok", true}, {"payment", key}}, "recorded");
  return done;
}

int X402Command::refunded_of_purchase(std::string_view name, std::string_view transaction) {
  const std::string refund_key = std::string(keys::refunds).append(name);
  const std::string owed_key = keys::owed(name);
  const auto stored = host_.store().get(refund_key, call_);
  const auto payment = payments_.find(name.substr(0, name.find('/')), call_);
  if (!stored.ok() || !payment.ok()) return fail("the database cannot be read");
  auto refund = *stored ? refund_of_json((*stored)->value) : std::nullopt;
  if (!refund || !*payment || !refund->transaction.empty()) {
    return fail(std::string(no_refund_owed) + std::string(name) +
                "; see turnpike x402 obligations");
  }
  refund->transaction = transaction;
  KnownPayment part = **payment;
  part.record.amount = refund->amount;
  const std::int64_t at_ms = payments_.now_ms();
  const std::string what = "refunded." + std::string(name.substr(name.find('/') + 1));
  const std::string entry_key = keys::entry(at_ms, part.key, what);
  const std::string entry =
      entry_json(part, "refunded", at_ms, "refunded by " + std::string(transaction));
  const std::string text = to_json(*refund);
  const StoreCheck unchanged[] = {{refund_key, (*stored)->version}};
  const StoreWrite writes[] = {
      {refund_key, text}, {owed_key, std::nullopt}, {entry_key, entry}};
  if (host_.store().apply(unchanged, writes, call_).outcome != StoreOutcome::applied) {
    return fail("whether it was recorded is not certain: see turnpike x402 obligations");
  }
  print({{"ok", true}, {"payment", name}}, "recorded");
  return done;
}

std::optional<std::string> X402Command::can_end_otherwise(const PaymentRecord& record) const {
  Mistakes mistakes;
  const LaneSettings settings = read_settings(input_.settings, true, mistakes);
  if (!mistakes.none()) {
    const Mistake& first = mistakes.found().front();
    return "lanes.x402" + (first.where.empty() ? "" : "." + first.where) + ": " + first.message;
  }
  const bool has_chain = std::any_of(
      settings.chains.begin(), settings.chains.end(),
      [&record](const ChainSettings& chain) { return chain.network == record.network; });
  if (has_chain && !record.nonce.empty()) {
    return "the chain tells what became of it: see that the node of " + record.network +
           " in lanes.x402.chains answers";
  }
  const std::int64_t end_ms = certain_end_s(record.valid_before_s) * 1000;
  if (payments_.now_ms() < end_ms) return "a facilitator may still settle it: it is valid";
  if (record.attempted_ms < end_ms) {
    return "no facilitator was asked since it ended: the gateway does that while it runs";
  }
  if (payments_.now_ms() < record.lease_until_ms) return "a node is asking about it: try again";
  return std::nullopt;
}

int X402Command::declare(std::string_view key, std::string_view transaction,
                         std::string_view reason) {
  if (transaction.empty() && reason.empty()) return fail("say with --reason how you know");
  const auto found = payments_.find(key, call_);
  if (!found.ok()) return fail("the database cannot be read: " + found.error().message);
  if (!*found || ((*found)->record.state != PaymentState::settling &&
                  (*found)->record.state != PaymentState::settlement_unknown)) {
    return fail("no outcome is open of the payment " + std::string(key) +
                "; see turnpike x402 unknown");
  }
  KnownPayment payment = **found;
  if (const auto why = can_end_otherwise(payment.record)) return fail("not taken: " + *why);
  if (!transaction.empty() && !is_transaction(transaction, payment.record.network)) {
    return fail(std::string(transaction) + " is no transaction of " + payment.record.network);
  }
  std::string note = "declared by an operator";
  if (!reason.empty()) note.append(": ").append(reason);
  PaymentRecord next = payment.record;
  Beside beside{.drops_reply = transaction.empty(), .closes = true, .entry = "not_settled"};
  beside.note = note;
  next.lease_until_ms = 0;
  next.ended_ms = payments_.now_ms();
  next.state = PaymentState::never_paid;
  next.reason = "declared_not_settled";
  if (!transaction.empty()) {
    // Without a stored reply the payer gets nothing for it: the reconciler records that a refund is
    // owed.
    beside.closes = next.has_reply;
    beside.entry = "settled";
    next.state = next.has_reply ? PaymentState::answered : PaymentState::settled;
    next.reason.clear();
    next.transaction = transaction;
    next.settled_ms = next.ended_ms;
    payment.response = payment_response(next, "{}");
  }
  switch (payments_.write(payment, std::move(next), beside, call_)) {
    case Step::done:
      print({{"ok", true}, {"payment", key}}, "recorded");
      return done;
    case Step::lost:
      return fail("it was changed meanwhile; nothing was recorded. Look at it again");
    case Step::unavailable:
      return fail("the database does not answer; nothing was recorded");
    case Step::unknown:
      break;
  }
  return fail("whether it was recorded is not known: see turnpike x402 unknown");
}

int X402Command::list_keys() {
  Json list = Json::array();
  std::string text;
  const auto known = published_keys(host_.store(), call_);
  if (!known.ok()) return fail("the database cannot be read: " + known.error().message);
  for (const PublishedKey& key : *known) {
    Json entry = {{"key", key.fragment}, {"created_ms", key.created_ms}, {"retired_ms", nullptr}};
    if (key.retired_ms) entry["retired_ms"] = *key.retired_ms;
    list.push_back(entry);
    text += key.fragment + (key.retired_ms ? "  retired\n" : "  signs\n");
  }
  if (text.empty()) text = "no keys: they are made when payments are first offered\n";
  text.pop_back();
  print(list, text);
  return done;
}

int X402Command::rotate(std::string_view algorithm) {
  const auto chosen = algorithm_named(algorithm.empty() ? "ES256K" : algorithm);
  if (!chosen) return fail("--algorithm is ES256K or EdDSA");
  auto ring = KeyRing::open(keys_folder(), host_.random(), host_.clock(), *chosen);
  if (!ring.ok()) return fail(ring.error());
  if (auto rotated = (*ring)->rotate(*chosen); !rotated.ok()) return fail(rotated.error());
  if (!publish_keys(**ring, host_.store(), call_).ok()) {
    return fail("the new key signs, but could not be published; the gateway will do so");
  }
  const auto active = (*ring)->active();
  print({{"key", active->fragment}}, active->fragment + " signs within some seconds");
  return done;
}

// ---- receipt ------------------------------------------------------------------------------------

std::optional<std::string> read_file(std::string_view path) {
  if (path == "-") {
    std::string piped;
    char part[4096];
    for (std::size_t got; (got = std::fread(part, 1, sizeof(part), stdin)) > 0;) {
      piped.append(part, got);
    }
    return piped;
  }
  std::stringstream text;
  std::ifstream file{std::string(path), std::ios::binary};
  text << file.rdbuf();
  if (!file) return std::nullopt;
  return text.str();
}

// Returns the did.json of this service as it would publish it now.
Result<std::string> own_document(const CommandInput& input, Host& host) {
  const auto did = did_web(input.public_origin);
  if (!did.ok()) return Failure{FailureKind::invalid_settings, did.error(), {}, false};
  OwnCall call(host.clock(), command_timeout_ms);
  const auto known = published_keys(host.store(), call);
  if (!known.ok()) return known.error();
  return did_document(*did, *known);
}

Json to_json(const Statement& statement) {
  return {{"payload", Json::parse(statement.payload, nullptr, false)},
          {"kid", statement.kid},
          {"alg", name_of(statement.algorithm)},
          {"key_of_host", statement.is_of_host},
          {"key_retired", statement.is_key_retired},
          {"doubts", statement.doubts}};
}

int verify_receipt(const CommandInput& input, Console& console, Host& host) {
  const Words words = read_words(input.words, {"--did"});
  if (!words.is_sound || words.rest.size() != 2 || words.rest[0] != "verify") {
    console.error(std::string(receipt_usage));
    return usage;
  }
  const auto text = read_file(words.rest[1]);
  if (!text) {
    console.error("cannot read " + std::string(words.rest[1]));
    return failed;
  }
  std::optional<std::string> document;
  if (const auto named = words.options.find("--did"); named != words.options.end()) {
    document = read_file(named->second);
    if (!document) {
      console.error("cannot read " + std::string(named->second));
      return failed;
    }
  } else {
    auto own = own_document(input, host);
    if (!own.ok()) {
      console.error("the keys of this service cannot be read: " + own.error().message);
      return failed;
    }
    document = *std::move(own);
  }
  const auto statements = verify_statements(*text, *document);
  if (!statements.ok()) {
    console.error("not valid: " + statements.error());
    return failed;
  }
  Json list = Json::array();
  bool has_doubts = false;
  for (const Statement& statement : *statements) {
    list.push_back(to_json(statement));
    has_doubts = has_doubts || !statement.doubts.empty();
    if (input.json) continue;
    console.out("valid, signed by " + statement.kid + ": " + statement.payload + "\n");
    for (const std::string& doubt : statement.doubts) console.out("but " + doubt + "\n");
  }
  if (input.json) console.out(list.dump() + "\n");
  return has_doubts ? failed : done;
}

}  // namespace

std::string decimal_sum(std::string_view left, std::string_view right) {
  std::string sum;
  int carry = 0;
  for (std::size_t at = 0; at < std::max(left.size(), right.size()) || carry != 0; ++at) {
    if (at < left.size()) carry += left[left.size() - 1 - at] - '0';
    if (at < right.size()) carry += right[right.size() - 1 - at] - '0';
    sum += static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  std::reverse(sum.begin(), sum.end());
  return sum;
}

int run_command(std::string_view word, const CommandInput& input, Console& console, Host& host) {
  if (word == "receipt") return verify_receipt(input, console, host);
  return X402Command(input, console, host).run();
}

}  // namespace turnpike::x402
