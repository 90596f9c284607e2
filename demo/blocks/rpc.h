// Calls between the processes of the block store: frames over kept TCP connections, one call at a time on each.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace blocks {

struct Message {
  std::string method;  // of a call
  std::vector<std::string> texts;
  std::vector<uint64_t> numbers;
  std::string body;
  uint64_t failed = 0;  // of an answer
  std::string baggage;  // of what was received: what travels with the request
};

// A thread for every connection, as HDFS has. Thread-safe handler required.
class RpcServer {
 public:
  using Handler = std::function<Message(const Message&)>;
  RpcServer(int listen_fd, Handler handler);
  ~RpcServer();  // disconnects
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

 private:
  void Accept();
  void Serve(int fd);

  const int listen_fd_;
  const Handler handler_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<int> connections_;
  std::thread acceptor_;
};

// Thread-safe: as many connections as calls run at once. A call that gets no answer comes back failed.
class RpcPeer {
 public:
  RpcPeer(std::string service, std::string address);
  ~RpcPeer();
  RpcPeer(const RpcPeer&) = delete;
  RpcPeer& operator=(const RpcPeer&) = delete;

  Message Call(Message call);

 private:
  int Borrow();

  const std::string service_, address_;
  std::mutex mutex_;
  std::vector<int> idle_;
};

}  // namespace blocks
