// What a program compiled with -fsanitize-coverage=trace-pc calls in each of its blocks.
#pragma once

#include "recorder/format/coverage_log.h"

namespace wf::recorder {

CoverageLog& CoverageOfThread();

}  // namespace wf::recorder
