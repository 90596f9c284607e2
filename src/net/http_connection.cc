#include "net/http_connection.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/status.hpp>
#include <utility>

namespace wf::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

// Body bytes asked for, or written, under one timeout: the unit of "is the peer alive". Also bounds
// how much memory a declared but unsent body touches.
constexpr size_t kSlice = 256 * 1024;
constexpr size_t kFirstRead = 8 * 1024;
// Costs less than finding out twice who sends it.
constexpr size_t kSmallBody = 64 * 1024;
constexpr size_t kMaxLinger = 64 << 20;
constexpr Nanos kCloseWithin = 2 * kSecond;
constexpr size_t kGzipAbove = 1024;
// For a client on this machine, sending a large body uncompressed is quicker than compressing it.
constexpr size_t kGzipOnLoopbackBelow = 1 << 20;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

bool IsCompressible(std::string_view content_type) {
  return content_type.substr(0, 5) == "text/" ||
         content_type.find("json") != std::string_view::npos ||
         content_type.find("javascript") != std::string_view::npos ||
         content_type.find("svg") != std::string_view::npos;
}

// Whether the client takes gzip: named, or covered by *, and not with q=0.
bool AcceptsGzip(std::string_view header) {
  bool accepts = false;
  for (const auto& item : http::ext_list(beast::string_view(header.data(), header.size()))) {
    bool named = beast::iequals(item.first, "gzip");
    if (!named && item.first != "*") continue;
    bool zero = false;
    for (const auto& parameter : item.second) {
      if (beast::iequals(parameter.first, "q")) {
        zero = parameter.second.find_first_not_of("0.") == beast::string_view::npos;
      }
    }
    accepts = !zero;
    if (named) break;
  }
  return accepts;
}

// A value from a handler must not be able to end its header line.
void AppendHeader(std::string* out, std::string_view name, std::string_view value) {
  out->append(name).append(": ");
  for (char c : value) out->push_back(c == '\r' || c == '\n' || c == '\0' ? ' ' : c);
  out->append("\r\n");
}

std::string_view HttpDate() {
  thread_local time_t made_at = 0;
  thread_local char text[40];
  time_t now = time(nullptr);
  if (now != made_at) {
    tm parts;
    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    made_at = now;
  }
  return text;
}

void MaybeCompress(std::string_view remote_address, HttpResponse* response) {
  if (response->body.size() <= kGzipAbove) return;
  bool loopback = remote_address.substr(0, 4) == "127." || remote_address.substr(0, 5) == "[::1]";
  if (loopback && response->body.size() >= kGzipOnLoopbackBelow) return;
  bool compressible = false;
  for (const auto& [name, value] : response->headers) {
    if (EqualsIgnoringCase(name, "Content-Encoding")) return;
    if (EqualsIgnoringCase(name, "Content-Type")) compressible = IsCompressible(value);
  }
  if (!compressible) return;
  std::string packed = Compress(Compression::kGzip, response->body);
  if (packed.size() >= response->body.size()) return;
  response->body = std::move(packed);
  response->headers.emplace_back("Content-Encoding", "gzip");
  response->headers.emplace_back("Vary", "Accept-Encoding");
}

}  // namespace

template <typename S>
HttpConnection<S>::HttpConnection(S stream, std::string remote_address,
                                  std::shared_ptr<HttpServer::State> server,
                                  std::shared_ptr<HttpListener> listener)
    : HttpServerConnection(listener.get()),
      server_(std::move(server)),
      listener_(std::move(listener)),
      stream_(std::move(stream)),
      remote_address_(std::move(remote_address)) {}

template <typename S>
HttpConnection<S>::~HttpConnection() {
  listener_->open.fetch_sub(1);
}

template <typename S>
void HttpConnection<S>::ExpireIn(Nanos timeout) {
  Lowest().expires_after(std::chrono::nanoseconds(timeout));
}

template <typename S>
void HttpConnection<S>::Start() {
  if constexpr (kTls) {
    Handshake();
  } else {
    AwaitRequest();
  }
}

