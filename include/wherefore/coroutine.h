// For C++20 coroutines: the request travels across a suspension, whichever thread resumes.
//
//   co_await wherefore::KeepContext(socket.Read());
//
// It puts the request back when the coroutine goes on; what the thread works on while the coroutine is suspended is the
// scheduler's affair. Blocks that are not detached must end before a suspension that may resume elsewhere. Of baggage
// the coroutine has what it had when it was suspended; if it waits for another that packs, use a Branch (baggage.h).
#pragma once

#if defined(__cpp_impl_coroutine) || defined(__cpp_coroutines)

#include <coroutine>
#include <type_traits>
#include <utility>

#include "wherefore/context.h"

namespace wherefore {

// An awaiter around an awaiter.
template <typename Awaiter>
class KeepContext {
 public:
  explicit KeepContext(Awaiter awaiter) : awaiter_(std::move(awaiter)) {}

  bool await_ready() { return awaiter_.await_ready(); }
  template <typename Promise>
  auto await_suspend(std::coroutine_handle<Promise> handle) {
    // Before the inner one: it may resume us on another thread before it returns.
    context_ = RequestContext::Fork();
    suspended_ = true;
    return awaiter_.await_suspend(handle);
  }
  decltype(auto) await_resume() {
    if (suspended_) RequestContext::Exchange(std::move(context_));
    return awaiter_.await_resume();
  }

 private:
  Awaiter awaiter_;
  RequestContext context_;
  bool suspended_ = false;
};

}  // namespace wherefore

#endif
