#include "substrate/verify/offline.h"

#include <algorithm>
#include <utility>

#include "substrate/codec/digest.h"

namespace turnpike::substrate {
namespace {

constexpr std::string_view uncompressed_is_unknown = "the code cannot be decompressed";

void check_form(const CodeFacts& code, Report& report) {
  const bool is_known = code.format != CodeFormat::unknown;
  report.add({"input.code_format", is_known ? CheckStatus::pass : CheckStatus::fail,
              Weight::critical, Source::blob,
              is_known ? "the code has the prefix of " + std::string(name_of(code.format))
                       : code.format_problem,
              {}, code.prefix});
  if (!is_known) return;
  Check decompress{"code.decompress", CheckStatus::skip, Weight::critical, Source::blob,
                   "the code is not compressed"};
  if (!code.decompress_problem.empty()) {
    decompress.status = CheckStatus::fail;
    decompress.detail = code.decompress_problem;
  } else if (code.is_compressed) {
    decompress.status = CheckStatus::pass;
    decompress.detail = "the whole stream is valid";
    decompress.actual = std::to_string(code.uncompressed_size.value_or(0));
  }
  report.add(std::move(decompress));
}

void check_size(const CodeFacts& code, std::uint64_t size_max, Report& report) {
  Check check{"code.size", CheckStatus::pass, Weight::info, Source::blob,
              "within what the chain takes", std::to_string(size_max), std::to_string(code.size)};
  if (code.size > size_max) {
    check.status = CheckStatus::warn;
    check.detail = "longer than what the chain takes";
  } else if (code.size * 5 > size_max * 4) {
    check.detail = "more than 80 % of what the chain takes";
  }
  report.add(std::move(check));
}

// Recognizes other hashes that callers confuse with the code hash.
std::string hash_hint(const Hash& given, const CodeFacts& code, const Report& report) {
  if (given == code.sha256) return "this is the SHA-256 of the blob, not its code hash";
  if (given == report.set_code_call) return "this is the hash of the call set_code";
  if (given == report.authorize_upgrade_call) return "this is the hash of the call that authorises";
  return "the blob has another code hash";
}

void check_code_hash(const Expected& expected, const CodeFacts& code, Report& report) {
  if (!expected.code_hash) return;
  Check check{"code.hash", CheckStatus::pass, Weight::critical, Source::blob,
              "BLAKE2-256 of the blob as it is", hex_of(*expected.code_hash),
              hex_of(code.code_hash)};
  if (code.code_hash != *expected.code_hash) {
    const bool is_uncompressed = code.uncompressed_hash == expected.code_hash;
    const bool is_same_content = expected.uncompressed_code_hash &&
                                 code.uncompressed_hash == expected.uncompressed_code_hash;
    report.is_content_equal = is_uncompressed || is_same_content;
    check.status = report.is_content_equal ? CheckStatus::warn : CheckStatus::fail;
    check.detail = is_uncompressed
                       ? "what is expected is the hash of the uncompressed code: the content is "
                         "equal, and chains authorise the hash of the blob"
                   : is_same_content ? "another compression of the same code"
                                     : hash_hint(*expected.code_hash, code, report);
  }
  report.add(std::move(check));
}

void check_hashes(const Expected& expected, const CodeFacts& code, Report& report) {
  check_code_hash(expected, code, report);
  if (expected.uncompressed_code_hash) {
    report.compare("code.uncompressed_hash", Weight::critical, Source::blob,
                   *expected.uncompressed_code_hash, code.uncompressed_hash,
                   code.code_hash == *expected.uncompressed_code_hash && code.is_compressed
                       ? "what is expected is the hash of the compressed blob"
                       : "BLAKE2-256 of the code once it is decompressed",
                   std::string(uncompressed_is_unknown));
  }
  if (expected.sha256) {
    report.compare("code.sha256", Weight::critical, Source::blob, *expected.sha256,
                   std::optional(code.sha256), "SHA-256 of the blob as it is", "");
  }
  if (expected.set_code_hash) {
    report.compare("code.set_code_hash", Weight::critical, Source::blob, *expected.set_code_hash,
                   report.set_code_call, "hash of the call set_code with this blob", "");
  }
}

void check_section(const CodeFacts& code, Report& report) {
  Check check{"code.version_section", CheckStatus::pass, Weight::important, Source::blob,
              "the code says its version"};
  switch (code.version_section) {
    case VersionSection::present:
      break;
    case VersionSection::malformed:
      check.status = CheckStatus::fail;
      check.detail = code.version_problem;
      break;
    case VersionSection::missing:
    case VersionSection::unread:
      check.status = CheckStatus::unknown;
      check.detail = code.version_problem;
      break;
  }
  report.add(std::move(check));
}

// Compares the call's code hash with `wanted`; empty if there is nothing to compare it with.
void check_call_code(const std::optional<Hash>& wanted, Report& report) {
  const ProposalFacts& facts = *report.proposal;
  if (!wanted) {
    return report.add({"call.code_hash", CheckStatus::skip, Weight::critical, Source::call,
                       "no code and no code hash was given to compare it with", {},
                       facts.code_hash ? hex_of(*facts.code_hash) : std::string()});
  }
  if (facts.code_hash) {
    report.compare("call.code_hash", Weight::critical, Source::call, *wanted, facts.code_hash,
                   "the call is about this code", "");
    return;
  }
  report.add({"call.code_hash", CheckStatus::unknown, Weight::critical, Source::call,
              facts.matches.empty()
                  ? "the call is none that is known, and the hash does not stand in it"
                  : "the hash stands inside of a longer call, which is weak evidence: what that "
                    "call does with it is not known without metadata",
              hex_of(*wanted)});
}

void check_kind(const Proposal& asked, Report& report) {
  const ProposalFacts& facts = *report.proposal;
  Check check{"call.kind", CheckStatus::pass, Weight::important, Source::call,
              "the call is " + std::string(name_of(facts.kind)),
              asked.kind ? std::string(name_of(*asked.kind)) : std::string(),
              std::string(name_of(facts.kind))};
  if (facts.kind == CallKind::unknown) {
    check.status = CheckStatus::unknown;
    check.detail = "the call is none of those that upgrade a runtime; it may hold one";
  } else if (asked.kind && *asked.kind != facts.kind) {
    check.status = CheckStatus::fail;
    check.detail = "the call is of another kind";
  } else if (skips_checks(facts.kind, facts.check_version)) {
    check.status = CheckStatus::warn;
    check.detail += ": the chain does not check name and version of the new runtime";
    report.warnings.push_back(
        {"without_checks", "The call leaves out the chain's own checks of the new runtime."});
  }
  report.add(std::move(check));
}

void take_call(ByteView call, const std::optional<Hash>& wanted, const Pallets& pallets,
               ProposalFacts& facts) {
  const DecodedCall decoded = decode_call(call, pallets);
  facts.length = call.size();
  facts.call_hash = blake2_256(call);
  facts.kind = decoded.kind;
  facts.code_hash = decoded.code_hash;
  facts.check_version = decoded.check_version;
  facts.is_wrapped = decoded.kind == CallKind::unknown || decoded.extra_bytes > 0;
  if (facts.is_wrapped && wanted) facts.matches = find_patterns(call, *wanted, pallets);
}

// Only the hash of the call is known. Finds the known call with this hash, if it can be built from
// the given code or code hash.
void guess_call(const Input& input, const std::optional<Hash>& wanted, const Pallets& pallets,
                ProposalFacts& facts) {
  facts.call_hash = *input.proposal->preimage_hash;
  if (input.proposal->preimage_length) facts.length = *input.proposal->preimage_length;
  if (!wanted) return;
  const bool is_of_code = input.code && blake2_256(*input.code) == *wanted;
  const auto code = is_of_code ? std::optional<ByteView>(*input.code) : std::nullopt;
  for (const KnownCall& known : calls_with(*wanted, code, pallets)) {
    if (known.call_hash != facts.call_hash) continue;
    facts.kind = known.kind;
    facts.code_hash = *wanted;
    facts.check_version = known.check_version;
    if (!facts.length) facts.length = known.length;
    return;
  }
}

void check_call_hash(const Input& input, bool has_call, Report& report) {
  const ProposalFacts& facts = *report.proposal;
  const auto computed = has_call || facts.kind != CallKind::unknown
                            ? std::optional(facts.call_hash)
                            : std::nullopt;
  const char* const unknown = "the bytes of the call are not known";
  for (const auto& wanted : {input.expected.call_hash, input.proposal->preimage_hash}) {
    if (!wanted) continue;
    report.compare("call.hash", Weight::critical, Source::call, *wanted, computed,
                   "BLAKE2-256 of the call", unknown);
  }
  if (input.proposal->preimage_length) {
    report.compare("call.length", Weight::critical, Source::call,
                   std::uint64_t{*input.proposal->preimage_length},
                   computed ? facts.length : std::nullopt, "the length of the call", unknown);
  }
}

// Release pages show hashes of calls, too. This checks one without a proposal, by building the
// known calls from the code or its hash.
void check_lone_call_hash(const Input& input, const Pallets& pallets, Report& report) {
  const auto wanted = wanted_code_hash(input, report);
  if (!input.expected.call_hash || input.proposal || !wanted) return;
  const bool is_of_code = report.code && report.code->code_hash == *wanted;
  const auto code = is_of_code ? std::optional<ByteView>(*input.code) : std::nullopt;
  const std::vector<KnownCall> calls = calls_with(*wanted, code, pallets);
  const auto found = std::find_if(calls.begin(), calls.end(), [&](const KnownCall& call) {
    return call.call_hash == *input.expected.call_hash;
  });
  const bool is_known = found != calls.end();
  report.add({"call.hash", is_known ? CheckStatus::pass : CheckStatus::fail, Weight::critical,
              Source::input,
              is_known ? "the hash of the call " + std::string(name_of(found->kind))
                       : "no call that upgrades to this code has this hash",
              hex_of(*input.expected.call_hash)});
}

template <class T>
void compare_part(const char* id, Weight weight, const std::optional<T>& expected,
                  const std::optional<T>& actual, Source source, bool has_version,
                  Report& report) {
  if (!expected) return;
  report.compare(id, weight, source, *expected, actual, "as the runtime says",
                 has_version ? "the runtime is too old to say it" : "no version is known");
}

}  // namespace

std::optional<Hash> wanted_code_hash(const Input& input, const Report& report) {
  if (input.expected.code_hash) return input.expected.code_hash;
  return report.code ? std::optional(report.code->code_hash) : std::nullopt;
}

void check_version(const Expected& expected, const std::optional<RuntimeVersion>& version,
                   Source source, Report& report) {
  const bool has_version = version.has_value();
  const auto part = [&](auto member) {
    return has_version ? std::optional((*version).*member) : std::nullopt;
  };
  compare_part("version.spec_name", Weight::critical, expected.spec_name,
               part(&RuntimeVersion::spec_name), source, has_version, report);
  compare_part("version.spec_version", Weight::critical, expected.spec_version,
               part(&RuntimeVersion::spec_version), source, has_version, report);
  compare_part("version.transaction_version", Weight::important, expected.transaction_version,
               has_version ? version->transaction_version : std::nullopt, source, has_version,
               report);
  compare_part("version.state_version", Weight::important, expected.state_version,
               has_version ? version->state_version : std::nullopt, source, has_version, report);
  compare_part("version.impl_version", Weight::important, expected.impl_version,
               part(&RuntimeVersion::impl_version), source, has_version, report);
}

void check_code(const Input& input, const OfflineTerms& terms, Report& report) {
  if (!input.code) return;
  report.code = examine_code(*input.code);
  const CodeFacts& code = *report.code;
  report.set_code_call = set_code_call_hash(*input.code, terms.pallets);
  report.authorize_upgrade_call = authorize_upgrade_call_hash(code.code_hash, terms.pallets);
  if (code.version) report.runtime = RuntimeFacts{*code.version, Source::blob};
  check_form(code, report);
  check_size(code, terms.code_size_max, report);
  check_hashes(input.expected, code, report);
  if (code.format != CodeFormat::unknown && code.decompress_problem.empty()) {
    check_section(code, report);
  }
  check_version(input.expected, code.version, Source::blob, report);
}

void check_proposal(const Input& input, std::optional<ByteView> call, const OfflineTerms& terms,
                    Report& report) {
  const std::optional<Hash> wanted = wanted_code_hash(input, report);
  ProposalFacts facts;
  if (call) {
    take_call(*call, wanted, terms.pallets, facts);
  } else {
    guess_call(input, wanted, terms.pallets, facts);
  }
  report.proposal = std::move(facts);
  check_call_hash(input, call.has_value(), report);
  check_kind(*input.proposal, report);
  check_call_code(wanted, report);
  if (input.expected.check_version) {
    report.compare("call.check_version", Weight::important, Source::call,
                   *input.expected.check_version, report.proposal->check_version,
                   "whether the chain checks the new version", "the call does not say it");
  }
  if (call && report.proposal->kind != CallKind::unknown && report.proposal->is_wrapped) {
    report.add({"call.extra", CheckStatus::warn, Weight::important, Source::call,
                "bytes follow the call: it does more than the upgrade"});
  }
}

void check_left_over(const Input& input, const OfflineTerms& terms, Report& report) {
  const Expected& expected = input.expected;
  check_lone_call_hash(input, terms.pallets, report);
  const bool has_proposal = input.proposal.has_value();
  const auto miss = [&](const char* id, bool is_expected) {
    if (!is_expected || report.find(id) != nullptr) return;
    report.add({id, CheckStatus::unknown, Weight::critical, Source::input,
                "it was expected, and nothing was given to compare it with"});
  };
  const bool is_of_chain = report.find("live.code_hash") != nullptr;
  const bool is_of_call = report.find("call.code_hash") != nullptr;
  miss("code.hash", expected.code_hash.has_value() && !is_of_chain && !is_of_call);
  miss("code.uncompressed_hash", expected.uncompressed_code_hash.has_value() && !is_of_chain);
  miss("code.sha256", expected.sha256.has_value());
  miss("code.set_code_hash", expected.set_code_hash.has_value());
  miss("call.hash", expected.call_hash.has_value());
  miss("auth.hash", expected.authorized_hash.has_value());
  if (expected.check_version && report.find("auth.check_version") == nullptr && !has_proposal) {
    miss("call.check_version", true);
  }
  if (report.mode == VerifyMode::blob && !input.has_expected) {
    report.warnings.push_back({"nothing_compared",
                               "Nothing was expected of the code: only its form was checked."});
  }
  const std::optional<RuntimeVersion> none;
  if (!report.runtime && !report.code && !is_of_chain) {
    check_version(expected, none, Source::input, report);
  }
}

}  // namespace turnpike::substrate
