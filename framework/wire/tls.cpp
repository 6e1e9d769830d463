#include "wire/tls.h"

#include <Poco/Exception.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <stdexcept>

#include "wire/address.h"

namespace turnpike::wire {
namespace {

int socket_of(BIO* bio) noexcept {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int bio_write(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent =
      ::send(socket_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* to, int room) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = ::recv(socket_of(bio), to, static_cast<std::size_t>(room), MSG_DONTWAIT);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

int bio_create(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

struct StoreEnd {
  void operator()(X509_STORE* store) const noexcept { X509_STORE_free(store); }
};

// The system's authorities, which all contexts share: three that each read over a hundred
// certificates took a fifth of a start.
X509_STORE* system_authorities() {
  static const auto store = [] {
    std::unique_ptr<X509_STORE, StoreEnd> made(X509_STORE_new());
    if (made == nullptr || X509_STORE_set_default_paths(made.get()) != 1) {
      throw std::runtime_error("the system's certificate authorities cannot be read");
    }
    return made;
  }();
  return store.get();
}

}  // namespace

TlsStep TlsStream::judge(int result) noexcept {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return TlsStep::wants_read;
    case SSL_ERROR_WANT_WRITE:
      return TlsStep::wants_write;
    case SSL_ERROR_ZERO_RETURN:
      return TlsStep::end;
    default:
      break;
  }
  const unsigned long code = ERR_peek_error();
  const long verified = SSL_get_verify_result(ssl_);
  try {
    if (verified != X509_V_OK) {
      problem_ = X509_verify_cert_error_string(verified);
    } else if (const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code)) {
      problem_ = reason;
    } else {
      problem_ = "connection lost";
    }
  } catch (...) {  // out of memory: fails without a text
  }
  ERR_clear_error();
  return TlsStep::failed;
}

TlsStep TlsStream::handshake() noexcept {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  return result == 1 ? TlsStep::done : judge(result);
}

TlsStep TlsStream::read(char* to, std::size_t room, std::size_t& received) noexcept {
  ERR_clear_error();
  const int result = SSL_read_ex(ssl_, to, room, &received);
  return result == 1 ? TlsStep::done : judge(result);
}

TlsStep TlsStream::write(const char* from, std::size_t size, std::size_t& sent) noexcept {
  ERR_clear_error();
  const int result = SSL_write_ex(ssl_, from, size, &sent);
  return result == 1 ? TlsStep::done : judge(result);
}

TlsContext::TlsContext(const std::string& authorities) {
  try {
    Poco::Net::Context::Params params;
    params.caLocation = authorities;
    params.loadDefaultCAs = false;
    params.verificationMode = Poco::Net::Context::VERIFY_STRICT;
    params.cipherList = "HIGH:!aNULL:!MD5:!RC4:!3DES";
    context_ = new Poco::Net::Context(Poco::Net::Context::TLS_CLIENT_USE, params);
    context_->requireMinimumProtocol(Poco::Net::Context::PROTO_TLSV1_2);
  } catch (const Poco::Exception& error) {
    throw std::runtime_error("certificate authorities '" + authorities +
                             "': " + error.displayText());
  }
  if (authorities.empty()) {
    SSL_CTX_set1_cert_store(context_->sslContext(), system_authorities());
  }
  SSL_CTX_set_mode(context_->sslContext(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                               SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                               SSL_MODE_RELEASE_BUFFERS);
  socket_method_ = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "turnpike socket");
  if (socket_method_ == nullptr) throw std::runtime_error("TLS: out of memory");
  BIO_meth_set_write(socket_method_, bio_write);
  BIO_meth_set_read(socket_method_, bio_read);
  BIO_meth_set_ctrl(socket_method_, bio_control);
  BIO_meth_set_create(socket_method_, bio_create);
}

TlsContext::~TlsContext() { BIO_meth_free(socket_method_); }

std::unique_ptr<TlsStream> TlsContext::open(int socket, const std::string& host) noexcept {
  ERR_clear_error();
  SSL* const ssl = SSL_new(context_->sslContext());
  BIO* const bio = BIO_new(socket_method_);
  if (ssl == nullptr || bio == nullptr) {
    SSL_free(ssl);
    BIO_free(bio);
    return nullptr;
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  SSL_set_bio(ssl, bio, bio);
  // No callback: the library's own verification result applies.
  SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool is_literal = parse_address(host, 0).has_value();
  const int is_set = is_literal ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str())
                                : SSL_set1_host(ssl, host.c_str());
  if (is_set != 1 || (!is_literal && SSL_set_tlsext_host_name(ssl, host.c_str()) != 1)) {
    SSL_free(ssl);
    return nullptr;
  }
  SSL_set_connect_state(ssl);
  return std::unique_ptr<TlsStream>(new (std::nothrow) TlsStream(ssl));
}

}  // namespace turnpike::wire
