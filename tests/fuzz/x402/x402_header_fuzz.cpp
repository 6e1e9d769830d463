// Arbitrary values of a PAYMENT-SIGNATURE header give a payment, a sentence or a reason. The
// compact text of a payment reads back as the same payment, and its verification causes no fault.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "x402/protocol/encoding.h"
#include "x402/protocol/payload.h"
#include "x402/protocol/verify.h"

namespace turnpike::x402 {
namespace {

void read(std::string_view header) {
  const auto payload = decode_payment(header);
  if (!payload) {
    const auto* malformed = std::get_if<Malformed>(&payload.error());
    if (malformed != nullptr && malformed->sentence().empty()) std::abort();
    return;
  }
  const auto again = decode_payment(base64_encode(payload->text()));
  if (!again || again->text() != payload->text() || again->accepted != payload->accepted ||
      payment_key(*again) != payment_key(*payload)) {
    std::abort();
  }
  // No seed is signed with its payer's key, so no signer may be recovered as the payer.
  const auto verified = verify(*payload, payload->accepted, {}, 1'800'000'000, 30);
  if (verified && verified->proof == Proof::recovered) std::abort();
}

}  // namespace
}  // namespace turnpike::x402

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  turnpike::x402::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
