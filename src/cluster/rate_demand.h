// Demands of many on one rate, gathered so that they stay small on the way between receivers.
//
// A demand is a multiple of the rate: who could use half of it has 0.5. They are gathered by powers of two, with number and
// sum. Share is what each may have at most so that all together keep the rate (max-min fairness): who wants less gets what
// he wants, and what is left is divided equally among the rest. With the mean of a power of two standing for its members
// the sum is never above the rate, because min(demand, share) is concave in the demand.
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"
#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::cluster {

class DemandSummary {
 public:
  void Add(double demand);  // not positive: ignored
  void Add(const DemandSummary& other);
  bool empty() const { return powers_.empty(); }

  // In (0, 1]. While all get what they want, what is left is divided among them for when they want more.
  double Share() const;

  void Write(JsonWriter& json) const;         // [[power, count, sum], …]
  static DemandSummary Read(JsonValue json);  // what is malformed is left out

 private:
  struct Group {
    int64_t count = 0;
    double sum = 0;
  };
  std::map<int, Group> powers_;
};

}  // namespace wf::cluster
