// For tests: an OTLP/HTTP receiver on a free loopback port that gives scripted answers and keeps what it got.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/runtime/protobuf_reader.h"
#include "client/transport/http_message.h"

namespace wherefore::client {

// A received span, decoded field by field. Labels are written as text: ints as digits, doubles as
// %g, bools as words.
struct ReceivedSpan {
  std::map<std::string, std::string> process;
  std::string trace_id, span_id, parent_id;  // lower-case hex
  std::string name, tracestate, error;
  uint64_t kind = 0, start_ns = 0, end_ns = 0, outcome = 0, flags = 0;
  uint64_t left_out_labels = 0;
  std::map<std::string, std::string> labels;
  std::vector<std::string> points;
  std::vector<std::string> links;  // trace id, space, span id
  bool well_formed = true;
};

inline std::string HexOf(std::string_view bytes) {
  std::string text;
  for (unsigned char c : bytes) {
    text.push_back("0123456789abcdef"[c >> 4]);
    text.push_back("0123456789abcdef"[c & 15]);
  }
  return text;
}

inline void ReadLabel(std::string_view message, std::map<std::string, std::string>& labels) {
  std::string key, value;
  ProtobufReader pair(message);
  while (pair.Next()) {
    if (pair.field() == 1) key = std::string(pair.bytes());
    if (pair.field() != 2) continue;
    ProtobufReader any(pair.bytes());
    while (any.Next()) {
      if (any.field() == 1) value = std::string(any.bytes());
      if (any.field() == 2) value = any.number() != 0 ? "true" : "false";
      if (any.field() == 3) value = std::to_string(static_cast<int64_t>(any.number()));
      if (any.field() == 4) {
        double real;
        const uint64_t bits = any.number();
        std::memcpy(&real, &bits, sizeof real);
        char text[32];
        std::snprintf(text, sizeof text, "%g", real);
        value = text;
      }
    }
  }
  labels[key] = value;
}

inline ReceivedSpan ReadSpan(std::string_view message) {
  ReceivedSpan span;
  ProtobufReader reader(message);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        span.trace_id = HexOf(reader.bytes());
        break;
      case 2:
        span.span_id = HexOf(reader.bytes());
        break;
      case 3:
        span.tracestate = std::string(reader.bytes());
        break;
      case 4:
        span.parent_id = HexOf(reader.bytes());
        break;
      case 5:
        span.name = std::string(reader.bytes());
        break;
      case 6:
        span.kind = reader.number();
        break;
      case 7:
        span.start_ns = reader.number();
        break;
      case 8:
        span.end_ns = reader.number();
        break;
      case 9:
        ReadLabel(reader.bytes(), span.labels);
        break;
      case 10:
        span.left_out_labels = reader.number();
        break;
      case 11: {
        ProtobufReader event(reader.bytes());
        while (event.Next()) {
          if (event.field() == 2) span.points.emplace_back(event.bytes());
        }
        break;
      }
      case 13: {
        std::string ids;
        ProtobufReader link(reader.bytes());
        while (link.Next()) {
          if (link.field() == 1) ids = HexOf(link.bytes());
          if (link.field() == 2) ids += " " + HexOf(link.bytes());
        }
        span.links.push_back(ids);
        break;
      }
      case 15: {
        ProtobufReader status(reader.bytes());
        while (status.Next()) {
          if (status.field() == 2) span.error = std::string(status.bytes());
          if (status.field() == 3) span.outcome = status.number();
        }
        break;
      }
      case 16:
        span.flags = reader.number();
        break;
      default:
        break;
    }
  }
  span.well_formed = reader.ok();
  return span;
}

// The spans of an ExportTraceServiceRequest.
inline std::vector<ReceivedSpan> ReadSpans(std::string_view request) {
  std::vector<ReceivedSpan> spans;
  ProtobufReader processes(request);
  while (processes.Next()) {
    std::map<std::string, std::string> process;
    ProtobufReader fields(processes.bytes());
    while (fields.Next()) {
      if (fields.field() == 1) {
        ProtobufReader resource(fields.bytes());
        while (resource.Next()) ReadLabel(resource.bytes(), process);
      }
      if (fields.field() != 2) continue;
      ProtobufReader scope(fields.bytes());
      while (scope.Next()) {
        if (scope.field() != 2) continue;
        spans.push_back(ReadSpan(scope.bytes()));
        spans.back().process = process;
      }
    }
  }
  return spans;
}

class TestReceiver {
 public:
  // Given the number of the request (from 0), returns the whole answer; empty: close without one.
  using Answer = std::function<std::string(int)>;

  static std::string Status(const std::string& status, const std::string& headers = {},
                            const std::string& body = {}) {
    return "HTTP/1.1 " + status + "\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  explicit TestReceiver(Answer answer = [](int) { return Status("200 OK"); })
      : answer_(std::move(answer)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_, 64) != 0) {
      std::perror("test receiver");
      std::abort();
    }
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Accept(); });
  }
  ~TestReceiver() {
    stopping_ = true;
    thread_.join();
    for (std::thread& connection : connections_) connection.join();
    close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int requests() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(received_.size());
  }
  std::vector<HttpMessage> received() const {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  std::vector<ReceivedSpan> Spans() const {
    std::vector<ReceivedSpan> all;
    for (const HttpMessage& message : received()) {
      for (ReceivedSpan& span : ReadSpans(message.body)) all.push_back(std::move(span));
    }
    return all;
  }

 private:
  bool Readable(int fd) const {
    pollfd waiting{fd, POLLIN, 0};
    return poll(&waiting, 1, 20) > 0;
  }
  void Accept() {
    while (!stopping_) {
      if (!Readable(listener_)) continue;
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) connections_.emplace_back([this, fd] { Serve(fd); });
    }
  }
  void Serve(int fd) {
    std::string buffer;
    while (!stopping_) {
      if (!Readable(fd)) continue;
      char chunk[4096];
      const ssize_t n = recv(fd, chunk, sizeof chunk, 0);
      if (n <= 0) break;
      buffer.append(chunk, static_cast<size_t>(n));
      HttpMessage message;
      if (TakeHttpMessage(HttpKind::kRequest, StreamState::kOpen, buffer, message) !=
          TakeResult::kTaken) {
        continue;
      }
      int number;
      {
        const std::lock_guard lock(mutex_);
        number = static_cast<int>(received_.size());
        received_.push_back(message);
      }
      const std::string answer = answer_(number);
      if (answer.empty()) break;
      send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    close(fd);
  }

  Answer answer_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<HttpMessage> received_;
  std::vector<std::thread> connections_;  // grown by thread_ only
  std::thread thread_;
};

}  // namespace wherefore::client
