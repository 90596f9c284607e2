// The scribe checks whether threads are processes that share their memory. Under the emulator they never are:
// the plugin itself reports the pages.
#include "recorder/preload/data/data_depth.h"

namespace wf::recorder::data {

bool Running() { return false; }

long CallOnPrivateStack(long (*function)(void*), void* argument) { return function(argument); }

}  // namespace wf::recorder::data
