// `wherefore scenario NAME --out DIR`: a seeded simulation of a system in trouble, for import, and the question to ask.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/incident_scenario.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "scenario/mailbox.h"
#include "scenario/network_congestion.h"
#include "scenario/scenario.h"

namespace wf::cli {
namespace {

struct ScenarioFlags {
  std::string out, start, fault = "on";
  scenario::ScenarioOptions options;
};

std::vector<scenario::ScenarioDescription> AllScenarios() {
  std::vector<scenario::ScenarioDescription> all = scenario::Scenarios();
  all.insert(all.end(), IncidentScenarios().begin(), IncidentScenarios().end());
  all.push_back(scenario::kNetworkCongestion);
  all.push_back(scenario::kMailboxScenario);
  return all;
}

Status PrintList(const CommonFlags& common) {
  if (common.format == "json") {
    JsonWriter json;
    json.BeginObject().Key("scenarios").BeginArray();
    for (const scenario::ScenarioDescription& known : AllScenarios()) {
      json.BeginObject().Field("name", known.name).Field("description", known.description);
      json.EndObject();
    }
    json.EndArray().EndObject();
    return Print(json.Take() + "\n");
  }
  std::string text;
  for (const scenario::ScenarioDescription& known : AllScenarios())
    text += fmt::format("{:<20} {}\n", known.name, known.description);
  return Print(text);
}

// M1 and Z1 to Z4 are run, the others are generated.
Result<scenario::ScenarioFiles> Write(const scenario::ScenarioOptions& options,
                                      const std::string& folder) {
  if (IsIncidentScenario(options.name)) return RunIncidentScenario(options, folder);
  if (options.name == scenario::kMailboxScenario.name) {
    scenario::MailboxOptions mailbox;
    mailbox.seed = options.seed;
    mailbox.start = options.start;
    if (options.size) {
      if (*options.size < 1 || *options.size > 10'000'000)
        return BadInput("scenario: --size of a mailbox is from 1 to 10,000,000 messages");
      // As many headers a message as in the paper's.
      mailbox.headers = *options.size * mailbox.headers / mailbox.messages;
      mailbox.messages = *options.size;
    }
    return scenario::WriteMailbox(mailbox, folder);
  }
  if (options.name != scenario::kNetworkCongestion.name)
    return scenario::WriteScenario(options, folder);
  scenario::NetworkCongestionOptions network;
  network.seed = options.seed;
  network.fault = options.fault;
  network.hosts = options.size.value_or(network.hosts);
  return scenario::WriteNetworkCongestion(network, folder);
}

Status RunScenario(const ScenarioFlags& flags, const CommonFlags& common) {
  if (flags.options.name == "list") return PrintList(common);
  scenario::ScenarioOptions options = flags.options;
  options.fault = flags.fault == "off" ? scenario::Fault::kOff : scenario::Fault::kOn;
  if (!flags.start.empty()) {
    WF_ASSIGN(options.start, ParseInstant(flags.start, Now()));
  }
  if (flags.out.empty()) {
    return BadInput("scenario: --out is missing", "name the folder to write: --out DIR");
  }
  WF_ASSIGN(const scenario::ScenarioFiles files, Write(options, flags.out));
  if (common.format == "json") {
    JsonWriter json;
    json.BeginObject().Field("scenario", options.name).Field("traces", files.traces);
    json.Field("events", files.event_lines).Key("files").BeginArray();
    json.String(files.events).String(files.query);
    if (!files.recording.empty()) json.String(files.recording);
    json.EndArray().EndObject();
    return Print(json.Take() + "\n");
  }
  if (options.name == scenario::kMailboxScenario.name) {
    return Print(fmt::format("{} headers in {}\nthe true paths in {}\n", files.event_lines,
                             files.events, files.query));
  }
  if (files.traces == 0) {
    return Print(fmt::format("{} events in {}\nthe question in {}\nthe recording in {}\n",
                             files.event_lines, files.events, files.query, files.recording));
  }
  return Print(fmt::format("{} events of {} traces in {}\nthe question in {}\n", files.event_lines,
                           files.traces, files.events, files.query));
}

}  // namespace

Verb AddScenario(CLI::App& root) {
  Verb verb = MakeVerb(root, "scenario", "Simulate a system with a performance problem");
  const auto flags = std::make_shared<ScenarioFlags>();
  verb.app->add_option("NAME", flags->options.name, "the scenario; list shows them")->required();
  verb.app->add_option("--out", flags->out, "folder for events.jsonl and query.json");
  verb.app->add_option("--seed", flags->options.seed, "the same seed gives the same bytes")
      ->capture_default_str();
  verb.app->add_option("--size", flags->options.size,
                       "requests in each population (150); R1 to R4: servers; M1: hosts (16); "
                       "mailbox: messages (11,683)");
  verb.app->add_option("--start", flags->start,
                       "time of the first request: 3h (ago), RFC 3339 or Unix ns");
  verb.app->add_option("--fault", flags->fault, "on, or off: the same without the problem")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  verb.app->add_option("--piece", flags->options.piece,
                       "page-load: the piece that needs more CSS (UserInput)");
  verb.run = [flags, common = verb.common] { return RunScenario(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
