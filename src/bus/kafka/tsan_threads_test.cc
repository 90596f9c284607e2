// librdkafka uses the threads of C11. ThreadSanitizer knows only those of POSIX: a thread of the others has no state of
// its own and crashes at the first call that is intercepted, and an order that such a lock makes is not seen. Under it
// the one kind is made of the other; both are the same inside glibc.
#ifdef __SANITIZE_THREAD__
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include <memory>

static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t) && sizeof(cnd_t) >= sizeof(pthread_cond_t));

namespace {

struct Beginning {
  thrd_start_t run;
  void* argument;
};
void* Run(void* given) {
  const std::unique_ptr<Beginning> beginning(static_cast<Beginning*>(given));
  return reinterpret_cast<void*>(static_cast<intptr_t>(beginning->run(beginning->argument)));
}
pthread_mutex_t* Posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* Posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }
int Told(int error) {
  return error == 0 ? thrd_success : error == ETIMEDOUT ? thrd_timedout : thrd_error;
}

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t run, void* argument) {
  auto beginning = std::make_unique<Beginning>(run, argument);
  const int error = pthread_create(thread, nullptr, Run, beginning.get());
  if (error == 0) beginning.release();
  return Told(error);
}
int thrd_join(thrd_t thread, int* result) {
  void* returned = nullptr;
  const int error = pthread_join(thread, &returned);
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<intptr_t>(returned));
  return Told(error);
}

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (type & mtx_recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int error = pthread_mutex_init(Posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return Told(error);
}
int mtx_lock(mtx_t* mutex) { return Told(pthread_mutex_lock(Posix(mutex))); }
int mtx_unlock(mtx_t* mutex) { return Told(pthread_mutex_unlock(Posix(mutex))); }
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(Posix(mutex)); }

int cnd_init(cnd_t* condition) { return Told(pthread_cond_init(Posix(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return Told(pthread_cond_signal(Posix(condition))); }
int cnd_broadcast(cnd_t* condition) { return Told(pthread_cond_broadcast(Posix(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return Told(pthread_cond_wait(Posix(condition), Posix(mutex)));
}
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return Told(pthread_cond_timedwait(Posix(condition), Posix(mutex), until));
}
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(Posix(condition)); }

}  // extern "C"
#endif