template <typename S>
void HttpConnection<S>::Handshake() {
  if constexpr (kTls) {
    if (server_->stopping.load()) return Close();
    const std::shared_ptr<TlsKeys::Impl> keys = listener_->options.tls->impl();
    TlsHandshakes::Place place;
    const bool cut = keys->handshakes.Begin(
        [io = server_->io, weak = weak_from_this()] {
          io->PostTo(weak, [](HttpServerConnection& self) { self.Close(); });
        },
        &place);
    if (cut) keys->counters.handshakes_cut.fetch_add(1);
    ExpireIn(options().handshake_timeout);
    stream_.async_handshake(
        asio::ssl::stream_base::server, [self = Self(), keys, place](ErrorCode ec) {
          keys->handshakes.End(place);
          TlsCounters& counters = keys->counters;
          if (ec) {
            (ec == beast::error::timeout ? counters.handshakes_late : counters.handshakes_failed)
                .fetch_add(1);
            return self->Close();
          }
          counters.handshakes.fetch_add(1);
          self->client_name_ = TlsClientName(self->stream_.native_handle());
          self->AwaitRequest();
        });
  }
}

// Waits for the first byte of a request, which may take long; the rest of its head may not.
template <typename S>
void HttpConnection<S>::AwaitRequest() {
  if (server_->stopping.load()) return Close();
  idle_ = true;
  idle_since.store(MonotonicNow(), std::memory_order_relaxed);
  request_ = HttpRequest();
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(options().max_header_bytes));
  parser_->body_limit(boost::none);  // we check as we read
  if (buffer_.size() > 0) return ReadHead();
  ExpireIn(options().idle_timeout);
  stream_.async_read_some(buffer_.prepare(kFirstRead), [self = Self()](ErrorCode ec, size_t size) {
    if (ec) return self->OnReadError(ec);
    self->buffer_.commit(size);
    self->ReadHead();
  });
}

template <typename S>
void HttpConnection<S>::ReadHead() {
  idle_ = false;
  ExpireIn(options().header_timeout);
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = Self()](ErrorCode ec, size_t) { self->OnHead(ec); });
}

template <typename S>
void HttpConnection<S>::OnReadError(ErrorCode ec) {
  if (ec == beast::error::timeout && !idle_) server_->counters.timeouts.fetch_add(1);
  Close();
}

template <typename S>
void HttpConnection<S>::OnHead(ErrorCode ec) {
  if (ec == http::error::end_of_stream) return Close();
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
    return Refuse(
        431, "header_too_large",
        fmt::format("request head: more than the limit of {} bytes", options().max_header_bytes),
        "send fewer or shorter headers");
  }
  static const auto& parse_errors = make_error_code(http::error::end_of_stream).category();
  if (ec.category() == parse_errors && ec) {
    return Refuse(400, "malformed_request", fmt::format("request head: {}", ec.message()),
                  "speak HTTP/1.1 to this port");
  }
  if (ec) return OnReadError(ec);
  idle_since.store(0, std::memory_order_relaxed);
  if (TakeHead()) BeginBody();
}

template <typename S>
bool HttpConnection<S>::TakeHead() {
  auto& head = parser_->get();
  http10_ = head.version() < 11;
  keep_alive_ = head.keep_alive();
  request_.method = View(head.method_string());
  head_only_ = request_.method == "HEAD";
  request_.raw_target = View(head.target());
  request_.remote_address = remote_address_;
  request_.client_certificate = client_name_;
  for (const auto& field : head) {
    request_.headers.Add(std::string(View(field.name_string())), std::string(View(field.value())));
  }
  Result<HttpTarget> target = ParseTarget(request_.raw_target);
  if (!target.ok()) {
    Refuse(400, "malformed_request", target.error().message, target.error().hint);
    return false;
  }
  request_.path = std::move(target->path);
  request_.query = std::move(target->query);

  std::string_view encoding = request_.headers.Get("Content-Encoding");
  std::optional<Compression> known = CompressionFromName(encoding);
  if (!known) {
    Refuse(415, "unsupported_encoding", fmt::format("Content-Encoding \"{}\": unknown", encoding),
           "send gzip, zstd, deflate or plain");
    return false;
  }
  encoding_ = *known;
  std::string_view expect = request_.headers.Get("Expect");
  if (!expect.empty() && !EqualsIgnoringCase(expect, "100-continue")) {
    Refuse(417, "unknown_expectation", fmt::format("Expect \"{}\": unknown", expect),
           "leave the header out");
    return false;
  }
  return true;
}

