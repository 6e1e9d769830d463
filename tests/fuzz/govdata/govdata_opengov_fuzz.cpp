#include "import_once.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  turnpike::govdata::import_twice(turnpike::govdata::Format::opengov_csv, data, size);
  return 0;
}
