#include "stripe/signature.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <botan/hex.h>
#include <botan/mac.h>
#include <botan/mem_ops.h>

namespace turnpike::stripe {
namespace {

constexpr std::size_t timestamp_digits_max = 12;
constexpr std::size_t signatures_max = 16;

const std::uint8_t* octets(std::string_view text) noexcept {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

struct ReadHeader {
  std::string_view timestamp;
  std::vector<std::string_view> signatures;  // v1
};

bool is_timestamp(std::string_view text) noexcept {
  return !text.empty() && text.size() <= timestamp_digits_max &&
         std::all_of(text.begin(), text.end(),
                     [](char each) { return each >= '0' && each <= '9'; });
}

// Does not trim blanks, like Stripe's own libraries. Ignores items other than t and v1.
std::optional<ReadHeader> read_header(std::string_view header) {
  if (header.size() > signature_bytes_max) return std::nullopt;
  ReadHeader read;
  while (!header.empty()) {
    const std::string_view item = header.substr(0, header.find(','));
    header.remove_prefix(std::min(header.size(), item.size() + 1));
    if (item.starts_with("t=")) {
      if (!read.timestamp.empty() || !is_timestamp(item.substr(2))) return std::nullopt;
      read.timestamp = item.substr(2);
    } else if (item.starts_with("v1=")) {
      if (read.signatures.size() == signatures_max) return std::nullopt;
      read.signatures.push_back(item.substr(3));
    }
  }
  if (read.timestamp.empty() || read.signatures.empty()) return std::nullopt;
  return read;
}

bool equal_in_constant_time(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() &&
         Botan::constant_time_compare(octets(left), octets(right), left.size());
}

}  // namespace

std::string_view text_of(SignatureFault fault) noexcept {
  switch (fault) {
    case SignatureFault::none:
      return "it is right";
    case SignatureFault::malformed:
      return "Stripe-Signature has no t and v1 of the right form";
    case SignatureFault::late:
      return "Stripe-Signature is older than 5 minutes";
    case SignatureFault::early:
      return "Stripe-Signature is of a time to come";
    case SignatureFault::no_match:
      return "Stripe-Signature is of no secret of this endpoint";
  }
  return "";
}

std::string signature_of(std::string_view secret, std::string_view timestamp,
                         std::string_view body) {
  const auto mac = Botan::MessageAuthenticationCode::create_or_throw("HMAC(SHA-256)");
  mac->set_key(octets(secret), secret.size());
  mac->update(octets(timestamp), timestamp.size());
  mac->update('.');
  mac->update(octets(body), body.size());
  const auto digest = mac->final();
  return Botan::hex_encode(digest.data(), digest.size(), false);
}

SignatureFault check_signature(std::string_view header, std::string_view body,
                               std::span<const std::string> secrets, std::int64_t now_s) {
  const auto read = read_header(header);
  if (!read) return SignatureFault::malformed;
  std::int64_t sent_s = 0;
  const std::string_view digits = read->timestamp;
  std::from_chars(digits.data(), digits.data() + digits.size(), sent_s);
  if (sent_s < now_s - signature_tolerance_s) return SignatureFault::late;
  if (sent_s > now_s + signature_tolerance_s) return SignatureFault::early;
  bool is_right = false;
  for (const std::string& secret : secrets) {
    const std::string expected = signature_of(secret, digits, body);
    for (const std::string_view signature : read->signatures) {
      if (equal_in_constant_time(signature, expected)) is_right = true;
    }
  }
  return is_right ? SignatureFault::none : SignatureFault::no_match;
}

}  // namespace turnpike::stripe
