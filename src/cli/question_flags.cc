#include "cli/question_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/store_access.h"

namespace wf::cli {
namespace {

void Declare(CLI::App& app, const answer::VerbFlag& one) {
  const answer::QuestionFlag& flag = *one.flag;
  const std::string name = answer::FlagName(flag.name);
  if (flag.type == answer::FlagType::kSwitch) {
    app.add_flag_function(
        name, [](int64_t) {}, one.help);
    return;
  }
  // The values stay in CLI11, which hands them out as text when the verb runs.
  CLI::Option* option = app.add_option_function<std::vector<std::string>>(
      name, [](const std::vector<std::string>&) {}, one.help);
  option->expected(1)->allow_extra_args(false)->type_name(answer::ValueName(flag));
  if (flag.count == answer::FlagCount::kRepeatable) option->take_all();
}

// Lines of at most 100 columns.
std::string Wrapped(std::string_view text) {
  constexpr size_t kColumns = 100;
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const bool fits = column + 1 + word.size() <= kColumns;
    if (column != 0) out += fits ? ' ' : '\n';
    column = column != 0 && fits ? column + 1 + word.size() : word.size();
    out += word;
  }
  return out;
}

}  // namespace

Verb MakeQuestionVerb(CLI::App& root, const answer::QuestionVerb& asks) {
  Verb verb = MakeVerb(root, std::string(asks.verb).c_str(), std::string(asks.summary).c_str());
  for (const answer::VerbFlag& flag : answer::FlagsOfVerb(asks)) Declare(*verb.app, flag);
  const std::vector<std::string> formats = answer::FormatsOfVerb(asks);
  if (formats.size() > 2) {
    std::string names;
    for (size_t i = 0; i < formats.size(); ++i)
      names += (i == 0 ? "" : i + 1 == formats.size() ? " or " : ", ") + formats[i];
    verb.app->remove_option(verb.app->get_option("--format"));
    verb.app->add_option("--format", verb.common->format, names)
        ->check(CLI::IsMember(formats))
        ->capture_default_str();
  }
  if (asks.kinds.size() == 1) verb.app->footer(Wrapped(asks.kinds.front().help));
  return verb;
}

answer::Params GivenFlags(const CLI::App& app, const answer::QuestionVerb& asks) {
  answer::Params params;
  for (const answer::VerbFlag& one : answer::FlagsOfVerb(asks)) {
    const std::string name(one.flag->name);
    const CLI::Option* option = app.get_option(answer::FlagName(name));
    const std::vector<std::string>& values = option->results();
    if (one.flag->type != answer::FlagType::kSwitch) {
      for (const std::string& value : values) params.Add(name, value);
    } else if (!values.empty()) {
      params.Add(name, values.back());
    }
  }
  return params;
}

void AddFormat(const std::string& format, answer::Params& params) {
  if (format != "json") params.Add("format", format);
}

Verb AddQuestion(CLI::App& root, std::string_view name) {
  const answer::QuestionVerb& asks = answer::QuestionVerbOf(name);
  const answer::QuestionArgument& takes = asks.kinds.front().argument;
  Verb verb = MakeQuestionVerb(root, asks);
  const auto argument = std::make_shared<std::string>();
  if (takes.use != answer::ArgumentUse::kNone) {
    verb.app->add_option(std::string(takes.name), *argument, std::string(takes.help))
        ->required(takes.use == answer::ArgumentUse::kRequired);
  }
  verb.run = [app = verb.app, common = verb.common, argument, &asks, &takes]() -> Status {
    if (takes.use == answer::ArgumentUse::kRequired && argument->empty()) {
      return BadInput(std::string(asks.verb) + ": the id is empty",
                      "wherefore traces lists what is there");
    }
    answer::Question question{std::string(asks.verb), *argument, GivenFlags(*app, asks)};
    AddFormat(common->format, question.params);
    WF_ASSIGN(const auto store, StoreAccess::Open(common->store));
    WF_ASSIGN(const answer::Answer answer, store->Ask(question));
    return Print(answer.body);
  };
  return verb;
}

}  // namespace wf::cli
