// TLS to upstreams, non-blocking, always verified: the chain against the configured authorities and
// the certificate's name against the requested host. Chosen library: Poco NetSSL for the context;
// its secure socket is not used, since it writes without MSG_NOSIGNAL, skips the name check for
// localhost and the like, and throws. The TLS engine (OpenSSL) runs on a BIO over our own socket.
//
// TlsContext is shared by all Threads. A TlsStream belongs to its connection. OpenSSL keeps its
// errors per Thread, so there is no wait between a call and reading its error.
#pragma once

#include <Poco/Net/Context.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

namespace turnpike::wire {

enum class TlsStep : std::uint8_t { done, wants_read, wants_write, end, failed };

class TlsStream {
 public:
  explicit TlsStream(SSL* ssl) noexcept : ssl_(ssl) {}
  ~TlsStream() { SSL_free(ssl_); }
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  TlsStep handshake() noexcept;
  TlsStep read(char* to, std::size_t room, std::size_t& received) noexcept;
  TlsStep write(const char* from, std::size_t size, std::size_t& sent) noexcept;
  // Valid after `failed`: the library's error text; never contains data of the connection.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  TlsStep judge(int result) noexcept;
  SSL* const ssl_;
  std::string problem_;
};

class TlsContext {
 public:
  // `authorities` is a PEM file or a directory; empty: the system's. Throws std::runtime_error.
  explicit TlsContext(const std::string& authorities);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // A client stream over a connected socket. Null when out of memory.
  std::unique_ptr<TlsStream> open(int socket, const std::string& host) noexcept;

 private:
  Poco::Net::Context::Ptr context_;
  BIO_METHOD* socket_method_ = nullptr;
};

}  // namespace turnpike::wire
