// The verbs of the command line, one file each; those that only ask a question are made from the table of questions
// (cli/question_flags.h). A verb declares its flags on a CLI::App and returns what runs it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace wf::cli {

// Flags that every verb has.
struct CommonFlags {
  std::string store;
  std::string format = "text";
  std::string color = "auto";  // cli/terminal.h
  std::string config;
  std::string ca, client_cert, client_key, tenant;  // cli/client_settings.h
};

// Runs after parsing; prints its answer itself. An error becomes stderr text and an exit code in main; one without a
// message only the exit code: what there is to say stands in the answer (a check that found faults).
using RunVerb = std::function<Status()>;

struct Verb {
  CLI::App* app = nullptr;
  std::shared_ptr<CommonFlags> common;
  RunVerb run;
};

Verb AddServe(CLI::App& root);
Verb AddImport(CLI::App& root);
Verb AddExport(CLI::App& root);
Verb AddExplain(CLI::App& root);
Verb AddFeature(CLI::App& root);
Verb AddDataset(CLI::App& root);
Verb AddScenario(CLI::App& root);
Verb AddGenerate(CLI::App& root);
Verb AddNdlog(CLI::App& root);
Verb AddPackets(CLI::App& root);
Verb AddPaths(CLI::App& root);
Verb AddMessages(CLI::App& root);
Verb AddWatch(CLI::App& root);
Verb AddPolicy(CLI::App& root);
Verb AddQuery(CLI::App& root);
Verb AddTracepoints(CLI::App& root);
Verb AddAgent(CLI::App& root);
Verb AddRecord(CLI::App& root);
Verb AddCpg(CLI::App& root);
Verb AddAccounts(CLI::App& root);
Verb AddCompletion(CLI::App& root);
Verb AddHelp(CLI::App& root);
Verb AddVersion(CLI::App& root);

// What --version and `wherefore version` print.
std::string VersionLine();
// For a word that is no verb of `app`: names the nearest one.
Error NoSuchVerb(const CLI::App& app, const std::string& word);

// For the verbs' own files.
Verb MakeVerb(CLI::App& root, const char* name, const char* description);
Status Print(const std::string& text);

}  // namespace wf::cli
