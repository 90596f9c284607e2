#include "net/grpc_client.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "base/check.h"
#include "net/nghttp2_values.h"
#include "net/socket_stream.h"

namespace wf::net {
struct GrpcClient::State {
  struct Call {
    std::string out;  // framed request
    size_t sent = 0;
    std::string http_status;
    std::string grpc_status;
    std::string status_text;
    std::string details;
    Compression encoding = Compression::kIdentity;
    bool unknown_encoding = false;
    GrpcMessageReader reader;
    bool too_large = false;
    bool closed = false;
    uint32_t http2_error = 0;
  };

  State(SocketStream connected, std::string server_name, const GrpcClientOptions& given)
      : stream(std::move(connected)), name(std::move(server_name)), options(given) {}
  ~State() { nghttp2_session_del(session); }

  Error Failed(std::string_view what) const {
    return EnvironmentError(fmt::format("{}: gRPC: {}", name, what),
                            "check that the address belongs to an OTLP gRPC listener");
  }
  Status Flush();
  Status Receive();
  Result<GrpcAnswer> Finish(Call& call) const;

  static nghttp2_session_callbacks* Callbacks();
  static State& Self(void* self) { return *static_cast<State*>(self); }
  static Call* Find(void* self, int32_t id) {
    auto found = Self(self).calls.find(id);
    return found == Self(self).calls.end() ? nullptr : &found->second;
  }

