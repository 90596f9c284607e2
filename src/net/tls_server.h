// The files that listeners need for TLS: a certificate, its key and, for mutual TLS, the CA that must have
// signed clients' certificates. The files can be replaced while connections are open: a connection keeps what
// it began with, and new connections use the new files. Thread safety: all calls, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::net {

struct TlsFiles {
  std::string certificate;  // PEM, followed by its chain
  std::string key;          // PEM, not encrypted
  std::string client_ca;    // PEM; empty: clients need no certificate
};

// What happened, by name; shown in /metrics.
struct TlsCounters {
  std::atomic<uint64_t> handshakes{0};
  std::atomic<uint64_t> handshakes_failed{0};  // no TLS, too old a version, no good certificate
  std::atomic<uint64_t> handshakes_late{0};    // timed out
  std::atomic<uint64_t> handshakes_cut{0};     // too many at once: the oldest was cut
};

class TlsKeys {
 public:
  // Reads and checks the files: each error names one of them.
  static Result<std::shared_ptr<TlsKeys>> Load(const TlsFiles& files);
  ~TlsKeys();

  enum class When { kIfChanged, kAlways };
  // Reads the files again; true if they changed. On an error the previous ones stay in use.
  Result<bool> Reload(When when);

  struct Facts {
    std::string subject;      // of the certificate, as in CN=traces.example
    int64_t expires_s = 0;    // Unix
    bool key_public = false;  // the key's file is readable by more than its owner and group
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
