// Questions about a recorded program that was imported. `wherefore cpg FILE` asks the same of a file.
#include "answer/questions/questions.h"
#include "answer/recording/recording_questions.h"

namespace wf::answer {
namespace {

constexpr QuestionArgument kRecording = {"ID", ArgumentUse::kRequired,
                                         "the trace of a recording that was imported"};

QuestionKind About(std::string_view action, std::string_view command, std::string_view summary,
                   std::vector<QuestionFlag> flags = {},
                   std::vector<std::string_view> formats = {"text", "json"}) {
  return {.action = action,
          .summary = summary,
          .argument = kRecording,
          .flags = std::move(flags),
          .formats = std::move(formats),
          .command = command,
          .answer = AnswerStoredRecording};
}

}  // namespace

std::vector<QuestionVerb> RecordingQuestions() {
  return {
      {.verb = "cpg",
       .summary = "Questions about a recorded program: graph, lineage, order, races",
       .kinds =
           {About("graph", "cpg FILE graph", "Which parts of the program waited for which others",
                  {SwitchFlag("pages", "list the pages, not only how many"),
                   IntegerFlag("thread", 0, UINT32_MAX, "only this thread").Repeatable(),
                   IntegerFlag("from_ns", 0, INT64_MAX, "what runs from then on, since the start")
                       .Unit("ns")
                       .RequestsOnly(),
                   IntegerFlag("until_ns", 0, INT64_MAX, "what runs until then")
                       .Unit("ns")
                       .RequestsOnly(),
                   TextFlag("around", "this sub-computation and its nearest along edges")
                       .Value("THREAD.N")},
                  {"text", "json", "dot", "svg"}),
            About(
                "lineage", "cpg FILE lineage", "Where data came from, or what it reached",
                {TextFlag("of", "where an output came from").Value("OUTPUT[:a-b]"),
                 TextFlag("address", "where memory came from").Value("HEX|SYMBOL[+off]"),
                 TextFlag("at", "with address: at the end of this sub-computation, not of the run")
                     .Value("THREAD.N"),
                 TextFlag("from", "what an input reached").Value("INPUT[:a-b]"),
                 SwitchFlag("crash", "of what the sub-computation that crashed had read"),
                 SwitchFlag("ordered", "without steps between what nothing orders")}),
            About("order", "cpg FILE order A B", "Which of two sub-computations ran first",
                  {TextFlag("a", "a sub-computation").Value("THREAD.N").RequestsOnly(),
                   TextFlag("b", "another").Value("THREAD.N").RequestsOnly()}),
            About("races", "cpg FILE races", "Data that was shared without an order"),
            About("summary", "cpg FILE summary", "What was recorded, and where threads waited"),
            About("pages", "cpg FILE pages", "Which threads touched which pages", {},
                  {"text", "json", "csv", "svg"}),
            About("layout", "cpg FILE layout", "Where memory and threads should be placed",
                  {IntegerFlag("nodes", 1, 1024, "the number of memory nodes").Default("2")})},
       .place = ActionPlace::kParameter,
       .usual_action = "summary"}};
}

}  // namespace wf::answer
