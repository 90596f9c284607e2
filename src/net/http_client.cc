#include "net/http_client.h"

#include <fmt/format.h>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>

#include "net/compression.h"
#include "net/socket_stream.h"

namespace wf::net {

namespace http = boost::beast::http;

struct HttpClient::State {
  Url server;
  HttpClientOptions options;
  std::optional<SocketStream> stream;
  boost::beast::flat_buffer buffer;
  bool answered_before = false;  // on this connection

  Status Connect();
  std::string Head(std::string_view method, std::string_view target, const Headers& headers,
                   std::string_view body) const;
  Result<HttpClientResponse> Exchange(std::string_view method, std::string_view target,
                                      const Headers& headers, std::string_view body);
  Result<HttpClientResponse> ReadAnswer(std::string_view method);
  Error Malformed(std::string_view what) const {
    return EnvironmentError(fmt::format("{}: answer: {}", server.HostHeader(), what),
                            "check that the address belongs to a wherefore server");
  }

  bool nothing_received = false;  // of the last exchange
};

HttpClient::HttpClient(Url server, HttpClientOptions options) : state_(std::make_unique<State>()) {
  state_->server = std::move(server);
  state_->options = std::move(options);
}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Status HttpClient::State::Connect() {
  SocketOptions socket;
  socket.connect_timeout = options.connect_timeout;
  socket.timeout = options.timeout;
  socket.tls = server.tls;
  socket.ca_file = options.ca_file;
  socket.certificate_file = options.certificate_file;
  socket.key_file = options.key_file;
  socket.pinned_file = options.pinned_file;
  WF_ASSIGN(stream, SocketStream::Connect(server.host, server.port, socket));
  buffer.clear();
  answered_before = false;
  return {};
}

std::string HttpClient::State::Head(std::string_view method, std::string_view target,
                                    const Headers& headers, std::string_view body) const {
  std::string head =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", method, target, server.HostHeader());
  if (options.accept_gzip) head += "Accept-Encoding: gzip\r\n";
  if (!body.empty() || method == "POST" || method == "PUT") {
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", body.size());
  }
  for (const auto& [name, value] : headers)
    head.append(name).append(": ").append(value).append("\r\n");
  head += "\r\n";
  return head;
}

Result<HttpClientResponse> HttpClient::Send(std::string_view method, std::string_view target,
                                            const Headers& headers, std::string_view body) {
  auto has_line_break = [](std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
  };
  bool bad = has_line_break(method) || target.find_first_of(" \r\n") != std::string_view::npos;
  for (const auto& [name, value] : headers) bad |= has_line_break(name) || has_line_break(value);
  if (bad)
    return BadInput("HTTP request: a line break or space where none is allowed", "encode it");

  bool reused = state_->stream.has_value() && state_->answered_before;
  Result<HttpClientResponse> result = state_->Exchange(method, target, headers, body);
  const auto& give_up = state_->options.give_up;
  if (!result.ok() && reused && state_->nothing_received && !(give_up && give_up())) {
    result = state_->Exchange(method, target, headers, body);
  }
  return result;
}

Result<HttpClientResponse> HttpClient::State::Exchange(std::string_view method,
                                                       std::string_view target,
                                                       const Headers& headers,
                                                       std::string_view body) {
  nothing_received = true;
  if (!stream) WF_TRY(Connect());
  Status sent = stream->Write(Head(method, target, headers, body), body);
  // A server may refuse a large body before it has read all of it: its answer is worth more than
  // our write error.
  Result<HttpClientResponse> answer = ReadAnswer(method);
  if (!answer.ok()) {
    stream.reset();
    if (!sent.ok()) return sent.error();
    return answer;
  }
  if (!sent.ok()) stream.reset();
  return answer;
}

Result<HttpClientResponse> HttpClient::State::ReadAnswer(std::string_view method) {
  std::optional<http::response_parser<http::string_body>> parser;
  boost::system::error_code ec;
  bool ended = false;
  do {  // an interim answer (100 Continue) precedes the real one
    parser.emplace();
    parser->eager(true);
    parser->header_limit(64 * 1024);
    parser->body_limit(options.max_body_bytes);
    parser->skip(method == "HEAD");
    while (!parser->is_done()) {
      if (buffer.size() > 0) {
        size_t used = parser->put(buffer.data(), ec);
        buffer.consume(used);
        if (ec == http::error::body_limit) {
          return Malformed(fmt::format("more than the limit of {} bytes", options.max_body_bytes));
        }
        if (ec && ec != http::error::need_more) return Malformed(ec.message());
        if (parser->is_done()) break;
        if (!ec && used > 0 && buffer.size() > 0) continue;
      }
      while (options.give_up) {
        WF_ASSIGN(const bool readable, stream->AwaitReadable(50 * kMilli));
        if (readable) break;
        if (options.give_up()) return Malformed("cancelled");
      }
      auto space = buffer.prepare(64 * 1024);
      WF_ASSIGN(size_t got, stream->Read(static_cast<char*>(space.data()), space.size()));
      buffer.commit(got);
      if (got > 0) {
        nothing_received = false;
        continue;
      }
      ended = true;
      if (nothing_received) return Malformed("the server closed the connection");
      ec = {};
      parser->put_eof(ec);
      if (ec) return Malformed(ec.message());
      break;
    }
  } while (parser->get().result_int() / 100 == 1);

  HttpClientResponse response;
  auto& message = parser->get();
  response.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    response.headers.Add(std::string(field.name_string()), std::string(field.value()));
  }
  response.body = std::move(message.body());
  answered_before = true;
  if (ended || !message.keep_alive()) stream.reset();

