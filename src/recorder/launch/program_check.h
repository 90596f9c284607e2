// What can be recorded: whether a program exists, and whether the preloaded library would see everything it
// does. A program that would run wrongly, or unseen, is rejected before it starts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace wf::recorder {

// Searched as execvp does: a path is used as it is, a name is searched on PATH.
struct FoundProgram {
  std::string path;
  int error = 0;  // ENOENT, EACCES; 0: it exists and is executable
};
FoundProgram FindProgram(const std::string& name);

// Why it cannot be recorded; empty if it can. For a script the interpreter counts.
std::string WhyNotRecordable(const std::string& path);

// Whether the program itself, not one of its libraries, imports the symbol. False for scripts.
bool ProgramImports(const std::string& path, const std::string& symbol);
// "#! /bin/sh -e" → {"/bin/sh", "-e"}; empty if it is not a script.
std::vector<std::string> InterpreterOf(const std::string& path);

}  // namespace wf::recorder
