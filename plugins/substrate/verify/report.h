// Report: the checks and their results. The verdict follows from them by fixed rules, and nothing
// is inferred from unknown facts. Values; one Thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "substrate/codec/bytes.h"
#include "substrate/codec/calls.h"
#include "substrate/codec/code_blob.h"
#include "substrate/verify/input.h"

namespace turnpike::substrate {

enum class CheckStatus : std::uint8_t { pass, fail, warn, unknown, skip };
enum class Weight : std::uint8_t { critical, important, info };
enum class Verdict : std::uint8_t {
  mismatch,
  rejected,
  pending,
  content_equal,
  inconclusive,
  verified
};
std::string_view name_of(Verdict verdict) noexcept;

// Where the facts of a check come from.
enum class Source : std::uint8_t { input, blob, call, rpc };

struct Check {
  std::string id;
  CheckStatus status = CheckStatus::skip;
  Weight severity = Weight::info;
  Source source = Source::input;
  std::string detail;
  std::string expected = {};
  std::string actual = {};
};

// Texts for Check::expected and Check::actual.
std::string shown(const Hash& hash);
inline std::string shown(const std::string& text) { return text; }
inline std::string shown(std::uint32_t number) { return std::to_string(number); }
inline std::string shown(std::uint64_t number) { return std::to_string(number); }
inline std::string shown(bool flag) { return flag ? "true" : "false"; }

struct BlockFacts {
  std::optional<std::uint64_t> number = std::nullopt;
  std::optional<Hash> hash = std::nullopt;
  std::optional<Hash> state_root = std::nullopt;
};

struct RuntimeFacts {
  RuntimeVersion version;
  Source source = Source::blob;
};

struct Authorization {
  bool is_present = false;
  std::optional<Hash> code_hash = std::nullopt;
  std::optional<bool> check_version = std::nullopt;
};

struct ProposalFacts {
  CallKind kind = CallKind::unknown;
  Hash call_hash{};
  std::optional<std::uint64_t> length = std::nullopt;
  std::optional<Hash> code_hash = std::nullopt;
  std::optional<bool> check_version = std::nullopt;
  bool is_wrapped = false;
  std::vector<PatternMatch> matches = {};
};

// One answer of a node: digests of the request's parameters and of the result.
struct Evidence {
  std::string method;
  Hash params_digest{};
  std::optional<Hash> block_hash = std::nullopt;
  Hash result_digest{};
  std::string endpoint_key;
  std::int64_t at_ms = 0;
};

struct ChainFacts {
  std::string key;
  Hash genesis_hash{};
  std::string name = {};
};

struct Warning {
  std::string code;
  std::string text;
};

struct Report {
  VerifyMode mode = VerifyMode::blob;
  std::optional<ChainFacts> chain = std::nullopt;
  int assurance = 0;
  int min_assurance = 0;
  std::optional<bool> is_final = std::nullopt;
  std::int64_t generated_at_ms = 0;
  std::optional<BlockFacts> at = std::nullopt;
  std::optional<BlockFacts> from = std::nullopt;
  std::optional<std::uint64_t> applied_at = std::nullopt;
  std::optional<RuntimeFacts> runtime = std::nullopt;
  std::optional<RuntimeFacts> previous_runtime = std::nullopt;
  std::optional<CodeFacts> code = std::nullopt;
  std::optional<Hash> set_code_call = std::nullopt;
  std::optional<Hash> authorize_upgrade_call = std::nullopt;
  std::optional<Authorization> authorization = std::nullopt;
  std::optional<ProposalFacts> proposal = std::nullopt;
  std::vector<Check> checks = {};
  std::vector<Warning> warnings = {};
  std::vector<Evidence> evidence = {};
  std::vector<std::string> next_steps = {};

  // Input to the verdict that is not in the checks.
  bool is_refused_by_chain = false;
  bool is_pending = false;
  bool is_content_equal = false;

  void add(Check check) { checks.push_back(std::move(check)); }
  // Adds a check that compares `actual` with `expected`. It is unknown if `actual` is empty.
  template <class T>
  bool compare(std::string id, Weight severity, Source source, const T& expected,
               const std::optional<T>& actual, std::string detail, std::string when_unknown) {
    const bool is_same = actual && *actual == expected;
    const CheckStatus status = !actual   ? CheckStatus::unknown
                               : is_same ? CheckStatus::pass
                                         : CheckStatus::fail;
    add({std::move(id), status, severity, source,
         actual ? std::move(detail) : std::move(when_unknown), shown(expected),
         actual ? shown(*actual) : std::string()});
    return is_same;
  }
  [[nodiscard]] const Check* find(std::string_view id) const noexcept;
};

[[nodiscard]] Verdict verdict_of(const Report& report) noexcept;

// The reply of the operation: JSON of the schema version
// "service.substrate.runtime_upgrade.verify.v1".
std::string render(const Report& report);

// The text of such a reply for clients that read only text: its summary, and a line for each check
// that failed or warns. Empty if `reply` is not such a reply.
std::string text_of_reply(std::string_view reply);

// "2026-11-26T12:00:00.000Z"
std::string time_text(std::int64_t ms);

}  // namespace turnpike::substrate
