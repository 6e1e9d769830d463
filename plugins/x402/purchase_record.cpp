#include "x402/purchase_record.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "x402/json_object.h"
#include "x402/protocol/requirements.h"
#include "x402/terms.h"

namespace turnpike::x402 {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view purchase_root = "/v1/plugins/x402/purchases/";
constexpr std::size_t purchase_id_bytes_max = 64;

// Reads members of a stored object. is_sound() is false from the first member on that is not as it
// was written.
class StoredFields {
 public:
  explicit StoredFields(std::string_view text) : json_(Json::parse(text, nullptr, false)) {
    is_sound_ = json_.is_object();
  }
  [[nodiscard]] std::string text(const char* name) {
    const auto found = find(name);
    if (found == json_.end() || !found->is_string()) return broken<std::string>();
    return found->get<std::string>();
  }
  [[nodiscard]] std::int64_t number(const char* name) {
    const auto found = find(name);
    if (found == json_.end() || !found->is_number_integer()) return broken<std::int64_t>();
    return found->get<std::int64_t>();
  }
  [[nodiscard]] bool flag(const char* name) {
    const auto found = find(name);
    if (found == json_.end() || !found->is_boolean()) return broken<bool>();
    return found->get<bool>();
  }
  [[nodiscard]] bool is_sound() const noexcept { return is_sound_; }

 private:
  Json::const_iterator find(const char* name) const {
    return json_.is_object() ? json_.find(name) : json_.end();
  }
  template <class Value>
  Value broken() {
    is_sound_ = false;
    return {};
  }

  const Json json_;
  bool is_sound_ = false;
};

}  // namespace

std::string to_json(const PurchaseRecord& record) {
  JsonObject json;
  json.text("step", record.step_key);
  json.text("title", record.title);
  json.text("currency", record.currency);
  json.number("minor", record.minor);
  json.text("terms", record.terms);
  json.number("expires_ms", record.expires_ms);
  json.number("refunded_minor", record.refunded_minor);
  json.raw("cancelled", record.is_cancelled ? "true" : "false");
  return std::move(json).end();
}

std::optional<PurchaseRecord> purchase_of_json(std::string_view text) {
  StoredFields stored(text);
  PurchaseRecord record;
  record.step_key = stored.text("step");
  record.title = stored.text("title");
  record.currency = stored.text("currency");
  record.minor = stored.number("minor");
  record.terms = stored.text("terms");
  record.expires_ms = stored.number("expires_ms");
  record.refunded_minor = stored.number("refunded_minor");
  record.is_cancelled = stored.flag("cancelled");
  return stored.is_sound() ? std::optional(std::move(record)) : std::nullopt;
}

std::string to_json(const RefundRecord& record) {
  JsonObject json;
  json.text("purchase", record.purchase);
  json.text("payment", record.payment);
  json.number("minor", record.minor);
  json.text("amount", record.amount);
  json.number("owed_ms", record.owed_ms);
  json.text("transaction", record.transaction);
  return std::move(json).end();
}

std::optional<RefundRecord> refund_of_json(std::string_view text) {
  StoredFields stored(text);
  RefundRecord record;
  record.purchase = stored.text("purchase");
  record.payment = stored.text("payment");
  record.minor = stored.number("minor");
  record.amount = stored.text("amount");
  record.owed_ms = stored.number("owed_ms");
  record.transaction = stored.text("transaction");
  return stored.is_sound() ? std::optional(std::move(record)) : std::nullopt;
}

std::string path_of_purchase(std::string_view purchase_id) {
  return std::string(purchase_root).append(purchase_id);
}

std::optional<std::string_view> purchase_id_of(std::string_view text) noexcept {
  const bool is_id = !text.empty() && text.size() <= purchase_id_bytes_max &&
                     std::all_of(text.begin(), text.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '_' || c == '-';
                     });
  return is_id ? std::optional(text) : std::nullopt;
}

std::string atomic_amount(std::int64_t minor, std::uint32_t decimals) {
  constexpr std::uint32_t cent_decimals = 2;
  return std::to_string(minor) + std::string(decimals - cent_decimals, '0');
}

// The amount is the cents followed by zeros, and so is a share of it.
std::string atomic_share(std::int64_t minor, std::int64_t of_minor, std::string_view amount) {
  const std::size_t digits = std::to_string(of_minor).size();
  return std::to_string(minor) + std::string(amount.size() - std::min(amount.size(), digits), '0');
}

std::string terms_of_purchase(std::int64_t minor, std::span<const PricedAsset> assets) {
  std::string all = "[";
  for (const PricedAsset& asset : assets) {
    PaymentRequirements terms;
    terms.scheme = "exact";
    terms.network = asset.network;
    terms.asset = asset.address;
    terms.amount = atomic_amount(minor, asset.decimals);
    terms.pay_to = asset.pay_to;
    JsonObject entry;
    entry.text("asset", terms.asset);
    entry.text("atomic_amount", terms.amount);
    entry.number("decimals", asset.decimals);
    entry.text("name", asset.name);
    entry.text("network", terms.network);
    entry.text("offer_id", offer_id_of(terms));
    entry.text("pay_to", terms.pay_to);
    entry.text("scheme", terms.scheme);
    entry.text("transfer", asset.transfer);
    entry.text("version", asset.version);
    all.append(all.size() == 1 ? "" : ",").append(std::move(entry).end());
  }
  return all + "]";
}

Replay purchase_reply(const PaymentRecord& payment) {
  JsonObject paid;
  paid.text("purchaseId", payment.purchase);
  paid.text("network", payment.network);
  paid.text("asset", payment.asset);
  paid.text("amount", payment.amount);
  return {200, {{"Content-Type", "application/json"}}, std::move(paid).end()};
}

namespace keys {

std::string purchase(std::string_view purchase_id) {
  return std::string(purchases).append(purchase_id);
}

std::string payment_of_purchase(std::string_view purchase_id) {
  return identifier("purchase", purchase_id);
}

std::string refund(std::string_view payment_key, std::string_view refund_id) {
  return std::string(refunds).append(payment_key).append("/").append(refund_id);
}

std::string owed_refund(std::string_view payment_key, std::string_view refund_id) {
  return owed(payment_key).append("/").append(refund_id);
}

}  // namespace keys

}  // namespace turnpike::x402
