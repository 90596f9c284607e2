#include "recorder/launch/control_source.h"

#include <unistd.h>

#include "recorder/launch/embedded_library.h"
#include "recorder/launch/program_check.h"

namespace wf::recorder {
namespace {

constexpr char kTracePc[] = "__sanitizer_cov_trace_pc";
constexpr char kPtDevice[] = "/sys/bus/event_source/devices/intel_pt/type";

bool HasPt() { return ::access(kPtDevice, R_OK) == 0; }

Result<ControlChoice> ByEmulator(const std::string& why) {
  const FoundProgram emulator = FindProgram("qemu-x86_64");
  if (emulator.error != 0)
    return EnvironmentError("control depth needs qemu-x86_64 here: " + why,
                            "install qemu-user, or compile with -fsanitize-coverage=trace-pc");
  WF_ASSIGN(std::string plugin, PluginOnDisk());
  return ControlChoice{
      "qemu", emulator.path, std::move(plugin),
      "branches are recorded by qemu (" + why + "); the program runs 3 to 20 times as long"};
}

}  // namespace

Result<ControlChoice> ChooseControl(const std::string& program, const std::string& wanted) {
  const bool compiled = ProgramImports(program, kTracePc);
  if (wanted == "qemu") return ByEmulator("as asked");
  if (wanted == "coverage" || (wanted == "auto" && compiled && !HasPt())) {
    if (!compiled)
      return BadInput(
          program + " does not import " + kTracePc,
          "compile it with -fsanitize-coverage=trace-pc, or leave --control-source out");
    return ControlChoice{"coverage",
                         {},
                         {},
                         "branches are recorded by the program, which was compiled with "
                         "-fsanitize-coverage=trace-pc"};
  }
  if (wanted == "pt" || wanted == "pt-overwrite" || (wanted == "auto" && HasPt())) {
    if (!HasPt())
      return EnvironmentError("this processor, or this kernel, has no Intel PT",
                              "leave --control-source out");
    return ControlChoice{wanted == "auto" ? "pt" : wanted,
                         {},
                         {},
                         "branches are recorded by the processor (Intel PT)"};
  }
  if (wanted != "auto")
    return BadInput(wanted + " is not a source of branches",
                    "one of auto, pt, pt-overwrite, coverage, qemu");
  return ByEmulator("there is no Intel PT, and the program does not import " +
                    std::string(kTracePc));
}

std::vector<std::string> EmulatedCommand(const ControlChoice& choice, const std::string& program,
                                         const std::vector<std::string>& command,
                                         const std::string& preload, Tell tell) {
  std::vector<std::string> out = {choice.emulator};
  std::vector<std::string> rest(command.begin() + 1, command.end());
  std::string name = command.front();
  std::string file = program;
  // The emulator starts no scripts, nor what the shell must read; what the kernel would do is done here.
  const std::vector<std::string> interpreter = InterpreterOf(program);
  if (!interpreter.empty()) {
    rest.insert(rest.begin(), program);
    rest.insert(rest.begin(), interpreter.begin() + 1, interpreter.end());
    name = file = interpreter.front();
  }
  out.insert(out.end(),
             {"-0", name, "-plugin", choice.plugin + (tell == Tell::kPages ? ",pages=on" : ""),
              "-E", "LD_PRELOAD=" + preload, file});
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

}  // namespace wf::recorder
