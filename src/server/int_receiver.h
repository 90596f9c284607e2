// Receives INT telemetry reports over UDP (`serve --int`) and keeps them as captures in the store's directory,
// STORE/int/NNNNNNNN.pcap, which `wherefore packets STORE/int` reads. They are kept as they came, because events of
// queues can only be made when all switches of a time have told, and can then be made again by a better program. UDP promises
// nothing: what the kernel had to drop, and what sequence numbers show to be missing, is counted.
//
// Nobody is asked for a token: like the other listeners it binds to loopback unless told otherwise.
// Thread safety: Start and Stop from one thread; one thread of its own receives.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

#include "base/nanos.h"
#include "base/result.h"
#include "import/packets/int_passages.h"
#include "import/pcap/capture_writer.h"
#include "net/address.h"
#include "pipeline/counters.h"

namespace wf::server {

struct IntReceiverOptions {
  net::ListenAddress address;
  std::string folder;                // made when missing
  int64_t keep_bytes = 256 << 20;    // the oldest files go when there are more
  std::optional<Nanos> keep_age_ns;  // and those that were last written longer ago
};

class IntReceiver {
 public:
  static Result<std::unique_ptr<IntReceiver>> Start(const IntReceiverOptions& options,
                                                    pipeline::Counters& counters);
  ~IntReceiver();  // calls Stop
  IntReceiver(const IntReceiver&) = delete;
  IntReceiver& operator=(const IntReceiver&) = delete;

  const net::ListenAddress& address() const { return bound_; }
  void Stop();  // what was received is in the file

 private:
  IntReceiver(const IntReceiverOptions& options, pipeline::Counters& counters);
  Status Bind();
  void Receive();
  void Take(std::string_view datagram, const pcap::FiveTuple& flow);
  void Count(std::string_view datagram, const std::string& sender);
  Status Roll();  // begins a new file
  void Retain();  // deletes old ones
  void Fail(const Status& status);

  IntReceiverOptions options_;
  pipeline::Counters& counters_;
  net::ListenAddress bound_;
  pcap::FiveTuple local_;  // whom they were sent to
  int socket_ = -1, wake_ = -1;
  uint32_t kernel_dropped_ = 0;
  uint64_t file_number_ = 0;
  int64_t unflushed_ = 0;  // datagrams written since the last good flush
  std::unique_ptr<pcap::CaptureWriter> file_;
  std::map<std::tuple<std::string, uint32_t, uint8_t>, packets::IntSequence> sequences_;
  std::thread thread_;
};

}  // namespace wf::server
