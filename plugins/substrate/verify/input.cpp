#include "substrate/verify/input.h"

#include <array>
#include <initializer_list>
#include <limits>
#include <utility>

#include "substrate/verify/json.h"

namespace turnpike::substrate {
namespace {

constexpr std::size_t problems_max = 16;
constexpr std::size_t expected_name_bytes_max = 256;
constexpr std::size_t chain_key_bytes_max = 64;
constexpr int assurance_max = 5;
constexpr std::uint64_t u32_max = std::numeric_limits<std::uint32_t>::max();

class InputReader {
 public:
  explicit InputReader(const Json& body) : body_(body) {}

  Result<Input, std::vector<InputProblem>> read() {
    if (!body_.is_object()) {
      report("", "must be a JSON object");
      return std::move(problems_);
    }
    only(body_, "", {"mode", "chain", "at", "from", "expected", "code", "proposal",
                     "system_pallet_index", "min_assurance"});
    read_chain();
    read_at();
    read_expected();
    read_code();
    read_proposal();
    read_mode();
    read_rest();
    if (!problems_.empty()) return std::move(problems_);
    return std::move(input_);
  }

 private:
  void report(std::string location, std::string problem) {
    if (problems_.size() < problems_max) {
      problems_.push_back({std::move(location), std::move(problem)});
    }
  }

  void only(const Json& object, const std::string& place,
            std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : object.items()) {
      bool is_known = false;
      for (const std::string_view allowed : known) is_known = is_known || allowed == name;
      if (!is_known) report(place + "/" + name.substr(0, 64), "is no member of the input");
    }
  }

  // The member `name` if it is an object. Null if it is absent, or of another type and reported.
  const Json* object_at(const char* name) {
    const Json* const member = member_of(body_, name);
    if (member == nullptr || member->is_object()) return member;
    report(std::string("/") + name, "must be an object");
    return nullptr;
  }

  std::optional<std::uint64_t> number(const Json& object, const std::string& place,
                                      const char* name, std::uint64_t maximum) {
    const Json* const member = member_of(object, name);
    if (member == nullptr) return std::nullopt;
    const auto value = natural_of(*member);
    if (value && *value <= maximum) return value;
    report(place + "/" + name, "must be an integer from 0 to " + std::to_string(maximum));
    return std::nullopt;
  }

  std::optional<std::uint32_t> u32(const Json& object, const std::string& place,
                                   const char* name) {
    const auto value = number(object, place, name, u32_max);
    return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
  }

  std::optional<Hash> hash(const Json& object, const std::string& place, const char* name) {
    const Json* const member = member_of(object, name);
    if (member == nullptr) return std::nullopt;
    const auto* text = member->get_ptr<const std::string*>();
    auto value = text == nullptr ? std::nullopt : hash_of_hex(*text);
    if (!value) report(place + "/" + name, "must be 32 bytes in hex");
    return value;
  }

  std::optional<std::string> text(const Json& object, const std::string& place, const char* name,
                                  std::size_t bytes_max) {
    const Json* const member = member_of(object, name);
    if (member == nullptr) return std::nullopt;
    const auto* value = member->get_ptr<const std::string*>();
    if (value != nullptr && !value->empty() && value->size() <= bytes_max) return *value;
    report(place + "/" + name, "must be text of 1 to " + std::to_string(bytes_max) + " bytes");
    return std::nullopt;
  }

  std::optional<bool> flag(const Json& object, const std::string& place, const char* name) {
    const Json* const member = member_of(object, name);
    if (member == nullptr) return std::nullopt;
    if (member->is_boolean()) return member->get<bool>();
    report(place + "/" + name, "must be true or false");
    return std::nullopt;
  }

  std::optional<Bytes> long_hex(const Json& object, const std::string& place, const char* name) {
    const Json* const member = member_of(object, name);
    if (member == nullptr) return std::nullopt;
    const auto* value = member->get_ptr<const std::string*>();
    if (value != nullptr && value->size() > 2 * code_bytes_max + 2) {
      report(place + "/" + name, too_long());
      return std::nullopt;
    }
    auto bytes = value == nullptr ? std::nullopt : bytes_of_hex(*value);
    if (!bytes || bytes->empty()) {
      report(place + "/" + name, "must be hex of whole bytes, at least one");
      return std::nullopt;
    }
    if (bytes->size() > code_bytes_max) report(place + "/" + name, too_long());
    return bytes;
  }

  static std::string too_long() {
    return "is longer than " + std::to_string(code_bytes_max) + " bytes";
  }

  void read_chain() { input_.chain = text(body_, "", "chain", chain_key_bytes_max); }

  BlockAsk read_block(const Json& object, const std::string& place) {
    BlockAsk ask;
    only(object, place, {"block_hash", "block_number", "tag"});
    ask.hash = hash(object, place, "block_hash");
    ask.number = number(object, place, "block_number", u32_max);
    if (const Json* const tag = member_of(object, "tag")) {
      if (*tag == "finalized") {
        ask.tag = BlockTag::finalized;
      } else if (*tag == "best") {
        ask.tag = BlockTag::best;
      } else {
        report(place + "/tag", "must be \"finalized\" or \"best\"");
      }
    }
    if (ask.tag && (ask.hash || ask.number)) {
      report(place, "names a block by its tag and otherwise: give one of them");
    }
    return ask;
  }

  void read_at() {
    if (const Json* const at = object_at("at")) input_.at = read_block(*at, "/at");
    if (const Json* const from = object_at("from")) input_.from = read_block(*from, "/from");
  }

