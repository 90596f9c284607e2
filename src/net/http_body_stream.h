// A body that is written while its answer is already under way: server-sent events. The handler makes one, gives it in
// HttpResponse::stream and keeps a reference; what it writes before the connection takes the answer up waits here.
//
// Back-pressure: what the client has not taken yet is bounded. A piece that does not fit is refused, so that the writer
// decides whether to skip it or to end the stream; it never blocks. The connection ends with the stream.
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
  // A client whose host vanished sends nothing, not even a reset: after so long without its acknowledgement of what we
  // wrote, the connection is given up. 0: as the system does, which takes many minutes.
  Nanos lost_after = 0;
};

class HttpBodyStream {
 public:
  explicit HttpBodyStream(HttpBodyStreamOptions options = {}) : options_(options) {}

  enum class Written { kTaken, kFull, kGone };
  [[nodiscard]] Written Write(std::string piece);
  // What was written still goes out, then the answer is complete.
  void End();
  bool gone() const;  // the client left, or everything was sent
  // Called once, when the connection is gone for whatever reason; at once when it is already. From an io thread, with
  // nothing locked.
  void OnGone(std::function<void()> told);

  // For the connection.
  const HttpBodyStreamOptions& options() const { return options_; }
  void Attach(std::function<void()> wake);  // called when there is something to take, or the end
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
