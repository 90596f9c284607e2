// Flags that several questions have.
#pragma once

#include "answer/questions/question_kind.h"

namespace wf::answer {

inline QuestionFlag SinceFlag() {
  return InstantFlag("since", "from this time on: 15m back from now, RFC 3339, or Unix ns");
}
inline QuestionFlag UntilFlag() { return InstantFlag("until", "before this time, likewise"); }

}  // namespace wf::answer
