// A summary of many demands on one rate, small enough to be exchanged between receivers.
//
// A demand is a multiple of the rate: a client that could use half of the rate has the demand 0.5. Demands
// are grouped by powers of two, with count and sum. Share is the max that each may use so that all together
// keep the rate (max-min fairness): a client that needs less gets its demand, and the rest is divided equally
// among the others. When the mean of a group stands for its members, the sum never exceeds the rate, because
// min(demand, share) is concave in the demand.
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"
#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::cluster {

class DemandSummary {
 public:
  void Add(double demand);  // ignored unless positive
  void Add(const DemandSummary& other);
  bool empty() const { return powers_.empty(); }

  // In (0, 1]. If all demands are met, the rest of the rate is divided among the clients in case they need
  // more.
  double Share() const;

  void Write(JsonWriter& json) const;         // [[power, count, sum], …]
  static DemandSummary Read(JsonValue json);  // malformed parts are skipped

 private:
  struct Group {
    int64_t count = 0;
    double sum = 0;
  };
  std::map<int, Group> powers_;
};

}  // namespace wf::cluster
