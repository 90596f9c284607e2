// `feature check FILE` and `feature run FILE --trace ID`: the program is read here, with the texts beside it that it
// uses, and sent with the question.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "cli/question_flags.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "lang/feature/feature_parser.h"

namespace wf::cli {
namespace {

Result<std::string> ReadProgram(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, error)) {
    return BadInput(path + ": cannot be read", "give a file with a program, or - for stdin");
  }
  text << file.rdbuf();
  return text.str();
}

// Texts that `use "NAME"` names and that stand beside the program, as NAME or NAME.feature; those they use, too. What
// is not there may be the name of a dataset, which the store knows.
std::map<std::string, std::string> TextsBeside(const std::string& path,
                                               const std::string& program) {
  std::map<std::string, std::string> found;
  const std::filesystem::path folder =
      path == "-" ? std::filesystem::path(".") : std::filesystem::path(path).parent_path();
  std::vector<std::string> unread = {program};
  while (!unread.empty()) {
    const feature::Parsed parsed = feature::Parse(unread.back());
    unread.pop_back();
    for (const feature::Statement& statement : parsed.program.statements) {
      const bool beside = statement.kind == feature::Statement::Kind::kUse &&
                          statement.name.find('/') == std::string::npos &&
                          found.count(statement.name) == 0;
      if (!beside) continue;
      for (const char* ending : {"", ".feature"}) {
        const auto text = ReadProgram((folder / (statement.name + ending)).string());
        if (!text.ok()) continue;
        found.emplace(statement.name, *text);
        unread.push_back(*text);
        break;
      }
    }
  }
  return found;
}

std::string BodyOf(const std::string& program, const std::map<std::string, std::string>& library) {
  JsonWriter json;
  json.BeginObject().Field("program", program).Key("library").BeginObject();
  for (const auto& [name, text] : library) json.Field(name, text);
  json.EndObject().EndObject();
  return json.Take();
}

}  // namespace

Verb AddFeature(CLI::App& root) {
  const answer::QuestionVerb& asks = answer::QuestionVerbOf("feature");
  Verb verb = MakeQuestionVerb(root, asks);
  struct Arguments {
    std::string action, file;
  };
  const auto arguments = std::make_shared<Arguments>();
  verb.app->add_option("ACTION", arguments->action, "check or run")
      ->required()
      ->check(CLI::IsMember({"check", "run"}));
  verb.app->add_option("FILE", arguments->file, "the program; - is standard input")->required();
  verb.run = [common = verb.common, app = verb.app, arguments, &asks]() -> Status {
    const answer::Params given = GivenFlags(*app, asks);
    if (arguments->action == "run" && !given.Get("trace"))
      return BadInput("feature run: --trace is missing", "wherefore traces lists what is there");
    WF_ASSIGN(const std::string program, ReadProgram(arguments->file));
    answer::Question question{"feature", arguments->action, {}, {}};
    question.body = BodyOf(program, TextsBeside(arguments->file, program));
    if (arguments->action == "run") question.params = given;
    AddFormat(common->format, question.params);
    WF_ASSIGN(const auto store, StoreAccess::Open(common->store));
    WF_ASSIGN(const answer::Answer answer, store->Ask(question));
    WF_TRY(Print(answer.body));
    if (answer.faults) return Error{ErrorCode::kNotFound, "", ""};  // exit 1, the report is printed
    return {};
  };
  return verb;
}

}  // namespace wf::cli
