// Calls made by hand, for the tests of this folder.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/paths/call.h"
#include "model/string_table.h"

namespace wf::paths::testing_calls {

// Calls by one clock, in line order: Add("A", "B", 1, 11) is line 1.
struct Trace {
  StringTable names;
  std::vector<paths::Call> calls;

  Call& Add(std::string_view caller, std::string_view callee, Nanos sent, Nanos returned) {
    Call call;
    call.place = {1, calls.size() + 1};
    call.caller = names.Intern(caller);
    call.callee = names.Intern(callee);
    call.sent_ns = call.received_ns = sent;
    call.returned_ns = call.replied_ns = returned;
    calls.push_back(call);
    return calls.back();
  }
};

}  // namespace wf::paths::testing_calls
