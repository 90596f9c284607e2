// Code loaded later, whose constructor starts a thread and waits for it while the loader's lock is held.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  (void)argc;
  const char* slash = strrchr(argv[0], '/');
  char library[4200];
  snprintf(library, sizeof(library), "%.*s/libprobe_plugin.so", slash ? (int)(slash - argv[0]) : 1, slash ? argv[0] : ".");
  for (int round = 0; round < 3; ++round) {
    void* handle = dlopen(library, RTLD_NOW);
    if (handle == NULL) {
      printf("%s\n", dlerror());
      return 1;
    }
    int (*work)(int) = (int (*)(int))dlsym(handle, "Work");
    printf("work %d", work(round));
    printf(", close %d\n", dlclose(handle));
  }
  return 0;
}
