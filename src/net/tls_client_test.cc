// https: a certificate generated at run time, trusted by a CA file, refused without one and for another name.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "net/http_client.h"
#include "net/tls_certificates_test.h"

namespace wf::net {
namespace {

// Answers `connections` TLS connections with two requests each, or however far each gets.
class TlsServer {
 public:
  TlsServer(const TestCertificate& certificate, int connections) {
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, certificate.x509());
    SSL_CTX_use_PrivateKey(context_, certificate.key());
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 4), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, connections] {
      for (int i = 0; i < connections; ++i) Serve(accept(listener_, nullptr, nullptr));
    });
  }
  ~TlsServer() {
    thread_.join();
    close(listener_);
    SSL_CTX_free(context_);
  }
  uint16_t port() const { return port_; }

 private:
  void Serve(int fd) {
    SSL* ssl = SSL_new(context_);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
      for (int i = 0; i < 2; ++i) {
        std::string request;
        char buffer[1024];
        while (request.find("\r\n\r\n") == std::string::npos) {
          int got = SSL_read(ssl, buffer, sizeof buffer);
          if (got <= 0) break;
          request.append(buffer, static_cast<size_t>(got));
        }
        if (request.empty()) break;
        const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
      }
      SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    close(fd);
  }

  SSL_CTX* context_;
  int listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

HttpClient Client(uint16_t port, const std::string& ca_file) {
  Url url;
  url.tls = true;
  url.host = "127.0.0.1";
  url.port = port;
  HttpClientOptions options;
  options.ca_file = ca_file;
  options.timeout = 10 * kSecond;
  return HttpClient(url, options);
}

std::string CaFile() {
  return testing::TempDir() + "/wherefore_ca_" + std::to_string(getpid()) + ".pem";
}

TEST(TlsClient, TrustsItsCaFileAndKeepsTheConnection) {
  TestCertificate certificate("test", "IP:127.0.0.1");
  certificate.WriteCertificate(CaFile());
  TlsServer server(certificate, 1);
  HttpClient client = Client(server.port(), CaFile());
  for (int i = 0; i < 2; ++i) {
    auto response = client.Get("/");
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->body, "ok");
  }
  unlink(CaFile().c_str());
}

TEST(TlsClient, RefusesUnknownCertificatesAndOtherNames) {
  TestCertificate certificate("test", "DNS:elsewhere.example");
  certificate.WriteCertificate(CaFile());
  TlsServer server(certificate, 2);
  auto unknown = Client(server.port(), "").Get("/");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("self-signed"), std::string::npos)
      << unknown.error().message;
  auto other = Client(server.port(), CaFile()).Get("/");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("mismatch"), std::string::npos) << other.error().message;
  unlink(CaFile().c_str());
}

TEST(TlsClient, MissingCaFileIsNamed) {
  TestCertificate certificate("test", "IP:127.0.0.1");
  TlsServer server(certificate, 1);
  auto response = Client(server.port(), "/nonexistent/ca.pem").Get("/");
  ASSERT_FALSE(response.ok());
  EXPECT_NE(response.error().message.find("/nonexistent/ca.pem"), std::string::npos);
}

}  // namespace
}  // namespace wf::net
