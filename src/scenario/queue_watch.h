// Watches every port of switches that are namespaces: one raw socket each sees packets arrive, and leave
// after the queue of their port, with the kernel's time stamps. Gives both sides of every queue, as passages.
//
// Thread safety: Start and Stop from one thread; a separate thread receives.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "import/packets/capture_pair.h"
#include "import/packets/queue_passage.h"
#include "scenario/network_namespaces.h"

namespace wf::scenario {

class QueueWatch {
 public:
  // Receives each packet that comes into a switch, on the watch's thread.
  using Visitor =
      std::function<void(const pcap::PacketHeaders& headers, const packets::SightedPacket& packet)>;

  QueueWatch(packets::PacketPassages& out, Visitor visitor);
  ~QueueWatch();
  QueueWatch(const QueueWatch&) = delete;
  QueueWatch& operator=(const QueueWatch&) = delete;

  // Call before Start. Ports are named after their interfaces.
  Status AddSwitch(const NetworkNamespaces& network, size_t space);
  void Start();
  // Afterwards the passages are in `out`. An error if the kernel dropped packets: incomplete data explains
  // nothing.
  Status Stop();

 private:
  struct Switch {
    std::string name;
    int socket = -1;
    std::map<int, std::string> ports;  // by interface number
    std::vector<packets::SightedPacket> incoming;
    std::map<int, std::vector<packets::SightedPacket>> outgoing;
  };
  void Receive();
  void Drain(Switch& from);

  packets::PacketPassages& out_;
  packets::PacketSighter sighter_;
  Visitor visitor_;
  std::vector<std::unique_ptr<Switch>> switches_;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace wf::scenario
