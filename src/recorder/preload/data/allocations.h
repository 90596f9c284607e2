// Which call of the program allocated a piece of memory.
#pragma once

namespace wf::recorder::data {

// Before the program's memory is taken over. Leads the allocating calls of every loaded module through us; at schedule
// depth nobody is, and pays nothing.
void WatchAllocations();

}  // namespace wf::recorder::data
