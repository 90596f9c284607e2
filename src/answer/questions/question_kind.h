// What a question is: its words, flags, formats and rights, and the function that answers it. Every door is made from
// these values: the command line, HTTP, help, completion, and what reads `wherefore help --format json`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "answer/frame/answer.h"

namespace wf::answer {

enum class FlagType : uint8_t { kText, kSwitch, kDuration, kInstant, kInteger, kChoice };
enum class FlagNeed : uint8_t {
  kOptional,
  kRequired
};  // the question's function says what is missing
enum class FlagCount : uint8_t { kOnce, kRepeatable };
// Some questions have an argument that may be left out, and flags for only one of the two cases. Without the argument,
// the question's function says why a flag of kWithArgument needs it.
enum class FlagCase : uint8_t { kAlways, kWithArgument, kWithoutArgument };
// kRequests: not on the command line, which says the same otherwise (`dataset sql STATEMENT`).
enum class FlagDoor : uint8_t { kEverywhere, kRequests };

// A flag: `--min-duration` on the command line, `min_duration` as a parameter of HTTP. The functions below return a
// changed copy, so that a row of the table reads as a sentence.
struct QuestionFlag {
  std::string_view name;  // of the parameter
  FlagType type = FlagType::kText;
  std::string_view help;             // what it does, without the default
  std::string_view value = {};       // what stands for the value in help; empty: by the type
  std::string_view unit = {};        // of integers, as in ns
  std::string_view by_default = {};  // as one would write it; empty: nothing
  int64_t min = INT64_MIN, max = INT64_MAX;  // of integers
  std::vector<std::string_view> choices = {};
  FlagNeed need = FlagNeed::kOptional;
  FlagCount count = FlagCount::kOnce;
  FlagCase when = FlagCase::kAlways;
  FlagDoor door = FlagDoor::kEverywhere;

  QuestionFlag Value(std::string_view text) const;
  QuestionFlag Unit(std::string_view text) const;
  QuestionFlag Default(std::string_view text) const;
  QuestionFlag Required() const;
  QuestionFlag Repeatable() const;
  QuestionFlag When(FlagCase which) const;
  QuestionFlag RequestsOnly() const;
};

QuestionFlag TextFlag(std::string_view name, std::string_view help);
QuestionFlag SwitchFlag(std::string_view name, std::string_view help);
QuestionFlag DurationFlag(std::string_view name, std::string_view help);
QuestionFlag InstantFlag(std::string_view name, std::string_view help);
QuestionFlag IntegerFlag(std::string_view name, int64_t min, int64_t max, std::string_view help);
QuestionFlag ChoiceFlag(std::string_view name, std::vector<std::string_view> choices,
                        std::string_view help);

// "DURATION", "a|b": what stands for a value. Empty for switches.
std::string ValueName(const QuestionFlag& flag);
// The help with the default: "at most N traces (20)".
std::string HelpWithDefault(const QuestionFlag& flag);

enum class ArgumentUse : uint8_t { kNone, kOptional, kRequired };
struct QuestionArgument {
  std::string_view name = {};  // in capitals, as in help
  ArgumentUse use = ArgumentUse::kNone;
  std::string_view help = {};
};

enum class BodyUse : uint8_t {
  kNone,
  kOptional,
  kRequired
};  // kOptional: may also be asked by POST
enum class QuestionRight : uint8_t { kRead, kWrite };

struct QuestionKind {
  std::string_view action = {};  // "query" of `dataset query`; empty: the verb is the question
  std::string_view summary;      // one line
  std::string_view help = {};    // more, in sentences
  QuestionArgument argument = {};
  std::vector<QuestionFlag> flags = {};  // besides `format`, and `width` and `color` of text
  std::vector<std::string_view> formats = {"text", "json"};
  std::vector<std::string_view> request_formats = {};  // more, not on the command line
  std::string_view method = "GET";
  QuestionRight right = QuestionRight::kRead;
  BodyUse body = BodyUse::kNone;
  std::string_view body_help = {};
  // How the command line asks it, without the program's name; empty: VERB [ACTION] [ARGUMENT].
  std::string_view command = {};
  Answerer answer = nullptr;
};

// Where a request names the action.
enum class ActionPlace : uint8_t {
  kNone,       // there is one question
  kPath,       // /api/v1/VERB/ACTION[/ARGUMENT]
  kArgument,   // /api/v1/VERB/{action}: one route for all of them
  kParameter,  // /api/v1/VERB/ARGUMENT?what=ACTION; flags of one action may be sent with another
};

struct QuestionVerb {
  std::string_view verb;
  std::string_view summary;
  std::vector<QuestionKind> kinds;
  ActionPlace place = ActionPlace::kNone;
  std::string_view usual_action = {};  // kParameter: without `what`
};

}  // namespace wf::answer
