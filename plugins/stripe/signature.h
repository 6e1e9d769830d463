// The signature of a webhook (docs/protocols.md, "Stripe"):
//
//   Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>...][,v0=<hex>]
//
// v1 is the lower-case hex of HMAC-SHA256 over `<t> "." <raw body>`, keyed by the whole text of the
// endpoint's secret, including "whsec_". While a secret is rolled, Stripe signs with both secrets.
//
// Pure functions; any Thread may call them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace turnpike::stripe {

// How far t may differ from our clock in either direction. Stripe's own libraries limit only how
// old t may be. A t in the future means that our clock is slow: then old notices would be accepted
// for longer than they should be.
inline constexpr std::int64_t signature_tolerance_s = 300;
inline constexpr std::size_t signature_bytes_max = 4'096;

enum class SignatureFault : std::uint8_t {
  none,
  malformed,  // not exactly one t of 1 to 12 digits, no v1 or more than 16, or a header too long
  late,
  early,
  no_match,
};
std::string_view text_of(SignatureFault fault) noexcept;

// One of the v1 must match one of the secrets. The time of a comparison depends only on lengths.
SignatureFault check_signature(std::string_view header, std::string_view body,
                               std::span<const std::string> secrets, std::int64_t now_s);

// The v1 for a body.
std::string signature_of(std::string_view secret, std::string_view timestamp,
                         std::string_view body);

}  // namespace turnpike::stripe
