// Ctrl-C during long work: the first asks it to stop cleanly, a second ends us at once.
#pragma once

namespace wf::cli {

// From now on the first SIGINT or SIGTERM makes Interrupted() true.
void StopOnInterrupt();
bool Interrupted();

}  // namespace wf::cli
