// What listeners need to speak TLS: a certificate, its key and, for mutual TLS, the CA that clients' certificates must
// be signed by. The files can be replaced while connections are open: a connection keeps what it began with, the next
// one gets the new files. Thread safety: all calls, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::net {

struct TlsFiles {
  std::string certificate;  // PEM, with its chain behind it
  std::string key;          // PEM, not encrypted
  std::string client_ca;    // PEM; empty: clients need no certificate
};

// What happened, by name; shown in /metrics.
struct TlsCounters {
  std::atomic<uint64_t> handshakes{0};
  std::atomic<uint64_t> handshakes_failed{0};  // no TLS, too old a version, no good certificate
  std::atomic<uint64_t> handshakes_late{0};    // timed out
  std::atomic<uint64_t> handshakes_cut{0};     // too many at once: the oldest gave way
};

class TlsKeys {
 public:
  // Reads and checks the files: each error names one of them.
  static Result<std::shared_ptr<TlsKeys>> Load(const TlsFiles& files);
  ~TlsKeys();

  enum class When { kIfChanged, kAlways };
  // Reads the files again; true when there is something new. On an error what was there stays in use.
  Result<bool> Reload(When when);

  struct Facts {
    std::string subject;      // of the certificate, as in CN=traces.example
    int64_t expires_s = 0;    // Unix
    bool key_public = false;  // others than its owner and group may read the key's file
  };
  Facts facts() const;
  const TlsCounters& counters() const;
  bool wants_client_certificates() const;

  struct Impl;  // tls_context.h
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  TlsKeys();
  std::shared_ptr<Impl> impl_;  // shared with connections that are still closing
};

}  // namespace wf::net
