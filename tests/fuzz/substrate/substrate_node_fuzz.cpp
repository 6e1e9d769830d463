// Arbitrary answers of nodes: none causes a fault.
#include <cstdint>
#include <string_view>

#include "substrate/chain/facts.h"
#include "substrate/verify/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::substrate;
  const auto json = read_bounded_json({reinterpret_cast<const char*>(data), size}, {16, 4'096});
  if (!json) return 0;
  if (const auto header = read_header(*json)) (void)hash_of_header(*header);
  (void)read_rpc_version(*json);
  (void)read_hash(*json);
  return 0;
}
