#include "answer/questions/questions.h"

#include <algorithm>

#include "answer/frame/text_style_params.h"

namespace wf::answer {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

template <typename Words>
void AddNew(const Words& words, std::vector<std::string_view>& to) {
  for (const std::string_view word : words) {
    if (std::find(to.begin(), to.end(), word) == to.end()) to.push_back(word);
  }
}

std::string Joined(const std::vector<std::string_view>& words, std::string_view last) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i != 0) out += i + 1 == words.size() ? last : ", ";
    out += words[i];
  }
  return out;
}

std::vector<std::string_view> Actions(const QuestionVerb& verb) {
  std::vector<std::string_view> actions;
  for (const QuestionKind& kind : verb.kinds) actions.push_back(kind.action);
  return actions;
}

bool Applies(const QuestionFlag& flag, const Question& question) {
  return flag.when != FlagCase::kWithoutArgument || question.argument.empty();
}

// Where one route serves all actions, flags of one may be sent with another.
std::vector<const QuestionFlag*> FlagsFor(const QuestionVerb& verb, const QuestionKind& kind,
                                          const Question& question) {
  std::vector<const QuestionFlag*> flags;
  for (const QuestionKind& one : verb.kinds) {
    if (&one != &kind && verb.place != ActionPlace::kParameter) continue;
    for (const QuestionFlag& flag : one.flags) {
      if (Applies(flag, question)) flags.push_back(&flag);
    }
  }
  return flags;
}

Status CheckFormat(const QuestionVerb& verb, const QuestionKind& kind, const Params& params) {
  std::vector<std::string_view> formats;
  for (const QuestionKind& one : verb.kinds) {
    if (&one != &kind && verb.place != ActionPlace::kParameter) continue;
    AddNew(one.formats, formats);
    AddNew(one.request_formats, formats);
  }
  WF_ASSIGN(const auto format, params.Choice("format", formats));
  const bool has =
      !format || std::count(kind.formats.begin(), kind.formats.end(), *format) != 0 ||
      std::count(kind.request_formats.begin(), kind.request_formats.end(), *format) != 0;
  if (has) return {};
  return BadInput(std::string(kind.action) + ": has no format " + *format,
                  "it has " + Joined(kind.formats, " and "));
}

Status CheckValue(const QuestionFlag& flag, const Params& params, Nanos now) {
  switch (flag.type) {
    case FlagType::kText:
      break;
    case FlagType::kSwitch:
      WF_TRY(params.Switch(flag.name));
      break;
    case FlagType::kDuration:
      WF_TRY(params.Duration(flag.name));
      break;
    case FlagType::kInstant:
      WF_TRY(params.Instant(flag.name, now));
      break;
    case FlagType::kInteger:
      WF_TRY(params.Integer(flag.name, flag.min, flag.max));
      break;
    case FlagType::kChoice:
      WF_TRY(params.Choice(flag.name, flag.choices));
      break;
  }
  return {};
}

// The question that was found, and what its function gets as argument.
struct FoundQuestion {
  const QuestionKind* kind = nullptr;
  std::string argument;
};

Result<FoundQuestion> FindByPath(const QuestionVerb& verb, const Question& question) {
  const size_t slash = question.argument.find('/');
  const std::string name = question.argument.substr(0, slash);
  FoundQuestion found{FindAction(verb, name), ""};
  const std::string words = std::string(verb.verb) + " " + name;
  if (found.kind == nullptr) return NotFound(words + ": no such action", ActionNames(verb));
  if (slash != std::string::npos) found.argument = question.argument.substr(slash + 1);
  const QuestionArgument& argument = found.kind->argument;
  if (argument.use == ArgumentUse::kRequired && found.argument.empty()) {
    return BadInput(words + ": no " + Lower(argument.name) + " given",
                    "wherefore " + std::string(verb.verb) + " list shows them");
  }
  if (argument.use == ArgumentUse::kNone && !found.argument.empty())
    return BadInput(words + ": takes no name", "leave it out");
  return found;
}

Result<FoundQuestion> FindQuestion(const QuestionVerb& verb, const Question& question) {
  switch (verb.place) {
    case ActionPlace::kNone:
      break;
    case ActionPlace::kPath:
      return FindByPath(verb, question);
    case ActionPlace::kArgument: {
      const QuestionKind* kind = FindAction(verb, question.argument);
      if (kind != nullptr) return FoundQuestion{kind, ""};
      std::string commands;
      for (const QuestionKind& one : verb.kinds)
        commands += (commands.empty() ? "wherefore " : ", or wherefore ") + CommandOf(verb, one);
      return BadInput(std::string(verb.verb) + ": \"" + question.argument + "\" is neither " +
                          Joined(Actions(verb), " nor "),
                      commands);
    }
    case ActionPlace::kParameter: {
      WF_ASSIGN(const auto what, question.params.Choice("what", Actions(verb)));
      return FoundQuestion{FindAction(verb, what ? std::string_view(*what) : verb.usual_action),
                           question.argument};
    }
  }
  return FoundQuestion{&verb.kinds.front(), question.argument};
}

void AddRoutes(const QuestionVerb& verb, const QuestionKind& kind, const std::string& path,
               const QuestionArgument& argument, std::vector<QuestionRoute>& routes) {
  const auto add = [&](std::string_view method, const std::string& at) {
    routes.push_back({&verb, &kind, method, at, kind.right});
  };
  const std::string with = path + "/{" + Lower(argument.name) + "}";
  if (argument.use != ArgumentUse::kRequired) add(kind.method, path);
  if (argument.use != ArgumentUse::kNone) add(kind.method, with);
  // A program does not fit into an address; asking by POST reads all the same.
  if (kind.body != BodyUse::kOptional) return;
  if (argument.use != ArgumentUse::kNone) add("POST", with);
  if (argument.use != ArgumentUse::kRequired) add("POST", path);
}

}  // namespace

