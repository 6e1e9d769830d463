// Offers: what any plugin may do beside the job of its slot, in whichever slot it is:
//
//   commands    `turnpike <word> ...`, run in a process of their own SlotObject::command()
//   documents   at paths of the API host, such as "/.well-known/keys.json" BoundObject::document()
//   intake      raw requests to paths below "/v1/plugins/<plugin>/" BoundObject::receive() own work
//   done now and then, for nobody in particular                       BoundObject::run()
//
// The object that the plugin's factory makes for a slot declares them (SlotObject::offers()); the
// objects that it binds do them. A plugin overrides the functions of what it declares, no others.
// The host owns all objects. Which Thread may call: any that the host runs plugins on, several at
// once.
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

// Where a command prints: results to `out`, what went wrong to `error`.
class Console {
 public:
  virtual ~Console() = default;
  virtual void out(std::string_view text) = 0;
  virtual void error(std::string_view text) = 0;
};

// What a command runs with. The gateway may be running beside it.
struct CommandInput {
  std::span<const std::string_view> words;  // after the command's own
  bool json = false;                        // results as one JSON value
  const Settings& settings;                 // of the plugin under `lanes`; those of a lane alone
  std::string_view public_origin;
  std::string_view data_dir;
};

// What a plugin publishes at a path.
struct Document {
  std::string content_type;
  std::string body;
};

// Paths whose requests the plugin answers itself, such as notices of a payment processor. They
// stand below "/v1/plugins/<plugin>/", and those of a provider below
// "/v1/plugins/<plugin>/<upstream id>/". Requests to them carry no credential of the gateway: who
// speaks is the plugin's to find out.
struct IntakePath {
  // Segments of a-z, 0-9, '-', '_' and '.', joined by '/': "webhook". A last segment "*" stands for
  // any one segment: "orders/*".
  std::string_view path;
  bool takes_get = false;
  bool takes_post = true;
  std::uint32_t body_bytes_max = 64 * 1024;  // at most intake_body_bytes_max
};

inline constexpr std::uint32_t intake_body_bytes_max = 1024 * 1024;
inline constexpr std::uint32_t intake_reply_bytes_max = 1024 * 1024;
inline constexpr std::uint32_t intake_timeout_ms = 20'000;  // for an answer

// One request to a path of the intake, whole. Views are valid until receive() returns.
struct IntakeRequest {
  Method method = Method::post;
  std::string_view path = {};   // as the row of the declaration sees it: "orders/42", not decoded
  std::string_view query = {};  // raw, without '?'
  // As they were sent, in their order. A credential of the gateway itself is left out.
  Headers headers = {};
  std::string_view body = {};  // exactly the bytes that were sent
  std::string_view peer = {};  // the network address of who connected, which may be a proxy
};

// Its answer. Faults of the plugin are a status outside of 200 to 599, a header field with
// forbidden bytes, Set-Cookie, a field about length or connection (which the host sends), a body to
// 204 or 304 and one over intake_reply_bytes_max.
struct IntakeReply {
  int status = 200;
  std::vector<OwnedHeader> headers = {};
  std::string body = {};
};

// What a plugin declares. All views are valid until the process ends.
struct Offers {
  std::span<const Command> commands = {};
  std::span<const std::string_view> documents = {};  // paths below "/.well-known/"
  std::span<const IntakePath> intake = {};           // the first that fits a path counts
  bool has_own_work = false;                         // run() is to be called
};

// What the factory of a plugin makes for a slot: a Provider, a Lane.
class SlotObject {
 public:
  virtual ~SlotObject() = default;
  // The same whenever it is asked. Must not wait.
  [[nodiscard]] virtual Offers offers() const noexcept { return {}; }
  // Runs the command `word`, in a process of its own. The exit code: 0 done, 1 failed, 2 usage.
  virtual int command(std::string_view /*word*/, const CommandInput& /*input*/,
                      Console& /*console*/, Host& /*host*/) {
    return 2;
  }
};

// What bind() of a slot's object makes for a generation: an Upstream, a BoundLane. What an upstream
// offers, each upstream of the provider does.
class BoundObject {
 public:
  virtual ~BoundObject() = default;
  // The document at one of Offers::documents, or nothing: there is none now. It may wait.
  virtual Result<std::optional<Document>> document(std::string_view /*path*/, Call& /*call*/) {
    return std::optional<Document>{};
  }
  // The answer to a request to one of Offers::intake, within intake_timeout_ms. It may wait. The
  // sender of a request that fails is told to send it again (503), or that the gateway failed
  // (500, plugin_fault).
  virtual Result<IntakeReply> receive(const IntakeRequest& /*request*/, Call& /*call*/) {
    return Failure{FailureKind::plugin_fault, "it declares an intake that it does not have", {}};
  }
  // Work for nobody in particular: called anew as many ms after its end as it returned, for the
  // generation in service alone; 0: never again.
  virtual Result<std::uint32_t> run(Call& /*call*/) { return std::uint32_t{0}; }
};

}  // namespace turnpike
