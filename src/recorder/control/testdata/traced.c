/* A program without libc, stepped through by a test between its two traps: loops, ifs, calls through pointers, a jump
   table, recursion. */
static volatile int sink;

static int twice(int x) { return 2 * x; }
static int minus(int x) { return -x; }
static int (*volatile const kTable[2])(int) = {twice, minus};

__attribute__((noinline)) static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

__attribute__((noinline)) static int select_one(int which) {
  switch (which) {
    case 0: sink = 10; break;
    case 1: sink = 23; break;
    case 2: sink = 31; sink = fib(3); break;
    case 3: sink = 47; break;
    case 4: sink = 59; sink = fib(2); break;
    case 5: sink = 61; break;
    default: sink = 0;
  }
  return sink;
}

void _start(void) {
  __asm__ volatile("int3");
  int sum = 0;
  for (int i = 0; i < 40; ++i) {
    if (i % 3 == 0) sum += kTable[i & 1](i);
    else sum ^= i;
    sum += select_one(i % 7);
  }
  sink = sum + fib(6);
  __asm__ volatile("int3");
  __asm__ volatile("syscall" : : "a"(231), "D"(0));
}
