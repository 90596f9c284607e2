// wherefore: the table of verbs. Each is a file of this folder; none holds an algorithm.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

#include "answer/frame/answer.h"
#include "answer/frame/text_style.h"
#include "cli/client_settings.h"
#include "cli/question_flags.h"
#include "cli/settings.h"
#include "cli/store_access.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "security/accounts.h"
#include "store/open/open_store.h"

namespace wf::cli {

namespace {

int ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return 1;
    case ErrorCode::kBadInput:
      return 2;
    default:
      return 3;
  }
}

// Usage errors are met before --format is parsed; then the words themselves tell.
bool WantsJson(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--format=json") == 0) return true;
    if (std::strcmp(argv[i], "--format") == 0 && i + 1 < argc &&
        std::strcmp(argv[i + 1], "json") == 0)
      return true;
  }
  return false;
}

int Report(const Error& error, bool json, const std::string& color = "auto") {
  if (error.message.empty()) return ExitCodeOf(error.code);  // a check's report is on stdout
  if (json) {
    std::fputs(answer::ErrorJson(error).c_str(), stderr);
  } else {
    const answer::TextColor on = ColorOf(color, STDERR_FILENO);
    const auto paint = [&](answer::Paint role, const std::string& text) {
      return answer::Painted(role, text, on);
    };
    std::fprintf(stderr, "%s %s\n", paint(answer::Paint::kError, "wherefore:").c_str(),
                 error.message.c_str());
    if (!error.hint.empty())
      std::fprintf(stderr, "%s\n", paint(answer::Paint::kHint, "  " + error.hint).c_str());
  }
  return ExitCodeOf(error.code);
}

// Nothing of ours throws on purpose; memory that is not there, and libraries, do. The user gets words, not a core dump.
template <typename Run>
Status Caught(const Run& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return EnvironmentError("out of memory", "narrow the question, or provide more memory");
  } catch (const std::exception& error) {
    return EnvironmentError(std::string("failed: ") + error.what(),
                            "this is a bug in wherefore: please report it with the command");
  }
}

Status RunChosen(CLI::App& root, const std::vector<Verb>& verbs) {
  for (const Verb& verb : verbs) {
    if (!verb.app->parsed()) continue;
    ConfigFile config;
    if (!verb.common->config.empty()) {
      WF_ASSIGN(config, ReadConfigFile(verb.common->config));
    }
    WF_TRY(ApplySettings(root, *verb.app, config, verb.common->config));
    const CommonFlags& common = *verb.common;
    if (!common.tenant.empty()) {
      if (const Status name = security::CheckTenantName(common.tenant); !name.ok())
        return BadInput("--tenant: " + name.error().message, name.error().hint);
    }
    TheClientSettings() = {common.ca, common.client_cert, common.client_key, common.tenant};
    const answer::ScopedTextStyle style(StyleOfOutput(common.color));
    return verb.run();
  }
  return BadInput("no verb given", "wherefore --help lists them");
}

int Main(int argc, char** argv) {
  // Not a verb for people: `dataset sql` runs a statement in a process of its own.
  if (const auto code = store::RunEngineProcess(argc, argv)) return *code;
  CLI::App root("wherefore: why did it take that long?", "wherefore");
  root.set_version_flag("--version", VersionLine());
  root.require_subcommand(1);
  root.get_formatter()->column_width(34);
  const std::vector<Verb> verbs = {
      AddServe(root),
      AddImport(root),
      AddExport(root),
      AddQuestion(root, "traces"),
      AddQuestion(root, "trace"),
      AddQuestion(root, "critical-path"),
      AddExplain(root),
      AddQuestion(root, "status"),
      AddQuestion(root, "services"),
      AddQuestion(root, "operations"),
      AddQuestion(root, "attributes"),
      AddQuestion(root, "resource"),
      AddFeature(root),
      AddDataset(root),
      AddScenario(root),
      AddGenerate(root),
      AddNdlog(root),
      AddMessages(root),
      AddPackets(root),
      AddPaths(root),
      AddWatch(root),
      AddPolicy(root),
      AddQuery(root),
      AddTracepoints(root),
      AddAgent(root),
      AddRecord(root),
      AddCpg(root),
      AddAccounts(root),
      AddCompletion(root),
      AddHelp(root),
      AddVersion(root),
  };
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return root.exit(success);
  } catch (const CLI::Error& error) {
    std::string verb;
    for (const CLI::App* app : root.get_subcommands()) verb = app->get_name() + " ";
    if (verb.empty() && argc > 1 && argv[1][0] != '-') {  // CLI11 says only that a verb is wanted
      return Report(NoSuchVerb(root, argv[1]), WantsJson(argc, argv));
    }
    return Report(BadInput(error.what(), "wherefore " + verb + "--help describes the flags"),
                  WantsJson(argc, argv));
  }
  const Status status = Caught([&] { return RunChosen(root, verbs); });
  if (status.ok()) return 0;
  bool json = WantsJson(argc, argv);
  std::string color = "auto";
  for (const Verb& verb : verbs) {
    if (!verb.app->parsed()) continue;
    json = json || verb.common->format == "json";
    color = verb.common->color;
  }
  return Report(status.error(), json, color);
}

}  // namespace
}  // namespace wf::cli

int main(int argc, char** argv) { return wf::cli::Main(argc, argv); }
