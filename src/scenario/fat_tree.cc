#include "scenario/fat_tree.h"

#include <fmt/format.h>

#include <map>

namespace wf::scenario {
namespace {

// One packet of the largest size goes at once, the next must wait: queues, not bursts, make the delay.
constexpr int kBurstBytes = 1600;
// Larger than anything the scenario sends, so that nothing is dropped and every wait is seen to its end.
constexpr int kQueueBytes = 1'000'000;

struct Builder {
  FatTreeShape shape;
  NetworkNamespaces& network;
  FatTree tree;
  std::vector<size_t> cores;
  std::vector<std::vector<size_t>> aggregations, edges;
  int links = 0;

  std::string Mac(int end) const {
    return fmt::format("02:00:00:{:02x}:{:02x}:{:02x}", links >> 8, links & 255, end);
  }

  // Joins two namespaces; `network_a`/`network_b` are their addresses on the link. Neighbours are configured,
  // so that no ARP requests are needed.
  void Link(size_t a, const std::string& address_a, size_t b, const std::string& address_b,
            int prefix) {
    const std::string mac_a = Mac(1), mac_b = Mac(2);
    const std::string &port_a = network.name(b), &port_b = network.name(a);
    network.Join({a, port_a, mac_a}, {b, port_b, mac_b});
    const auto configure = [&](size_t space, const std::string& port, const std::string& own,
                               const std::string& other, const std::string& mac) {
      network.Ip(space, fmt::format("addr add {}/{} dev {}", own, prefix, port));
      network.Ip(space, fmt::format("link set {} up", port));
      network.Ip(space,
                 fmt::format("neigh replace {} lladdr {} dev {} nud permanent", other, mac, port));
    };
    configure(a, port_a, address_a, address_b, mac_b);
    configure(b, port_b, address_b, address_a, mac_a);
    ++links;
  }

  void Shape(size_t space, const std::string& port, int rate) {
    network.Tc(space, fmt::format("qdisc add dev {} root tbf rate {}bit burst {} limit {}", port,
                                  rate, kBurstBytes, kQueueBytes));
  }

  // Addresses between switches: 172.16.0.0/12, two a link.
  std::string Transit(int end) const {
    const int number = links * 2 + end;
    return fmt::format("172.16.{}.{}", number >> 8, number & 255);
  }

  void Up(size_t lower, size_t upper, int down_rate) {
    const std::string low = Transit(0), high = Transit(1);
    Link(lower, low, upper, high, 31);
    Shape(lower, network.name(upper), kFastBitsPerSecond);
    Shape(upper, network.name(lower), down_rate);
    via_[{lower, upper}] = high;
    via_[{upper, lower}] = low;
  }

  void Route(size_t space, const std::string& destination, size_t next) {
    network.Ip(space, fmt::format("route add {} via {}", destination, via_.at({space, next})));
  }

  static std::string EdgeNetwork(int pod, int edge) {
    return fmt::format("10.{}.{}.0/24", pod, edge);
  }

  std::map<std::pair<size_t, size_t>, std::string> via_;
};

Status AddSpaces(Builder& b) {
  const auto add = [&](const std::string& name, std::vector<size_t>& to) -> Status {
    WF_ASSIGN(const size_t space, b.network.Add(name));
    to.push_back(space);
    b.tree.switches.push_back(space);
    return {};
  };
  for (int c = 0; c < b.shape.cores; ++c) WF_TRY(add(fmt::format("core{}", c), b.cores));
  for (int p = 0; p < b.shape.pods; ++p) {
    b.aggregations.emplace_back();
    b.edges.emplace_back();
    for (int a = 0; a < b.shape.aggregations; ++a)
      WF_TRY(add(fmt::format("agg{}-{}", p, a), b.aggregations.back()));
    for (int e = 0; e < b.shape.edges; ++e)
      WF_TRY(add(fmt::format("edge{}-{}", p, e), b.edges.back()));
  }
  return {};
}

Status AddHosts(Builder& b) {
  for (int p = 0; p < b.shape.pods; ++p) {
    for (int e = 0; e < b.shape.edges; ++e) {
      const size_t edge = b.edges[p][e];
      for (int h = 0; h < b.shape.hosts; ++h) {
        FatTreeHost host;
        host.name = fmt::format("h{}-{}-{}", p, e, h);
        host.pod = p;
        WF_ASSIGN(host.space, b.network.Add(host.name));
        const auto own = static_cast<uint8_t>(4 * h + 2);
        host.address = pcap::Ipv4Address(10, static_cast<uint8_t>(p), static_cast<uint8_t>(e), own);
        const std::string gateway = fmt::format("10.{}.{}.{}", p, e, own - 1);
        b.Link(host.space, pcap::ToString(host.address), edge, gateway, 30);
        b.network.Ip(host.space, fmt::format("route add default via {}", gateway));
        b.Shape(edge, host.name, kFastBitsPerSecond);
        b.tree.hosts.push_back(host);
      }
    }
  }
  return {};
}

// Which of the switches above leads to an edge: the same for every sender, so that flows to one edge meet.
int AggregationTo(const Builder& b, int pod, int edge) {
  return (pod + edge) % b.shape.aggregations;
}
int CoreTo(const Builder& b, int aggregation, int edge) {
  const int group = b.shape.cores / b.shape.aggregations;
  return aggregation * group + edge % group;
}

void AddLinks(Builder& b) {
  const int group = b.shape.cores / b.shape.aggregations;
  for (int p = 0; p < b.shape.pods; ++p) {
    for (int a = 0; a < b.shape.aggregations; ++a) {
      for (int e = 0; e < b.shape.edges; ++e)
        b.Up(b.edges[p][e], b.aggregations[p][a], kFastBitsPerSecond);
      for (int c = a * group; c < (a + 1) * group; ++c)
        b.Up(b.aggregations[p][a], b.cores[c], kSlowBitsPerSecond);
    }
  }
}

void AddRoutes(Builder& b) {
  for (int q = 0; q < b.shape.pods; ++q) {
    for (int f = 0; f < b.shape.edges; ++f) {
      const std::string to = Builder::EdgeNetwork(q, f);
      const int a = AggregationTo(b, q, f), c = CoreTo(b, a, f);
      b.Route(b.cores[c], to, b.aggregations[q][a]);
      for (int p = 0; p < b.shape.pods; ++p) {
        for (int e = 0; e < b.shape.edges; ++e)
          if (p != q || e != f) b.Route(b.edges[p][e], to, b.aggregations[p][a]);
        b.Route(b.aggregations[p][a], to, p == q ? b.edges[q][f] : b.cores[c]);
      }
    }
  }
}

}  // namespace

Result<FatTree> BuildFatTree(const FatTreeShape& shape, NetworkNamespaces& network) {
  Builder builder{shape, network, {}, {}, {}, {}, 0, {}};
  builder.tree.shape = shape;
  WF_TRY(AddSpaces(builder));
  WF_TRY(AddHosts(builder));
  AddLinks(builder);
  AddRoutes(builder);
  WF_TRY(network.SetUp());
  const int core = CoreTo(builder, AggregationTo(builder, 0, 0), 0);
  builder.tree.core_to_first_edge = network.name(builder.cores[static_cast<size_t>(core)]);
  return std::move(builder.tree);
}

}  // namespace wf::scenario
