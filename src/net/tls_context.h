// Internal to TlsKeys: for the .cc files of this folder that use Asio.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "net/tls_server.h"

namespace wf::net {

enum class TlsProtocol { kHttp1, kHttp2 };  // negotiated by ALPN

// The handshakes in progress. A client that connects and sends nothing holds a place until it times out, so a
// flood of such clients could keep all others out. When all places are taken, the oldest handshake is cut; an
// honest client finishes within a few round trips, so its handshake is never the oldest.
class TlsHandshakes {
 public:
  using Cut = std::function<void()>;  // closes the connection; called on the accepting thread
  using Place = std::list<Cut>::iterator;

  explicit TlsHandshakes(size_t most) : most_(most) {}
  // True: another handshake was cut to make room.
  bool Begin(Cut cut, Place* place) {
    Cut oldest;
    const std::lock_guard lock(mutex_);
    if (under_way_.size() >= most_) {
      oldest = std::move(under_way_.front());
      under_way_.front() = nullptr;
      // Its own End follows when it is closed; it does not count from now on.
      cut_.splice(cut_.end(), under_way_, under_way_.begin());
    }
    *place = under_way_.insert(under_way_.end(), std::move(cut));
    if (oldest) oldest();
    return oldest != nullptr;
  }
  void End(Place place) {
    const std::lock_guard lock(mutex_);
    (*place ? under_way_ : cut_).erase(place);
  }

 private:
  const size_t most_;
  std::mutex mutex_;
  std::list<Cut> under_way_, cut_;  // oldest first; those in cut_ have no function any more
};

struct TlsKeys::Impl {
  struct Loaded {
    std::shared_ptr<boost::asio::ssl::context> http1, http2;
    Facts facts;
    std::string fingerprint;  // of the files: which they were, and when they were written
  };

  explicit Impl(TlsFiles wanted) : files(std::move(wanted)) {}
  // For a new connection, which keeps the context alive.
  std::shared_ptr<boost::asio::ssl::context> Context(TlsProtocol protocol) const {
    const std::lock_guard lock(mutex);
    return protocol == TlsProtocol::kHttp2 ? loaded.http2 : loaded.http1;
  }

  const TlsFiles files;
  TlsCounters counters;
  TlsHandshakes handshakes{256};
  mutable std::mutex mutex;
  Loaded loaded;  // guarded by mutex
};

// The common name in the client's verified certificate; "" without one.
std::string TlsClientName(SSL* ssl);

}  // namespace wf::net
