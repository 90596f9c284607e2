// TLS listeners over real sockets on loopback: both protocols, client certificates, new files, and clients that never
// finish a handshake.
#include "net/tls_server.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "net/grpc_client.h"
#include "net/grpc_server.h"
#include "net/http_body_stream.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/socket_stream.h"
#include "net/tls_certificates_test.h"

namespace wf::net {
namespace {

class TlsServerTest : public testing::Test {
 protected:
  TlsServerTest() {
    std::string name = testing::TempDir() + "/wherefore_tls_XXXXXX";
    folder_ = mkdtemp(name.data());
    ca_.WriteCertificate(File("ca.pem"));
    Install(first_);
    client_.WriteCertificate(File("client.pem"));
    client_.WriteKey(File("client.key"));
    stranger_.WriteCertificate(File("stranger.pem"));
    stranger_.WriteKey(File("stranger.key"));
  }
  ~TlsServerTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  void Install(const TestCertificate& certificate) {
    certificate.WriteCertificate(File("server.pem"));
    certificate.WriteKey(File("server.key"));
  }
  TlsFiles Files() const { return {File("server.pem"), File("server.key"), ""}; }

  void Listen(TlsFiles files, HttpListenOptions http = {}) {
    auto keys = TlsKeys::Load(files);
    ASSERT_TRUE(keys.ok()) << keys.error().message;
    keys_ = *keys;
    http.tls = keys_;
    auto bound = http_.Listen({}, http, [](HttpRequest request, HttpResponder respond) {
      if (request.path == "/stream") {
        HttpResponse response{200, {{"Content-Type", "text/plain"}}, ""};
        response.stream = std::make_shared<HttpBodyStream>();
        EXPECT_EQ(response.stream->Write("one "), HttpBodyStream::Written::kTaken);
        EXPECT_EQ(response.stream->Write("two"), HttpBodyStream::Written::kTaken);
        response.stream->End();
        return respond(std::move(response));
      }
      respond({200, {}, request.client_certificate + "|" + std::move(request.body)});
    });
    ASSERT_TRUE(bound.ok());
    http_port_ = bound->port;
    GrpcListenOptions grpc;
    grpc.tls = keys_;
    grpc.handshake_timeout = http.handshake_timeout;
    GrpcMethods methods;
    methods["/t.T/Echo"] = [](GrpcRequest request, GrpcResponder respond) {
      respond({kGrpcOk, {}, request.client_certificate + "|" + request.message, {}});
    };
    bound = grpc_.Listen({}, grpc, std::move(methods));
    ASSERT_TRUE(bound.ok());
    grpc_port_ = bound->port;
  }

  HttpClient Client(const std::string& certificate = "") const {
    HttpClientOptions options;
    options.ca_file = File("ca.pem");
    options.timeout = 20 * kSecond;
    if (!certificate.empty()) {
      options.certificate_file = File(certificate + ".pem");
      options.key_file = File(certificate + ".key");
    }
    Url url;
    url.tls = true;
    url.host = "127.0.0.1";
    url.port = http_port_;
    return HttpClient(url, options);
  }
  Result<GrpcAnswer> Call(const std::string& message, const std::string& certificate = "") const {
    GrpcClientOptions options;
    options.tls = true;
    options.ca_file = File("ca.pem");
    options.timeout = 20 * kSecond;
    if (!certificate.empty()) {
      options.certificate_file = File(certificate + ".pem");
      options.key_file = File(certificate + ".key");
    }
    WF_ASSIGN(auto client, GrpcClient::Connect("127.0.0.1", grpc_port_, options));
    return client.Call("/t.T/Echo", message);
  }
  // Whether a handshake of at most this version succeeds.
  bool Handshakes(uint16_t port, int version, const char* alpn = nullptr) const {
    auto stream = SocketStream::Connect("127.0.0.1", port, {});
    EXPECT_TRUE(stream.ok());
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(context, 0);  // else it is we who refuse old versions
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    if (alpn != nullptr)
      SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(alpn),
                              static_cast<unsigned>(strlen(alpn)));
    SSL* ssl = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in, out);
    int done = 0;
    for (int round = 0; round < 20; ++round) {
      done = SSL_connect(ssl);
      char buffer[16384];
      int size = BIO_read(out, buffer, sizeof buffer);
      if (size > 0) (void)stream->Write({buffer, static_cast<size_t>(size)});
      if (done == 1 || SSL_get_error(ssl, done) != SSL_ERROR_WANT_READ) break;
      auto got = stream->Read(buffer, sizeof buffer);
      if (!got.ok() || *got == 0) break;
      BIO_write(in, buffer, static_cast<int>(*got));
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    return done == 1;
  }

