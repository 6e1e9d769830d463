// The settings `processors.stripe` of the deployment's configuration. Plain values, read once by
// bind().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <turnpike/helpers/mistakes.h>
#include <turnpike/processor.h>

namespace turnpike::stripe {

struct StripeSettings {
  std::string api_key;                       // empty: the secret is not available
  std::vector<std::string> webhook_secrets;  // a webhook may be signed with any; empty: none known
  std::vector<std::string> payment_methods = {"card"};
  bool computes_tax = false;
  bool makes_invoices = true;
  std::string api_base = "https://api.stripe.com";
  bool is_own_base = false;  // api_base is a test's server, in development

  [[nodiscard]] bool is_live() const noexcept;        // the key moves real money
  [[nodiscard]] bool is_restricted() const noexcept;  // the key has only the permissions granted
};

// Adds every error to `mistakes`, with its place, and warnings about valid settings to `notes`.
StripeSettings read_settings(const Settings& settings, std::string_view environment,
                             Mistakes& mistakes, std::vector<Note>& notes);

// "https://host[:port]" or "http://host[:port]" of a URL; empty if it is no valid HTTP URL.
std::string_view origin_of(std::string_view url) noexcept;

}  // namespace turnpike::stripe
