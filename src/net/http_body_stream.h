// A body that is written while its answer is being sent: server-sent events. The handler makes one, puts it
// into HttpResponse::stream and keeps a reference. What it writes before the connection starts to send the
// answer is buffered here.
//
// Back-pressure: the bytes that the client has not received yet are bounded. A piece that does not fit is
// refused, so that the writer decides whether to skip it or to end the stream; a write never blocks. The
// connection ends with the stream.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

#include "base/nanos.h"

namespace wf::net {

struct HttpBodyStreamOptions {
  size_t most_queued_bytes = 8 << 20;
  // A client whose host vanished sends nothing, not even a reset. If it does not acknowledge what we wrote
  // for this long, the connection is closed. 0: the system's timeout, which takes many minutes.
  Nanos lost_after = 0;
};

class HttpBodyStream {
 public:
  explicit HttpBodyStream(HttpBodyStreamOptions options = {}) : options_(options) {}

  enum class Written { kTaken, kFull, kGone };
  [[nodiscard]] Written Write(std::string piece);
  // What was written is still sent, then the answer is complete.
  void End();
  bool gone() const;  // the client left, or everything was sent
  // Called once when the connection is gone for any reason, or at once if it already is. Runs on an io
  // thread, with no lock held.
  void OnGone(std::function<void()> told);

  // Used by the connection.
  const HttpBodyStreamOptions& options() const { return options_; }
  void Attach(std::function<void()> wake);  // called when there are bytes to send, or at the end
  enum class Took { kPiece, kNothing, kEnd };
  Took Take(std::string* out);
  void Close();

 private:
  const HttpBodyStreamOptions options_;
  mutable std::mutex mutex_;
  std::string queued_;
  std::function<void()> wake_, told_;
  bool ended_ = false, gone_ = false;
};

}  // namespace wf::net
