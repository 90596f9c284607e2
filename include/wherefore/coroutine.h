// For C++20 coroutines: keeps the request across a suspension, whichever thread resumes the coroutine.
//
//   co_await wherefore::KeepContext(socket.Read());
//
// It restores the request when the coroutine resumes; the scheduler decides what the thread works on in
// between. Blocks that are not detached must end before a suspension that may resume on another thread. After
// it resumes, the coroutine has the baggage that it had when it was suspended; if it waits for another
// coroutine that packs, use a Branch (baggage.h).
#pragma once

#if defined(__cpp_impl_coroutine) || defined(__cpp_coroutines)

#include <coroutine>
#include <type_traits>
#include <utility>

#include "wherefore/context.h"

namespace wherefore {

// Wraps another awaiter.
template <typename Awaiter>
class KeepContext {
 public:
  explicit KeepContext(Awaiter awaiter) : awaiter_(std::move(awaiter)) {}

  bool await_ready() { return awaiter_.await_ready(); }
  template <typename Promise>
  auto await_suspend(std::coroutine_handle<Promise> handle) {
    // Fork before the inner await_suspend, which may resume the coroutine on another thread before it
    // returns.
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