template <typename S>
void HttpConnection<S>::BeginBody() {
  charge_ = BudgetCharge(options().budget);
  bool chunked = parser_->chunked();
  if (options().admit && (chunked || parser_->content_length().value_or(0) > kSmallBody)) {
    if (auto refused = options().admit(request_)) {
      keep_alive_ = false;
      unread_body_ = true;
      return Answer(std::move(*refused));
    }
  }
  size_t size = 0;
  if (!chunked && parser_->content_length()) {
    size_t limit = options().max_wire_body_bytes;
    if (encoding_ == Compression::kIdentity) limit = std::min(limit, options().max_body_bytes);
    if (*parser_->content_length() > limit) return RefuseTooLarge(limit);
    size = *parser_->content_length();
    if (!charge_.Resize(size)) return RefuseOverloaded();
  }
  auto read_body = [this, chunked, size] {
    if (chunked) return ReadChunkedBody();
    request_.body.reserve(size);
    request_.wire_bytes = size;
    ReadSizedBody(size);
  };
  bool body_expected = chunked || size > 0;
  if (!body_expected || http10_ || !request_.headers.Has("Expect") || buffer_.size() > 0) {
    return read_body();
  }
  static const std::string kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  ExpireIn(options().body_timeout);
  asio::async_write(stream_, asio::buffer(kContinue),
                    [self = Self(), read_body](ErrorCode ec, size_t) {
                      if (ec) return self->OnReadError(ec);
                      read_body();
                    });
}

// Straight from the socket into the string that the handler gets: Beast's own body reader would
// copy each byte once more through its buffer.
template <typename S>
void HttpConnection<S>::ReadSizedBody(size_t size) {
  std::string& body = request_.body;
  size_t buffered = std::min(buffer_.size(), size - body.size());
  if (buffered > 0) {
    body.append(static_cast<const char*>(buffer_.data().data()), buffered);
    buffer_.consume(buffered);
  }
  if (body.size() == size) return Dispatch();
  size_t at = body.size();
  body.resize(at + std::min(kSlice, size - at));
  ExpireIn(options().body_timeout);
  asio::async_read(stream_, asio::buffer(body.data() + at, body.size() - at),
                   [self = Self(), size](ErrorCode ec, size_t) {
                     if (ec) return self->OnReadError(ec);
                     self->ReadSizedBody(size);
                   });
}

template <typename S>
void HttpConnection<S>::ReadChunkedBody() {
  if (parser_->is_done()) {
    request_.body = std::move(parser_->get().body());
    request_.wire_bytes = request_.body.size();
    return Dispatch();
  }
  ExpireIn(options().body_timeout);
  http::async_read_some(stream_, buffer_, *parser_, [self = Self()](ErrorCode ec, size_t) {
    if (ec == http::error::need_more) ec = {};
    static const auto& parse_errors = make_error_code(http::error::end_of_stream).category();
    if (ec && ec.category() == parse_errors && ec != http::error::partial_message) {
      return self->Refuse(400, "malformed_request", fmt::format("chunked body: {}", ec.message()),
                          "check the sizes of the chunks");
    }
    if (ec) return self->OnReadError(ec);
    size_t size = self->parser_->get().body().size();
    size_t limit = self->options().max_wire_body_bytes;
    if (self->encoding_ == Compression::kIdentity) {
      limit = std::min(limit, self->options().max_body_bytes);
    }
    if (size > limit) return self->RefuseTooLarge(limit);
    if (!self->charge_.Resize(size)) return self->RefuseOverloaded();
    self->ReadChunkedBody();
  });
}

template <typename S>
void HttpConnection<S>::Dispatch() {
  parser_.reset();
  if (encoding_ != Compression::kIdentity) {
    std::string decoded;
    std::string reason;
    switch (Decompress(encoding_, request_.body, options().max_body_bytes, &decoded, &reason)) {
      case DecodeOutcome::kOk:
        break;
      case DecodeOutcome::kTooLarge:
        return RefuseTooLarge(options().max_body_bytes);
      case DecodeOutcome::kCorrupt:
        return Refuse(400, "malformed_body",
                      fmt::format("{} body: {}", CompressionName(encoding_), reason),
                      "compress the body again, or send it plain");
    }
    request_.body = std::move(decoded);
    if (!charge_.Resize(request_.body.size())) return RefuseOverloaded();
  }
  server_->counters.requests.fetch_add(1);
  server_->counters.body_bytes.fetch_add(request_.wire_bytes);
  HttpResponder responder = MakeResponder();
  try {
    listener_->handler(std::move(request_), std::move(responder));
  } catch (...) {
    // The responder was destroyed on the way out and has answered 500.
  }
}

