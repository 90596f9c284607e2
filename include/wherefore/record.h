/* What a program may say to `wherefore record` when it runs under it. C and C++; nothing to link:
 *
 *   if (wherefore_snapshot) wherefore_snapshot();
 *
 * Some linkers, and GNU's for programs that are not position independent, take a weak name that nothing defines for null
 * for good: there dlsym(RTLD_DEFAULT, "wherefore_snapshot") finds it, or link libwherefore_record.so.
 */
#ifndef WHEREFORE_RECORD_H
#define WHEREFORE_RECORD_H

#ifdef __cplusplus
extern "C" {
#endif

/* Takes a snapshot of the recording: a consistent cut that holds everything this thread's earlier sub-computations did.
 * Its number, from 1; -1 if the program is not recorded or it could not be taken within two seconds. Null when the
 * recorder is not there. */
extern int wherefore_snapshot(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
