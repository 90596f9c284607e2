// Barriers. libc's barrier does not show which round a thread took part in when more threads use it than it
// holds: the order is decided inside. So barriers of one process are our own, in the memory that the program
// reserved for libc's: the arrival itself numbers the round. Barriers shared between processes stay libc's.
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>

#include "recorder/preload/raw_calls.h"
#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace {

constexpr uint32_t kOurs = 0x57664261;  // where libc's has a flag that is 0 or 128

struct Barrier {
  uint32_t count;
  std::atomic<uint32_t> rounds;  // that are over; futex
  std::atomic<uint32_t> unused;
  uint32_t mark;
  std::atomic<uint64_t> arrived;
  std::atomic<uint64_t> left;
};
static_assert(sizeof(Barrier) <= sizeof(pthread_barrier_t));

// For a barrier of libc's: how many had arrived when its last round ended, and how many it holds. The next
// thread, of any process, takes part in the round after it, unless more threads use it than it holds.
uint64_t RoundOf(const pthread_barrier_t* barrier) {
  uint32_t words[3];
  std::memcpy(words, barrier, sizeof(words));
  return words[1] / (words[2] == 0 ? 1 : words[2]);
}

Barrier* Ours(pthread_barrier_t* barrier) {
  auto* own = reinterpret_cast<Barrier*>(barrier);
  return own->mark == kOurs ? own : nullptr;
}

// Not private futexes: they work between the processes that data depth makes of threads.
void WaitForRound(Barrier* barrier, uint32_t round) {
  while (true) {
    const uint32_t over = barrier->rounds.load(std::memory_order_acquire);
    if (static_cast<int32_t>(over - round) > 0) return;
    RawCall(SYS_futex, Arg(&barrier->rounds), FUTEX_WAIT, over, 0);
  }
}

struct Passage {
  uint64_t round;
  bool last;
};
Passage Arrive(Barrier* barrier) {
  const uint64_t place = barrier->arrived.fetch_add(1, std::memory_order_acq_rel);
  return {place / barrier->count, (place + 1) % barrier->count == 0};
}
// The last thread to leave lets destroy continue; nothing of the barrier is touched afterwards.
void Pass(Barrier* barrier, const Passage& passage) {
  if (passage.last) {
    barrier->rounds.fetch_add(1, std::memory_order_acq_rel);
    RawCall(SYS_futex, Arg(&barrier->rounds), FUTEX_WAKE, INT_MAX);
  } else {
    WaitForRound(barrier, static_cast<uint32_t>(passage.round));
  }
  barrier->left.fetch_add(1, std::memory_order_acq_rel);
}

void Act(Call& call, const ObjectRef& object, uint64_t round) {
  if (object.entry == nullptr) return;
  call.Act(object.id, Role::kReleaseRound, round + 1);
}

}  // namespace
}  // namespace wf::recorder

using namespace wf::recorder;

WF_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) {
    Barrier* own = Ours(barrier);
    if (own == nullptr) return real.pthread_barrier_wait(barrier);
    const Passage passage = Arrive(own);
    Pass(own, passage);
    return passage.last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
  }
  const ObjectRef object = Find(slot, ObjectKind::kBarrier, barrier);
  Call call(slot, Op::kBarrierWait, WF_SITE);
  call.On(object);
  call.Touches(barrier);
  Barrier* own = Ours(barrier);
  call.Entered();
  bool last;
  uint64_t round;
  if (own != nullptr) {
    const Passage passage = Arrive(own);
    round = passage.round;
    last = passage.last;
    Act(call, object, round);
    call.Block();
    Pass(own, passage);
  } else {
    round = RoundOf(barrier);
    Act(call, object, round);
    call.Block();
    last = real.pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  }
  if (object.entry != nullptr) call.Act(object.id, Role::kAcquireRound, round + 1);
  call.Finish(last ? Call::Waited::kNo : Call::Waited::kYes);
  return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

WF_EXPORT int pthread_barrier_init(pthread_barrier_t* barrier,
                                   const pthread_barrierattr_t* attributes, unsigned count) {
  EndObject(ObjectKind::kBarrier, barrier);
  // libc judges the arguments first.
  const int rc = real.pthread_barrier_init(barrier, attributes, count);
  int shared = PTHREAD_PROCESS_PRIVATE;
  if (rc != 0 ||
      (attributes != nullptr && ::pthread_barrierattr_getpshared(attributes, &shared) == 0 &&
       shared == PTHREAD_PROCESS_SHARED))
    return rc;
  auto* own = reinterpret_cast<Barrier*>(barrier);
  own->count = count;
  own->rounds.store(0, std::memory_order_relaxed);
  own->arrived.store(0, std::memory_order_relaxed);
  own->left.store(0, std::memory_order_relaxed);
  own->mark = kOurs;
  return 0;
}

WF_EXPORT int pthread_barrier_destroy(pthread_barrier_t* barrier) {
  EndObject(ObjectKind::kBarrier, barrier);
  Barrier* own = Ours(barrier);
  if (own == nullptr) return real.pthread_barrier_destroy(barrier);
  // As in libc: waits for threads that are still leaving the last round.
  while (own->left.load(std::memory_order_acquire) !=
         own->arrived.load(std::memory_order_acquire) / own->count * own->count) {
    timespec pause = {0, 20'000};
    RawCall(SYS_nanosleep, Arg(&pause), 0);
  }
  own->mark = 0;
  return 0;
}
