// Arbitrary code blobs: none causes a fault, and only complete code has a version.
#include <cstdint>
#include <cstdlib>

#include "substrate/codec/code_blob.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::substrate;
  const CodeFacts code = examine_code({data, size});
  if (code.size != size) std::abort();
  if (code.version && (!code.uncompressed_hash || code.version->spec_name.size() > 256)) {
    std::abort();
  }
  if (code.format == CodeFormat::unknown && code.uncompressed_hash) std::abort();
  (void)read_runtime_version({data, size});
  return 0;
}