const std::vector<QuestionVerb>& QuestionVerbs() {
  static const std::vector<QuestionVerb> verbs = [] {
    std::vector<QuestionVerb> all = TraceQuestions();
    for (const auto& part : {DatasetQuestions(), RecordingQuestions()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return verbs;
}

const QuestionVerb& QuestionVerbOf(std::string_view verb) {
  const auto& verbs = QuestionVerbs();
  return *std::find_if(verbs.begin(), verbs.end(),
                       [&](const QuestionVerb& one) { return one.verb == verb; });
}

const QuestionKind* FindAction(const QuestionVerb& verb, std::string_view action) {
  for (const QuestionKind& kind : verb.kinds) {
    if (kind.action == action) return &kind;
  }
  return nullptr;
}

std::vector<QuestionRoute> QuestionRoutes() {
  std::vector<QuestionRoute> routes;
  for (const QuestionVerb& verb : QuestionVerbs()) {
    const std::string path = "/api/v1/" + std::string(verb.verb);
    const QuestionKind& first = verb.kinds.front();
    if (verb.place == ActionPlace::kPath) {
      for (const QuestionKind& kind : verb.kinds)
        AddRoutes(verb, kind, path + "/" + std::string(kind.action), kind.argument, routes);
    } else if (verb.place == ActionPlace::kArgument) {
      AddRoutes(verb, first, path, {"ACTION", ArgumentUse::kRequired}, routes);
    } else {
      AddRoutes(verb, first, path, first.argument, routes);
    }
  }
  return routes;
}

Question QuestionAt(const QuestionRoute& route, const std::string& argument, Params params,
                    std::string body) {
  Question question{std::string(route.verb->verb), argument, std::move(params), std::move(body),
                    route.method};
  if (route.verb->place == ActionPlace::kPath) {
    question.argument = std::string(route.kind->action);
    if (route.kind->argument.use != ArgumentUse::kNone) question.argument += "/" + argument;
  }
  return question;
}

Status CheckFlags(const QuestionVerb& verb, const QuestionKind& kind, const Question& question,
                  Nanos now) {
  const Params& params = question.params;
  WF_TRY(CheckFormat(verb, kind, params));
  const std::vector<const QuestionFlag*> flags = FlagsFor(verb, kind, question);
  std::vector<std::string_view> known, repeatable;
  if (verb.place == ActionPlace::kParameter) known.push_back("what");
  for (const QuestionFlag* flag : flags)
    (flag->count == FlagCount::kRepeatable ? repeatable : known).push_back(flag->name);
  known.push_back("format");
  WF_TRY(params.Check(known, repeatable));
  for (const QuestionFlag* flag : flags) {
    if (flag->count == FlagCount::kOnce) {
      WF_TRY(CheckValue(*flag, params, now));
      continue;
    }
    for (const std::string& value : params.All(flag->name))
      WF_TRY(CheckValue(*flag, Params({{std::string(flag->name), value}}), now));
  }
  return {};
}

Result<Answer> Ask(const AnswerContext& context, const Question& question) {
  for (const QuestionVerb& verb : QuestionVerbs()) {
    if (verb.verb != question.verb) continue;
    WF_ASSIGN(FoundQuestion found, FindQuestion(verb, question));
    Question asked = question;
    asked.argument = std::move(found.argument);
    WF_ASSIGN(const TextStyle style, TakeTextStyle(asked.params));
    const ScopedTextStyle scope(style);
    WF_TRY(CheckFlags(verb, *found.kind, asked, context.now));
    return found.kind->answer(context, asked);
  }
  return NotFound("\"" + question.verb + "\" is not a question", "wherefore --help lists them");
}

std::string ActionNames(const QuestionVerb& verb) { return Joined(Actions(verb), " or "); }

std::string CommandOf(const QuestionVerb& verb, const QuestionKind& kind) {
  if (!kind.command.empty()) return std::string(kind.command);
  std::string words(verb.verb);
  if (!kind.action.empty()) words.append(" ").append(kind.action);
  const std::string name(kind.argument.name);
  if (kind.argument.use == ArgumentUse::kOptional) words += " [" + name + "]";
  if (kind.argument.use == ArgumentUse::kRequired) words += " " + name;
  return words;
}

std::vector<VerbFlag> FlagsOfVerb(const QuestionVerb& verb) {
  std::vector<VerbFlag> flags;
  std::vector<std::vector<std::string_view>> actions;  // that have them
  for (const QuestionKind& kind : verb.kinds) {
    for (const QuestionFlag& flag : kind.flags) {
      if (flag.door == FlagDoor::kRequests) continue;
      const auto at = std::find_if(flags.begin(), flags.end(), [&](const VerbFlag& one) {
        return one.flag->name == flag.name;
      });
      if (at == flags.end()) {
        flags.push_back({&flag, HelpWithDefault(flag)});
        actions.push_back({kind.action});
      } else {
        actions[static_cast<size_t>(at - flags.begin())].push_back(kind.action);
      }
    }
  }
  for (size_t i = 0; i < flags.size(); ++i) {
    if (actions[i].size() < verb.kinds.size())
      flags[i].help = Joined(actions[i], ", ") + ": " + flags[i].help;
  }
  return flags;
}

std::vector<std::string> FormatsOfVerb(const QuestionVerb& verb) {
  std::vector<std::string_view> formats;
  for (const QuestionKind& kind : verb.kinds) AddNew(kind.formats, formats);
  return {formats.begin(), formats.end()};
}

}  // namespace wf::answer
