// `wherefore record -- PROG ARGS…`: runs a program and records how its threads ran.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/nanos.h"
#include "cli/verbs.h"
#include "lang/policy/flow_policy.h"
#include "recorder/format/records.h"
#include "recorder/launch/record_run.h"

namespace wf::cli {
namespace {

struct RecordFlags {
  std::vector<std::string> command;
  std::string output;
  std::string control_source = "auto";
  std::string tracker = "auto";
  std::string policy;
  bool data = false, control = false;
  std::string snapshot_every;
  uint32_t slots = 0;
};

// A file of slots without their number has so many: 64 MB.
constexpr uint32_t kDefaultSlots = 16;

Status SetSnapshots(const RecordFlags& flags, recorder::RecordOptions& options) {
  options.slots = flags.slots;
  if (flags.snapshot_every.empty()) return {};
  const auto every = ParseDuration(flags.snapshot_every);
  constexpr int64_t kLeast = 10'000'000, kMost = int64_t{24} * 3600 * 1'000'000'000;
  if (!every.ok() || *every < kLeast || *every > kMost)
    return BadInput(
        "--snapshot-every " + flags.snapshot_every + ": is not a time between snapshots",
        "write it as in 1s or 250ms, from 10ms to 24h");
  options.snapshot_every_ms = static_cast<uint32_t>(*every / 1'000'000);
  if (options.slots == 0) options.slots = kDefaultSlots;
  return {};
}

// The exit status is the program's, so it is not for main to choose.
[[noreturn]] void EndAs(const recorder::RecordRun& run) {
  for (const std::string& line : run.words) std::fprintf(stderr, "wherefore: %s\n", line.c_str());
  std::fflush(nullptr);
  std::_Exit(run.exit_status);
}

Result<std::string> CompiledPolicy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  if (!in) return EnvironmentError(path + ": cannot read the policy", "does the file exist?");
  WF_ASSIGN(const policy::FlowPolicy policy, policy::ParseFlowPolicy(content.view(), path));
  std::error_code error;
  return policy::CompileFlowPolicy(policy, std::filesystem::current_path(error).string(), path);
}

Status RunRecord(const RecordFlags& flags) {
  if (flags.command.empty())
    return BadInput("no program given", "wherefore record -o F.cpg -- PROG ARGS…");
  recorder::RecordOptions options;
  options.command = flags.command;
  options.file = flags.output;
  options.tracker = flags.tracker;
  if (!flags.policy.empty()) {
    Result<std::string> compiled = CompiledPolicy(flags.policy);
    // The program is refused, as for any other reason.
    if (!compiled.ok())
      EndAs({recorder::kRefused, {}, {compiled.error().message + "; " + compiled.error().hint}});
    options.policy = std::move(compiled).value();
  }
  const bool data = flags.data || !flags.policy.empty();
  options.depth = recorder::kSchedule | (data ? recorder::kData : 0u) |
                  (flags.control ? recorder::kControl : 0u);
  options.control_source = flags.control_source;
  options.say = [](const std::string& line) {
    std::fprintf(stderr, "wherefore: %s\n", line.c_str());
  };
  WF_TRY(SetSnapshots(flags, options));
  recorder::RecordRun run = recorder::RunRecorded(options);
  // Whoever named the file knows where it is.
  if (flags.output.empty() && !run.file.empty()) run.words.push_back("recorded to " + run.file);
  EndAs(run);
}

}  // namespace

Verb AddRecord(CLI::App& root) {
  Verb verb = MakeVerb(root, "record", "Run a program and record its threads");
  const auto flags = std::make_shared<RecordFlags>();
  verb.app->add_flag("--data", flags->data, "also record which memory each part read and wrote");
  verb.app->add_option("--tracker", flags->tracker, "with --data: how touched pages are detected")
      ->check(CLI::IsMember({"auto", "uffd", "sigsegv"}));
  verb.app->add_option("--policy", flags->policy,
                       "YAML file: which inputs must not reach which outputs; includes --data");
  verb.app->add_flag("--control", flags->control, "also record the branches taken");
  verb.app
      ->add_option("--control-source", flags->control_source,
                   "source of branches: auto, pt, pt-overwrite, coverage or qemu")
      ->check(CLI::IsMember({"auto", "pt", "pt-overwrite", "coverage", "qemu"}))
      ->capture_default_str();
  verb.app->add_option("-o,--output", flags->output, "file to write (default: PROG.PID.cpg)");
  verb.app->add_option("--snapshot-every", flags->snapshot_every,
                       "take a snapshot at this interval, as in 1s; keeps --slots of them (16)");
  verb.app->add_option("--slots", flags->slots, "number of 4 MB slots; the oldest is overwritten")
      ->check(CLI::Range(2, static_cast<int>(recorder::kMostSlots)));
  verb.app->add_option("command", flags->command, "-- PROG ARGS…");
  verb.app->positionals_at_end();
  verb.run = [flags] { return RunRecord(*flags); };
  return verb;
}

}  // namespace wf::cli