  const TestCertificate ca_{"our CA", "CA:TRUE"};
  const TestCertificate first_{"first", "IP:127.0.0.1", &ca_};
  const TestCertificate second_{"second", "IP:127.0.0.1", &ca_};
  const TestCertificate client_{"sender.example", "DNS:sender.example", &ca_};
  const TestCertificate other_ca_{"another CA", "CA:TRUE"};
  const TestCertificate stranger_{"sender.example", "DNS:sender.example", &other_ca_};
  std::string folder_;
  std::shared_ptr<TlsKeys> keys_;
  IoThreads io_{2};
  HttpServer http_{io_};
  GrpcServer grpc_{io_};
  uint16_t http_port_ = 0, grpc_port_ = 0;
};

TEST_F(TlsServerTest, CarriesRequestsOfAnySizeOverOneConnection) {
  Listen(Files());
  HttpClient client = Client();
  for (size_t size : {0u, 1u, 16'384u, 100'000u, 3'000'000u}) {
    SCOPED_TRACE(size);
    const std::string body(size, 'x');
    auto answer = client.Post("/", "text/plain", body);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->body, "|" + body);
    auto reply = Call(body);
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(reply->reply, "|" + body);
  }
  EXPECT_EQ(http_.counters().connections, 1u);
  EXPECT_EQ(keys_->counters().handshakes, 6u);
}

TEST_F(TlsServerTest, AStreamEndsAndSaysSo) {
  Listen(Files());
  HttpClientOptions options;
  auto client = Client();
  std::string all;
  auto answer = client.Stream("/stream", {}, kSecond, [&](std::string_view piece) {
    all += piece;
    return true;
  });
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(all, "one two");
}

TEST_F(TlsServerTest, OldVersionsAndForeignProtocolsAreRefused) {
  Listen(Files());
  for (uint16_t port : {http_port_, grpc_port_}) {
    EXPECT_FALSE(Handshakes(port, TLS1_VERSION));
    EXPECT_FALSE(Handshakes(port, TLS1_1_VERSION));
    EXPECT_TRUE(Handshakes(port, TLS1_2_VERSION));
    EXPECT_TRUE(Handshakes(port, TLS1_3_VERSION));
  }
  EXPECT_FALSE(Handshakes(http_port_, TLS1_3_VERSION, "\x02h2"));
  EXPECT_TRUE(Handshakes(http_port_, TLS1_3_VERSION, "\x02h2\x08http/1.1"));
  EXPECT_FALSE(Handshakes(grpc_port_, TLS1_3_VERSION, "\x08http/1.1"));
  EXPECT_TRUE(Handshakes(grpc_port_, TLS1_3_VERSION, "\x08http/1.1\x02h2"));
  EXPECT_GE(keys_->counters().handshakes_failed, 4u);
}

TEST_F(TlsServerTest, PlainTextToATlsPortIsNoRequest) {
  Listen(Files());
  Url url;
  url.host = "127.0.0.1";
  for (uint16_t port : {http_port_, grpc_port_}) {
    url.port = port;
    EXPECT_FALSE(HttpClient(url).Get("/").ok());
  }
  EXPECT_EQ(http_.counters().requests, 0u);
}

TEST_F(TlsServerTest, MutualTlsTakesCertificatesOfItsCaOnlyAndTellsTheirName) {
  TlsFiles files = Files();
  files.client_ca = File("ca.pem");
  Listen(files);
  auto answer = Client("client").Get("/");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "sender.example|");
  auto reply = Call("hello", "client");
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->reply, "sender.example|hello");
  for (const char* wrong : {"", "stranger"}) {
    EXPECT_FALSE(Client(wrong).Get("/").ok()) << wrong;
    EXPECT_FALSE(Call("hello", wrong).ok()) << wrong;
  }
  EXPECT_EQ(http_.counters().requests, 1u);
  EXPECT_EQ(grpc_.counters().requests, 1u);
}

