#include "cli/verbs.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/store_access.h"

namespace wf {

Verb MakeVerb(CLI::App& root, const char* name, const char* description) {
  Verb verb;
  verb.common = std::make_shared<CommonFlags>();
  verb.common->store = DefaultStore();
  verb.app = root.add_subcommand(name, description);
  verb.app
      ->add_option("--store", verb.common->store, "a directory, or http(s)://host:port of a server")
      ->capture_default_str();
  verb.app->add_option("--format", verb.common->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  verb.app->add_option("--config", verb.common->config, "a YAML file; every flag is a key");
  return verb;
}

Status Print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return {};
  return EnvironmentError(std::string("standard output: ") + std::strerror(errno),
                          "is the disk full?");
}

}  // namespace wf
