// What may be recorded: whether a program is there, and whether the preloaded library would see all it does. Whatever
// would run wrongly, or unseen, is refused before it starts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace wf::recorder {

// As execvp would find it: a path as it is, a name on PATH.
struct FoundProgram {
  std::string path;
  int error = 0;  // ENOENT, EACCES; 0: it is there and executable
};
FoundProgram FindProgram(const std::string& name);

// Why it cannot be recorded: empty if it can. Scripts are judged by their interpreter.
std::string WhyNotRecordable(const std::string& path);

// Whether the program itself, no library of it, imports the symbol. False of scripts.
bool ProgramImports(const std::string& path, const std::string& symbol);
// "#! /bin/sh -e" → {"/bin/sh", "-e"}; empty if it is no script.
std::vector<std::string> InterpreterOf(const std::string& path);

}  // namespace wf::recorder
