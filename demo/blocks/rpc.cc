#include "rpc.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "demo/http_server.h"
#include "wherefore/baggage.h"
#include "wherefore/tracepoint.h"

namespace blocks {

namespace {

constexpr uint32_t kLongestFrame = 64u << 20;

void PutNumber(std::string& out, uint64_t number) {
  while (number >= 0x80) {
    out.push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  out.push_back(static_cast<char>(number));
}
void PutText(std::string& out, const std::string& text) {
  PutNumber(out, text.size());
  out += text;
}

class Reader {
 public:
  explicit Reader(const std::string& frame) : frame_(frame) {}

  uint64_t Number() {
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ >= frame_.size()) return Fail();
      const auto byte = static_cast<unsigned char>(frame_[at_++]);
      number |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return number;
    }
    return Fail();
  }
  std::string Text() {
    const uint64_t size = Number();
    if (size > frame_.size() - at_) return Fail(), std::string();
    at_ += size;
    return frame_.substr(at_ - size, size);
  }
  std::string Rest() const { return frame_.substr(at_); }
  bool failed() const { return failed_; }

 private:
  uint64_t Fail() {
    failed_ = true;
    at_ = frame_.size();
    return 0;
  }
  const std::string& frame_;
  size_t at_ = 0;
  bool failed_ = false;
};

std::string Head(const Message& message) {
  std::string head;
  head.reserve(500);  // nearly always enough: it is not to grow piece by piece
  PutText(head, message.method);
  PutNumber(head, message.failed);
  PutNumber(head, message.texts.size());
  for (const std::string& text : message.texts) PutText(head, text);
  PutNumber(head, message.numbers.size());
  for (const uint64_t number : message.numbers) PutNumber(head, number);
  wherefore::append_baggage(head);
  return head;
}
bool ReadHead(const std::string& head, Message& message) {
  Reader reader(head);
  message.method = reader.Text();
  message.failed = reader.Number();
  for (uint64_t n = reader.Number(); n > 0 && !reader.failed(); --n)
    message.texts.push_back(reader.Text());
  for (uint64_t n = reader.Number(); n > 0 && !reader.failed(); --n)
    message.numbers.push_back(reader.Number());
  message.baggage = reader.Rest();
  return !reader.failed();
}

bool SendAll(int fd, iovec* parts, int count) {
  while (count > 0) {
    ssize_t sent = writev(fd, parts, count);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    for (; count > 0 && static_cast<size_t>(sent) >= parts->iov_len; ++parts, --count)
      sent -= static_cast<ssize_t>(parts->iov_len);
    if (count > 0) {
      parts->iov_base = static_cast<char*>(parts->iov_base) + sent;
      parts->iov_len -= static_cast<size_t>(sent);
    }
  }
  return true;
}
bool ReceiveAll(int fd, void* to, size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = recv(fd, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

// Two lengths, the head, the body.
bool Send(int fd, const Message& message) {
  std::string head = Head(message);
  uint32_t lengths[2] = {static_cast<uint32_t>(head.size()),
                         static_cast<uint32_t>(message.body.size())};
  iovec parts[] = {{lengths, sizeof lengths},
                   {head.data(), head.size()},
                   {const_cast<char*>(message.body.data()), message.body.size()}};
  return SendAll(fd, parts, message.body.empty() ? 2 : 3);
}
bool Receive(int fd, Message& message) {
  uint32_t lengths[2];
  if (!ReceiveAll(fd, lengths, sizeof lengths)) return false;
  if (lengths[0] > kLongestFrame || lengths[1] > kLongestFrame) return false;
  std::string head(lengths[0], '\0');
  message.body.resize(lengths[1]);
  return ReceiveAll(fd, head.data(), head.size()) &&
         ReceiveAll(fd, message.body.data(), message.body.size()) && ReadHead(head, message);
}

void AnswerAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

RpcServer::RpcServer(int listen_fd, Handler handler)
    : listen_fd_(listen_fd), handler_(std::move(handler)) {
  std::signal(SIGPIPE, SIG_IGN);
  fcntl(listen_fd_, F_SETFL, 0);  // it was opened for a loop of events; here a thread waits
  acceptor_ = std::thread([this] { Accept(); });
}

RpcServer::~RpcServer() {
  stopping_ = true;
  shutdown(listen_fd_, SHUT_RDWR);
  acceptor_.join();
  close(listen_fd_);
  std::unique_lock lock(mutex_);
  for (const int fd : connections_) shutdown(fd, SHUT_RDWR);
  ended_.wait(lock, [this] { return connections_.empty(); });
}

void RpcServer::Accept() {
  while (!stopping_) {
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    AnswerAtOnce(fd);
    const std::lock_guard lock(mutex_);
    connections_.insert(fd);
    std::thread([this, fd] { Serve(fd); }).detach();
  }
}

void RpcServer::Serve(int fd) {
  Message call;
  while (!stopping_ && Receive(fd, call)) {
    const wherefore::BaggageScope request(call.baggage);
    WHEREFORE_TRACEPOINT("ReceiveRequest", {"method", call.method});
    const int64_t began = shop::NowNs();
    Message answer = handler_(call);
    WHEREFORE_TRACEPOINT("SendResponse", {"method", call.method}, {"ns", shop::NowNs() - began});
    if (!Send(fd, answer)) break;
    call = {};
  }
  const std::lock_guard lock(mutex_);
  connections_.erase(fd);
  close(fd);
  ended_.notify_all();
}

RpcPeer::RpcPeer(std::string service, std::string address)
    : service_(std::move(service)), address_(std::move(address)) {
  std::signal(SIGPIPE, SIG_IGN);
}
RpcPeer::~RpcPeer() {
  for (const int fd : idle_) close(fd);
}

int RpcPeer::Borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      const int fd = idle_.back();
      idle_.pop_back();
      return fd;
    }
  }
  const size_t colon = address_.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address_.substr(colon + 1))));
  inet_pton(AF_INET, address_.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
    AnswerAtOnce(fd);
    return fd;
  }
  if (fd >= 0) close(fd);
  return -1;
}

Message RpcPeer::Call(Message call) {
  Message answer;
  answer.failed = 1;
  const int fd = Borrow();
  if (fd < 0) return answer;
  const int64_t began = shop::NowNs();
  if (Message got; Send(fd, call) && Receive(fd, got)) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(fd);
    wherefore::join_baggage(got.baggage);
    WHEREFORE_TRACEPOINT("Call", {"service", service_}, {"method", call.method},
                         {"ns", shop::NowNs() - began});
    return got;
  }
  close(fd);
  return answer;
}

}  // namespace blocks
