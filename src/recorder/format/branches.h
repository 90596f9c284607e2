// The payload of ChunkKind::kBranches: the branches of one thread. Like records.h plain C++17 without libraries, because
// it is written inside the recorded program, or inside the emulator that runs it. docs/reference/cpg-format.md says the same in
// prose.
//
// A thread's source writes one stream of bytes; a payload is a BranchesHead and the next piece of that
// stream, cut between two operations. A reader begins at the stream's start, or where the stream does not
// depend on earlier bytes (kReset), so a missing piece costs everything up to the next such place.
//
//   kQemu      operations, each a varint and its operands (BranchOp)
//   kCoverage  blocks entered, as varints (CoverageOp); the branches between them are found in the code
//   kPt        operations that hold the bytes which the processor wrote (PtOp); src/recorder/control decodes them
#pragma once

#include <cstddef>
#include <cstdint>

namespace wf::recorder {

enum class BranchSource : uint16_t { kQemu = 1, kCoverage = 2, kPt = 3 };

struct BranchesHead {
  BranchSource source;
  uint16_t unused[3];
  uint64_t position;  // of these bytes in the thread's stream
};

// Operands are varints (seven bits a byte, the lowest first); signed ones are zigzag coded. "Relative" is
// relative to the address of the site defined last (kSite, kOpen) or of the site itself (kIndirect). The
// length of an operation does not depend on sites, so that a reader that missed some can search for the next
// kReset.
enum BranchOp : uint64_t {
  // Kind (SiteKind), address relative; if conditional: target relative to the address, length of the.
  kSite = 0,
  // instruction. Sites are numbered from 0 in the order of these.
  kOpen = 1,  // index; address where it begins, relative: the next sub-computation
  kGap = 2,   // count: this many items are missing here; a branch of unknown outcome is one
  // Index of the running sub-computation plus 1, or 0: sites are numbered, and addresses relative, anew.
  kReset = 3,
  // zigzag(number of the site - number of the site before), address it led to relative to the site.
  kIndirect = 4,
  // + (zigzag(number of the site - number of the site before) << 1 | taken): a conditional one.
  kFirstBranch = 5,
};

enum class SiteKind : uint8_t { kConditional = 0, kIndirectJump = 1, kIndirectCall = 2 };

// Coverage: which block was entered, and at which height of the stack. The height distinguishes a call or a
// return from a jump: a block of a deeper frame has a lower one. Both are differences to the previous block,
// from 0 after kCoverageOpen and kCoverageGap.
enum CoverageOp : uint64_t {
  kCoverageOpen = 0,  // index: the next sub-computation
  // count: this many blocks are missing here; then the index of the running one plus 1, or 0.
  kCoverageGap = 1,
  // + (zigzag(address) << 1 | height follows); height: zigzag, in units of 16 bytes.
  kFirstBlock = 2,
};

// Intel PT: operations too. The processor's bytes for one sub-computation are self-contained: tracing is
// switched off where it ends and on where the next begins, so a decoder can begin at its first packets.
enum PtOp : uint64_t {
  kPtFacts = 0,  // PtFacts as they are: first, and after a gap
  kPtOpen = 1,   // index: the next sub-computation
  kPtGap = 2,    // count, reason (PtGapReason): the processor's bytes are missing here
  kPtBytes = 3,  // size, at most kMostPtBytes; bytes
};
constexpr uint64_t kMostPtBytes = 4096;
enum class PtGapReason : uint64_t {
  kTruncated = 0,    // the buffer was full (full trace)
  kOverwritten = 1,  // older bytes gave way to newer ones (overwrite mode)
  kNoRoom = 2,       // the scribe was too slow
};

// What the decoder must know about the processor, to work around its errata, and the location of the
// recorder's own code.
struct PtFacts {
  uint16_t family;
  uint8_t model;
  uint8_t stepping;
  uint8_t mtc_frequency;
  uint8_t nominal_frequency;
  uint16_t unused;
  uint32_t cpuid_15_eax;
  uint32_t cpuid_15_ebx;
  uint64_t own_begin;
  uint64_t own_end;
};

static_assert(sizeof(BranchesHead) == 16 && sizeof(PtFacts) == 32);

// How the library inside an emulated program reports to the plugin of its emulator what runs: system calls
// with a number that Linux does not have, which the plugin intercepts. Arguments: MarkerOp, then those
// listed.
constexpr long kMarkerCall = 0x77666330;
enum MarkerOp : long {
  // Begin, end of the library's own code (not recorded), where to store kMarkerAnswer: before all
  // else, and in a forked child again.
  kMarkProcess = 1,
  // BranchRing, its bytes, Scribe: where the calling thread's stream goes; it runs nothing yet.
  kMarkThread = 2,
  kMarkOpen = 3,  // index: its sub-computation `index` begins, or continues if it ran before
  // Buffer, capacity in PageRuns, where to store their number: the thread entered a listed call.
  kMarkClose = 4,
  kMarkPages = 5,   // the same: more pages of what kMarkClose closed, if that stored the capacity
  kMarkScribe = 7,  // ScribeOrder: start the scribe
  // A function, an array of handlers by signal: handlers are to be called through the function.
  kMarkSignals = 8,
  kMarkSuspend = 9,     // the recorder does its own work in the middle of a sub-computation
  kMarkResume = 10,     // and has finished
  kMarkTransfers = 11,  // buffer, its size, where to store the bytes taken: whole Transfer records
  // The thread's Slot, the Region: it ends the process; what it still moves goes there.
  kMarkExiting = 12,
  kMarkEnd = 6,  // the thread runs nothing more that is recorded
};
constexpr uint64_t kMarkerAnswer = 0x77686572;  // the plugin is present

inline uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}
constexpr size_t kMaxVarint = 10;
inline uint8_t* PutVarint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value) | 0x80;
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

}  // namespace wf::recorder
