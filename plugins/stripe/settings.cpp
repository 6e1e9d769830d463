#include "stripe/settings.h"

#include <algorithm>

namespace turnpike::stripe {
namespace {

constexpr std::size_t secret_bytes_max = 255;
constexpr std::size_t webhook_secrets_max = 8;
constexpr std::size_t payment_methods_max = 20;

bool is_visible(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char each) { return each > ' ' && each <= '~'; });
}

bool is_lower_word(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '_';
  });
}

// A file with a secret usually ends with a line break that is not part of the secret.
std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

void read_key(const Settings& settings, std::string_view environment, StripeSettings& read,
              Mistakes& mistakes, std::vector<Note>& notes) {
  if (settings.find("api_key") == nullptr) {
    return mistakes.add("api_key", "is required: {secret: {env: NAME}} or {secret: {file: PATH}}");
  }
  auto secret = settings.secret("api_key");
  if (!secret.ok()) return mistakes.add(secret.error());
  read.api_key = without_line_end(*std::move(secret));
  if (read.api_key.empty()) {
    notes.push_back({"its secret is not available, so nothing can be bought", "api_key"});
    return;
  }
  const std::string_view key = read.api_key;
  const bool is_key = key.starts_with("sk_live_") || key.starts_with("rk_live_") ||
                      key.starts_with("sk_test_") || key.starts_with("rk_test_");
  if (!is_key || key.size() > secret_bytes_max || !is_visible(key)) {
    return mistakes.add("api_key",
                        "is no secret or restricted key of Stripe: they begin with rk_live_, "
                        "rk_test_, sk_live_ or sk_test_");
  }
  const bool is_production = environment == "production";
  if (is_production && !read.is_live()) {
    mistakes.add("api_key",
                 "is a test key, and `environment` is production, where money is real: "
                 "use a live key, rk_live_...");
  }
  if (!is_production && read.is_live()) {
    mistakes.add("api_key",
                 "is a live key, and `environment` is not production: real cards would "
                 "be charged; use a test key, rk_test_...");
  }
  if (!read.is_restricted()) {
    notes.push_back(
        {"may do everything in the Stripe account: make a restricted key with the "
         "permissions that the plugin's README lists",
         "api_key"});
  }
}

void read_webhook_secrets(const Settings& settings, StripeSettings& read, Mistakes& mistakes,
                          std::vector<Note>& notes) {
  constexpr std::string_view key = "webhook_secrets";
  const Settings* list = settings.find(key);
  if (list == nullptr || list->kind == Settings::Kind::null) {
    notes.push_back(
        {"without webhook_secrets no notice of Stripe is believed, and payments are "
         "seen minutes later, by asking",
         std::string(key)});
    return;
  }
  if (list->kind != Settings::Kind::list || list->items.empty() ||
      list->items.size() > webhook_secrets_max) {
    return mistakes.add(
        Settings::wrong(key, "a list of 1 to " + std::to_string(webhook_secrets_max) + " secrets"));
  }
  for (std::size_t at = 0; at < list->items.size(); ++at) {
    const std::string where = std::string(key) + "[" + std::to_string(at) + "]";
    const Settings& item = list->items[at];
    if (item.kind != Settings::Kind::scalar || !item.is_secret) {
      mistakes.add(Settings::wrong(where, "{secret: {env: NAME}} or {secret: {file: PATH}}"));
      continue;
    }
    std::string secret = without_line_end(item.text);
    if (secret.empty()) {
      notes.push_back({"its secret is not available", where});
    } else if (!secret.starts_with("whsec_") || secret.size() > secret_bytes_max ||
               !is_visible(secret)) {
      mistakes.add(where, "is no signing secret of a webhook endpoint: they begin with whsec_");
    } else {
      read.webhook_secrets.push_back(std::move(secret));
    }
  }
}

