#include "x402/offers/receipt_verify.h"

#include <algorithm>
#include <utility>

#include "x402/offers/canonical_json.h"
#include "x402/offers/did.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

constexpr std::size_t input_bytes_max = 256 * 1024;
constexpr std::size_t document_bytes_max = 4 * 1024 * 1024;

template <class T>
using Outcome = Result<T, std::string>;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

// The signatures in the input, and the unsigned JSON around them, if there is any.
struct Input {
  std::optional<JsonText> json;
  std::vector<std::string> signatures;
};

Outcome<Unit> take_signature(JsonValue artifact, std::vector<std::string>& signatures) {
  if (artifact["format"].equals("eip712")) {
    return std::string("the artifact is signed by EIP-712; only the format jws is verified here");
  }
  signatures.push_back(artifact["signature"].string());
  if (artifact["format"].equals("jws") && !signatures.back().empty()) return Unit();
  return std::string("the artifact lacks format \"jws\" or its signature");
}

Outcome<std::vector<std::string>> signatures_of(JsonValue root) {
  std::vector<JsonValue> artifacts;
  const JsonValue extension = root["extensions"][offer_receipt_extension];
  const JsonValue info = (extension.is_missing() ? root : extension)["info"];
  if (!root["signature"].is_missing()) artifacts.push_back(root);
  if (!info["receipt"].is_missing()) artifacts.push_back(info["receipt"]);
  for (const auto offer : info["offers"]) artifacts.push_back(offer.value);
  if (artifacts.empty()) {
    return std::string(root["success"].text() == "false"
                           ? "the settlement failed, so there is no receipt for it"
                           : "the JSON holds no signed offer or receipt");
  }
  std::vector<std::string> signatures;
  for (const JsonValue artifact : artifacts) {
    if (auto taken = take_signature(artifact, signatures); !taken.ok()) {
      return std::move(taken).error();
    }
  }
  return signatures;
}

Outcome<Input> read_input(std::string_view text) {
  if (text.size() > input_bytes_max) return std::string("the input is longer than 256 KiB");
  text = trimmed(text);
  if (text.empty()) return std::string("the input is empty");
  Input input;
  if (text.find('.') != text.npos && !text.starts_with('{')) {
    input.signatures.emplace_back(text);
    return input;
  }
  std::optional<std::string> decoded;
  if (!text.starts_with('{')) {
    decoded = base64_decode(text, input_bytes_max);
    if (!decoded) {
      return std::string("the input is neither a compact JWS, nor JSON, nor a header in base64");
    }
  }
  auto json = JsonText::parse(decoded ? std::move(*decoded) : std::string(text));
  if (!json.ok()) return std::string("the input is no well-formed JSON");
  auto signatures = signatures_of(json->root());
  if (!signatures.ok()) return std::move(signatures).error();
  input.signatures = std::move(*signatures);
  input.json = std::move(*json);
  return input;
}

struct Authority {
  std::string host;
  std::uint64_t port = 0;
  bool operator==(const Authority&) const = default;
};

// Returns nullopt unless the text is a plain host[:port].
std::optional<Authority> read_authority(std::string_view text, std::uint64_t default_port) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  Authority authority{std::string(text.substr(0, colon)), default_port};
  for (char& c : authority.host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    if (!is_plain) return std::nullopt;
  }
  if (colon < text.size()) {
    const auto port = parse_uint64(text.substr(colon + 1));
    if (!port || *port > 65535) return std::nullopt;
    authority.port = *port;
  }
  if (authority.host.empty()) return std::nullopt;
  return authority;
}

// Whether the key's DID names the host that the URL names.
bool is_did_of_host(std::string_view kid, std::string_view url) {
  constexpr std::string_view method = "did:web:";
  const bool is_https = url.starts_with("https://");
  if (!kid.starts_with(method) || (!is_https && !url.starts_with("http://"))) return false;
  const std::uint64_t default_port = is_https ? 443 : 80;
  url.remove_prefix(is_https ? 8 : 7);
  kid.remove_prefix(method.size());
  std::string host(kid.substr(0, kid.find_first_of(":#")));
  if (const std::size_t escape = std::min(host.find("%3A"), host.find("%3a"));
      escape != host.npos) {
    host.replace(escape, 3, ":");
  }
  const auto of_key = read_authority(host, default_port);
  return of_key && of_key == read_authority(url.substr(0, url.find_first_of("/?#")), default_port);
}

