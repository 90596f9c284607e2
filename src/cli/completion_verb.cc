// `wherefore completion SHELL`: a script for the shell, made from the verbs and flags as they are, and from the table of
// questions, which knows values.
#include <CLI/CLI.hpp>

#include "answer/questions/questions.h"
#include "cli/verbs.h"

namespace wf::cli {
namespace {

std::string FlagsOf(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      words += (words.empty() ? "--" : " --") + name;
  }
  return words;
}

// What may stand behind a flag of a verb, with spaces between.
struct FlagValues {
  std::string verb, flag, values;
};

std::vector<FlagValues> ValuesOfFlags() {
  std::vector<FlagValues> all;
  const auto add = [&](const answer::QuestionVerb& verb, const std::string& flag,
                       const auto& values) {
    std::string words;
    for (const auto& value : values) words.append(words.empty() ? "" : " ").append(value);
    all.push_back({std::string(verb.verb), flag, words});
  };
  for (const answer::QuestionVerb& verb : answer::QuestionVerbs()) {
    for (const answer::VerbFlag& one : answer::FlagsOfVerb(verb)) {
      if (one.flag->type == answer::FlagType::kChoice)
        add(verb, answer::FlagName(one.flag->name), one.flag->choices);
    }
    add(verb, "--format", answer::FormatsOfVerb(verb));
  }
  return all;
}

std::string ActionsOf(const answer::QuestionVerb& verb) {
  std::string words;
  for (const answer::QuestionKind& kind : verb.kinds)
    words.append(words.empty() ? "" : " ").append(kind.action);
  return words;
}

// The action is the word behind the verb; of `cpg FILE ACTION`, behind the file.
std::string BashActions() {
  std::string cases;
  for (const answer::QuestionVerb& verb : answer::QuestionVerbs()) {
    if (verb.place == answer::ActionPlace::kNone) continue;
    const char* const place = verb.place == answer::ActionPlace::kParameter ? "3" : "2";
    cases += "    " + std::string(verb.verb) + ":" + place + ") COMPREPLY=($(compgen -W '" +
             ActionsOf(verb) + "' -- \"$cur\")); return ;;\n";
  }
  return "  case ${COMP_WORDS[1]}:$COMP_CWORD in\n" + cases + "  esac\n";
}

std::string BashValues() {
  std::string cases;
  for (const FlagValues& one : ValuesOfFlags())
    cases += "    " + one.verb + ":" + one.flag + ") COMPREPLY=($(compgen -W '" + one.values +
             "' -- \"$cur\")); return ;;\n";
  return "  case ${COMP_WORDS[1]}:$prev in\n" + cases + "  esac\n";
}

std::string Bash(const CLI::App& root) {
  std::string verbs, cases;
  for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
    verbs += (verbs.empty() ? "" : " ") + app->get_name();
    cases += "    " + app->get_name() + ") words=\"" + FlagsOf(*app) + "\" ;;\n";
  }
  // The one verb whose argument is a verb.
  const std::string help =
      "  if [ \"$COMP_CWORD\" = 2 ] && [ \"${COMP_WORDS[1]}\" = help ]; then\n"
      "    COMPREPLY=($(compgen -W '" +
      verbs +
      "' -- \"$cur\")); return\n"
      "  fi\n";
  return "# bash completion of wherefore; source it, or: wherefore completion bash > "
         "/etc/bash_completion.d/wherefore\n"
         "_wherefore() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words\n" +
         BashValues() +
         "  case $prev in\n"
         "    --format) COMPREPLY=($(compgen -W 'text json' -- \"$cur\")); return ;;\n"
         "    --color) COMPREPLY=($(compgen -W 'auto always never' -- \"$cur\")); return ;;\n"
         // Names come from senders: the shell must never expand them.
         "    --service) local service; COMPREPLY=()\n"
         "      while IFS= read -r service; do\n"
         "        [[ $service == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$service\")\")\n"
         "      done < <(wherefore services 2>/dev/null); return ;;\n"
         "    --store|--config|--out) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
         "  esac\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W '" +
         verbs + " --help --version' -- \"$cur\")); return; fi\n" + help + BashActions() +
         "  case ${COMP_WORDS[1]} in\n" + cases +
         "    *) words= ;;\n"
         "  esac\n"
         "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"));\n"
         "  else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
         "}\n"
         "complete -F _wherefore wherefore\n";
}

std::string Zsh(const CLI::App& root) {
  return "#compdef wherefore\nautoload -U +X bashcompinit && bashcompinit\n" + Bash(root);
}

std::string Fish(const CLI::App& root) {
  std::string out = "# fish completion of wherefore\ncomplete -c wherefore -f\n";
  for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
    out += "complete -c wherefore -n __fish_use_subcommand -a " + app->get_name() + " -d '" +
           app->get_description() + "'\n";
    out +=
        "complete -c wherefore -n '__fish_seen_subcommand_from help' -a " + app->get_name() + "\n";
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        out += "complete -c wherefore -n '__fish_seen_subcommand_from " + app->get_name() +
               "' -l " + name + "\n";
      }
    }
  }
  for (const FlagValues& one : ValuesOfFlags())
    out += "complete -c wherefore -n '__fish_seen_subcommand_from " + one.verb + "' -l " +
           one.flag.substr(2) + " -x -a '" + one.values + "'\n";
  for (const answer::QuestionVerb& verb : answer::QuestionVerbs()) {
    if (verb.place != answer::ActionPlace::kNone)
      out += "complete -c wherefore -n '__fish_seen_subcommand_from " + std::string(verb.verb) +
             "' -a '" + ActionsOf(verb) + "'\n";
  }
  return out;
}

}  // namespace

Verb AddCompletion(CLI::App& root) {
  Verb verb;
  verb.common = std::make_shared<CommonFlags>();
  verb.app = root.add_subcommand("completion", "Print a completion script: bash, zsh or fish");
  const auto shell = std::make_shared<std::string>();
  verb.app->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb.run = [&root, shell]() -> Status {
    return Print(*shell == "bash" ? Bash(root) : *shell == "zsh" ? Zsh(root) : Fish(root));
  };
  return verb;
}

}  // namespace wf::cli
