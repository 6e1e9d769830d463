// `processors.stripe` of the deployment's configuration. Read once per bind(); plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <turnpike/helpers/mistakes.h>
#include <turnpike/processor.h>

namespace turnpike::stripe {

struct StripeSettings {
  std::string api_key;                       // empty: its secret is not available
  std::vector<std::string> webhook_secrets;  // any of them may have signed; empty: none is known
  std::vector<std::string> payment_methods = {"card"};
  bool computes_tax = false;
  bool makes_invoices = true;
  std::string api_base = "https://api.stripe.com";
  bool is_own_base = false;  // of a test's server, in development

  [[nodiscard]] bool is_live() const noexcept;        // its money is real
  [[nodiscard]] bool is_restricted() const noexcept;  // it may do what it was given, no more
};

// Every mistake is noted with its place. What is right and yet worth a word goes to `notes`.
StripeSettings read_settings(const Settings& settings, std::string_view environment,
                             Mistakes& mistakes, std::vector<Note>& notes);

// "https://host[:port]" of a URL; empty: it is none of the web.
std::string_view origin_of(std::string_view url) noexcept;

}  // namespace turnpike::stripe
