// The clocks of hosts are kept up by src/pipeline, which reads traces too.
#pragma once

#include "pipeline/clock_refresh.h"
