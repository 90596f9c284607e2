/* Functions with branches that tests know. Compiled with -fsanitize-coverage=trace-pc, and without for other tests. */
#include <alloca.h>

#ifndef EXPORT
#define EXPORT __attribute__((noinline, visibility("default")))
#endif

volatile int wf_sink;

EXPORT int wf_if(int flag) {
  if (flag) wf_sink = 1;
  else wf_sink = 2;
  return wf_sink;
}

EXPORT int wf_loop(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0) sum += wf_sink;
    else sum ^= wf_sink + i;
  }
  return sum;
}

EXPORT int wf_calls(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += wf_if(i & 1);
  if (sum > n) wf_sink = sum;
  return sum;
}

EXPORT int wf_recurse(int n) {
  if (n <= 1) return 1;
  return n * wf_recurse(n - 1) + wf_sink;
}

EXPORT int wf_switch(int which) {
  switch (which) {
    case 0: wf_sink = 10; break;
    case 1: wf_sink = 23; break;
    case 2: wf_sink = 31; wf_if(1); break;
    case 3: wf_sink = 47; break;
    case 4: wf_sink = 59; wf_if(0); break;
    case 5: wf_sink = 61; break;
    case 6: wf_sink = 73; break;
    default: wf_sink = 0;
  }
  return wf_sink;
}

EXPORT int wf_alloca(int n) {
  volatile char *room = alloca(n);
  room[0] = 1;
  if (n > 100) wf_sink = room[0];
  return wf_sink;
}

EXPORT int wf_callback(int (*f)(int), int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += f(i);
  return sum;
}

/* At -O2 its last block is a jump to __sanitizer_cov_trace_pc. */
EXPORT void wf_tail(int flag) {
  if (flag) wf_sink = 3;
}

EXPORT int wf_tails(int n) {
  for (int i = 0; i < n; ++i) wf_tail(i & 1);
  return wf_sink;
}
