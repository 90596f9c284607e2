// What stands between finding a place in a program and weaving advice into it: where probes go, and for every export of
// the tracepoint the way to read it there, as a straight line of steps that eBPF can do.
//
// Life of an activation. A tracepoint at `entry` needs one probe and no memory. One at `exit`, `throw` or `leave` may
// need to know when the function was entered or with what: then there is an entry site that only opens an activation
// (`happens` is false) and the sites at the function's end close it. Entry and end of one call have the same frame (the
// canonical frame address: where the stack pointer stands once the call is over) in the same thread, so an activation's
// key is (thread, function, frame); recursion needs nothing else. While a call runs, the thread's stack pointer is below
// its frame; so an entry at frame F proves that every older activation of this thread with a frame <= F is over (left by
// longjmp, say) and may be forgotten.
//
// Exceptions. The unwinder runs no instruction of a function that has nothing to clean up, so the end of a call by
// exception is seen where the unwinder resumes the program: at its sites the frame is the stack pointer that the thread
// is about to have, and every activation of this thread with a frame <= that has just been left by an exception.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elf/register.h"

namespace wf::weaver {

using elf::Register;

// Steps work on one 64-bit accumulator; the first is kRegister or kConstant.
enum class ReadOp : uint8_t {
  kRegister,    // = the register at the probe
  kConstant,    // = operand
  kAdd,         // += operand
  kLoad,        // = the `width` bytes (1, 2, 4 or 8) of user memory it points to, zero-extended
  kShiftRight,  // >>= operand (0–63), logical: bit-fields
  kZeroExtend,  // keep the low `width` bits (1–64)
  kSignExtend,
};

struct ReadStep {
  ReadOp op = ReadOp::kConstant;
  Register reg = Register::kRax;
  uint8_t width = 0;  // kLoad: bytes; k…Extend: bits
  int64_t operand = 0;

  bool operator==(const ReadStep&) const = default;
};
using Recipe = std::vector<ReadStep>;
constexpr size_t kMaxRecipeSteps = 24;

enum class ValueForm : uint8_t {
  kInteger,  // `value`: int64
  kBool,     // `value`: 0 is false
  kDouble,  // `value`: the bits of a double that lies in memory; eBPF can carry it, not calculate with it
  kFloat,    // `value`: the low 32 bits, of a float in memory
  kCString,  // `value`: address; the string ends at its first 0. Address 0: null
  kBytes,    // `value`: address, `length` (unsigned): how many bytes; length 0 reads nothing
  kText,     // a constant string: `text`
  kElapsed,  // nanoseconds since the activation's entry
  kAtEntry,  // what the activation's entry site read for the same export
  kUnknown,  // null here; `note` says why
};

struct ValueRead {
  ValueForm form = ValueForm::kUnknown;
  Recipe value;
  Recipe length;
  // kCString, kBytes: of an array of so many bytes; 0: as long as strings may be.
  uint32_t max_length = 0;
  bool until_zero = false;  // kBytes: a char array, which ends at its first 0 or its last element
  std::string text;
  std::string type;  // as in the source: "const std::string &"; empty without DWARF
  std::string note;

  bool operator==(const ValueRead&) const = default;
};

enum class SiteKind : uint8_t {
  kEntry,   // of a function; perhaps some instructions in, before any branch
  kReturn,  // at a `ret`
  kTailJump,  // at a jump out of the function, which ends it as a return does; there is no return value yet
  kUnwinder,  // in the unwinder, where it resumes the program: ends every activation up to `frame`
  kLine,      // a line of the source
};

// What the kernel does at the instruction; see PredictedNanos.
enum class CostClass : uint8_t {
  kEmulated,  // nop, push, relative jumps and calls: done by the kernel without running it
  kStepped,   // anything else: copied out and run in a single step, at the price of a second trap
};
uint32_t PredictedNanos(CostClass cost);

struct ProbeSite {
  SiteKind kind = SiteKind::kEntry;
  uint64_t offset = 0;   // in the file
  uint64_t address = 0;  // in the file's own addresses, as its symbols give them
  CostClass cost = CostClass::kStepped;
  std::string instruction;  // "push rbp"; for messages
  // Whether the tracepoint happens here. If not, the site only opens or closes an activation.
  bool happens = true;
  Recipe frame;                   // kLine: empty
  std::vector<ValueRead> values;  // one per export of the definition, in its order
};

// One function, or one line, in one file. Sites of one file may go into one link.
struct LocatedFunction {
  std::string file;      // to attach to: through /proc/PID/root where the process has another root
  std::string seen_as;   // the path as the process sees it
  std::string build_id;  // hex; empty: none
  // Demangled, with parameters where known: "DataNodeMetrics::incrBytesRead(long)".
  std::string name;
  std::string symbol;     // mangled; empty for lines
  uint32_t location = 0;  // index in the definition's locations
  // Whether entry and end are to be matched: entry sites open an activation (kept: time, and the values that some end
  // reads kAtEntry), ends close it.
  bool activations = false;
  bool dwarf = false;
  std::vector<ProbeSite> sites;
  std::vector<std::string> notes;
};

struct LocatedTracepoint {
  std::string name;
  std::vector<std::string> exports;  // names, in the order of ProbeSite::values
  std::vector<LocatedFunction> functions;
  // Of throw and leave: the unwinders of this process, kUnwinder sites only. Their `values` are those of an end by
  // exception: kAtEntry, kElapsed, constants.
  std::vector<LocatedFunction> unwinders;
  // Of the whole: inlined instances, objects that could not be read.
  std::vector<std::string> notes;
};

}  // namespace wf::weaver
