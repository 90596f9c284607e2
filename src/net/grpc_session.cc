#include "net/grpc_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "net/nghttp2_values.h"

namespace wf::net {

namespace asio = boost::asio;

namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// As much as loopback delivers at once when the sender is ahead of us.
constexpr size_t kReadBytes = 256 * 1024;
// The first reads use a smaller buffer, because a connection without input should hold little memory.
constexpr size_t kFirstInputBytes = 16 * 1024;
constexpr size_t kOutputBytes = 64 * 1024;
constexpr std::string_view kAcceptEncoding = "identity,deflate,gzip,zstd";

// The head of an answer that carries no message, and every answer's trailers.
struct StatusHeaders {
  std::string code;
  std::string message;
  std::string details;

  explicit StatusHeaders(const GrpcReply& reply)
      : code(std::to_string(reply.code)), message(EncodeGrpcText(reply.message)) {
    if (reply.retry_delay) {
      details = EncodeRetryDetails(reply.code, reply.message, *reply.retry_delay);
    }
  }
  void AppendTo(std::vector<nghttp2_nv>* headers) const {
    headers->push_back(Header("grpc-status", code));
    if (!message.empty()) headers->push_back(Header("grpc-message", message));
    if (!details.empty()) headers->push_back(Header("grpc-status-details-bin", details));
  }
};

}  // namespace

GrpcSession::GrpcSession(Strand executor, std::string remote_address,
                         std::shared_ptr<GrpcServer::State> server,
                         std::shared_ptr<GrpcListener> listener)
    : listener(listener.get()),
      server_(std::move(server)),
      listener_(std::move(listener)),
      timer_(executor),
      remote_address_(std::move(remote_address)) {}

GrpcSession::~GrpcSession() {
  nghttp2_session_del(session_);
  listener_->open.fetch_sub(1);
}

void GrpcSession::Start() {
  if (closed_ || server_->stopping.load()) return Close();
  nghttp2_option* option;
  WF_CHECK(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_no_closed_streams(option, 1);  // nothing here uses priorities
  int made = nghttp2_session_server_new2(&session_, Callbacks(), this, option);
  nghttp2_option_del(option);
  WF_CHECK(made == 0);
  const std::array<nghttp2_settings_entry, 4> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options().max_concurrent_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options().stream_window_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(options().max_header_bytes)},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 256 * 1024},
  }};
  WF_CHECK(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) ==
           0);
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<int32_t>(options().connection_window_bytes));
  last_activity_ = MonotonicNow();
  input_.resize(kFirstInputBytes);
  Tick();
  ReadSome();
}

void GrpcSession::OnRead(ErrorCode ec, size_t size) {
  if (closed_) return;
  if (ec) return Close();
  OnBytes(size);
}

void GrpcSession::OnBytes(size_t size) {
  if (!preface_done_ && !CheckPreface(size)) return;
  ssize_t used = 0;
  if (!preface_.empty()) {
    used = nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(preface_.data()),
                                    preface_.size());
    preface_.clear();
  } else {
    used =
        nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(input_.data()), size);
  }
  if (used < 0) {
    // Flooding or out of memory, which nghttp2's own GOAWAY would not report.
    server_->counters.malformed.fetch_add(1);
    return Close();
  }
  Flush();
  if (closed_ || close_after_write_) return;
  if (size == kFirstInputBytes && input_.size() == size) input_.resize(kReadBytes);
  ReadSome();
}

// Looks at the first bytes before nghttp2 does: a browser or an HTTP/1.1 exporter gets an answer it
// understands. True when preface_ or input_ is to be parsed.
bool GrpcSession::CheckPreface(size_t size) {
  preface_.append(input_.data(), size);
  size_t compared = std::min(preface_.size(), kPreface.size());
  if (preface_.compare(0, compared, kPreface, 0, compared) != 0) {
    server_->counters.malformed.fetch_add(1);
    HttpResponse answer = ErrorResponse(
        400, "not_grpc",
        options().tls == nullptr ? "this port speaks gRPC over HTTP/2 without TLS"
                                 : "this port speaks gRPC over HTTP/2 with TLS",
        options().tls == nullptr
            ? "send OTLP over HTTP to the --otlp-http port (4318), or use a gRPC exporter without "
              "TLS"
            : "send OTLP over HTTP to the --otlp-http port (4318), or use a gRPC exporter");
    output_ = fmt::format(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
        "Connection: close\r\n\r\n{}",
        answer.body.size(), answer.body);
    close_after_write_ = true;
    writing_ = true;
    write_began_ = MonotonicNow();
    WriteAll();
    return false;
  }
  if (preface_.size() < kPreface.size()) {
    ReadSome();
    return false;
  }
  preface_done_ = true;
  return true;
}

