#include "net/socket_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <utility>

namespace wf::net {
namespace {

constexpr const char* kServerHint = "check that the server runs and that the address is right";

// OpenSSL writes with write(2), which raises SIGPIPE when the peer is gone; a library must not kill
// its process, nor change the signal's disposition behind its back.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &old_);
  }
  ~SigpipeGuard() {
    if (!was_pending_) {
      timespec now{};
      while (sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t old_;
  bool was_pending_ = false;
};

std::string TlsError() {
  unsigned long code = ERR_get_error();
  if (code == 0) return "the connection was closed";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("OpenSSL error {:#x}", code);
}

bool IsPinned(X509* shown, const std::string& path) {
  BIO* file = BIO_new_file(path.c_str(), "r");
  X509* wanted = file == nullptr ? nullptr : PEM_read_bio_X509(file, nullptr, nullptr, nullptr);
  BIO_free(file);
  const bool same = shown != nullptr && wanted != nullptr && X509_cmp(shown, wanted) == 0;
  X509_free(wanted);
  return same;
}

}  // namespace

struct SocketStream::State {
  std::string name;  // "host:port", for messages
  int fd = -1;
  SSL_CTX* context = nullptr;
  SSL* ssl = nullptr;

  ~State() {
    if (ssl != nullptr) {
      SigpipeGuard guard;
      SSL_shutdown(ssl);
      SSL_free(ssl);
    }
    if (context != nullptr) SSL_CTX_free(context);
    if (fd >= 0) close(fd);
  }

  Error Failed(std::string_view what) const {
    bool timeout = errno == EAGAIN || errno == EWOULDBLOCK;
    return EnvironmentError(
        fmt::format("{}: {}: {}", name, what, timeout ? "timed out" : strerror(errno)),
        kServerHint);
  }
  Status Handshake(const std::string& host, const SocketOptions& options);
};

SocketStream::SocketStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
SocketStream::SocketStream(SocketStream&&) noexcept = default;
SocketStream& SocketStream::operator=(SocketStream&&) noexcept = default;
SocketStream::~SocketStream() = default;

Status SocketStream::State::Handshake(const std::string& host, const SocketOptions& options) {
  SigpipeGuard guard;
  ERR_clear_error();
  context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr) return EnvironmentError("TLS: " + TlsError());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  int loaded = options.ca_file.empty() || !options.pinned_file.empty()
                   ? SSL_CTX_set_default_verify_paths(context)
                   : SSL_CTX_load_verify_locations(context, options.ca_file.c_str(), nullptr);
  if (loaded != 1) {
    return EnvironmentError(fmt::format("CA file {}: {}", options.ca_file, TlsError()),
                            "give a readable PEM file of trusted certificates");
  }
  if (!options.certificate_file.empty()) {
    const std::string& key = options.key_file.empty() ? options.certificate_file : options.key_file;
    if (SSL_CTX_use_certificate_chain_file(context, options.certificate_file.c_str()) != 1)
      return EnvironmentError(
          fmt::format("client certificate {}: {}", options.certificate_file, TlsError()),
          "give a readable PEM file with the certificate and its chain");
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1)
      return EnvironmentError(fmt::format("key of the client certificate {}: {}", key, TlsError()),
                              "give a readable PEM file with the key that belongs to it");
  }
  if (!options.protocol.empty()) {
    std::string offered(1, static_cast<char>(options.protocol.size()));
    offered += options.protocol;
    SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(offered.data()),
                            static_cast<unsigned>(offered.size()));
  }
  ssl = SSL_new(context);
  if (ssl == nullptr) return EnvironmentError("TLS: " + TlsError());
  unsigned char address[sizeof(in6_addr)];
  bool is_ip = inet_pton(AF_INET, host.c_str(), address) == 1 ||
               inet_pton(AF_INET6, host.c_str(), address) == 1;
  if (is_ip) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl, host.c_str());
    SSL_set1_host(ssl, host.c_str());
  }
  SSL_set_fd(ssl, fd);
  if (!options.pinned_file.empty()) SSL_set_verify(ssl, SSL_VERIFY_NONE, nullptr);
  if (SSL_connect(ssl) == 1) {
    if (options.pinned_file.empty() ||
        IsPinned(SSL_get0_peer_certificate(ssl), options.pinned_file))
      return {};
    return EnvironmentError(
        fmt::format("{}: its certificate is not the one in {}", name, options.pinned_file),
        "is it the server of this store?");
  }
  long verify = SSL_get_verify_result(ssl);
  std::string reason = verify != X509_V_OK ? X509_verify_cert_error_string(verify) : TlsError();
  return EnvironmentError(fmt::format("{}: TLS handshake failed: {}", name, reason),
                          "check the address and the certificate; a CA file may be given");
}