  std::string_view encoding = response.headers.Get("Content-Encoding");
  if (!encoding.empty() && method != "HEAD") {
    std::optional<Compression> known = CompressionFromName(encoding);
    if (!known) return Malformed(fmt::format("Content-Encoding \"{}\" is unknown", encoding));
    if (*known != Compression::kIdentity && !response.body.empty()) {
      WF_ASSIGN(response.body, Decompress(*known, response.body, options.max_body_bytes));
    }
  }
  return response;
}

Result<HttpClientResponse> HttpClient::Stream(std::string_view target, const Headers& headers,
                                              Nanos tick, const TakePiece& take) {
  State& state = *state_;
  WF_TRY(state.Connect());
  WF_TRY(state.stream->Write(state.Head("GET", target, headers, {})));
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  parser.header_limit(64 * 1024);
  parser.body_limit(boost::none);
  const auto streams = [&] { return parser.is_header_done() && parser.get().result_int() == 200; };
  std::string& body = parser.get().body();
  bool ended = false;
  while (!ended && !parser.is_done()) {
    WF_ASSIGN(const bool readable, state.stream->AwaitReadable(tick));
    if (!readable) {
      if (!take({})) break;
      continue;
    }
    auto space = state.buffer.prepare(64 * 1024);
    WF_ASSIGN(const size_t got, state.stream->Read(static_cast<char*>(space.data()), space.size()));
    state.buffer.commit(got);
    boost::system::error_code ec;
    if (got == 0) parser.put_eof(ec);
    while (!ec && state.buffer.size() > 0 && !parser.is_done()) {
      const size_t used = parser.put(state.buffer.data(), ec);
      state.buffer.consume(used);
      if (used == 0) break;
    }
    if (ec && ec != http::error::need_more) {
      state.stream.reset();
      return state.Malformed(got == 0 ? "it ended in the middle" : ec.message());
    }
    if (streams() && !body.empty()) {
      ended = !take(body);
      body.clear();
    } else if (body.size() > state.options.max_body_bytes) {
      ended = true;
    }
  }
  state.stream.reset();
  HttpClientResponse response;
  if (!parser.is_header_done()) return state.Malformed("it was cancelled before it began");
  response.status = static_cast<int>(parser.get().result_int());
  for (const auto& field : parser.get()) {
    response.headers.Add(std::string(field.name_string()), std::string(field.value()));
  }
  response.body = std::move(body);
  return response;
}

}  // namespace wf::net
