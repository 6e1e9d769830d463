// The one macro of a plugin. In exactly one source file, at namespace scope:
//
//   TURNPIKE_PROVIDER("acme", "1.2.0", cooperative, [] { return std::make_unique<Acme>(); })
//   TURNPIKE_LANE("vouchers", "0.3.0", blocking, [] { return std::make_unique<Vouchers>(); })
//
// It exports the descriptor and wraps every object of the plugin in a shell that is compiled into
// the plugin: whatever the author's code throws is caught there and becomes a Failure, so no
// exception and no type information crosses the boundary. (Functions that the interfaces declare
// noexcept must not throw: that ends the process.) The shells add no state of their own; which
// Thread may call what is said at the interface.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <turnpike/abi.h>
#include <turnpike/lane.h>
#include <turnpike/provider.h>

namespace turnpike::shell {

// The text of the exception being handled.
inline std::string caught_text() noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of a type that is not std::exception";
  }
}

inline Failure caught() noexcept {
  return Failure{FailureKind::plugin_fault, "the plugin threw: " + caught_text(), {}, true};
}

class GuardedUpstream final : public Upstream {
 public:
  explicit GuardedUpstream(std::unique_ptr<Upstream> inner) : inner_(std::move(inner)) {}
  Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) noexcept override {
    try {
      return inner_->execute(request, sink, call);
    } catch (...) {
      return caught();
    }
  }
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    return inner_->state(operation);
  }
  Done probe(Call& call) noexcept override {
    try {
      return inner_->probe(call);
    } catch (...) {
      return caught();
    }
  }

 private:
  std::unique_ptr<Upstream> inner_;
};

class GuardedProvider final : public Provider {
 public:
  explicit GuardedProvider(std::unique_ptr<Provider> inner) : inner_(std::move(inner)) {}
  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host& host) noexcept override {
    try {
      auto upstream = inner_->bind(binding, host);
      if (!upstream.ok()) return std::move(upstream).error();
      if (*upstream == nullptr) {
        return Failure{FailureKind::plugin_fault, "bind() returned no upstream", {}, false};
      }
      return std::unique_ptr<Upstream>(std::make_unique<GuardedUpstream>(*std::move(upstream)));
    } catch (...) {
      return caught();
    }
  }

 private:
  std::unique_ptr<Provider> inner_;
};

class GuardedTicket final : public Ticket {
 public:
  explicit GuardedTicket(std::unique_ptr<Ticket> inner) : inner_(std::move(inner)) {
    headers = std::move(inner_->headers);
    keeps_reply = inner_->keeps_reply;
  }
  Finish settle(const ReplyView& reply, Call& call) noexcept override {
    try {
      return inner_->settle(reply, call);
    } catch (...) {
      // Whether the lane charged before it threw cannot be known. The gateway tells the caller so,
      // and by this code its operator why.
      return Unknown{Refusal{"gateway.plugin_fault", caught_text(), 0, {}, {}, {}}};
    }
  }
  std::optional<Refusal> release(Outcome outcome, int upstream_status,
                                 Call& call) noexcept override {
    try {
      return inner_->release(outcome, upstream_status, call);
    } catch (...) {  // the units stay held until the lane's own expiry; nothing is charged
      return Refusal{"gateway.plugin_fault", caught_text(), 0, {}, {}, {}};
    }
  }

 private:
  std::unique_ptr<Ticket> inner_;
};

