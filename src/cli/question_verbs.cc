// The verbs that ask: each declares its flags, and the flags given become the question's parameters under the same
// names with `_`. The answer is printed as it comes.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "answer/frame/answer.h"
#include "cli/store_access.h"
#include "cli/verbs.h"

namespace wf::cli {
namespace {

std::string ParamName(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

// A verb whose flags, declared by `declare`, are passed on as they are.
// An argument in brackets may be left out.
Verb AskVerb(CLI::App& root, const char* name, const char* description, const char* argument_name,
             const std::function<void(CLI::App&)>& declare) {
  const std::string_view given = argument_name == nullptr ? "" : argument_name;
  const answer::ArgumentUse takes_argument = given.empty()     ? answer::ArgumentUse::kNone
                                             : given[0] == '[' ? answer::ArgumentUse::kOptional
                                                               : answer::ArgumentUse::kRequired;
  Verb verb = MakeVerb(root, name, description);
  const auto argument = std::make_shared<std::string>();
  if (argument_name != nullptr) {
    const bool optional = takes_argument == answer::ArgumentUse::kOptional;
    CLI::Option* option = verb.app->add_option(
        std::string(optional ? given.substr(1, given.size() - 2) : given), *argument);
    if (!optional) option->required();
  }
  declare(*verb.app);
  verb.run = [app = verb.app, common = verb.common, argument, name, takes_argument]() -> Status {
    if (takes_argument == answer::ArgumentUse::kRequired && argument->empty()) {
      return BadInput(std::string(name) + ": the id is empty",
                      "wherefore traces lists what is there");
    }
    answer::Question question{name, *argument, {}};
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_lnames().empty()) continue;
      const std::string& flag = option->get_lnames().front();
      // Of every verb: they say whom to ask, not what.
      if (flag == "help" || flag == "store" || flag == "config" || flag == "format" ||
          flag == "ca" || flag == "client-cert" || flag == "client-key" || flag == "tenant")
        continue;
      for (const std::string& value : option->results())
        question.params.Add(ParamName(flag), value);
    }
    if (common->format == "text") question.params.Add("format", "text");
    WF_ASSIGN(const auto store, StoreAccess::Open(common->store));
    WF_ASSIGN(const answer::Answer answer, store->Ask(question));
    return Print(answer.body);
  };
  return verb;
}

// The values stay in CLI11, which hands them out as text when the verb runs.
CLI::Option* AddText(CLI::App& app, const char* flag, const char* description) {
  return app
      .add_option_function<std::vector<std::string>>(
          flag, [](const std::vector<std::string>&) {}, description)
      ->expected(1)
      ->allow_extra_args(false);
}

void AddTimes(CLI::App& app) {
  AddText(app, "--since", "from this time on: 15m back from now, RFC 3339, or Unix ns");
  AddText(app, "--until", "before this time, likewise");
}

void AddSearch(CLI::App& app) {
  AddText(app, "--service", "a span of this service");
  AddText(app, "--operation", "… of this name");
  AddText(app, "--attr", "… with this attribute, KEY=VALUE; may be given again")->take_all();
  AddText(app, "--status", "… with this status: error, ok or unset");
  AddText(app, "--min-duration", "the trace took at least this long, as in 250ms");
  AddText(app, "--max-duration", "the trace took at most this long");
  AddTimes(app);
  AddText(app, "--cursor", "go on behind a previous answer: its \"next\"");
}

}  // namespace

Verb AddTraces(CLI::App& root) {
  return AskVerb(root, "traces", "Search: which requests were there, newest first", nullptr,
                 [](CLI::App& app) {
                   AddSearch(app);
                   AddText(app, "--limit", "at most so many (20)");
                 });
}

Verb AddCriticalPath(CLI::App& root) {
  return AskVerb(
      root, "critical-path", "Which steps set the time of a request, or of many", "[ID]",
      [](CLI::App& app) {
        AddText(app, "--from", "from this span's start, or SPAN:end; with ID");
        AddText(app, "--to", "to this span's end, or SPAN:start; with ID");
        AddText(app, "--clock", "aligned (hosts' clocks corrected) or raw");
        AddText(app, "--overlap-tolerance", "0: siblings that overlap a little are parallel too");
        AddText(app, "--what-if",
                "how long with this work scaled: type/resource=0.5x, service/NAME=2x, "
                "operation/NAME=…, span/ID=…; may be given again")
            ->take_all();
        AddSearch(app);
        AddText(app, "--limit", "at most so many traces (1000); these flags are for without ID");
      });
}

Verb AddTrace(CLI::App& root) {
  return AskVerb(root, "trace", "One request: its waterfall", "ID", [](CLI::App& app) {
    AddText(app, "--clock", "aligned (hosts' clocks corrected) or raw");
    AddText(app, "--span", "only this block, with all it carries");
    AddText(app, "--view", "full, waterfall or stacks (columns, for drawing); JSON only");
  });
}

Verb AddStatus(CLI::App& root) {
  return AskVerb(root, "status", "What the store holds; what was lost, refused or repaired",
                 nullptr, [](CLI::App&) {});
}

Verb AddServices(CLI::App& root) {
  return AskVerb(root, "services", "The services that sent spans", nullptr, [](CLI::App&) {});
}

Verb AddOperations(CLI::App& root) {
  return AskVerb(root, "operations", "The operations of a service", nullptr,
                 [](CLI::App& app) { AddText(app, "--service", "of this service"); });
}

Verb AddAttributes(CLI::App& root) {
  return AskVerb(root, "attributes", "Attribute keys, or the values of one", "[KEY]",
                 [](CLI::App& app) {
                   AddText(app, "--prefix", "that begin with this text");
                   AddText(app, "--limit", "at most so many (100)");
                 });
}

Verb AddResource(CLI::App& root) {
  return AskVerb(root, "resource", "Everything that ran on a resource in a time range", nullptr,
                 [](CLI::App& app) {
                   AddText(app, "--host", "on this host");
                   AddText(app, "--instance", "in this service.instance.id");
                   AddText(app, "--pid", "in this process.pid");
                   AddText(app, "--thread", "on this thread.id");
                   AddText(app, "--partition", "of this messaging.destination.partition.id");
                   AddText(app, "--pool", "with this db.client.connection.pool.name");
                   AddText(app, "--resource", "holding this wherefore.resource");
                   AddTimes(app);
                   AddText(app, "--limit", "at most so many (10000), earliest first");
                   AddText(app, "--cursor", "go on behind a previous answer: its \"next\"");
                 });
}

}  // namespace wf::cli
