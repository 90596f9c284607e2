// Tracepoint definitions: a name that queries use, the places in programs it stands for, and what can be read there.
// docs/reference/tracepoints.md has the file's format and its expressions.
//
//   {"version":1,"name":"DataNodeMetrics.incrBytesRead",
//    "locations":[{"exe":"datanode","function":"DataNodeMetrics::incrBytesRead","signature":"long","at":"entry"}],
//    "exports":{"delta":"arg delta"}}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wf {
class JsonValue;
class JsonWriter;
}  // namespace wf

namespace wf::weaver {}

namespace wf::weaver {}

namespace wf::weaver {}  // namespace wf::weaver

namespace wf::weaver {

constexpr int kTracepointFileVersion = 1;

enum class At : uint8_t { kEntry, kExit, kThrow, kLeave };  // kLeave: kExit or kThrow
std::string_view Name(At at);

struct Location {
  std::string exe;        // name, path or glob; with `library` it limits the processes
  std::string library;    // name, path or glob; empty: the function is in the executable itself
  std::string function;   // demangled name or glob, or a mangled name; empty: a line
  std::string signature;  // parameter types, "long, const std::string&"; only if `has_signature`
  bool has_signature = false;
  std::string file;  // path or its last parts
  uint32_t line = 0;
  At at = At::kEntry;
  // Also the methods that override it, if `function` names a virtual one (no glob).
  bool overriders = true;

  bool operator==(const Location&) const = default;
};

enum class ExportSource : uint8_t {
  kArgument,        // arg NAME; `this` too
  kArgumentNumber,  // arg0 … arg5: an integer register by number, the first being 0
  kLocal,           // local NAME: a variable in scope, at a line
  kReturnValue,     // retval
  kElapsed,         // elapsed: ns from entry to here
  kInteger,         // 42
  kText,            // 'text'
};

struct PathStep {
  enum class Kind : uint8_t { kMember, kIndex } kind = Kind::kMember;  // ->m and .m mean the same
  std::string member;
  int64_t index = 0;

  bool operator==(const PathStep&) const = default;
};

// How to interpret what was read, where the type does not show it or is wrong.
enum class ExportAs : uint8_t {
  kByType,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
  kString,  // what it points to, up to the first 0; or `length` bytes of it
};

struct ExportExpression {
  ExportSource source = ExportSource::kArgument;
  std::string name;
  int64_t number = 0;  // of the argument; the constant
  std::vector<PathStep> path;
  ExportAs as = ExportAs::kByType;
  // `as string(arg n)`: none or one, itself without `as`.
  std::vector<ExportExpression> length;

  bool operator==(const ExportExpression&) const = default;
};

struct Export {
  std::string name;
  std::string text;  // as written
  ExportExpression expression;

  bool operator==(const Export&) const = default;
};

// How a request passes from thread to thread through an object: the thread that gives `key` (an export of
// this name) hands the request to the thread that takes the same key.
enum class Handoff : uint8_t { kNone, kGive, kTake };

struct TracepointDefinition {
  int version = kTracepointFileVersion;
  std::string name;
  std::vector<Location> locations;
  std::vector<Export> exports;
  Handoff handoff = Handoff::kNone;

  bool operator==(const TracepointDefinition&) const = default;
};

// A file: one definition or an array of them. An error names the place: "tracepoint 'x': locations[1].at: …".
Result<std::vector<TracepointDefinition>> ParseTracepointFile(std::string_view text);
Result<TracepointDefinition> ReadTracepoint(const JsonValue& object);
Result<ExportExpression> ParseExport(std::string_view text);

// Writes the definition in the format of the file.
void WriteTracepoint(const TracepointDefinition& definition, JsonWriter& writer);
std::string ToJson(const TracepointDefinition& definition);

}  // namespace wf::weaver
