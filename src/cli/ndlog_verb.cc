// `ndlog run PROG --topology F --inputs F`, `ndlog replay RECORDING`: a network datalog program on a simulated network.
// Local files only, as with `explain --events`, which reads what --trace writes.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/input_file.h"
#include "cli/new_file.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "lang/ndlog/simulation.h"

namespace wf::cli {
namespace {

struct NdlogFlags {
  std::string action, file, topology, inputs, trace, record, until;
  uint64_t seed = 1;
};

std::string AnswerJson(const ndlog::RunResult& result) {
  JsonWriter json;
  json.BeginObject().Key("tables").BeginObject();
  for (const auto& [name, tuples] : result.tables) {
    json.Key(name).BeginArray();
    for (const std::string& tuple : tuples) json.String(tuple);
    json.EndArray();
  }
  json.EndObject().EndObject();
  return json.Take() + "\n";
}

// What had no effect is said: a delete that finds nothing is usually a slip of the pen.
void TellCounters(const ndlog::RunResult& result) {
  if (result.deletes_of_nothing > 0)
    std::fprintf(stderr, "wherefore: %lld deletes matched no base tuple\n",
                 static_cast<long long>(result.deletes_of_nothing));
}

Status RunNdlog(const NdlogFlags& flags) {
  const bool replay = flags.action == "replay";
  if (!replay && (flags.topology.empty() || flags.inputs.empty()))
    return BadInput(std::string("ndlog run: ") +
                        (flags.topology.empty() ? "--topology" : "--inputs") + " is missing",
                    "docs/reference/ndlog.md describes the files");
  ndlog::RunOptions options;
  options.seed = flags.seed;
  if (!flags.until.empty()) {
    WF_ASSIGN(options.until, ParseInstant(flags.until, 0));
    // A duration is counted from 0, where a simulation's clock usually begins.
    if (*options.until < 0) options.until = SaturatingSub(0, *options.until);
  }
  NewFile trace(flags.trace);
  std::string lines;
  const auto flush = [&]() -> Status {
    WF_TRY(trace.Write(lines));
    lines.clear();
    return {};
  };
  if (!flags.trace.empty()) {
    WF_TRY(trace.Open());
    options.provenance = [&](const ProvenanceEvent& event) -> Status {
      constexpr size_t kPiece = 1 << 20;
      AppendProvenanceLine(event, lines);
      return lines.size() < kPiece ? Status() : flush();
    };
  }
  Result<ndlog::RunResult> result = ndlog::RunResult{};
  ndlog::Recording recording;
  if (replay) {
    WF_ASSIGN(const std::string text,
              ReadInputFile(flags.file, "give a file that ndlog run --record wrote"));
    WF_ASSIGN(recording, ndlog::ReadRecording(text, flags.file));
    result = ndlog::Replay(recording, options.provenance);
  } else {
    ndlog::RunTexts texts;
    WF_ASSIGN(texts.program,
              ReadInputFile(flags.file, "give a file with a program, or - for stdin"));
    WF_ASSIGN(texts.topology,
              ReadInputFile(flags.topology, "give a file with a topology in JSON lines"));
    WF_ASSIGN(texts.inputs, ReadInputFile(flags.inputs, "give a file with inputs in JSON lines"));
    texts.program_name = flags.file;
    texts.topology_name = flags.topology;
    texts.inputs_name = flags.inputs;
    if (!flags.record.empty()) options.record = &recording.events;
    result = ndlog::RunFromTexts(texts, options);
    recording.program = std::move(texts.program);
    recording.topology = std::move(texts.topology);
    recording.inputs = std::move(texts.inputs);
    recording.seed = options.seed;
    recording.until = options.until;
  }
  if (!result.ok()) return result.error();
  if (!flags.trace.empty()) {
    WF_TRY(flush());
    WF_TRY(trace.Finish());
  }
  if (!replay && !flags.record.empty()) {
    NewFile file(flags.record);
    WF_TRY(file.Open());
    WF_TRY(file.Write(ndlog::WriteRecording(recording)));
    WF_TRY(file.Finish());
  }
  TellCounters(*result);
  return Print(AnswerJson(*result));
}

}  // namespace

Verb AddNdlog(CLI::App& root) {
  Verb verb = MakeVerb(root, "ndlog", "Run a network datalog program on a simulated network");
  const auto flags = std::make_shared<NdlogFlags>();
  verb.app->add_option("ACTION", flags->action, "run or replay")
      ->required()
      ->check(CLI::IsMember({"run", "replay"}));
  verb.app->add_option("FILE", flags->file, "run: the program; replay: a recording")->required();
  verb.app->add_option("--topology", flags->topology,
                       "run: file of nodes, links and costs, JSON lines");
  verb.app->add_option("--inputs", flags->inputs, "run: tuples to insert and delete, JSON lines");
  verb.app->add_option("--trace", flags->trace,
                       "file to write the provenance to, for explain --events");
  verb.app->add_option("--record", flags->record, "run: file to write a recording to, for replay");
  verb.app->add_option("--seed", flags->seed, "run: seed of the jitter of costs and links")
      ->capture_default_str();
  verb.app->add_option("--until", flags->until,
                       "run: stop at this time, as a duration from 0 or in ns");
  verb.run = [flags] { return RunNdlog(*flags); };
  return verb;
}

}  // namespace wf::cli
