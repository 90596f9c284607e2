// How a recording begins: in the program before main, and again in every child that it forks.
#pragma once

#include "recorder/preload/recording.h"

namespace wf::recorder {

// Environment variables. `wherefore record` sets all of them; a program that links the library needs only the
// first.
constexpr char kFileVariable[] = "WHEREFORE_RECORD";         // F.cpg
constexpr char kRootVariable[] = "WHEREFORE_RECORD_ROOT";    // pid of the process that writes F.cpg
constexpr char kDepthVariable[] = "WHEREFORE_RECORD_DEPTH";  // a number: bits of Depth
constexpr char kControlVariable[] = "WHEREFORE_RECORD_CONTROL";  // qemu, coverage, pt, pt-overwrite
// Of the file; without it the file grows.
constexpr char kSlotsVariable[] = "WHEREFORE_RECORD_SLOTS";
constexpr char kEveryVariable[] = "WHEREFORE_RECORD_SNAPSHOT_MS";  // between snapshots

// Draws the number of a new child from the counter that all processes of this recording share; 0: not
// recorded.
uint32_t DrawChildNumber();
// Counts an output that the policy denied or reported (kDenied, kReported), for the summary of `wherefore
// record`.
void CountVerdict(uint16_t flag);
// "WHEREFORE_RECORD_POLICY=…" for the programs that this process executes or starts; null if there is no
// policy.
const char* PolicyEntry();
// In a forked child: starts its own recording, to F.cpg.NUMBER.
void RestartInChild(uint32_t number);
// In a forked child that is not recorded: stops.
void StopInChild();

const char* RootPath();     // F.cpg; empty if not set
const char* PreloadPath();  // of this library, as in LD_PRELOAD; empty if it is not there
uint32_t RootPid();
uint32_t ChosenDepth();
uint32_t ChosenSlots();
uint32_t ChosenEveryMs();

// Whether this process is the recorded one, not a vfork child in its memory.
bool OwnsRecording();
// Records where exit was called; that the process is about to end normally (or to exec another program); and
// that it does not end after all.
void NoteExitSite(uint64_t site);
void NoteExit();
void NoteNoExit();

}  // namespace wf::recorder
