#include "substrate/tool.h"

#include "substrate/verify/report.h"

namespace turnpike::substrate {
namespace {

constexpr std::string_view description =
    "Checks a runtime upgrade of a Substrate chain: whether a wasm blob has the code hash that a "
    "release page shows, whether the call of a referendum authorises exactly that code, whether a "
    "chain runs or will run it, and in which block it changed. Give `expected` (hashes and "
    "versions), `code` (the blob), `proposal` (the call or its preimage hash), and `chain` (a key "
    "of this server's table) for what is to be looked at on a chain; blob and authorization work "
    "without one. The verdict is one of verified, pending, content_equal, inconclusive, rejected "
    "and mismatch; each check says what it found. The code is never executed.";

std::string text_of_result(std::string_view reply) { return text_of_reply(reply); }

}  // namespace

const OperationTool& verifier_tool() noexcept {
  static const OperationTool tool = {.name = "service.substrate.runtime_upgrade.verify",
                                         .title = "Verify a Substrate runtime upgrade",
                                         .description = description,
                                         .input_schema = input_schema(),
                                         .output_schema = output_schema(),
                                         .is_read_only = true,
                                         .text_of = &text_of_result};
  return tool;
}

}  // namespace turnpike::substrate
