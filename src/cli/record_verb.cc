// `wherefore record -- PROG ARGS…`: runs a program and records how its threads ran.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "cli/verbs.h"
#include "recorder/format/records.h"
#include "recorder/launch/record_run.h"

namespace wf {
namespace {

struct RecordFlags {
  std::vector<std::string> command;
  std::string output;
  std::string control_source = "auto";
  std::string tracker = "auto";
  bool data = false, control = false;
};

// The exit status is the program's, so it is not for main to choose.
[[noreturn]] void EndAs(const recorder::RecordRun& run) {
  for (const std::string& line : run.words) std::fprintf(stderr, "wherefore: %s\n", line.c_str());
  std::fflush(nullptr);
  std::_Exit(run.exit_status);
}

Status RunRecord(const RecordFlags& flags) {
  if (flags.command.empty())
    return BadInput("no program given", "wherefore record -o F.cpg -- PROG ARGS…");
  recorder::RecordOptions options;
  options.command = flags.command;
  options.file = flags.output;
  options.tracker = flags.tracker;
  options.depth = recorder::kSchedule | (flags.data ? recorder::kData : 0u) |
                  (flags.control ? recorder::kControl : 0u);
  options.control_source = flags.control_source;
  options.say = [](const std::string& line) {
    std::fprintf(stderr, "wherefore: %s\n", line.c_str());
  };
  recorder::RecordRun run = recorder::RunRecorded(options);
  // Whoever named the file knows where it is.
  if (flags.output.empty() && !run.file.empty()) run.words.push_back("recorded to " + run.file);
  EndAs(run);
}

}  // namespace

Verb AddRecord(CLI::App& root) {
  Verb verb = MakeVerb(root, "record", "Run a program and record how its threads ran");
  const auto flags = std::make_shared<RecordFlags>();
  verb.app->add_flag("--data", flags->data, "also which memory each part read and wrote");
  verb.app->add_option("--tracker", flags->tracker, "with --data: how touched pages are found")
      ->check(CLI::IsMember({"auto", "uffd", "sigsegv"}));
  verb.app->add_flag("--control", flags->control, "also the branches taken");
  verb.app
      ->add_option("--control-source", flags->control_source,
                   "who tells the branches: auto, pt, pt-overwrite, coverage or qemu")
      ->check(CLI::IsMember({"auto", "pt", "pt-overwrite", "coverage", "qemu"}))
      ->capture_default_str();
  verb.app->add_option("-o,--output", flags->output, "the recording (default: PROG.PID.cpg)");
  verb.app->add_option("command", flags->command, "-- PROG ARGS…");
  verb.app->positionals_at_end();
  verb.run = [flags] { return RunRecord(*flags); };
  return verb;
}

}  // namespace wf
