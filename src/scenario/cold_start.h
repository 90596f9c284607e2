// A mobile app's cold start (Canopy §5.4 "Mobile Clients"): the system starts the process, the app
// initializes its modules registry by registry, then shows its first frame. Simulated from its inputs; all
// times count from the start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "scenario/draws.h"
#include "scenario/trace_events.h"

namespace wf::scenario {

struct InitModule {
  std::string registry, name;
  Nanos work = 0;  // on an average device
};

struct AppRelease {
  std::string version;
  std::vector<InitModule> modules;
  // How often a notification starts the process, which then idles until the user opens the app.
  int64_t background_permille = 0;
};

AppRelease FirstRelease();
// The release after `previous`: each team's registry is unchanged, except for `added` modules in one of them.
AppRelease NextRelease(const AppRelease& previous, const std::string& registry, int added);

// Records one start. Units: System (root, labels release, trigger) and Main (the app's main thread, whose blocks do
// not cover all of it). Module initializations carry their call stack, outermost frame first. The point with label
// marker=cold_start_done ends the start.
void RecordColdStart(const AppRelease& release, const Draws& user, const Draws& draws,
                     TraceEvents& events);

}  // namespace wf::scenario