  void read_expected() {
    const Json* const object = object_at("expected");
    if (object == nullptr) return;
    const std::string place = "/expected";
    only(*object, place,
         {"spec_name", "spec_version", "transaction_version", "state_version", "impl_version",
          "code_hash", "uncompressed_code_hash", "sha256", "call_hash", "set_code_hash",
          "authorized_hash", "check_version"});
    Expected& expected = input_.expected;
    expected.spec_name = text(*object, place, "spec_name", expected_name_bytes_max);
    expected.spec_version = u32(*object, place, "spec_version");
    expected.transaction_version = u32(*object, place, "transaction_version");
    expected.state_version = u32(*object, place, "state_version");
    expected.impl_version = u32(*object, place, "impl_version");
    expected.code_hash = hash(*object, place, "code_hash");
    expected.uncompressed_code_hash = hash(*object, place, "uncompressed_code_hash");
    expected.sha256 = hash(*object, place, "sha256");
    expected.call_hash = hash(*object, place, "call_hash");
    expected.set_code_hash = hash(*object, place, "set_code_hash");
    expected.authorized_hash = hash(*object, place, "authorized_hash");
    expected.check_version = flag(*object, place, "check_version");
    for (const auto& [name, value] : object->items()) {
      input_.has_expected = input_.has_expected || !value.is_null();
    }
  }

  void read_code() {
    const Json* const object = object_at("code");
    if (object == nullptr) return;
    only(*object, "/code", {"base64", "hex"});
    const std::string* const base64 = text_member(*object, "base64");
    const bool has_hex = member_of(*object, "hex") != nullptr;
    if ((member_of(*object, "base64") != nullptr) == has_hex) {
      return report("/code", "needs one of base64 and hex");
    }
    if (has_hex) {
      input_.code = long_hex(*object, "/code", "hex");
      return;
    }
    // Check the size before decoding.
    if (base64 != nullptr && base64->size() > (code_bytes_max + 2) / 3 * 4) {
      return report("/code/base64", too_long());
    }
    input_.code = base64 == nullptr ? std::nullopt : bytes_of_base64(*base64);
    if (!input_.code || input_.code->empty()) {
      report("/code/base64", "must be base64 of at least one byte");
    } else if (input_.code->size() > code_bytes_max) {
      report("/code/base64", too_long());
    }
  }

  void read_proposal() {
    const Json* const object = object_at("proposal");
    if (object == nullptr) return;
    const std::string place = "/proposal";
    only(*object, place, {"call", "preimage_hash", "preimage_len", "kind"});
    Proposal proposal;
    proposal.call = long_hex(*object, place, "call");
    proposal.preimage_hash = hash(*object, place, "preimage_hash");
    proposal.preimage_length = u32(*object, place, "preimage_len");
    if (const Json* const kind = member_of(*object, "kind"); kind != nullptr && *kind != "auto") {
      const auto* name = kind->get_ptr<const std::string*>();
      proposal.kind = name == nullptr ? std::nullopt : call_kind_of(*name);
      if (!proposal.kind) report(place + "/kind", "is no kind of call that is known");
    }
    if (member_of(*object, "call") == nullptr && member_of(*object, "preimage_hash") == nullptr) {
      report(place, "needs a call or a preimage_hash");
    }
    input_.proposal = std::move(proposal);
  }

  void read_mode() {
    const Json* const mode = member_of(body_, "mode");
    static constexpr std::array<std::string_view, 4> names = {"blob", "authorization", "live",
                                                              "transition"};
    if (mode == nullptr || *mode == "auto") {
      input_.mode = input_.from                           ? VerifyMode::transition
                    : input_.proposal                     ? VerifyMode::authorization
                    : input_.chain && !input_.code        ? VerifyMode::live
                                                          : VerifyMode::blob;
    } else {
      bool is_known = false;
      for (std::size_t at = 0; at < names.size(); ++at) {
        if (*mode != names[at]) continue;
        input_.mode = static_cast<VerifyMode>(at);
        is_known = true;
      }
      if (!is_known) {
        report("/mode", "must be auto, blob, authorization, live or transition");
      }
    }
    const bool needs_chain =
        input_.mode == VerifyMode::live || input_.mode == VerifyMode::transition;
    if (needs_chain && member_of(body_, "chain") == nullptr) {
      report("/chain", "is required by the mode " + std::string(name_of(input_.mode)));
    }
    if (input_.from && input_.mode != VerifyMode::transition) {
      report("/from", "belongs to the mode transition alone");
    }
  }

  void read_rest() {
    if (const auto index = number(body_, "", "system_pallet_index", 255)) {
      input_.system_pallet_index = static_cast<std::uint8_t>(*index);
    }
    const auto assurance = number(body_, "", "min_assurance", assurance_max);
    const bool is_live = input_.mode == VerifyMode::live || input_.mode == VerifyMode::transition;
    input_.min_assurance = assurance ? static_cast<int>(*assurance) : is_live ? 2 : 0;
    const bool has_any = input_.has_expected || member_of(body_, "code") != nullptr ||
                         member_of(body_, "proposal") != nullptr;
    if (!has_any) report("", "needs at least one of expected, code and proposal");
  }

  const Json& body_;
  Input input_;
  std::vector<InputProblem> problems_;
};

}  // namespace

std::string_view name_of(VerifyMode mode) noexcept {
  switch (mode) {
    case VerifyMode::blob:
      return "blob";
    case VerifyMode::authorization:
      return "authorization";
    case VerifyMode::live:
      return "live";
    case VerifyMode::transition:
      break;
  }
  return "transition";
}

Result<Input, std::vector<InputProblem>> read_input(std::string_view body) {
  const auto json = read_bounded_json(body, {});
  if (!json) {
    return std::vector<InputProblem>{
        {"", "is no JSON, names a member twice, or is nested too deeply"}};
  }
  return InputReader(*json).read();
}

}  // namespace turnpike::substrate
