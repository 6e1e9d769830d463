// Arbitrary input of callers: it is read, or every problem has a message.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "substrate/verify/input.h"
#include "substrate/verify/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::substrate;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto input = read_input(text);
  if (!input.ok()) {
    if (input.error().empty()) std::abort();
    for (const InputProblem& problem : input.error()) {
      if (problem.problem.empty()) std::abort();
    }
  }
  (void)text_of_reply(text);
  return 0;
}
