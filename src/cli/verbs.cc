#include "cli/verbs.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/store_access.h"

namespace wf::cli {

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
  if (std::strcmp(name, "serve") == 0) return verb;  // it asks nobody
  verb.app->add_option("--color", verb.common->color, "colour on a terminal: auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  verb.app->add_option("--ca", verb.common->ca,
                       "PEM file of trusted CAs for https:// (default: system CAs)");
  verb.app->add_option("--client-cert", verb.common->client_cert,
                       "PEM file of the client certificate");
  verb.app->add_option("--client-key", verb.common->client_key,
                       "PEM file of the client key (default: the same file)");
  verb.app->add_option("--tenant", verb.common->tenant,
                       "tenant whose data to use (default: the account's first, else default)");
  return verb;
}

Status Print(const std::string& text) {
  // A signal that somebody handles (Ctrl-C of a query that then tells its last rows) may cut a write that waits for a
  // slow reader; the rest is written all the same.
  const auto interrupted = [] {
    const bool again = errno == EINTR;
    if (again) std::clearerr(stdout);
    return again;
  };
  size_t done = 0;
  do {
    done += std::fwrite(text.data() + done, 1, text.size() - done, stdout);
  } while (done < text.size() && interrupted());
  if (done == text.size()) {
    while (std::fflush(stdout) != 0) {
      if (!interrupted()) break;
    }
    if (std::ferror(stdout) == 0) return {};
  }
  return EnvironmentError(std::string("standard output: ") + std::strerror(errno),
                          "is the disk full?");
}

}  // namespace wf::cli