Result<SocketStream> SocketStream::Connect(const std::string& host, uint16_t port,
                                           const SocketOptions& options) {
  auto state = std::make_unique<State>();
  state->name = fmt::format("{}:{}", host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    return EnvironmentError(fmt::format("{}: {}", state->name, gai_strerror(code)), kServerHint);
  }
  int last_errno = 0;
  for (addrinfo* at = found; at != nullptr; at = at->ai_next) {
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (fd < 0) {
      last_errno = errno;
      continue;
    }
    int failure = 0;
    if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
      failure = errno;
      if (failure == EINPROGRESS) {
        pollfd waiting{fd, POLLOUT, 0};
        int ready = poll(&waiting, 1, static_cast<int>(options.connect_timeout / kMilli));
        socklen_t size = sizeof failure;
        if (ready == 1) {
          getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
        } else {
          failure = ETIMEDOUT;
        }
      }
    }
    if (failure == 0) {
      state->fd = fd;
      break;
    }
    last_errno = failure;
    close(fd);
  }
  freeaddrinfo(found);
  if (state->fd < 0) {
    errno = last_errno;
    return state->Failed("cannot connect");
  }
  // Blocking from here on, with the kernel's timeouts: one system call a read, not three.
  fcntl(state->fd, F_SETFL, fcntl(state->fd, F_GETFL) & ~O_NONBLOCK);
  timeval limit{};
  limit.tv_sec = options.timeout / kSecond;
  limit.tv_usec = options.timeout % kSecond / kMicro;
  setsockopt(state->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(state->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int on = 1;
  setsockopt(state->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (options.tls) WF_TRY(state->Handshake(host, options));
  return SocketStream(std::move(state));
}

Status SocketStream::Write(std::string_view first, std::string_view second) {
  if (state_->ssl != nullptr) {
    SigpipeGuard guard;
    for (std::string_view part : {first, second}) {
      while (!part.empty()) {
        size_t sent = 0;
        ERR_clear_error();
        errno = 0;
        if (SSL_write_ex(state_->ssl, part.data(), part.size(), &sent) != 1) {
          if (errno != 0) return state_->Failed("cannot send");
          return EnvironmentError(state_->name + ": cannot send: " + TlsError(), kServerHint);
        }
        part.remove_prefix(sent);
      }
    }
    return {};
  }
  while (!first.empty() || !second.empty()) {
    iovec parts[2] = {{const_cast<char*>(first.data()), first.size()},
                      {const_cast<char*>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    ssize_t sent = sendmsg(state_->fd, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return state_->Failed("cannot send");
    }
    auto size = static_cast<size_t>(sent);
    size_t of_first = std::min(size, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(size - of_first);
  }
  return {};
}

Result<size_t> SocketStream::Read(char* buffer, size_t size) {
  if (state_->ssl != nullptr) {
    SigpipeGuard guard;
    size_t got = 0;
    ERR_clear_error();
    errno = 0;
    int code = SSL_read_ex(state_->ssl, buffer, size, &got);
    if (code == 1) return got;
    if (SSL_get_error(state_->ssl, code) == SSL_ERROR_ZERO_RETURN) return size_t{0};
    if (errno != 0) return state_->Failed("cannot receive");
    return EnvironmentError(state_->name + ": cannot receive: " + TlsError(), kServerHint);
  }
  while (true) {
    ssize_t got = recv(state_->fd, buffer, size, 0);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return state_->Failed("cannot receive");
  }
}

Result<bool> SocketStream::AwaitReadable(Nanos wait) {
  if (state_->ssl != nullptr && SSL_has_pending(state_->ssl) == 1) return true;
  pollfd waiting{state_->fd, POLLIN, 0};
  const int ready = poll(&waiting, 1, static_cast<int>(wait / kMilli));
  if (ready < 0 && errno != EINTR) return state_->Failed("cannot receive");
  return ready > 0;
}

void SocketStream::ShutdownWrite() { shutdown(state_->fd, SHUT_WR); }

}  // namespace wf::net