// Writes what nghttp2 has to send, one write at a time.
void GrpcSession::Flush() {
  if (writing_ || closed_) return;
  output_.clear();
  while (output_.size() < kOutputBytes) {
    const uint8_t* bytes;
    ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) return Close();
    if (size == 0) break;
    output_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  }
  if (output_.empty()) {
    bool over =
        nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
    if (over || (server_->stopping.load() && calls_.empty())) Close();
    return;
  }
  writing_ = true;
  write_began_ = MonotonicNow();
  WriteAll();
}

void GrpcSession::OnWritten(ErrorCode ec) {
  if (closed_) return;
  if (ec || close_after_write_) return Close();
  writing_ = false;
  Flush();
}

// One coarse timer a connection instead of one an operation: a quarter of the shortest limit is
// exact enough.
void GrpcSession::Tick() {
  Nanos shortest =
      std::min({options().preface_timeout, options().request_timeout, options().idle_timeout});
  timer_.expires_after(std::chrono::nanoseconds(std::max<Nanos>(shortest / 4, 10 * kMilli)));
  timer_.async_wait([self = shared_from_this()](ErrorCode ec) {
    if (ec || self->closed_) return;
    Nanos now = MonotonicNow();
    const GrpcListenOptions& limits = self->options();
    bool preface_late = !self->preface_done_ && now - self->last_activity_ > limits.preface_timeout;
    bool write_stuck = self->writing_ && now - self->write_began_ > limits.request_timeout;
    if (preface_late || write_stuck) {
      self->server_->counters.timeouts.fetch_add(1);
      return self->Close();
    }
    if (!self->calls_.empty()) self->last_activity_ = now;
    std::vector<int32_t> late;
    for (auto& [stream, call] : self->calls_) {
      if (!call.at_handler && !call.answered && now - call.begun > limits.request_timeout) {
        late.push_back(stream);
      }
    }
    for (int32_t stream : late) {
      self->server_->counters.timeouts.fetch_add(1);
      self->Refuse(stream, *self->Find(stream), kGrpcDeadlineExceeded,
                   "the request did not arrive in time");
    }
    if (self->preface_done_ && now - self->last_activity_ > limits.idle_timeout) {
      nghttp2_session_terminate_session(self->session_, NGHTTP2_NO_ERROR);
    }
    self->Flush();
    if (!self->closed_) self->Tick();
  });
}

GrpcSession::Call* GrpcSession::Find(int32_t stream) {
  auto found = calls_.find(stream);
  return found == calls_.end() ? nullptr : &found->second;
}

void GrpcSession::OnRequestHead(int32_t stream, Call& call) {
  if (call.method != "POST" || call.content_type.substr(0, 16) != "application/grpc") {
    server_->counters.malformed.fetch_add(1);
    call.answered = true;
    std::array<nghttp2_nv, 1> headers = {Header(":status", "415")};
    nghttp2_submit_response(session_, stream, headers.data(), headers.size(), nullptr);
    return;
  }
  if (call.unknown_encoding) {
    server_->counters.malformed.fetch_add(1);
    return Refuse(stream, call, kGrpcUnimplemented,
                  fmt::format("grpc-encoding is not one of {}", kAcceptEncoding));
  }
  auto method = listener_->methods.find(call.request.path);
  if (method == listener_->methods.end()) {
    server_->counters.unimplemented.fetch_add(1);
    return Refuse(stream, call, kGrpcUnimplemented,
                  fmt::format("unknown method {}", call.request.path));
  }
  if (options().admit) {
    call.request.remote_address = remote_address_;
    call.request.client_certificate = client_name_;
    if (auto refused = options().admit(call.request))
      return Refuse(stream, call, refused->code, std::move(refused->message), refused->retry_delay);
  }
  call.handler = &method->second;
}

void GrpcSession::OnMessageBytes(int32_t stream, Call& call, std::string_view bytes) {
  using State = GrpcMessageReader::State;
  if (call.answered || call.at_handler) return;
  while (!bytes.empty()) {
    State before = call.reader.state();
    bytes.remove_prefix(call.reader.Feed(bytes));
    State state = call.reader.state();
    if (state == State::kBadFlag || state == State::kTrailing) {
      server_->counters.malformed.fetch_add(1);
      return Refuse(stream, call, kGrpcInternal,
                    state == State::kBadFlag
                        ? "message framing: the flag byte is neither 0 nor 1"
                        : "message framing: more than one message in a unary call");
    }
    if (before != State::kHead || state == State::kHead) continue;
    if (call.reader.size() > options().max_message_bytes) {
      server_->counters.too_large.fetch_add(1);
      return Refuse(stream, call, kGrpcResourceExhausted,
                    fmt::format("message of {} bytes: more than the limit of {}",
                                call.reader.size(), options().max_message_bytes));
    }
    if (!call.charge.Resize(call.reader.size())) {
      server_->counters.overloaded.fetch_add(1);
      return Refuse(stream, call, kGrpcUnavailable, "too many messages in progress",
                    options().retry_delay);
    }
  }
}