template <typename S>
HttpResponder HttpConnection<S>::MakeResponder() {
  bool gzip = AcceptsGzip(request_.headers.Get("Accept-Encoding"));
  // The answer owns the charge: a client that leaves does not free what its body still holds.
  auto charge = std::make_shared<BudgetCharge>(std::move(charge_));
  return HttpResponder([io = server_->io, weak = weak_from_this(), gzip, remote = remote_address_,
                        charge = std::move(charge)](HttpResponse response) {
    charge->Clear();
    if (gzip) MaybeCompress(remote, &response);  // on the answering thread: io threads stay free
    const std::shared_ptr<HttpBodyStream> stream = response.stream;
    const bool posted =
        io->PostTo(weak, [response = std::move(response)](HttpServerConnection& self) mutable {
          self.Answer(std::move(response));
        });
    if (!posted && stream) stream->Close();
  });
}

template <typename S>
void HttpConnection<S>::Answer(HttpResponse response) {
  if (closed_) {
    if (response.stream) response.stream->Close();
    return;
  }
  if (server_->stopping.load()) keep_alive_ = false;
  body_out_ = std::move(response.body);
  body_written_ = 0;
  head_out_.clear();
  auto status = static_cast<unsigned>(response.status);
  fmt::format_to(std::back_inserter(head_out_), "HTTP/1.1 {} {}\r\n", status,
                 View(http::obsolete_reason(static_cast<http::status>(status))));
  AppendHeader(&head_out_, "Date", HttpDate());
  for (const auto& [name, value] : response.headers) {
    if (EqualsIgnoringCase(name, "Content-Length") && head_only_) continue;
    AppendHeader(&head_out_, name, value);
  }
  bool bodiless = status == 204 || status == 304 || status < 200;
  if (response.stream) {
    stream_out_ = std::move(response.stream);
    keep_alive_ = false;
    if (!http10_)
      head_out_ += "Transfer-Encoding: chunked\r\n";  // else its end is the connection's
  } else if (!bodiless) {
    fmt::format_to(std::back_inserter(head_out_), "Content-Length: {}\r\n", body_out_.size());
  }
  if (!keep_alive_) {
    head_out_ += "Connection: close\r\n";
  } else if (http10_) {
    head_out_ += "Connection: keep-alive\r\n";
  }
  head_out_ += "\r\n";
  if (bodiless || head_only_) body_out_.clear();
  if (stream_out_ && !head_only_) return BeginStream();

  size_t slice = std::min(kSlice, body_out_.size());
  std::array<asio::const_buffer, 2> buffers = {asio::buffer(head_out_),
                                               asio::buffer(body_out_.data(), slice)};
  body_written_ = slice;
  ExpireIn(options().body_timeout);
  asio::async_write(stream_, buffers, [self = Self()](ErrorCode ec, size_t) {
    if (ec) return self->OnReadError(ec);
    self->WriteSlice();
  });
}

template <typename S>
void HttpConnection<S>::WriteSlice() {
  if (body_written_ == body_out_.size()) return AfterAnswer();
  size_t slice = std::min(kSlice, body_out_.size() - body_written_);
  ExpireIn(options().body_timeout);
  asio::async_write(stream_, asio::buffer(body_out_.data() + body_written_, slice),
                    [self = Self(), slice](ErrorCode ec, size_t) {
                      if (ec) return self->OnReadError(ec);
                      self->body_written_ += slice;
                      self->WriteSlice();
                    });
}

template <typename S>
void HttpConnection<S>::BeginStream() {
  if (const Nanos patience = stream_out_->options().lost_after; patience > 0) {
    const auto milliseconds = static_cast<unsigned>(std::max<Nanos>(1, patience / kMilli));
    setsockopt(Lowest().socket().native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds,
               sizeof milliseconds);
  }
  Lowest().expires_never();  // of the read below: a client that reads an answer sends nothing
  AwaitLeave();
  pumping_ = true;
  ExpireIn(options().body_timeout);  // only of the write, because the read is in progress
  asio::async_write(stream_, asio::buffer(head_out_), [self = Self()](ErrorCode ec, size_t) {
    self->pumping_ = false;
    if (ec) return self->Close();
    self->stream_out_->Attach([io = self->server_->io, weak = self->weak_from_this()] {
      io->PostTo(weak, [](HttpServerConnection& to) { to.PumpStream(); });
    });
    self->PumpStream();
  });
}

