// Which call of the program allocated a piece of memory.
#pragma once

namespace wf::recorder::data {

// Called before the program's memory is taken over. Redirects the allocating calls of every loaded module to
// us; at schedule depth none is redirected, so there is no cost.
void WatchAllocations();

}  // namespace wf::recorder::data
