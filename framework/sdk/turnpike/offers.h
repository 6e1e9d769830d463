// Offers: the features that a plugin may have beside its slot, whichever slot it fills:
//
//   commands    `turnpike <word> ...`, run in their own process          SlotObject::command()
//   documents   at paths of the API host: "/.well-known/keys.json"       BoundObject::document()
//   intake      raw requests to paths below "/v1/plugins/<plugin>/"      BoundObject::receive()
//   own work    periodic work that no request starts                     BoundObject::run()
//
// The object that the plugin's factory makes for a slot declares them (SlotObject::offers()); the
// objects that it binds do the work. A plugin overrides the functions of the features that it
// declares, and no others. The host owns all objects. Any Thread that the host runs plugins on may
// call them, several at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/call.h>
#include <turnpike/host.h>
#include <turnpike/message.h>
#include <turnpike/result.h>
#include <turnpike/settings.h>

namespace turnpike {

// One command: `turnpike <word> ...`.
struct Command {
  std::string_view word;
  std::string_view summary;  // one line
};

// The output of a command: `out` takes results, `error` takes what went wrong.
class Console {
 public:
  virtual ~Console() = default;
  virtual void out(std::string_view text) = 0;
  virtual void error(std::string_view text) = 0;
};

// The input of a command. The gateway may be running at the same time.
struct CommandInput {
  std::span<const std::string_view> words;  // those after the command's own word
  bool json = false;                        // print the results as one JSON value
  const Settings& settings;                 // the plugin's, under `lanes`; lanes only
  std::string_view public_origin;
  std::string_view data_dir;
};

// A document that a plugin publishes at a path.
struct Document {
  std::string content_type;
  std::string body;
};

// Paths whose requests the plugin answers itself, such as the webhook of a payment processor. They
// are below "/v1/plugins/<plugin>/", or "/v1/plugins/<plugin>/<upstream id>/" for a provider.
// Requests to them carry no credential of the gateway: the plugin authenticates the sender.
struct IntakePath {
  // Segments of a-z, 0-9, '-', '_' and '.', joined by '/': "webhook". The last segment may be "*",
  // which matches any one segment: "orders/*".
  std::string_view path;
  bool takes_get = false;
  bool takes_post = true;
  std::uint32_t body_bytes_max = 64 * 1024;  // at most intake_body_bytes_max
};

inline constexpr std::uint32_t intake_body_bytes_max = 1024 * 1024;
inline constexpr std::uint32_t intake_reply_bytes_max = 1024 * 1024;
inline constexpr std::uint32_t intake_timeout_ms = 20'000;  // deadline of an answer

// One complete request to a path of the intake. Views are valid until receive() returns.
struct IntakeRequest {
  Method method = Method::post;
  std::string_view path = {};   // below the plugin's prefix, not decoded: "orders/42"
  std::string_view query = {};  // raw, without '?'
  // Header fields as received, in their order, without a credential of the gateway itself.
  Headers headers = {};
  std::string_view body = {};  // exactly the bytes that were sent
  std::string_view peer = {};  // network address of the peer, which may be a proxy
};

// The answer to an IntakeRequest. Faults of the plugin: a status outside of 200 to 599, a header
// field with forbidden bytes, Set-Cookie, a field about length or connection (which the host
// sends), a body with 204 or 304, and a body over intake_reply_bytes_max.
struct IntakeReply {
  int status = 200;
  std::vector<OwnedHeader> headers = {};
  std::string body = {};
};

// The declaration of a plugin. All views are valid until the process ends.
struct Offers {
  std::span<const Command> commands = {};
  std::span<const std::string_view> documents = {};  // paths below "/.well-known/"
  std::span<const IntakePath> intake = {};           // the first match of a path counts
  bool has_own_work = false;                         // the host calls run()
};

// The object that a plugin's factory makes for a slot: a Provider, a Lane, a Processor.
class SlotObject {
 public:
  virtual ~SlotObject() = default;
  // Returns the same value on every call. Must not wait.
  [[nodiscard]] virtual Offers offers() const noexcept { return {}; }
  // Runs the command `word`, in a process of its own. The exit code: 0 done, 1 failed, 2 usage.
  virtual int command(std::string_view /*word*/, const CommandInput& /*input*/,
                      Console& /*console*/, Host& /*host*/) {
    return 2;
  }
};

// The object that bind() makes for a generation: an Upstream, a BoundLane, a BoundProcessor. Each
// upstream of a provider has the offers of the provider.
class BoundObject {
 public:
  virtual ~BoundObject() = default;
  // The document at one of Offers::documents; nothing: there is none now. It may wait.
  virtual Result<std::optional<Document>> document(std::string_view /*path*/, Call& /*call*/) {
    return std::optional<Document>{};
  }
  // Answers a request to one of Offers::intake, within intake_timeout_ms. It may wait. When it
  // fails, the sender gets 503 and may send the request again, or 500 when the plugin is at fault
  // (plugin_fault).
  virtual Result<IntakeReply> receive(const IntakeRequest& /*request*/, Call& /*call*/) {
    return Failure{FailureKind::plugin_fault, "it declares an intake that it does not have", {}};
  }
  // Does periodic work. The result is the pause in ms until the next call; 0: never again. The host
  // calls it for the generation in service only.
  virtual Result<std::uint32_t> run(Call& /*call*/) { return std::uint32_t{0}; }
};

}  // namespace turnpike
