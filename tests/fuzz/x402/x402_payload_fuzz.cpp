// The JSON of a payment (without base64), compared with nlohmann-json: text that our reader accepts
// is JSON with the same content, and text that it calls invalid is invalid.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "x402/protocol/binding.h"
#include "x402/protocol/extensions.h"
#include "x402/protocol/json.h"
#include "x402/protocol/payload.h"

namespace turnpike::x402 {
namespace {

using nlohmann::json;

// Empty if nlohmann-json cannot decide: some numbers are out of its range, and a NUL ends its text.
std::optional<json> read_by_nlohmann(const std::string& text) {
  if (text.find('\0') != text.npos) return std::nullopt;
  try {
    return json::parse(text);
  } catch (const json::out_of_range&) {
    return std::nullopt;
  } catch (const json::parse_error&) {
    return json(json::value_t::discarded);
  }
}

void compare(const std::string& text) {
  const auto ours = JsonText::parse(text);
  const bool is_deep = !ours && ours.error() == JsonFault::too_deep;  // only ours has this bound
  const auto theirs = is_deep ? std::nullopt : read_by_nlohmann(text);
  if (!theirs) return;
  if (!ours) {
    const bool is_json = ours.error() != JsonFault::syntax && ours.error() != JsonFault::not_utf8;
    if (!is_json && !theirs->is_discarded()) std::abort();
    return;
  }
  if (theirs->is_discarded() || json::parse(ours->text()) != *theirs) std::abort();
  if (!json_equal(ours->root(), ours->root())) std::abort();
}

void read(const std::string& text) {
  const auto payload = read_payment(text);
  if (!payload) return;
  static const Binding binding({1, 2, 3});
  static const std::vector<OfferedExtension> offered = [] {
    std::vector<OfferedExtension> list;
    for (const char* name : {"payment-identifier", "offer-receipt", "builder-code"}) {
      list.push_back({name, std::move(*JsonText::parse(R"({"required":false,"s":["a"]})"))});
    }
    return list;
  }();
  echoes(*payload, offered);
  if (!binding.check({"rt", "GET", "/", "", {}}, *payload, 1)) std::abort();  // a MAC was guessed
}

}  // namespace
}  // namespace turnpike::x402

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  turnpike::x402::compare(text);
  turnpike::x402::read(text);
  return 0;
}