// One piece at a time: what is written meanwhile waits in the stream, where it is bounded.
template <typename S>
void HttpConnection<S>::PumpStream() {
  if (closed_ || pumping_) return;
  body_out_.clear();
  const HttpBodyStream::Took took = stream_out_->Take(&body_out_);
  if (took == HttpBodyStream::Took::kNothing) return;
  const bool last = took == HttpBodyStream::Took::kEnd;
  head_out_.clear();
  std::string_view tail;
  if (!http10_) {
    head_out_ = last ? "0\r\n\r\n" : fmt::format("{:x}\r\n", body_out_.size());
    if (!last) tail = "\r\n";
  }
  pumping_ = true;
  std::array<asio::const_buffer, 3> buffers = {asio::buffer(head_out_), asio::buffer(body_out_),
                                               asio::buffer(tail.data(), tail.size())};
  ExpireIn(options().body_timeout);
  asio::async_write(stream_, buffers, [self = Self(), last](ErrorCode ec, size_t) {
    self->pumping_ = false;
    if (ec) return self->Close();
    if (!last) return self->PumpStream();
    self->ShutDown();
  });
}

template <typename S>
void HttpConnection<S>::AwaitLeave() {
  // A further request on this connection would not be answered: it ends with the stream.
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kFirstRead), [self = Self()](ErrorCode ec, size_t) {
    if (ec) return self->Close();
    self->AwaitLeave();
  });
}

template <typename S>
void HttpConnection<S>::AfterAnswer() {
  std::string().swap(body_out_);  // an assignment would keep its memory while idle
  if (keep_alive_) return AwaitRequest();
  if (!unread_body_) return ShutDown();
  ErrorCode ignored;
  Lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  buffer_.clear();
  body_written_ = 0;  // now counts what lingering has thrown away
  ExpireIn(kCloseWithin);
  Linger();
}

// Ends the sending side. A TLS client is notified, because it could not distinguish the end from a cut
// otherwise.
template <typename S>
void HttpConnection<S>::ShutDown() {
  if constexpr (kTls) {
    ExpireIn(kCloseWithin);
    stream_.async_shutdown([self = Self()](ErrorCode) { self->Close(); });
  } else {
    ErrorCode ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    Close();
  }
}

template <typename S>
void HttpConnection<S>::Linger() {
  stream_.async_read_some(buffer_.prepare(64 * 1024), [self = Self()](ErrorCode ec, size_t size) {
    self->body_written_ += size;
    if (ec || self->body_written_ > kMaxLinger) return self->Close();
    self->Linger();
  });
}

template <typename S>
void HttpConnection<S>::Refuse(int status, std::string_view code, std::string_view message,
                               std::string_view hint) {
  if (status != 413 && status != 429) server_->counters.malformed.fetch_add(1);
  keep_alive_ = false;
  unread_body_ = true;
  charge_.Clear();
  request_ = HttpRequest();
  HttpResponse response = ErrorResponse(status, code, message, hint);
  if (status == 429) {
    response.headers.emplace_back("Retry-After", std::to_string(options().retry_after_seconds));
  }
  Answer(std::move(response));
}

template <typename S>
void HttpConnection<S>::RefuseTooLarge(size_t limit) {
  server_->counters.too_large.fetch_add(1);
  Refuse(413, "too_large", fmt::format("request body: more than the limit of {} bytes", limit),
         "send smaller batches");
}

template <typename S>
void HttpConnection<S>::RefuseOverloaded() {
  server_->counters.overloaded.fetch_add(1);
  Refuse(429, "overloaded",
         fmt::format("request body: {} bytes of requests are already in progress, the limit is {}",
                     options().budget->used(), options().budget->limit()),
         "send it again after the time in Retry-After");
}

template <typename S>
void HttpConnection<S>::CloseIfIdle() {
  if (idle_) Close();
}

template <typename S>
void HttpConnection<S>::Close() {
  if (closed_) return;
  closed_ = true;
  charge_.Clear();
  Lowest().close();
  if (stream_out_) stream_out_->Close();
  server_->connections.Remove(this);
}

template class HttpConnection<PlainHttpStream>;
template class HttpConnection<TlsHttpStream>;

std::shared_ptr<HttpServerConnection> MakeHttpConnection(TcpSocket socket,
                                                         std::string remote_address,
                                                         std::shared_ptr<HttpServer::State> server,
                                                         std::shared_ptr<HttpListener> listener) {
  PlainHttpStream plain(std::move(socket));
  if (listener->options.tls == nullptr)
    return std::make_shared<HttpConnection<PlainHttpStream>>(
        std::move(plain), std::move(remote_address), std::move(server), std::move(listener));
  // The stream keeps what it needs of the context when the next one takes its place.
  const auto context = listener->options.tls->impl()->Context(TlsProtocol::kHttp1);
  return std::make_shared<HttpConnection<TlsHttpStream>>(TlsHttpStream(std::move(plain), *context),
                                                         std::move(remote_address),
                                                         std::move(server), std::move(listener));
}

}  // namespace wf::net
