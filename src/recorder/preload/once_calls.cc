// pthread_once and call_once. The call cuts when it returns: its routine belongs to what it ends. Callers that find it
// done acquire what the runner released; a thread that did so before learns nothing more, and is not recorded again.
#include <threads.h>

#include "recorder/preload/recording.h"
#include "recorder/preload/threads.h"

namespace wf::recorder {
namespace {

// The routine has no argument, so what it needs is found through the thread. Exceptions may leave it through our
// frames: then the call never finishes here, as it did not for libc.
struct Running {
  void (*routine)();
  Call* call;
  ObjectRef object;
  bool ran;
};
thread_local Running* t_running __attribute__((tls_model("initial-exec"))) = nullptr;

void RunRoutine() {
  Running* running = t_running;
  running->ran = true;
  running->routine();
  // Before libc lets the others go on.
  running->call->Act(running->object, Role::kReleaseAll);
}

// Objects that this thread has acquired or run. A miss costs a record that the reader leaves out.
constexpr uint32_t kSeen = 64;
thread_local uint32_t t_seen[kSeen] __attribute__((tls_model("initial-exec")));

// libc's word for "has run".
bool Done(const void* control) {
  return __atomic_load_n(static_cast<const int*>(control), __ATOMIC_ACQUIRE) == 2;
}

bool Seen(uint32_t id) { return t_seen[id % kSeen] == id; }
void NoteSeen(uint32_t id) { t_seen[id % kSeen] = id; }

template <typename Real>
void RecordOnce(Slot* slot, Op op, uint64_t site, const void* control, void (*routine)(),
                const Real& real_once) {
  const ObjectRef object = Find(slot, ObjectKind::kOnce, control);
  Call call(slot, op, site);
  call.On(object);
  call.Block();
  const bool done = Done(control);
  Running running{routine, &call, object, false};
  Running* outer = t_running;
  t_running = &running;
  real_once(RunRoutine);
  t_running = outer;
  if (!running.ran) {
    call.Act(object, Role::kAcquireAll);
    call.Flag(kIfItAdds);
  }
  NoteSeen(object.id);
  call.Finish(running.ran || done ? Call::Waited::kNo : Call::Waited::kYes);
}

}  // namespace

void ForgetOnce() { std::memset(t_seen, 0, sizeof(t_seen)); }

}  // namespace wf::recorder

using namespace wf::recorder;

WF_EXPORT int pthread_once(pthread_once_t* control, void (*routine)()) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_once(control, routine);
  const ObjectEntry* entry = FindEntry(reinterpret_cast<uintptr_t>(control), ObjectKind::kOnce);
  const uint32_t id = entry == nullptr ? 0 : entry->id.load(std::memory_order_acquire);
  if (entry == nullptr || (id != 0 && Seen(id))) return real.pthread_once(control, routine);
  int rc = 0;
  RecordOnce(slot, Op::kOnce, WF_SITE, control, routine,
             [&](void (*run)()) { rc = real.pthread_once(control, run); });
  return rc;
}

WF_EXPORT void call_once(once_flag* flag, void (*routine)()) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.call_once(flag, routine);
  const ObjectEntry* entry = FindEntry(reinterpret_cast<uintptr_t>(flag), ObjectKind::kOnce);
  const uint32_t id = entry == nullptr ? 0 : entry->id.load(std::memory_order_acquire);
  if (entry == nullptr || (id != 0 && Seen(id))) return real.call_once(flag, routine);
  RecordOnce(slot, Op::kCallOnce, WF_SITE, flag, routine,
             [&](void (*run)()) { real.call_once(flag, run); });
}