Outcome<std::variant<Offer, Receipt>> read_content(JsonValue payload) {
  if (!payload["payer"].is_missing()) {
    auto receipt = read_receipt(payload);
    if (!receipt.ok()) return std::move(receipt).error();
    return std::variant<Offer, Receipt>(std::move(*receipt));
  }
  if (!payload["payTo"].is_missing()) {
    auto offer = read_offer(payload);
    if (!offer.ok()) return std::move(offer).error();
    return std::variant<Offer, Receipt>(std::move(*offer));
  }
  return std::string("what was signed is neither an offer (payTo) nor a receipt (payer)");
}

void judge_key(const KeyOfDocument& key, Statement& statement) {
  statement.key_from_s = key.created_s;
  statement.key_until_s = key.retired_s;
  statement.is_key_retired = key.retired_s.has_value() || !key.is_asserted;
  const auto* receipt = std::get_if<Receipt>(&statement.content);
  if (receipt && key.created_s && receipt->issued_at_s < *key.created_s - key_life_slack_s) {
    statement.is_in_key_life = false;
    statement.doubts.push_back("the receipt says it was issued before its key was made");
  }
  if (receipt && key.retired_s && receipt->issued_at_s > *key.retired_s + key_life_slack_s) {
    statement.is_in_key_life = false;
    statement.doubts.push_back("the receipt says it was issued after its key was retired");
  }
  if (!key.is_asserted && !key.retired_s) {
    statement.doubts.push_back(
        "the key may sign no longer (assertionMethod lacks it), and the document does not say "
        "since "
        "when");
  }
}

// The settlement response is not signed, but it should say what its receipt says.
void compare_envelope(JsonValue envelope, Statement& statement) {
  const auto* receipt = std::get_if<Receipt>(&statement.content);
  if (!receipt) return;
  const std::pair<std::string_view, const std::string&> said[] = {
      {"network", receipt->network},
      {"payer", receipt->payer},
      {"transaction", receipt->transaction}};
  for (const auto& [name, value] : said) {
    const std::string unsigned_value = envelope[name].string();
    if (!unsigned_value.empty() && !value.empty() && unsigned_value != value) {
      statement.doubts.push_back("the settlement response around it names another " +
                                 std::string(name) + "; only the receipt is signed");
    }
  }
}

Outcome<Statement> verify(std::string_view signature, const JsonText& document) {
  auto jws = parse_jws(signature);
  if (!jws.ok()) return std::move(jws).error();
  const auto key = find_key(document, jws->kid);
  if (!key.ok()) return key.error();
  if (!verify_jws(*jws, key->key)) {
    return "the signature is not one of " + jws->kid +
           ": the text was changed, or another key "
           "signed it";
  }
  const auto payload = JsonText::parse(jws->payload);
  if (!payload.ok()) return std::string("what was signed is no well-formed JSON");
  auto content = read_content(payload->root());
  if (!content.ok()) return std::move(content).error();
  Statement statement;
  statement.content = std::move(*content);
  statement.payload = canonical_json(payload->root()).value_or(payload->text());
  statement.kid = std::move(jws->kid);
  statement.algorithm = jws->algorithm;
  statement.is_of_host = is_did_of_host(statement.kid, statement.resource_url());
  if (!statement.is_of_host) {
    statement.doubts.push_back("the key is not of the host of " + statement.resource_url());
  }
  judge_key(*key, statement);
  return statement;
}

}  // namespace

const std::string& Statement::resource_url() const noexcept {
  const auto* offer = std::get_if<Offer>(&content);
  return offer ? offer->resource_url : std::get_if<Receipt>(&content)->resource_url;
}

Outcome<std::vector<Statement>> verify_statements(std::string_view input,
                                                  std::string_view did_document) {
  const auto read = read_input(input);
  if (!read.ok()) return read.error();
  if (did_document.size() > document_bytes_max) {
    return std::string("the DID document is longer than 4 MiB");
  }
  JsonLimits limits;
  limits.values = document_bytes_max;
  const auto document = JsonText::parse(std::string(did_document), limits);
  if (!document.ok()) return std::string("the DID document is no well-formed JSON");
  std::vector<Statement> statements;
  for (const std::string& signature : read->signatures) {
    auto statement = verify(signature, *document);
    if (!statement.ok()) return std::move(statement).error();
    if (read->json) compare_envelope(read->json->root(), *statement);
    statements.push_back(std::move(*statement));
  }
  return statements;
}

}  // namespace turnpike::x402