void GrpcSession::OnRequestEnd(int32_t stream, Call& call) {
  if (call.answered || call.at_handler || call.handler == nullptr) return;
  if (call.reader.state() != GrpcMessageReader::State::kComplete) {
    server_->counters.malformed.fetch_add(1);
    return Refuse(stream, call, kGrpcInternal, "message framing: the message is cut short");
  }
  call.request.wire_bytes = call.reader.size();
  if (!call.reader.compressed()) {
    call.request.message = std::move(call.reader.message());
  } else if (call.encoding == Compression::kIdentity) {
    server_->counters.malformed.fetch_add(1);
    return Refuse(stream, call, kGrpcInternal,
                  "the message is compressed but grpc-encoding is not set");
  } else {
    std::string reason;
    DecodeOutcome outcome = Decompress(call.encoding, call.reader.message(),
                                       options().max_message_bytes, &call.request.message, &reason);
    if (outcome != DecodeOutcome::kOk) {
      bool large = outcome == DecodeOutcome::kTooLarge;
      (large ? server_->counters.too_large : server_->counters.malformed).fetch_add(1);
      return Refuse(stream, call, large ? kGrpcResourceExhausted : kGrpcInternal,
                    fmt::format("{} message: {}", CompressionName(call.encoding), reason));
    }
    std::string().swap(call.reader.message());
    if (!call.charge.Resize(call.request.message.size())) {
      server_->counters.overloaded.fetch_add(1);
      return Refuse(stream, call, kGrpcUnavailable, "too many messages in progress",
                    options().retry_delay);
    }
  }
  server_->counters.requests.fetch_add(1);
  server_->counters.message_bytes.fetch_add(call.request.wire_bytes);
  call.request.remote_address = remote_address_;
  call.request.client_certificate = client_name_;
  call.at_handler = true;
  // The answer owns the charge: a client that resets the call or leaves does not free what its
  // message still holds.
  auto charge = std::make_shared<BudgetCharge>(std::move(call.charge));
  GrpcResponder responder([io = server_->io, weak = weak_from_this(), stream,
                           charge = std::move(charge)](GrpcReply reply) {
    charge->Clear();
    io->PostTo(weak, [stream, reply = std::move(reply)](GrpcSession& self) mutable {
      self.OnReply(stream, std::move(reply));
    });
  });
  try {
    (*call.handler)(std::move(call.request), std::move(responder));
  } catch (...) {
    // The responder was destroyed on the way out and has answered INTERNAL.
  }
}

void GrpcSession::OnReply(int32_t stream, GrpcReply reply) {
  Call* call = Find(stream);
  if (closed_ || call == nullptr) return;  // the client gave up meanwhile
  call->at_handler = false;
  call->answered = true;
  call->reply = std::move(reply);
  Submit(stream, *call);
  Flush();
}

void GrpcSession::Submit(int32_t stream, Call& call) {
  std::vector<nghttp2_nv> headers = {Header(":status", "200"),
                                     Header("content-type", "application/grpc"),
                                     Header("grpc-accept-encoding", kAcceptEncoding)};
  if (call.reply.code != kGrpcOk) {
    StatusHeaders status(call.reply);
    status.AppendTo(&headers);
    nghttp2_submit_response(session_, stream, headers.data(), headers.size(), nullptr);
    return;
  }
  call.reply_head = GrpcMessageHead(GrpcCompressed::kNo, call.reply.reply.size());
  nghttp2_data_provider provider{};
  provider.read_callback = &ReadReply;
  nghttp2_submit_response(session_, stream, headers.data(), headers.size(), &provider);
}

void GrpcSession::SubmitTrailers(int32_t stream, const GrpcReply& reply) {
  StatusHeaders status(reply);
  std::vector<nghttp2_nv> trailers;
  status.AppendTo(&trailers);
  nghttp2_submit_trailer(session_, stream, trailers.data(), trailers.size());
}

void GrpcSession::Refuse(int32_t stream, Call& call, int code, std::string message,
                         std::optional<Nanos> retry_delay) {
  call.answered = true;
  call.charge.Clear();
  std::string().swap(call.reader.message());
  call.reply.code = code;
  call.reply.message = std::move(message);
  call.reply.retry_delay = retry_delay;
  Submit(stream, call);
}

void GrpcSession::GoAway() {
  if (closed_) return;
  if (session_ == nullptr || !preface_done_) return Close();
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  Flush();
}

void GrpcSession::Close() {
  if (closed_) return;
  closed_ = true;
  calls_.clear();
  timer_.cancel();
  CloseSocket();
  server_->connections.Remove(this);
}

// --- nghttp2's callbacks: C functions, through which no exception may pass. ---

