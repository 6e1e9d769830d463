// Arbitrary bytes: a Stripe-Signature, a newline and a body. Without the secret, nothing is
// accepted. With the right signature appended, a header is refused only if it is malformed or has
// another time.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/check.h"
#include "stripe/signature.h"

using turnpike::fuzz::check;

namespace {

constexpr std::int64_t now_s = 1'790'000'000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::stripe;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\n');
  const std::string header(all.substr(0, end));
  const std::string_view body = end == all.npos ? std::string_view() : all.substr(end + 1);
  const std::vector<std::string> secrets = {"whsec_nobody_knows_this", "whsec_nor_that"};
  const SignatureFault fault = check_signature(header, body, secrets, now_s);
  check(fault != SignatureFault::none && !text_of(fault).empty());
  if (fault == SignatureFault::malformed) return 0;
  // The header is not malformed, so it has exactly one time.
  const std::size_t at = header.starts_with("t=") ? 0 : header.find(",t=") + 1;
  const std::string time = header.substr(at + 2, header.find(',', at) - at - 2);
  const std::string right = header + ",v1=" + signature_of(secrets[1], time, body);
  const SignatureFault again = check_signature(right, body, secrets, now_s);
  check(again == SignatureFault::malformed ||  // too many or too long
        again == (fault == SignatureFault::no_match ? SignatureFault::none : fault));
  return 0;
}
