// Reads the results of a ceremony that pages send.
#include <algorithm>
#include <array>
#include <optional>

#include "base/limits.h"
#include "identity/webauthn.h"
#include "text/encoding.h"
#include "text/json_pointer.h"
#include "text/json_text.h"

namespace turnpike::identity {
namespace {

namespace limits = base::limits;

constexpr std::string_view place = "/credential";
constexpr std::string_view credential_type = "public-key";
constexpr std::string_view object_form =
    "the object that toJSON() of the browser's PublicKeyCredential gives";
constexpr std::array<std::string_view, 6> known_transports{"usb",        "nfc",    "ble",
                                                           "smart-card", "hybrid", "internal"};
constexpr std::size_t transports_read_max = 16;  // more than there are defined values

// Decodes a JSON string; nullopt for any other JSON.
std::optional<std::string> text_of(std::string_view json) {
  if (!json.starts_with('"')) return std::nullopt;
  auto value = text::parse_json(json);
  if (!value.is_string()) return std::nullopt;
  return std::move(value.get_ref<std::string&>());
}

// Reads strings out of an object and collects all problems.
class Credential {
 public:
  explicit Credential(std::string_view json) : json_(json) {
    if (json.size() > limits::passkey_credential_bytes_max) {
      refuse("it has " + std::to_string(json.size()) + " bytes",
             "Send at most " + std::to_string(limits::passkey_credential_bytes_max) + ".");
    } else if (const auto whole = value_at(""); !whole || !whole->starts_with('{')) {
      refuse("it is not a JSON object", "Send " + std::string(object_form) + ".");
    }
  }

  // The member's text; nullopt when it is absent or null.
  std::optional<std::string> text_or_nothing(std::string_view pointer) {
    const auto value = is_usable_ ? value_at(pointer) : std::nullopt;
    if (!value || *value == "null") return std::nullopt;
    auto text = text_of(*value);
    if (!text) report(pointer, "it is not a string", "a string");
    return text;
  }

  std::optional<std::string> text(std::string_view pointer, std::string_view form) {
    const std::size_t problems = problems_.size();
    auto text = text_or_nothing(pointer);
    if (!text && problems == problems_.size()) report(pointer, "it is missing", form);
    return text;
  }

  std::string bytes(std::string_view pointer) {
    const auto encoded = text(pointer, "bytes in base64url");
    return encoded ? decoded(pointer, *encoded) : std::string();
  }

  std::string bytes_or_nothing(std::string_view pointer) {
    const auto encoded = text_or_nothing(pointer);
    return encoded ? decoded(pointer, *encoded) : std::string();
  }

  std::vector<std::string> transports(std::string_view pointer);

  // Reads the members that both ceremonies share: the credential's id, under one or two names, and
  // its type.
  std::string id() {
    const auto type = text("/type", "\"public-key\"");
    if (type && *type != credential_type) {
      report("/type", "it is another type", "\"public-key\"");
    }
    std::string id = bytes("/id");
    const auto raw = text_or_nothing("/rawId");
    if (raw && !id.empty() && *raw != text::base64url(id)) {
      report("/rawId", "it is not what \"id\" is", "the same bytes");
    }
    return id;
  }

  template <class T>
  Result<T, base::Error> result(T value) {
    if (problems_.empty()) return value;
    base::Error error{base::ErrorCode::request_body_rejected,
                      "The credential is not what a browser answers."};
    error.fields = std::move(problems_);
    return error;
  }

 private:
  std::optional<std::string_view> value_at(std::string_view pointer) const {
    return text::text_at(json_, *text::JsonPointer::parse(pointer));
  }

  std::string decoded(std::string_view pointer, std::string_view text) {
    if (auto bytes = text::from_base64url(text)) return std::move(*bytes);
    report(pointer, "it is not base64url", "bytes in base64url without padding");
    return {};
  }

  // Reports a problem of the whole credential; no further member is read.
  void refuse(std::string problem, std::string fix) {
    is_usable_ = false;
    problems_ = {{std::string(place), std::move(problem), std::move(fix)}};
  }

  void report(std::string_view pointer, std::string_view problem, std::string_view form) {
    if (!is_usable_) return;
    problems_.push_back({std::string(place).append(pointer), std::string(problem),
                         "Send " + std::string(form) + ", as the browser gives it."});
  }

  std::string_view json_;
  bool is_usable_ = true;
  std::vector<base::FieldProblem> problems_;
};

std::vector<std::string> Credential::transports(std::string_view pointer) {
  std::vector<std::string> words;
  const auto list = is_usable_ ? value_at(pointer) : std::nullopt;
  if (!list || *list == "null") return words;
  if (!list->starts_with('[')) {
    report(pointer, "it is not a list", "a list of strings");
    return words;
  }
  for (std::size_t at = 0; at < transports_read_max; ++at) {
    const std::string item = "/" + std::to_string(at);
    const auto value = text::text_at(*list, *text::JsonPointer::parse(item));
    if (!value) break;
    auto word = text_of(*value);
    if (!word) {
      report(std::string(pointer) + item, "it is not a string", "a string");
      continue;
    }
    const bool is_known = std::find(known_transports.begin(), known_transports.end(), *word) !=
                          known_transports.end();
    if (is_known && std::find(words.begin(), words.end(), *word) == words.end()) {
      words.push_back(std::move(*word));
    }
  }
  return words;
}

}  // namespace

Result<PasskeyRegistration, base::Error> read_passkey_registration(
    std::string_view credential_json) {
  Credential credential(credential_json);
  PasskeyRegistration registration;
  registration.credential_id = credential.id();
  registration.client_data = credential.bytes("/response/clientDataJSON");
  registration.authenticator_data = credential.bytes("/response/authenticatorData");
  registration.transports = credential.transports("/response/transports");
  return credential.result(std::move(registration));
}

Result<PasskeyAssertion, base::Error> read_passkey_assertion(std::string_view credential_json) {
  Credential credential(credential_json);
  PasskeyAssertion assertion;
  assertion.credential_id = credential.id();
  assertion.client_data = credential.bytes("/response/clientDataJSON");
  assertion.authenticator_data = credential.bytes("/response/authenticatorData");
  assertion.signature = credential.bytes("/response/signature");
  assertion.user_handle = credential.bytes_or_nothing("/response/userHandle");
  return credential.result(std::move(assertion));
}

}  // namespace turnpike::identity