nghttp2_session_callbacks* GrpcSession::Callbacks() {
  static nghttp2_session_callbacks* callbacks = [] {
    nghttp2_session_callbacks* made;
    WF_CHECK(nghttp2_session_callbacks_new(&made) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(made, &OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(made, &OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, &OnFrame);
    nghttp2_session_callbacks_set_on_frame_send_callback(made, &OnFrameSent);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, &OnData);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, &OnClose);
    return made;
  }();
  return callbacks;
}

int GrpcSession::OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* self) try {
  auto* session = static_cast<GrpcSession*>(self);
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  Call& call = session->calls_[frame->hd.stream_id];
  call.begun = MonotonicNow();
  session->idle_since.store(0, std::memory_order_relaxed);
  call.charge = BudgetCharge(session->options().budget);
  return 0;
} catch (...) {
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int GrpcSession::OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name_bytes,
                          size_t name_size, const uint8_t* value_bytes, size_t value_size, uint8_t,
                          void* self) try {
  auto* session = static_cast<GrpcSession*>(self);
  Call* call = session->Find(frame->hd.stream_id);
  if (call == nullptr || call->answered || call->at_handler) return 0;
  call->header_bytes += name_size + value_size + 32;  // as SETTINGS_MAX_HEADER_LIST_SIZE counts
  if (call->header_bytes > session->options().max_header_bytes) {
    session->server_->counters.malformed.fetch_add(1);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
  }
  std::string_view name = View(name_bytes, name_size);
  std::string_view value = View(value_bytes, value_size);
  if (name == ":method") {
    call->method = value;
  } else if (name == ":path") {
    call->request.path = value;
  } else if (name.substr(0, 1) == ":") {
    return 0;
  } else {
    if (name == "content-type") call->content_type = value;
    if (name == "grpc-encoding") {
      std::optional<Compression> known = CompressionFromName(value);
      call->unknown_encoding = !known.has_value();
      call->encoding = known.value_or(Compression::kIdentity);
    }
    call->request.metadata.Add(std::string(name), std::string(value));
  }
  return 0;
} catch (...) {
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int GrpcSession::OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) try {
  auto* session = static_cast<GrpcSession*>(self);
  int32_t stream = frame->hd.stream_id;
  bool head = frame->hd.type == NGHTTP2_HEADERS;
  if (!head && frame->hd.type != NGHTTP2_DATA) return 0;
  Call* call = session->Find(stream);
  if (call == nullptr) return 0;
  if (head && frame->headers.cat == NGHTTP2_HCAT_REQUEST) session->OnRequestHead(stream, *call);
  if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) session->OnRequestEnd(stream, *call);
  return 0;
} catch (...) {
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

// An answer went out before its request had ended: tell the client to send no more. Only now,
// because nghttp2 drops the headers of a stream that a reset is queued for.
int GrpcSession::OnFrameSent(nghttp2_session* session, const nghttp2_frame* frame, void*) {
  int32_t stream = frame->hd.stream_id;
  if (frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
      nghttp2_session_get_stream_remote_close(session, stream) == 0) {
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
  }
  return 0;
}

int GrpcSession::OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                        void* self) try {
  auto* session = static_cast<GrpcSession*>(self);
  if (Call* call = session->Find(stream)) {
    session->OnMessageBytes(stream, *call, View(data, size));
  }
  return 0;
} catch (...) {
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int GrpcSession::OnClose(nghttp2_session*, int32_t stream, uint32_t, void* self) try {
  auto* session = static_cast<GrpcSession*>(self);
  session->calls_.erase(stream);
  if (session->calls_.empty()) session->idle_since.store(MonotonicNow(), std::memory_order_relaxed);
  return 0;
} catch (...) {
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

// Gives nghttp2 the next bytes of an answer; with the last of them, its trailers.
ssize_t GrpcSession::ReadReply(nghttp2_session*, int32_t stream, uint8_t* buffer, size_t size,
                               uint32_t* flags, nghttp2_data_source*, void* self) try {
  auto* session = static_cast<GrpcSession*>(self);
  Call* call = session->Find(stream);
  if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  size_t written = 0;
  auto copy_from = [&](const std::string& part, size_t skipped) {
    size_t at = call->reply_sent - skipped;
    if (call->reply_sent < skipped || at >= part.size()) return;
    size_t take = std::min(part.size() - at, size - written);
    std::memcpy(buffer + written, part.data() + at, take);
    written += take;
    call->reply_sent += take;
  };
  copy_from(call->reply_head, 0);
  copy_from(call->reply.reply, call->reply_head.size());
  if (call->reply_sent == call->reply_head.size() + call->reply.reply.size()) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    session->SubmitTrailers(stream, call->reply);
  }
  return static_cast<ssize_t>(written);
} catch (...) {
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

}  // namespace wf::net
