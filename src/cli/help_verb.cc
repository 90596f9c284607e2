// `wherefore help [VERB]` and `wherefore version`: the same texts as --help and --version, for those who try the verb
// first. `help VERB ACTION` describes one question; `help --format json` is the table of questions and all verbs, for
// programs (docs/reference/questions.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "answer/frame/version.h"
#include "answer/questions/questions.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "lang/common/suggestion.h"

namespace wf::cli {
namespace {

Verb WithoutFlags(CLI::App& root, const char* name, const char* description) {
  Verb verb;
  verb.common = std::make_shared<CommonFlags>();
  verb.app = root.add_subcommand(name, description);
  return verb;
}

const answer::QuestionVerb* FindQuestions(const std::string& verb) {
  for (const answer::QuestionVerb& one : answer::QuestionVerbs()) {
    if (one.verb == verb) return &one;
  }
  return nullptr;
}

// One action of a verb: only its own flags.
std::string ActionHelp(const answer::QuestionVerb& verb, const answer::QuestionKind& kind) {
  std::string text = fmt::format("{}\nUsage: wherefore {} [OPTIONS]\n", kind.summary,
                                 answer::CommandOf(verb, kind));
  if (!kind.help.empty()) text += fmt::format("\n{}\n", kind.help);
  text += "\nOptions:\n";
  for (const answer::QuestionFlag& flag : kind.flags) {
    if (flag.door == answer::FlagDoor::kRequests) continue;
    const std::string words = answer::FlagName(flag.name) + " " + answer::ValueName(flag);
    text += fmt::format("  {:<31} {}\n", words, answer::HelpWithDefault(flag));
  }
  std::string formats;
  for (const std::string_view format : kind.formats)
    formats.append(formats.empty() ? "" : "|").append(format);
  text += fmt::format("  {:<31} {}\n", "--format " + formats, "how the answer is written");
  return text + fmt::format("\nwherefore help {} has the flags of every question.\n", verb.verb);
}

// The help of the words' verb, or of the program when there are none. Some verbs have verbs of their own.
Result<std::string> HelpOf(CLI::App& root, const std::vector<std::string>& words) {
  // root.help() would describe the verb that was parsed, which is `help` itself.
  if (words.empty())
    return root.get_formatter()->make_help(&root, root.get_name(), CLI::AppFormatMode::Normal);
  CLI::App* app = &root;
  std::string before;
  for (const std::string& word : words) {
    before += (before.empty() ? "" : " ") + app->get_name();
    const auto named =
        app->get_subcommands([&word](const CLI::App* one) { return one->get_name() == word; });
    if (named.empty()) {
      const answer::QuestionVerb* asks = FindQuestions(app->get_name());
      const auto* kind = asks == nullptr ? nullptr : answer::FindAction(*asks, word);
      if (kind != nullptr) return ActionHelp(*asks, *kind);
      return NoSuchVerb(*app, word);
    }
    app = named.front();
  }
  return app->help(before);
}

// "TEXT:{text,json}", as CLI11 writes a choice, as "text|json".
std::string ValueOf(const CLI::Option& option) {
  std::string text = option.get_type_name();
  const size_t begin = text.find(":{"), end = text.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return text;
  text = text.substr(begin + 2, end - begin - 2);
  std::replace(text.begin(), text.end(), ',', '|');
  return text;
}

// A verb as the command line has it: also the flags that no question has.
void WriteVerb(const CLI::App& app, JsonWriter& json) {
  json.BeginObject().Field("verb", app.get_name()).Field("summary", app.get_description());
  json.Key("arguments").BeginArray();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    json.BeginObject()
        .Field("name", option->get_name(true))
        .Field("required", option->get_required())
        .Field("help", option->get_description())
        .EndObject();
  }
  json.EndArray().Key("flags").BeginArray();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    json.BeginObject().Key("names").BeginArray();
    for (const std::string& name : option->get_lnames()) json.String("--" + name);
    for (const std::string& name : option->get_snames()) json.String("-" + name);
    json.EndArray();
    json.Field("takes_value", option->get_items_expected_max() > 0);
    json.Field("value", ValueOf(*option));
    json.Field("help", option->get_description()).EndObject();
  }
  json.EndArray().EndObject();
}

std::string AllAsJson(const CLI::App& root) {
  JsonWriter json;
  json.BeginObject().Field("version", answer::kVersion).Key("questions");
  answer::WriteQuestions(json);
  json.Key("verbs").BeginArray();
  for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; }))
    WriteVerb(*app, json);
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

}  // namespace

std::string VersionLine() { return std::string("wherefore ") + answer::kVersion; }

Error NoSuchVerb(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(one->get_name());
  const std::string meant = lang::DidYouMean(word, known);
  return BadInput(word + ": no such verb", meant.empty() ? "wherefore --help lists them" : meant);
}

Verb AddHelp(CLI::App& root) {
  Verb verb =
      WithoutFlags(root, "help", "Print what a verb does and its flags, or the list of verbs");
  const auto words = std::make_shared<std::vector<std::string>>();
  verb.app->add_option("VERB", *words, "the verb to describe (all of them), and an action of it");
  verb.app->add_option("--format", verb.common->format, "text, or json: all verbs and questions")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  verb.run = [&root, words, common = verb.common]() -> Status {
    if (common->format == "json") {
      if (!words->empty())
        return BadInput("help --format json describes all verbs", "leave the verb out");
      return Print(AllAsJson(root));
    }
    WF_ASSIGN(const std::string text, HelpOf(root, *words));
    return Print(text);
  };
  return verb;
}

Verb AddVersion(CLI::App& root) {
  Verb verb = WithoutFlags(root, "version", "Print the version");
  verb.run = []() -> Status { return Print(VersionLine() + "\n"); };
  return verb;
}

}  // namespace wf::cli
