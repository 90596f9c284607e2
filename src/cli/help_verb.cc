// `wherefore help [VERB]` and `wherefore version`: the same texts as --help and --version, for those who try the verb first.
#include <CLI/CLI.hpp>
#include <vector>

#include "answer/frame/version.h"
#include "cli/verbs.h"
#include "lang/common/suggestion.h"

namespace wf::cli {
namespace {

Verb WithoutFlags(CLI::App& root, const char* name, const char* description) {
  Verb verb;
  verb.common = std::make_shared<CommonFlags>();
  verb.app = root.add_subcommand(name, description);
  return verb;
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
    if (named.empty()) return NoSuchVerb(*app, word);
    app = named.front();
  }
  return app->help(before);
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
  verb.app->add_option("VERB", *words, "the verb to describe (all of them)");
  verb.run = [&root, words]() -> Status {
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