TEST_F(TlsServerTest, NewFilesServeNewConnectionsAndOldOnesGoOn) {
  Listen(Files());
  HttpClient before = Client();
  ASSERT_TRUE(before.Get("/").ok());
  EXPECT_FALSE(*keys_->Reload(TlsKeys::When::kIfChanged));
  EXPECT_EQ(keys_->facts().subject, "CN=first");
  Install(second_);
  EXPECT_TRUE(*keys_->Reload(TlsKeys::When::kIfChanged));
  EXPECT_EQ(keys_->facts().subject, "CN=second");
  ASSERT_TRUE(before.Get("/").ok());
  ASSERT_TRUE(Client().Get("/").ok());
  EXPECT_EQ(http_.counters().connections, 2u);  // `before` has its first one still

  std::ofstream(File("server.pem")) << "nonsense\n";
  auto broken = keys_->Reload(TlsKeys::When::kIfChanged);
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("server.pem"), std::string::npos);
  EXPECT_FALSE(*keys_->Reload(TlsKeys::When::kIfChanged));  // logged once
  EXPECT_TRUE(Client().Get("/").ok());                      // the previous files stay in use
}

TEST_F(TlsServerTest, WrongFilesAreNamed) {
  const auto message = [](const TlsFiles& files) {
    auto keys = TlsKeys::Load(files);
    return keys.ok() ? std::string("loaded") : keys.error().message;
  };
  const auto expect = [&](const TlsFiles& files, const std::vector<std::string>& words) {
    const std::string text = message(files);
    for (const std::string& word : words)
      EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
  };
  EXPECT_EQ(message(Files()), "loaded");
  expect({File("server.pem"), "", ""}, {"--tls-key is missing"});
  expect({"", File("server.key"), ""}, {"--tls-cert is missing"});
  expect({"", "", File("ca.pem")}, {"--tls-client-ca", "--tls-cert"});
  expect({File("none.pem"), File("server.key"), ""}, {"--tls-cert", "none.pem", "No such file"});
  expect({folder_, File("server.key"), ""}, {"--tls-cert", "directory"});
  expect({File("server.key"), File("server.key"), ""}, {"--tls-cert", "server.key", "PEM"});
  expect({File("server.pem"), File("server.pem"), ""}, {"--tls-key", "server.pem", "PEM"});
  expect({File("server.pem"), File("client.key"), ""}, {"--tls-key", "not the key"});
  expect({File("server.pem"), File("server.key"), File("server.key")},
         {"--tls-client-ca", "server.key"});
  first_.WriteKey(File("locked.key"), "secret");
  expect({File("server.pem"), File("locked.key"), ""}, {"--tls-key", "locked.key"});
}

TEST_F(TlsServerTest, AHandshakeThatIsNeverFinishedTimesOut) {
  HttpListenOptions options;
  options.handshake_timeout = 200 * kMilli;
  Listen(Files(), options);
  for (uint16_t port : {http_port_, grpc_port_}) {
    auto silent = SocketStream::Connect("127.0.0.1", port, {});
    ASSERT_TRUE(silent.ok());
    char byte;
    auto got = silent->Read(&byte, 1);  // blocks until the server closes
    EXPECT_TRUE(!got.ok() || *got == 0);
  }
  EXPECT_EQ(keys_->counters().handshakes_late, 2u);
}

TEST_F(TlsServerTest, AFloodOfSilentConnectionsKeepsNobodyOut) {
  HttpListenOptions options;
  options.handshake_timeout = 5 * kMinute;
  Listen(Files(), options);
  std::vector<SocketStream> silent;
  for (int i = 0; i < 400; ++i) {
    auto stream = SocketStream::Connect("127.0.0.1", http_port_, {});
    ASSERT_TRUE(stream.ok()) << stream.error().message;
    silent.push_back(std::move(*stream));
  }
  EXPECT_TRUE(Client().Get("/").ok());
  EXPECT_TRUE(Call("hello").ok());
  EXPECT_GT(keys_->counters().handshakes_cut, 100u);
  EXPECT_LE(http_.open_connections(), 300u);
}

}  // namespace
}  // namespace wf::net
