#include "mail/smtp.h"

#include <Poco/Base64Encoder.h>
#include <Poco/Environment.h>
#include <Poco/Exception.h>
#include <Poco/Net/Context.h>
#include <Poco/Net/DialogSocket.h>
#include <Poco/Net/MailStream.h>
#include <Poco/Net/SecureStreamSocket.h>
#include <Poco/Net/SocketStream.h>
#include <Poco/Net/StreamSocket.h>

#include <mutex>
#include <optional>
#include <sstream>

namespace turnpike::mail {
namespace {

using Poco::Net::DialogSocket;

constexpr int milliseconds_to_microseconds = 1'000;

std::string as_base64(const std::string& text) {
  std::ostringstream out;
  Poco::Base64Encoder encoder(out);
  encoder.rdbuf()->setLineLength(0);
  encoder << text;
  encoder.close();
  return out.str();
}

Poco::Timespan timespan(std::int64_t ms) { return {ms * milliseconds_to_microseconds}; }

// Replies of a server may have several lines, and any bytes.
std::string in_one_line(std::string text) {
  constexpr std::size_t bytes_max = 400;
  if (text.size() > bytes_max) text.resize(bytes_max);
  for (char& c : text) c = c < 0x20 || c > 0x7E ? ' ' : c;
  return text;
}

// A reply that the current step does not accept.
struct Refusal {
  std::string step;
  int status = 0;
  std::string reply;
};

// Returns the reply to a step; throws Refusal.
std::string expect(DialogSocket& server, const std::string& step, int status_class) {
  std::string reply;
  const int status = server.receiveStatusMessage(reply);
  if (status / 100 != status_class) throw Refusal{step, status, reply};
  return reply;
}

std::string ask(DialogSocket& server, const std::string& step, const std::string& command,
                int status_class) {
  server.sendMessage(command);
  return expect(server, step, status_class);
}

// Writes the message with dot-stuffing (RFC 5321 section 4.5.2), and the final dot.
void write_message(DialogSocket& server, const std::string& message) {
  Poco::Net::SocketOutputStream out(server);
  Poco::Net::MailOutputStream mail(out);
  mail << message;
  mail.close();
  out.flush();
  if (!out.good()) throw Poco::IOException("the connection broke within the message");
}

class Smtp final : public Transport {
 public:
  Smtp(SmtpSettings settings, const Clock& clock) : settings_(std::move(settings)), clock_(clock) {}

  Result<Unit, SendFailure> send(const Letter& letter) override {
    if (const auto fault = fault_in_letter(letter)) return SendFailure{*fault, *fault, true};
    bool is_taking = false;  // replies now concern this letter
    try {
      deliver(letter, is_taking);
      forget();
      return Unit{};
    } catch (const Refusal& refusal) {
      forget();
      const std::string status = refusal.step + ": " + std::to_string(refusal.status);
      return SendFailure{refusal.step + ": " + in_one_line(refusal.reply), status,
                         is_taking && refusal.status / 100 == 5};
    } catch (const Poco::Exception& error) {
      forget();
      return SendFailure{error.displayText(), error.displayText(), false};
    } catch (const std::exception& error) {
      forget();
      return SendFailure{error.what(), error.what(), false};
    }
  }

  void cancel() noexcept override {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    try {
      if (socket_) socket_->shutdown();
    } catch (...) {  // already closed
    }
  }

 private:
  void deliver(const Letter& letter, bool& is_taking) {
    Poco::Net::StreamSocket socket = connect();
    if (settings_.security == Security::implicit) socket = secured(socket);
    auto server = std::make_unique<DialogSocket>(socket);
    expect(*server, "greeting", 2);
    const std::string hello = "EHLO " + Poco::Environment::nodeName();
    std::string offers = ask(*server, "hello", hello, 2);
    if (settings_.security == Security::starttls) {
      ask(*server, "starttls", "STARTTLS", 2);
      // A new buffer: bytes received before TLS must not be read as if they were encrypted.
      server = std::make_unique<DialogSocket>(secured(socket));
      offers = ask(*server, "hello", hello, 2);
    }
    log_in(*server, offers);
    ask(*server, "sender", "MAIL FROM:<" + settings_.sender.address + ">", 2);
    is_taking = true;
    ask(*server, "recipient", "RCPT TO:<" + letter.to + ">", 2);
    ask(*server, "data", "DATA", 3);
    write_message(*server, as_message(letter, settings_.sender, clock_.now_ms()));
    expect(*server, "message", 2);
    try {
      ask(*server, "end", "QUIT", 2);
    } catch (...) {  // the server has accepted the letter
    }
  }

  Poco::Net::StreamSocket connect() {
    Poco::Net::StreamSocket socket;
    socket.connect(Poco::Net::SocketAddress(settings_.host, settings_.port),
                   timespan(settings_.connect_timeout_ms));
    socket.setReceiveTimeout(timespan(settings_.reply_timeout_ms));
    socket.setSendTimeout(timespan(settings_.reply_timeout_ms));
    const std::lock_guard lock(mutex_);
    if (is_cancelled_) throw Poco::IOException("the gateway stops");
    socket_ = socket;
    return socket;
  }

  Poco::Net::SecureStreamSocket secured(const Poco::Net::StreamSocket& socket) {
    if (context_.isNull()) {
      Poco::Net::Context::Params params;
      params.caLocation = settings_.authorities;
      params.loadDefaultCAs = settings_.authorities.empty();
      params.verificationMode = Poco::Net::Context::VERIFY_STRICT;
      params.verificationDepth = 9;
      context_ = new Poco::Net::Context(Poco::Net::Context::TLS_CLIENT_USE, params);
      context_->requireMinimumProtocol(Poco::Net::Context::PROTO_TLSV1_2);
    }
    return Poco::Net::SecureStreamSocket::attach(socket, settings_.host, context_);
  }

  void log_in(DialogSocket& server, const std::string& offers) const {
    if (settings_.user.empty()) return;
    if (offers.find("PLAIN") != std::string::npos || offers.find("LOGIN") == std::string::npos) {
      std::string both;
      both.append(1, '\0').append(settings_.user).append(1, '\0').append(settings_.password);
      ask(server, "log-in", "AUTH PLAIN " + as_base64(both), 2);
      return;
    }
    ask(server, "log-in", "AUTH LOGIN", 3);
    ask(server, "log-in", as_base64(settings_.user), 3);
    ask(server, "log-in", as_base64(settings_.password), 2);
  }

  void forget() noexcept {
    const std::lock_guard lock(mutex_);
    socket_.reset();
  }

  const SmtpSettings settings_;
  const Clock& clock_;
  Poco::Net::Context::Ptr context_;
  std::mutex mutex_;  // of the two below, which cancel() uses on another Thread
  bool is_cancelled_ = false;
  std::optional<Poco::Net::StreamSocket> socket_;
};

}  // namespace

std::unique_ptr<Transport> make_smtp(SmtpSettings settings, const Clock& clock) {
  return std::make_unique<Smtp>(std::move(settings), clock);
}

}  // namespace turnpike::mail
