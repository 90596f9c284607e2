// The functions behind the interposed ones. The wrappers call only these, so that a depth can replace them.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <threads.h>
#include <time.h>

namespace wf::recorder {

struct Real {
  int (*pthread_mutex_lock)(pthread_mutex_t*);
  int (*pthread_mutex_trylock)(pthread_mutex_t*);
  int (*pthread_mutex_timedlock)(pthread_mutex_t*, const timespec*);
  int (*pthread_mutex_clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
  int (*pthread_mutex_unlock)(pthread_mutex_t*);
  int (*pthread_mutex_init)(pthread_mutex_t*, const pthread_mutexattr_t*);
  int (*pthread_mutex_destroy)(pthread_mutex_t*);
  int (*pthread_spin_lock)(pthread_spinlock_t*);
  int (*pthread_spin_trylock)(pthread_spinlock_t*);
  int (*pthread_spin_unlock)(pthread_spinlock_t*);
  int (*pthread_spin_init)(pthread_spinlock_t*, int);
  int (*pthread_spin_destroy)(pthread_spinlock_t*);
  int (*pthread_rwlock_rdlock)(pthread_rwlock_t*);
  int (*pthread_rwlock_tryrdlock)(pthread_rwlock_t*);
  int (*pthread_rwlock_timedrdlock)(pthread_rwlock_t*, const timespec*);
  int (*pthread_rwlock_clockrdlock)(pthread_rwlock_t*, clockid_t, const timespec*);
  int (*pthread_rwlock_wrlock)(pthread_rwlock_t*);
  int (*pthread_rwlock_trywrlock)(pthread_rwlock_t*);
  int (*pthread_rwlock_timedwrlock)(pthread_rwlock_t*, const timespec*);
  int (*pthread_rwlock_clockwrlock)(pthread_rwlock_t*, clockid_t, const timespec*);
  int (*pthread_rwlock_unlock)(pthread_rwlock_t*);
  int (*pthread_rwlock_init)(pthread_rwlock_t*, const pthread_rwlockattr_t*);
  int (*pthread_rwlock_destroy)(pthread_rwlock_t*);
  int (*pthread_cond_wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*pthread_cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  int (*pthread_cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  int (*pthread_cond_signal)(pthread_cond_t*);
  int (*pthread_cond_broadcast)(pthread_cond_t*);
  int (*pthread_cond_init)(pthread_cond_t*, const pthread_condattr_t*);
  int (*pthread_cond_destroy)(pthread_cond_t*);
  int (*pthread_barrier_wait)(pthread_barrier_t*);
  int (*pthread_barrier_init)(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned);
  int (*pthread_barrier_destroy)(pthread_barrier_t*);
  int (*sem_wait)(sem_t*);
  int (*sem_trywait)(sem_t*);
  int (*sem_timedwait)(sem_t*, const timespec*);
  int (*sem_clockwait)(sem_t*, clockid_t, const timespec*);
  int (*sem_post)(sem_t*);
  int (*sem_init)(sem_t*, int, unsigned);
  int (*sem_destroy)(sem_t*);
  int (*sem_close)(sem_t*);
  int (*pthread_once)(pthread_once_t*, void (*)());
  int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  int (*pthread_join)(pthread_t, void**);
  int (*pthread_tryjoin_np)(pthread_t, void**);
  int (*pthread_timedjoin_np)(pthread_t, void**, const timespec*);
  int (*pthread_clockjoin_np)(pthread_t, void**, clockid_t, const timespec*);
  int (*pthread_setname_np)(pthread_t, const char*);
  int (*mtx_init)(mtx_t*, int);
  void (*mtx_destroy)(mtx_t*);
  int (*mtx_lock)(mtx_t*);
  int (*mtx_trylock)(mtx_t*);
  int (*mtx_timedlock)(mtx_t*, const timespec*);
  int (*mtx_unlock)(mtx_t*);
  int (*cnd_init)(cnd_t*);
  void (*cnd_destroy)(cnd_t*);
  int (*cnd_wait)(cnd_t*, mtx_t*);
  int (*cnd_timedwait)(cnd_t*, mtx_t*, const timespec*);
  int (*cnd_signal)(cnd_t*);
  int (*cnd_broadcast)(cnd_t*);
  int (*thrd_create)(thrd_t*, thrd_start_t, void*);
  int (*thrd_join)(thrd_t, int*);
  void (*call_once)(once_flag*, void (*)());
  pid_t (*fork)();
  pid_t (*_Fork)();
  pid_t (*vfork)();
  int (*clone)(int (*)(void*), void*, int, void*, ...);
  int (*execve)(const char*, char* const[], char* const[]);
  int (*execvpe)(const char*, char* const[], char* const[]);
  int (*fexecve)(int, char* const[], char* const[]);
  int (*execveat)(int, const char*, char* const[], char* const[], int);
  int (*posix_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                     const posix_spawnattr_t*, char* const[], char* const[]);
  int (*posix_spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                      const posix_spawnattr_t*, char* const[], char* const[]);
  void (*exit)(int);
  void (*_exit)(int);
  void (*quick_exit)(int);
  int (*prctl)(int, ...);
  long (*syscall)(long, ...);
};

// Filled by ResolveReal. A function that libc does not have is null; before the first call of ResolveReal all
// are null.
extern Real real;

// Called once, before anything is recorded: allocates nothing, and may be called from other libraries'
// constructors.
void ResolveReal();

}  // namespace wf::recorder