void read_payment_methods(const Settings& settings, StripeSettings& read, Mistakes& mistakes) {
  constexpr std::string_view key = "payment_methods";
  const Settings* list = settings.find(key);
  if (list == nullptr) return;
  if (list->kind != Settings::Kind::list || list->items.empty() ||
      list->items.size() > payment_methods_max) {
    return mistakes.add(Settings::wrong(key, "a list of Stripe's payment methods: [card]"));
  }
  read.payment_methods.clear();
  for (std::size_t at = 0; at < list->items.size(); ++at) {
    const Settings& item = list->items[at];
    const std::string where = std::string(key) + "[" + std::to_string(at) + "]";
    const auto& known = read.payment_methods;
    if (item.kind != Settings::Kind::scalar || item.is_secret || !is_lower_word(item.text)) {
      mistakes.add(Settings::wrong(where, "a payment method as Stripe names it: card"));
    } else if (std::find(known.begin(), known.end(), item.text) != known.end()) {
      mistakes.add(where, "is in the list twice: leave one out");
    } else {
      read.payment_methods.push_back(item.text);
    }
  }
}

void read_tax(const Settings& settings, StripeSettings& read, Mistakes& mistakes,
              std::vector<Note>& notes) {
  const std::string tax = mistakes.take(settings.string("tax", "none"), std::string("none"));
  if (tax != "none" && tax != "automatic") {
    mistakes.add(Settings::wrong("tax", "none or automatic"));
  }
  read.computes_tax = tax == "automatic";
  if (!read.computes_tax) return;
  notes.push_back({"with tax no card is saved or charged later: Auto Top-Up buys nothing", "tax"});
}

void read_base(const Settings& settings, std::string_view environment, StripeSettings& read,
               Mistakes& mistakes) {
  if (settings.find("api_base") == nullptr) return;
  const std::string base = mistakes.take(settings.string("api_base", ""));
  if (environment != "development") {
    return mistakes.add("api_base",
                        "is for tests: leave it out where `environment` is not development");
  }
  if (base.empty() || origin_of(base) != base) {
    return mistakes.add(
        Settings::wrong("api_base", "scheme, host and port: http://127.0.0.1:8080"));
  }
  read.api_base = base;
  read.is_own_base = true;
}

}  // namespace

bool StripeSettings::is_live() const noexcept {
  return api_key.starts_with("sk_live_") || api_key.starts_with("rk_live_");
}

bool StripeSettings::is_restricted() const noexcept { return api_key.starts_with("rk_"); }

std::string_view origin_of(std::string_view url) noexcept {
  const std::size_t scheme_end = url.find("://");
  if (!url.starts_with("https://") && !url.starts_with("http://")) return {};
  const std::size_t host = scheme_end + 3;
  const std::string_view authority = url.substr(host, url.find_first_of("/?#\\", host) - host);
  const bool is_plain =
      !authority.empty() && std::all_of(authority.begin(), authority.end(), [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
               (each >= '0' && each <= '9') ||
               std::string_view("-.:[]").find(each) != std::string_view::npos;
      });
  return is_plain ? url.substr(0, host + authority.size()) : std::string_view();
}

StripeSettings read_settings(const Settings& settings, std::string_view environment,
                             Mistakes& mistakes, std::vector<Note>& notes) {
  StripeSettings read;
  mistakes.only(settings,
                {"api_key", "webhook_secrets", "payment_methods", "tax", "invoices", "api_base"});
  if (settings.kind != Settings::Kind::map && settings.kind != Settings::Kind::null) return read;
  read_key(settings, environment, read, mistakes, notes);
  read_webhook_secrets(settings, read, mistakes, notes);
  read_payment_methods(settings, read, mistakes);
  read_tax(settings, read, mistakes, notes);
  read.makes_invoices = mistakes.take(settings.boolean("invoices", true), true);
  read_base(settings, environment, read, mistakes);
  return read;
}

}  // namespace turnpike::stripe
