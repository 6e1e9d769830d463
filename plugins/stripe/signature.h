// The signature of a webhook (docs/protocols.md, "Stripe"):
//
//   Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>...][,v0=<hex>]
//
// v1 is the lower-case hex of HMAC-SHA256 over `<t> "." <raw body>`, keyed by the whole text of the
// endpoint's secret, "whsec_" included. While a secret is rolled, Stripe signs with both.
//
// Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace turnpike::stripe {

// How far t may lie from our clock, in both directions. Behind it, as Stripe's own libraries have
// it. Ahead of it, since t is when Stripe sent the notice: where it seems to lie in the future, our
// clock is slow, and notices would stay good for longer than they should.
inline constexpr std::int64_t signature_tolerance_s = 300;
inline constexpr std::size_t signature_bytes_max = 4'096;

enum class SignatureFault : std::uint8_t {
  none,
  malformed,  // not exactly one t of 1 to 12 digits, or no v1
  late,
  early,
  no_match,
};
std::string_view text_of(SignatureFault fault) noexcept;

// One of the v1 must be of one of the secrets; compared in a time that depends on lengths alone.
SignatureFault check_signature(std::string_view header, std::string_view body,
                               std::span<const std::string> secrets, std::int64_t now_s);

// The v1 of a body.
std::string signature_of(std::string_view secret, std::string_view timestamp,
                         std::string_view body);

}  // namespace turnpike::stripe
