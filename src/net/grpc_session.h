// Internal to GrpcServer: one HTTP/2 connection, all on its strand, over a plain or TLS socket
// (grpc_transport.cc). nghttp2 parses frames, does HPACK and flow control; this class moves the bytes, keeps
// one Call per stream, and checks limits as soon as possible: a call with a bad path, encoding or declared
// size is refused before its message is stored.
//
// A Call lives from its HEADERS until its stream is closed. An answer that comes later finds no Call and is
// dropped.
#pragma once

#include <nghttp2/nghttp2.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/accepting_server.h"
#include "net/compression.h"
#include "net/grpc_server.h"
#include "net/io_context.h"
#include "net/tcp_acceptor.h"

namespace wf::net {

class GrpcSession;

struct GrpcListener {
  GrpcListenOptions options;
  GrpcMethods methods;
  std::atomic<size_t> open{0};
};

struct GrpcServer::State : AcceptingServer<GrpcSession, GrpcServerCounters> {};

class GrpcSession : public std::enable_shared_from_this<GrpcSession> {
 public:
  GrpcSession(Strand executor, std::string remote_address,
              std::shared_ptr<GrpcServer::State> server, std::shared_ptr<GrpcListener> listener);
  virtual ~GrpcSession();
  const void* const listener;
  std::atomic<Nanos> idle_since{MonotonicNow()};  // 0: calls are in progress

  virtual Strand executor() = 0;
  // The functions below run on the executor.
  virtual void Open() = 0;  // then Start
  void GoAway();
  void Close();
  bool closed() const { return closed_; }

 protected:
  using ErrorCode = boost::system::error_code;
  using Timer = boost::asio::basic_waitable_timer<
      std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, Strand>;

  void Start();
  // One read and one write at a time: a read into input_, then OnRead; a write of all of output_, then
  // OnWritten.
  virtual void ReadSome() = 0;
  virtual void WriteAll() = 0;
  virtual void CloseSocket() = 0;
  void OnRead(ErrorCode ec, size_t size);
  void OnWritten(ErrorCode ec);

  const GrpcListenOptions& options() const { return listener_->options; }

  std::shared_ptr<GrpcServer::State> server_;
  std::shared_ptr<GrpcListener> listener_;
  Timer timer_;
  std::vector<char> input_;
  std::string output_;
  std::string client_name_;  // from its certificate
  bool closed_ = false;

 private:
  struct Call {
    std::string method;
    std::string content_type;
    GrpcRequest request;
    Compression encoding = Compression::kIdentity;
    bool unknown_encoding = false;
    size_t header_bytes = 0;
    Nanos begun = 0;
    GrpcMessageReader reader;
    const GrpcHandler* handler = nullptr;
    BudgetCharge charge;
    bool at_handler = false;
    bool answered = false;
    GrpcReply reply;
    std::string reply_head;  // the five bytes
    size_t reply_sent = 0;   // of head and reply
  };

  void OnBytes(size_t size);
  bool CheckPreface(size_t size);
  void Flush();
  void Tick();

  Call* Find(int32_t stream);
  void OnRequestHead(int32_t stream, Call& call);
  void OnMessageBytes(int32_t stream, Call& call, std::string_view bytes);
  void OnRequestEnd(int32_t stream, Call& call);
  void OnReply(int32_t stream, GrpcReply reply);
  void Submit(int32_t stream, Call& call);
  void SubmitTrailers(int32_t stream, const GrpcReply& reply);
  // Answers with an error; possibly before the request has ended.
  void Refuse(int32_t stream, Call& call, int code, std::string message,
              std::optional<Nanos> retry_delay = std::nullopt);

  static nghttp2_session_callbacks* Callbacks();
  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t flags,
                      void* self);
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int OnFrameSent(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int OnData(nghttp2_session*, uint8_t flags, int32_t stream, const uint8_t* data,
                    size_t size, void* self);
  static int OnClose(nghttp2_session*, int32_t stream, uint32_t error, void* self);
  static ssize_t ReadReply(nghttp2_session*, int32_t stream, uint8_t* buffer, size_t size,
                           uint32_t* flags, nghttp2_data_source*, void* self);

  const std::string remote_address_;
  nghttp2_session* session_ = nullptr;
  std::string preface_;  // its first bytes, until it is complete
  bool preface_done_ = false;
  bool writing_ = false;
  bool close_after_write_ = false;
  Nanos last_activity_ = 0;
  Nanos write_began_ = 0;
  std::unordered_map<int32_t, Call> calls_;
};

// Makes a plain or TLS session, as the listener is configured.
std::shared_ptr<GrpcSession> MakeGrpcSession(TcpSocket socket, std::string remote_address,
                                             std::shared_ptr<GrpcServer::State> server,
                                             std::shared_ptr<GrpcListener> listener);

}  // namespace wf::net
