// Arbitrary bytes: a DID document, a newline, and a presented receipt or offer. An accepted
// statement has a resource, a key and, where there is cause, a doubt. If the first line is empty,
// the document is ours and the rest is signed here, so that the code after the signature check is
// reached, too.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/check.h"
#include "support/sdk_fakes.h"
#include "x402/offers/canonical_json.h"
#include "x402/offers/did.h"
#include "x402/offers/receipt_verify.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;

const x402::PrivateKey& our_key() {
  static const x402::PrivateKey key = [] {
    support::ConstantRandom random;
    x402::PrivateKey::Secret secret{};
    secret.back() = 1;
    return std::move(*x402::PrivateKey::from_secret(x402::Algorithm::eddsa, secret, random));
  }();
  return key;
}

void check_statements(const Result<std::vector<x402::Statement>, std::string>& statements) {
  if (!statements.ok()) {
    check(!statements.error().empty());
    return;
  }
  check(!statements->empty());
  for (const x402::Statement& statement : *statements) {
    check(!statement.resource_url().empty() && !statement.kid.empty());
    check(statement.is_of_host || !statement.doubts.empty());
    check(statement.is_in_key_life || !statement.doubts.empty());
    // The payload's text must be canonical.
    const auto again = x402::JsonText::parse(statement.payload);
    check(again.ok());
    if (const auto text = x402::canonical_json(again->root())) check(*text == statement.payload);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\n');
  if (end == all.npos) return 0;
  const std::string_view rest = all.substr(end + 1);
  if (end > 0) {
    check_statements(x402::verify_statements(rest, all.substr(0, end)));
    return 0;
  }
  const auto did = x402::did_web("https://gateway.example");
  const x402::PublishedKey published{"k", our_key().public_key(), 0, std::nullopt};
  const std::string document = x402::did_document(*did, {&published, 1});
  const std::string jws = x402::sign_jws(our_key(), did->kid("k"), rest);
  const auto statements = x402::verify_statements(jws, document);
  check_statements(statements);
  if (statements.ok()) check(statements->size() == 1 && statements->front().kid == did->kid("k"));
  check_statements(x402::verify_statements(rest, document));
  return 0;
}
