// `wherefore tracepoints list | define FILE | show NAME | delete NAME`: the names that live queries use, and the places
// in programs they stand for.
#include <CLI/CLI.hpp>

#include "cli/client_settings.h"
#include "cli/input_file.h"
#include "cli/live_server.h"
#include "cli/verbs.h"
#include "live/tracepoint_registry.h"
#include "weaver/tracepoint_file.h"

namespace wf::cli {
namespace {

struct TracepointsFlags {
  LiveServerFlags server;
  std::string action, argument;
};

// At the server, or in a store that nobody serves.
class Tracepoints {
 public:
  static Result<Tracepoints> Open(const TracepointsFlags& flags, const CommonFlags& common) {
    Tracepoints out;
    std::string token;
    const std::string& store = flags.server.server.empty() ? common.store : flags.server.server;
    if (!flags.server.server.empty() || !flags.server.token_file.empty()) {
      WF_ASSIGN(token, LiveServerToken(flags.server, common.store));
    }
    WF_ASSIGN(out.access_, StoreAccess::Open(store, token));
    return out;
  }

  Result<answer::Answer> List(const std::string& format) {
    if (access_->served()) return access_->Fetch("GET", "/api/v1/tracepoints?format=" + format, {});
    live::ProcessRegistry processes(access_->local());
    return AnswerTracepoints(Context(), processes, answer::Params({{"format", format}}));
  }
  Result<answer::Answer> Show(const std::string& name) {
    if (access_->served()) return access_->Fetch("GET", Path(name), {});
    live::ProcessRegistry processes(access_->local());
    return AnswerTracepoint(Context(), processes, name);
  }
  Result<answer::Answer> Define(const std::string& name, const std::string& json) {
    if (access_->served()) return access_->Fetch("PUT", Path(name), json);
    return live::PutTracepoint(Context(), name, json);
  }
  Result<answer::Answer> Delete(const std::string& name) {
    if (access_->served()) return access_->Fetch("DELETE", Path(name), {});
    return live::DeleteTracepoint(Context(), name);
  }

 private:
  static std::string Path(const std::string& name) {
    return "/api/v1/tracepoints/" + PercentEncode(name);
  }
  answer::AnswerContext Context() {
    return {access_->local(), TheClientSettings().LocalTenant(), access_->path(), Now(), {}, {}};
  }

  std::unique_ptr<StoreAccess> access_;
};

Status Define(const TracepointsFlags& flags, const CommonFlags& common) {
  WF_ASSIGN(
      const std::string text,
      ReadInputFile(flags.argument, "give a file as docs/reference/tracepoints.md describes it"));
  auto definitions = weaver::ParseTracepointFile(text);
  if (!definitions.ok())
    return BadInput(flags.argument + ": " + definitions.error().message, definitions.error().hint);
  WF_ASSIGN(Tracepoints tracepoints, Tracepoints::Open(flags, common));
  std::string printed;
  for (const auto& definition : *definitions) {
    WF_ASSIGN(const answer::Answer answer,
              tracepoints.Define(definition.name, weaver::ToJson(definition)));
    printed += common.format == "json" ? answer.body : "defined " + definition.name + "\n";
  }
  return Print(printed);
}

Status RunTracepoints(const TracepointsFlags& flags, const CommonFlags& common) {
  if (flags.action == "list") {
    if (!flags.argument.empty()) return BadInput("tracepoints list takes no argument");
    WF_ASSIGN(Tracepoints tracepoints, Tracepoints::Open(flags, common));
    WF_ASSIGN(const answer::Answer answer, tracepoints.List(common.format));
    return Print(answer.body);
  }
  if (flags.argument.empty())
    return BadInput("tracepoints " + flags.action + ": " +
                        (flags.action == "define" ? "which file?" : "which tracepoint?"),
                    "wherefore tracepoints list | define FILE | show NAME | delete NAME");
  if (flags.action == "define") return Define(flags, common);
  WF_ASSIGN(Tracepoints tracepoints, Tracepoints::Open(flags, common));
  if (flags.action == "show") {
    WF_ASSIGN(const answer::Answer answer, tracepoints.Show(flags.argument));
    return Print(answer.body);
  }
  WF_ASSIGN(const answer::Answer answer, tracepoints.Delete(flags.argument));
  return Print(common.format == "json" ? answer.body : "deleted " + flags.argument + "\n");
}

}  // namespace

Verb AddTracepoints(CLI::App& root) {
  Verb verb = MakeVerb(root, "tracepoints",
                       "Manage tracepoints: list, define FILE, show NAME, delete NAME");
  const auto flags = std::make_shared<TracepointsFlags>();
  verb.app->add_option("ACTION", flags->action, "list, define, show or delete")
      ->required()
      ->check(CLI::IsMember({"list", "define", "show", "delete"}));
  verb.app->add_option("ARGUMENT", flags->argument,
                       "a JSON file to define, or a tracepoint's name");
  AddLiveServerFlags(*verb.app, flags->server);
  verb.run = [flags, common = verb.common] { return RunTracepoints(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
