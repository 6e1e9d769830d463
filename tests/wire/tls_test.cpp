// TLS to upstreams: verified by name against an authority that the test makes, and reused.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "runtime/runtime.h"
#include "runtime/wait.h"
#include "support/patient_call.h"
#include "wire/client.h"
#include "wire/scripted_upstream.h"
#include "wire/text_sink.h"

namespace turnpike::wire {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

struct Identity {
  Key key{nullptr, &EVP_PKEY_free};
  Certificate certificate{nullptr, &X509_free};
};

void extend(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `authority`, or self-signed without one.
Identity make_identity(const char* name, const char* alternative, const Identity* authority) {
  Identity made;
  made.key.reset(EVP_EC_gen("P-256"));
  made.certificate.reset(X509_new());
  X509* const certificate = made.certificate.get();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), authority == nullptr ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509* const issuer = authority == nullptr ? certificate : authority->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  extend(certificate, issuer, NID_basic_constraints,
         authority == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (alternative != nullptr) extend(certificate, issuer, NID_subject_alt_name, alternative);
  X509_sign(certificate, authority == nullptr ? made.key.get() : authority->key.get(),
            EVP_sha256());
  return made;
}

class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    std::signal(SIGPIPE, SIG_IGN);  // the scripted side writes through OpenSSL's own socket code
    SSL_CTX_use_certificate(server_.get(), host_.certificate.get());
    SSL_CTX_use_PrivateKey(server_.get(), host_.key.get());
    FILE* const file = std::fopen(authority_file_.c_str(), "w");
    PEM_write_X509(file, authority_.certificate.get());
    std::fclose(file);
  }
  ~TlsTest() override { std::filesystem::remove(authority_file_); }

  // Echoes the body (Content-Length) of each request of the connection over TLS.
  ScriptedUpstream::Script echo() {
    return [this](RawSocket& client, int) {
      SSL* const ssl = SSL_new(server_.get());
      SSL_set_fd(ssl, client.descriptor());
      std::string input;
      while (SSL_accept(ssl) == 1 && answer(ssl, input)) {
      }
      SSL_free(ssl);
    };
  }
  static bool receive(SSL* ssl, std::string& input) {
    char bytes[16 * 1024];
    const int received = SSL_read(ssl, bytes, sizeof(bytes));
    if (received > 0) input.append(bytes, static_cast<std::size_t>(received));
    return received > 0;
  }
  static bool answer(SSL* ssl, std::string& input) {
    std::size_t end = 0;
    while ((end = input.find("\r\n\r\n")) == std::string::npos) {
      if (!receive(ssl, input)) return false;
    }
    const std::size_t at = input.find("Content-Length: ");
    const std::size_t length = at < end ? std::stoul(input.substr(at + 16)) : 0;
    while (input.size() < end + 4 + length) {
      if (!receive(ssl, input)) return false;
    }
    const std::string body = "echo:" + input.substr(end + 4, length);
    input.erase(0, end + 4 + length);
    const std::string reply =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    return SSL_write(ssl, reply.data(), static_cast<int>(reply.size())) > 0;
  }

  Done post(Client& client, const std::string& url, const std::string& body, TextSink& sink) {
    HttpOptions options;
    options.allow_private_addresses = true;
    std::optional<Done> done;
    runtime::Event ended;
    runtime_.loops()[0]->spawn([&] {
      support::PatientCall call(patience_ms);
      done.emplace(client.call({Method::post, url, {}, body}, options, sink, call));
      ended.set();
    });
    ended.wait(runtime::Deadline::after_ms(patience_ms + 5'000));
    return *done;
  }
  static std::string url(const ScriptedUpstream& upstream, const char* host) {
    return "https://" + std::string(host) + ":" + std::to_string(upstream.port()) + "/";
  }
  std::unique_ptr<Client> trusting() {
    ClientSettings settings;
    settings.certificate_authorities = authority_file_;
    return make_client(runtime_, settings);
  }

  const Identity authority_ = make_identity("test authority", nullptr, nullptr);
  const Identity host_ = make_identity("localhost", "DNS:localhost", &authority_);
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> server_{SSL_CTX_new(TLS_server_method()),
                                                            &SSL_CTX_free};
  const std::string authority_file_ =
      (std::filesystem::temp_directory_path() /
       ("turnpike-wire-authority-" + std::to_string(::getpid()) + ".pem"))
          .string();
  runtime::Runtime runtime_{{}};
};

TEST_F(TlsTest, VerifiedConnectionsCarryBodiesAndAreReused) {
  const ScriptedUpstream upstream(echo());
  const auto client = trusting();
  const std::string large(1024 * 1024, 'b');
  for (const std::string& body : {std::string("hello"), large, std::string()}) {
    TextSink sink;
    const Done done = post(*client, url(upstream, "localhost"), body, sink);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(sink.text, "echo:" + body);
  }
  EXPECT_EQ(upstream.connections(), 1);
}

TEST_F(TlsTest, TheCertificateMustNameTheHost) {
  const ScriptedUpstream upstream(echo());
  const auto client = trusting();
  TextSink sink;
  const Done done = post(*client, url(upstream, "127.0.0.1"), "secret", sink);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::transport);
  EXPECT_FALSE(done.error().maybe_sent);
  EXPECT_NE(done.error().message.find("mismatch"), std::string::npos) << done.error().message;
}

TEST_F(TlsTest, TheAuthorityMustBeKnown) {
  const ScriptedUpstream upstream(echo());
  const auto client = make_client(runtime_, {});
  TextSink sink;
  const Done done = post(*client, url(upstream, "localhost"), "secret", sink);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::transport);
  EXPECT_FALSE(done.error().maybe_sent);
}

TEST_F(TlsTest, AnUpstreamWithoutTlsIsATransportFailure) {
  const ScriptedUpstream upstream([](RawSocket& client, int) {
    client.fill(1);
    client.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  });
  const auto client = trusting();
  TextSink sink;
  const Done done = post(*client, url(upstream, "localhost"), "secret", sink);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::transport);
  EXPECT_FALSE(done.error().maybe_sent);
}

TEST_F(TlsTest, UnreadableAuthoritiesStopTheStart) {
  ClientSettings settings;
  settings.certificate_authorities = "/nonexistent/authorities.pem";
  EXPECT_THROW((void)make_client(runtime_, settings), std::runtime_error);
}

}  // namespace
}  // namespace turnpike::wire
