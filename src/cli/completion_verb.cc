// `wherefore completion SHELL`: a script for the shell, made from the verbs and flags as they are.
#include <CLI/CLI.hpp>

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
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words\n"
         "  case $prev in\n"
         "    --format) COMPREPLY=($(compgen -W 'text json' -- \"$cur\")); return ;;\n"
         "    --color) COMPREPLY=($(compgen -W 'auto always never' -- \"$cur\")); return ;;\n"
         "    --clock) COMPREPLY=($(compgen -W 'aligned raw' -- \"$cur\")); return ;;\n"
         "    --status) COMPREPLY=($(compgen -W 'error ok unset' -- \"$cur\")); return ;;\n"
         // Names come from senders: the shell must never expand them.
         "    --service) local service; COMPREPLY=()\n"
         "      while IFS= read -r service; do\n"
         "        [[ $service == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$service\")\")\n"
         "      done < <(wherefore services 2>/dev/null); return ;;\n"
         "    --store|--config|--out) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
         "  esac\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W '" +
         verbs + " --help --version' -- \"$cur\")); return; fi\n" + help +
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
