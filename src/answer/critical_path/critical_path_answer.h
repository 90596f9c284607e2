// `critical-path`: of one trace, or of all that a search finds, added up by service and operation.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/critical_path/critical_path.h"
#include "analysis/critical_path/what_if.h"
#include "answer/frame/answer.h"

namespace wf::answer {

Result<Answer> AnswerCriticalPath(const AnswerContext& context, const Question& question);

// What is asked of each trace.
struct PathQuestion {
  ClockMode clock = ClockMode::kAligned;
  critical_path::OverlapTolerance overlap = critical_path::OverlapTolerance::kOn;
  std::vector<critical_path::WhatIf> what_if;
};

// A segment as it is shown: neighbours of one span and category are one.
struct ShownSegment {
  uint32_t block = kNone;
  critical_path::PathCategory category = critical_path::PathCategory::kSelf;
  Nanos start_ns = 0, end_ns = 0;
  std::vector<uint32_t> alternatives;  // blocks, by (start, id)
};
std::vector<ShownSegment> ShownSegments(const critical_path::CriticalPath& path);

// One trace's.
std::string CriticalPathJson(const Trace& trace, const critical_path::CriticalPath& path,
                             const std::optional<critical_path::WhatIfAnswer>& what_if);
std::string CriticalPathText(const Trace& trace, const critical_path::CriticalPath& path,
                             const std::optional<critical_path::WhatIfAnswer>& what_if);

// Many traces': what their paths are made of.
class PathPopulation {
 public:
  void Add(const Trace& trace, const critical_path::CriticalPath& path,
           const std::optional<critical_path::WhatIfAnswer>& what_if);
  void Skip() { ++skipped_; }  // contradicts itself, or is empty
  std::string Json(const std::optional<store::SearchCursor>& next) const;
  std::string Text(const std::optional<store::SearchCursor>& next) const;

 private:
  struct Request {
    TraceId id;
    std::string service, name;
    Nanos start_ns, duration_ns;
    bool complete;
    std::optional<critical_path::WhatIfAnswer> what_if;
  };
  struct Part {
    Nanos total = 0, longest = 0;
    std::vector<Nanos> times;  // one a trace
    TraceId longest_in;
  };
  // Service, operation.
  using Key = std::tuple<std::string, std::string, critical_path::PathCategory>;
  struct Component {
    Key key;
    const Part* part;
  };
  std::vector<Component> Ranked() const;  // most time first
  double Share(Nanos part) const;
  std::optional<critical_path::WhatIfAnswer> Total() const;

  std::vector<Request> requests_;
  std::map<Key, Part> parts_;
  Nanos duration_ = 0;
  int64_t skipped_ = 0;
};

// "frontend GET /cart", fit for a terminal.
std::string StepName(std::string_view service, std::string_view name);
// "if so, it would have taken 800 ms, 35% less".
std::string WhatIfSentence(const critical_path::WhatIfAnswer& answer, Nanos recorded);

}  // namespace wf::answer
