// The network that a program runs on, and its inputs, as read from JSON lines (docs/reference/ndlog.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "lang/ndlog/program.h"

namespace wf::ndlog {

struct Cost {
  Nanos cost = 0;
  Nanos jitter = 0;  // max random addition, drawn by the seed
};

// From one node to another; over other nodes if there is no link between them.
struct Route {
  Nanos delay = 0;
  Nanos jitter = 0;
  int64_t bits_per_second = 0;  // of the slowest link; 0: no limit
};

struct Network {
  std::vector<std::string> nodes;  // sorted: simultaneous events run by node name
  std::map<std::pair<int, int>, Route> links;
  std::vector<Cost> rule_cost;  // by rule of the program
  Cost insert_cost, delete_cost, send_cost, receive_cost;

  int Find(std::string_view name) const;  // -1: no such node
  // The route of min delay; null: none. Caches its results.
  const Route* RouteBetween(int from, int to) const;

 private:
  mutable std::map<int, std::map<int, Route>> routes_;
};

struct Input {
  enum class Kind : uint8_t { kInsert, kDelete };
  Nanos at = 0;
  Kind kind = Kind::kInsert;
  int node = 0;
  int predicate = 0;
  List values;
};

Result<Network> ReadNetwork(std::string_view text, std::string_view file, const Program& program);
Result<std::vector<Input>> ReadInputs(std::string_view text, std::string_view file,
                                      const Program& program, const Network& network);

}  // namespace wf::ndlog
