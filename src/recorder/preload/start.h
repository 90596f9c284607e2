// How a recording begins: in the program before main, and again in every child that it forks.
#pragma once

#include "recorder/preload/recording.h"

namespace wf::recorder {

// Environment. `wherefore record` sets all of them; a program that links the library needs the first alone.
constexpr char kFileVariable[] = "WHEREFORE_RECORD";         // F.cpg
constexpr char kRootVariable[] = "WHEREFORE_RECORD_ROOT";    // pid of the process that F.cpg is of
constexpr char kDepthVariable[] = "WHEREFORE_RECORD_DEPTH";  // a number: bits of Depth
constexpr char kControlVariable[] = "WHEREFORE_RECORD_CONTROL";  // qemu, coverage, pt, pt-overwrite
constexpr char kSlotsVariable[] =
    "WHEREFORE_RECORD_SLOTS";  // of the file; without it the file grows
constexpr char kEveryVariable[] = "WHEREFORE_RECORD_SNAPSHOT_MS";  // between snapshots

// The number of a new child, from the counter that all processes of this recording share; 0: not recorded.
uint32_t DrawChildNumber();
// An output that the policy denied or reported (kDenied, kReported): counted for `wherefore record` to say.
void CountVerdict(uint16_t flag);
// "WHEREFORE_RECORD_POLICY=…" for the programs that this one becomes or starts; null if there is none.
const char* PolicyEntry();
// In a forked child: its own recording, to F.cpg.NUMBER.
void RestartInChild(uint32_t number);
// In a forked child that is not recorded.
void StopInChild();

const char* RootPath();     // F.cpg; empty if there is none
const char* PreloadPath();  // of this library, as LD_PRELOAD names it; empty if it does not
uint32_t RootPid();
uint32_t ChosenDepth();
uint32_t ChosenSlots();
uint32_t ChosenEveryMs();

// Whether this process is the recorded one, not a vfork child in its memory.
bool OwnsRecording();
// Where exit was called; that it is about to end in good order (or to become another program); that it is not after all.
void NoteExitSite(uint64_t site);
void NoteExit();
void NoteNoExit();

}  // namespace wf::recorder
