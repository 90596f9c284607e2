/* What a program can request from `wherefore record` while it is being recorded. For C and C++; nothing to link:
 *
 *   if (wherefore_snapshot) wherefore_snapshot();
 *
 * Some linkers, including GNU's for programs that are not position independent, resolve an undefined weak symbol to
 * null at link time. With those use dlsym(RTLD_DEFAULT, "wherefore_snapshot") or link libwherefore_record.so.
 */
#ifndef WHEREFORE_RECORD_H
#define WHEREFORE_RECORD_H

#ifdef __cplusplus
extern "C" {
#endif

/* Takes a snapshot of the recording: a consistent cut that holds everything this thread's earlier sub-computations did.
 * Returns its number, from 1; -1 if the program is not recorded or the snapshot took longer than two seconds. The
 * function is null when the program does not run under the recorder. */
extern int wherefore_snapshot(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