class GuardedBoundLane final : public BoundLane {
 public:
  explicit GuardedBoundLane(std::unique_ptr<BoundLane> inner) : inner_(std::move(inner)) {}
  Admission admit(const LaneRequest& request, Call& call) noexcept override {
    try {
      Admission admission = inner_->admit(request, call);
      auto* ticket = std::get_if<std::unique_ptr<Ticket>>(&admission);
      if (ticket == nullptr) return admission;
      if (*ticket == nullptr) {
        return Refusal{"gateway.plugin_fault", "admit() returned no ticket", 0, {}, {}, {}};
      }
      return std::unique_ptr<Ticket>(std::make_unique<GuardedTicket>(std::move(*ticket)));
    } catch (...) {
      return Refusal{"gateway.plugin_fault", caught_text(), 0, {}, {}, {}};
    }
  }
  Recalled recall(const LaneRequest& request, Call& call) noexcept override {
    try {
      return inner_->recall(request, call);
    } catch (...) {
      return Refusal{"gateway.plugin_fault", caught_text(), 0, {}, {}, {}};
    }
  }
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    return inner_->state(operation);
  }
  Result<std::optional<Document>> document(std::string_view path, Call& call) noexcept override {
    try {
      return inner_->document(path, call);
    } catch (...) {
      return caught();
    }
  }
  Result<std::uint32_t> run(Call& call) noexcept override {
    try {
      return inner_->run(call);
    } catch (...) {
      return caught();
    }
  }

 private:
  std::unique_ptr<BoundLane> inner_;
};

class GuardedLane final : public Lane {
 public:
  explicit GuardedLane(std::unique_ptr<Lane> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] LaneTraits traits() const noexcept override { return inner_->traits(); }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding,
                                          Host& host) noexcept override {
    try {
      auto bound = inner_->bind(binding, host);
      if (!bound.ok()) return std::move(bound).error();
      if (*bound == nullptr) {
        return Failure{FailureKind::plugin_fault, "bind() returned no lane", {}, false};
      }
      return std::unique_ptr<BoundLane>(std::make_unique<GuardedBoundLane>(*std::move(bound)));
    } catch (...) {
      return caught();
    }
  }
  int command(std::string_view word, const CommandInput& input, Console& console,
              Host& host) noexcept override {
    try {
      return inner_->command(word, input, console, host);
    } catch (...) {
      console.error("the plugin failed: " + caught_text());
      return 1;
    }
  }

 private:
  std::unique_ptr<Lane> inner_;
};

template <class Slot, class Guarded, class Make>
Slot* make(FactoryError& error, Make factory) noexcept {
  std::string text = "the factory returned nothing";
  try {
    if (auto object = factory()) return new Guarded(std::move(object));
  } catch (...) {
    text = "the factory threw: " + caught_text();
  }
  text.resize(std::min(text.size(), sizeof(error.text) - 1));
  std::memcpy(error.text, text.c_str(), text.size() + 1);
  return nullptr;
}

}  // namespace turnpike::shell

// In the section where the first gate looks; `used` keeps it without a reference from the plugin.
#define TURNPIKE_EXPORT_DESCRIPTOR             \
  extern "C"                                   \
      [[gnu::visibility("default"), gnu::used, \
        gnu::section("boostdll")]] constinit const ::turnpike::Descriptor turnpike_plugin_v1

#define TURNPIKE_PROVIDER(plugin_name, plugin_version, execution_kind, factory)                   \
  TURNPIKE_EXPORT_DESCRIPTOR = {                                                                  \
      .slot = ::turnpike::Slot::provider,                                                         \
      .execution = ::turnpike::Execution::execution_kind,                                         \
      .name = plugin_name,                                                                        \
      .version = plugin_version,                                                                  \
      .fingerprint = ::turnpike::build_fingerprint,                                               \
      .make_provider = [](::turnpike::FactoryError& error) noexcept -> ::turnpike::Provider* {    \
        return ::turnpike::shell::make<::turnpike::Provider, ::turnpike::shell::GuardedProvider>( \
            error, factory);                                                                      \
      }};

#define TURNPIKE_LANE(plugin_name, plugin_version, execution_kind, factory)                        \
  TURNPIKE_EXPORT_DESCRIPTOR = {                                                                   \
      .slot = ::turnpike::Slot::lane,                                                              \
      .execution = ::turnpike::Execution::execution_kind,                                          \
      .name = plugin_name,                                                                         \
      .version = plugin_version,                                                                   \
      .fingerprint = ::turnpike::build_fingerprint,                                                \
      .make_lane = [](::turnpike::FactoryError& error) noexcept -> ::turnpike::Lane* {             \
        return ::turnpike::shell::make<::turnpike::Lane, ::turnpike::shell::GuardedLane>(error,    \
                                                                                         factory); \
      }};
