// Arbitrary calls: none causes a fault, and decoded parts lie within the call.
#include <cstdint>
#include <cstdlib>

#include "substrate/chain/facts.h"
#include "substrate/codec/calls.h"
#include "substrate/codec/scale.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::substrate;
  const ByteView bytes(data, size);
  const DecodedCall call = decode_call(bytes, {});
  if (call.extra_bytes > size) std::abort();
  if ((call.kind == CallKind::unknown) == call.code_hash.has_value()) std::abort();
  for (const PatternMatch& match : find_patterns(bytes, Hash(), {})) {
    if (match.offset + Hash().size() > size) std::abort();
  }
  ScaleReader reader(bytes);
  while (!reader.failed() && !reader.rest().empty()) {
    const auto value = reader.compact();
    if (value && compact_of(*value).size() > size) std::abort();
  }
  (void)read_authorization(bytes);
  (void)read_last_upgrade(bytes);
  (void)read_go_ahead(bytes);
  return 0;
}
