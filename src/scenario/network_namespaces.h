// Networks of real Linux queues: namespaces of this process, joined by veth pairs. Nothing has a name in the
// system: when the process ends, in whatever way, the kernel removes everything.
//
// Thread safety: none; call before other threads start, because children are forked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace wf::scenario {

// kEnvironment, with the reason, if namespaces, ip or tc are not available.
class NetworkNamespaces {
 public:
  NetworkNamespaces() = default;
  ~NetworkNamespaces();
  NetworkNamespaces(const NetworkNamespaces&) = delete;
  NetworkNamespaces& operator=(const NetworkNamespaces&) = delete;

  Result<size_t> Add(const std::string& name);
  size_t size() const { return names_.size(); }
  const std::string& name(size_t space) const { return names_[space]; }

  // An interface in each of two namespaces. Their names are unique in their namespace.
  struct End {
    size_t space = 0;
    std::string interface, mac;
  };
  void Join(const End& a, const End& b) { joins_.push_back({a, b}); }
  // Adds a line to the `ip -batch` or `tc -batch` file of that namespace.
  void Ip(size_t space, const std::string& line) { ip_[space] += line + "\n"; }
  void Tc(size_t space, const std::string& line) { tc_[space] += line + "\n"; }

  // Creates the pairs, switches offloads off, runs the lines.
  Status SetUp();

  // Runs `what` on this thread inside the namespace: sockets that it opens stay there.
  Status Inside(size_t space, const std::function<Status()>& what) const;

 private:
  struct Pair {
    End a, b;
  };
  Status RunAll(const std::string& program, const std::vector<std::string>& batches);

  int own_ = -1;
  std::vector<int> files_;
  std::vector<std::string> names_;
  std::vector<Pair> joins_;
  std::vector<std::string> ip_, tc_;
};

}  // namespace wf::scenario