  SocketStream stream;
  std::string name;
  GrpcClientOptions options;
  nghttp2_session* session = nullptr;
  bool settings_received = false;
  std::unordered_map<int32_t, Call> calls;
  std::string output;
  std::vector<char> input = std::vector<char>(64 * 1024);
};

nghttp2_session_callbacks* GrpcClient::State::Callbacks() {
  static nghttp2_session_callbacks* callbacks = [] {
    nghttp2_session_callbacks* made;
    WF_CHECK(nghttp2_session_callbacks_new(&made) == 0);
    nghttp2_session_callbacks_set_on_header_callback(
        made,
        [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name_bytes,
           size_t name_size, const uint8_t* value_bytes, size_t value_size, uint8_t, void* self) {
          Call* call = Find(self, frame->hd.stream_id);
          if (call == nullptr) return 0;
          std::string_view name = View(name_bytes, name_size);
          std::string_view value = View(value_bytes, value_size);
          if (name == ":status") call->http_status = value;
          if (name == "grpc-status") call->grpc_status = value;
          if (name == "grpc-message") call->status_text = value;
          if (name == "grpc-status-details-bin") call->details = value;
          if (name == "grpc-encoding") {
            std::optional<Compression> known = CompressionFromName(value);
            call->unknown_encoding = !known.has_value();
            call->encoding = known.value_or(Compression::kIdentity);
          }
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        made,
        [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* self) {
          Call* call = Find(self, id);
          std::string_view bytes = View(data, size);
          while (call != nullptr && !bytes.empty() && !call->too_large) {
            size_t used = call->reader.Feed(bytes);
            bytes.remove_prefix(used);
            call->too_large = call->reader.size() > Self(self).options.max_message_bytes;
            if (used == 0) break;
          }
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        made, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
            Self(self).settings_received = true;
          }
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        made, [](nghttp2_session*, int32_t id, uint32_t error, void* self) {
          if (Call* call = Find(self, id)) {
            call->closed = true;
            call->http2_error = error;
          }
          return 0;
        });
    return made;
  }();
  return callbacks;
}

GrpcClient::GrpcClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
GrpcClient::~GrpcClient() = default;
GrpcClient::GrpcClient(GrpcClient&&) noexcept = default;
GrpcClient& GrpcClient::operator=(GrpcClient&&) noexcept = default;

Result<GrpcClient> GrpcClient::Connect(const std::string& host, uint16_t port,
                                       const GrpcClientOptions& options) {
  SocketOptions socket;
  socket.connect_timeout = options.connect_timeout;
  socket.timeout = options.timeout;
  socket.tls = options.tls;
  socket.ca_file = options.ca_file;
  socket.certificate_file = options.certificate_file;
  socket.key_file = options.key_file;
  socket.protocol = "h2";
  WF_ASSIGN(SocketStream stream, SocketStream::Connect(host, port, socket));
  auto state =
      std::make_unique<State>(std::move(stream), fmt::format("{}:{}", host, port), options);
  WF_CHECK(nghttp2_session_client_new(&state->session, State::Callbacks(), state.get()) == 0);
  const std::array<nghttp2_settings_entry, 2> settings = {{
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 4 << 20},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
  }};
  WF_CHECK(nghttp2_submit_settings(state->session, NGHTTP2_FLAG_NONE, settings.data(),
                                   settings.size()) == 0);
  nghttp2_session_set_local_window_size(state->session, NGHTTP2_FLAG_NONE, 0, 16 << 20);
  WF_TRY(state->Flush());
  // The server's settings carry its window: with the initial 64 KiB, the first call would be sent
  // in pieces.
  while (!state->settings_received) WF_TRY(state->Receive());
  WF_TRY(state->Flush());
  return GrpcClient(std::move(state));
}

Status GrpcClient::State::Flush() {
  while (true) {
    output.clear();
    while (output.size() < (512 << 10)) {
      const uint8_t* bytes;
      ssize_t size = nghttp2_session_mem_send(session, &bytes);
      if (size < 0) return Failed(nghttp2_strerror(static_cast<int>(size)));
      if (size == 0) break;
      output.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    if (output.empty()) return {};
    WF_TRY(stream.Write(output));
  }
}

Status GrpcClient::State::Receive() {
  WF_ASSIGN(size_t got, stream.Read(input.data(), input.size()));
  if (got == 0) return Failed("the server closed the connection");
  ssize_t used = nghttp2_session_mem_recv(session, reinterpret_cast<uint8_t*>(input.data()), got);
  if (used < 0) return Failed(nghttp2_strerror(static_cast<int>(used)));
  return {};
}

Result<int32_t> GrpcClient::Start(std::string_view path, std::string_view message,
                                  const GrpcCallOptions& call_options) {
  State::Call call;
  if (call_options.encoding == Compression::kIdentity) {
    call.out = GrpcMessageHead(GrpcCompressed::kNo, message.size());
    call.out.append(message);
  } else {
    std::string packed = Compress(call_options.encoding, message);
    call.out = GrpcMessageHead(GrpcCompressed::kYes, packed.size());
    call.out.append(packed);
  }
  std::vector<nghttp2_nv> headers = {
      Header(":method", "POST"),
      Header(":scheme", state_->options.tls ? "https" : "http"),
      Header(":path", path),
      Header(":authority", state_->name),
      Header("te", "trailers"),
      Header("content-type", "application/grpc"),
      Header("user-agent", "wherefore"),
      Header("grpc-accept-encoding", "identity,gzip,zstd"),
  };
  if (call_options.encoding != Compression::kIdentity) {
    headers.push_back(Header("grpc-encoding", CompressionName(call_options.encoding)));
  }
  for (const auto& [name, value] : call_options.metadata) headers.push_back(Header(name, value));
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, int32_t id, uint8_t* buffer, size_t size,
                              uint32_t* flags, nghttp2_data_source*, void* self) -> ssize_t {
    State::Call* found = State::Find(self, id);
    if (found == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t take = std::min(size, found->out.size() - found->sent);
    std::memcpy(buffer, found->out.data() + found->sent, take);
    found->sent += take;
    if (found->sent == found->out.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(take);
  };
  int32_t id = nghttp2_submit_request(state_->session, nullptr, headers.data(), headers.size(),
                                      &provider, nullptr);
  if (id < 0) return state_->Failed(nghttp2_strerror(id));
  state_->calls.emplace(id, std::move(call));
  WF_TRY(state_->Flush());
  return id;
}

Result<GrpcAnswer> GrpcClient::Wait(int32_t id) {
  auto found = state_->calls.find(id);
  WF_CHECK(found != state_->calls.end());
  while (!found->second.closed) {
    WF_TRY(state_->Flush());
    if (found->second.closed) break;
    if (nghttp2_session_want_read(state_->session) == 0) {
      return state_->Failed("the connection was closed");
    }
    WF_TRY(state_->Receive());
  }
  WF_TRY(state_->Flush());
  State::Call call = std::move(found->second);
  state_->calls.erase(found);
  return state_->Finish(call);
}

Result<GrpcAnswer> GrpcClient::State::Finish(Call& call) const {
  if (call.grpc_status.empty()) {
    if (!call.http_status.empty() && call.http_status != "200") {
      return Failed(fmt::format("the server answered HTTP status {}", call.http_status));
    }
    return Failed(fmt::format("the call was reset: {}", nghttp2_http2_strerror(call.http2_error)));
  }
  GrpcAnswer answer;
  const std::string& status = call.grpc_status;
  auto [end, error] = std::from_chars(status.data(), status.data() + status.size(), answer.code);
  if (error != std::errc() || end != status.data() + status.size()) {
    return Failed(fmt::format("grpc-status \"{}\" is not a number", status));
  }
  answer.message = DecodeGrpcText(call.status_text);
  if (!call.details.empty()) answer.retry_delay = DecodeRetryDetails(call.details);
  if (answer.code != kGrpcOk) return answer;
  if (call.too_large) return Failed("the reply is larger than the limit");
  if (call.reader.state() != GrpcMessageReader::State::kComplete) {
    return Failed("the reply is not one message");
  }
  answer.reply = std::move(call.reader.message());
  if (call.reader.compressed()) {
    if (call.unknown_encoding) return Failed("the reply has an unknown grpc-encoding");
    WF_ASSIGN(answer.reply, Decompress(call.encoding, answer.reply, options.max_message_bytes));
  }
  return answer;
}

Result<GrpcAnswer> GrpcClient::Call(std::string_view path, std::string_view message,
                                    const GrpcCallOptions& options) {
  WF_ASSIGN(int32_t id, Start(path, message, options));
  return Wait(id);
}

}  // namespace wf::net
