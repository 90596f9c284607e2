#include "recorder/preload/real_functions.h"

#include <dlfcn.h>

#include <cstring>

namespace wf::recorder {

Real real;

namespace {

struct Wanted {
  const char* name;
  void** place;
};

// Condition variables have two versions; ours are the new ones (exports.map), and so must be those behind.
void* Resolve(const char* name) {
  if (std::strncmp(name, "pthread_cond_", 13) == 0 &&
      std::strcmp(name, "pthread_cond_clockwait") != 0) {
    void* found = ::dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (found != nullptr) return found;
  }
  return ::dlsym(RTLD_NEXT, name);
}

}  // namespace

void ResolveReal() {
#define WF_WANTED(name) \
  { #name, reinterpret_cast < void**>(&real.name) }
  const Wanted wanted[] = {
      WF_WANTED(pthread_mutex_lock),
      WF_WANTED(pthread_mutex_trylock),
      WF_WANTED(pthread_mutex_timedlock),
      WF_WANTED(pthread_mutex_clocklock),
      WF_WANTED(pthread_mutex_unlock),
      WF_WANTED(pthread_mutex_init),
      WF_WANTED(pthread_mutex_destroy),
      WF_WANTED(pthread_spin_lock),
      WF_WANTED(pthread_spin_trylock),
      WF_WANTED(pthread_spin_unlock),
      WF_WANTED(pthread_spin_init),
      WF_WANTED(pthread_spin_destroy),
      WF_WANTED(pthread_rwlock_rdlock),
      WF_WANTED(pthread_rwlock_tryrdlock),
      WF_WANTED(pthread_rwlock_timedrdlock),
      WF_WANTED(pthread_rwlock_clockrdlock),
      WF_WANTED(pthread_rwlock_wrlock),
      WF_WANTED(pthread_rwlock_trywrlock),
      WF_WANTED(pthread_rwlock_timedwrlock),
      WF_WANTED(pthread_rwlock_clockwrlock),
      WF_WANTED(pthread_rwlock_unlock),
      WF_WANTED(pthread_rwlock_init),
      WF_WANTED(pthread_rwlock_destroy),
      WF_WANTED(pthread_cond_wait),
      WF_WANTED(pthread_cond_timedwait),
      WF_WANTED(pthread_cond_clockwait),
      WF_WANTED(pthread_cond_signal),
      WF_WANTED(pthread_cond_broadcast),
      WF_WANTED(pthread_cond_init),
      WF_WANTED(pthread_cond_destroy),
      WF_WANTED(pthread_barrier_wait),
      WF_WANTED(pthread_barrier_init),
      WF_WANTED(pthread_barrier_destroy),
      WF_WANTED(sem_wait),
      WF_WANTED(sem_trywait),
      WF_WANTED(sem_timedwait),
      WF_WANTED(sem_clockwait),
      WF_WANTED(sem_post),
      WF_WANTED(sem_init),
      WF_WANTED(sem_destroy),
      WF_WANTED(sem_close),
      WF_WANTED(pthread_once),
      WF_WANTED(pthread_create),
      WF_WANTED(pthread_join),
      WF_WANTED(pthread_tryjoin_np),
      WF_WANTED(pthread_timedjoin_np),
      WF_WANTED(pthread_clockjoin_np),
      WF_WANTED(pthread_setname_np),
      WF_WANTED(mtx_init),
      WF_WANTED(mtx_destroy),
      WF_WANTED(mtx_lock),
      WF_WANTED(mtx_trylock),
      WF_WANTED(mtx_timedlock),
      WF_WANTED(mtx_unlock),
      WF_WANTED(cnd_init),
      WF_WANTED(cnd_destroy),
      WF_WANTED(cnd_wait),
      WF_WANTED(cnd_timedwait),
      WF_WANTED(cnd_signal),
      WF_WANTED(cnd_broadcast),
      WF_WANTED(thrd_create),
      WF_WANTED(thrd_join),
      WF_WANTED(call_once),
      WF_WANTED(fork),
      WF_WANTED(_Fork),
      WF_WANTED(vfork),
      WF_WANTED(clone),
      WF_WANTED(execve),
      WF_WANTED(execvpe),
      WF_WANTED(fexecve),
      WF_WANTED(execveat),
      WF_WANTED(posix_spawn),
      WF_WANTED(posix_spawnp),
      WF_WANTED(exit),
      WF_WANTED(_exit),
      WF_WANTED(quick_exit),
      WF_WANTED(prctl),
      WF_WANTED(syscall),
  };
#undef WF_WANTED
  for (const Wanted& one : wanted) *one.place = Resolve(one.name);
}

}  // namespace wf::recorder
