#include "cli/sighting_flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace wf::cli {

void AddSightingFlags(CLI::App& app, SightingFlags& flags) {
  app.add_option("INPUT", flags.inputs,
                 "message text, captures (pcap, pcapng), mail (mbox), folders of them, or - for "
                 "standard input; the format is detected");
  app.add_option("--rename", flags.rename, "file of lines `old new`: rename nodes");
  app.add_option("--nodes", flags.nodes,
                 "file of lines `address[:port] name`: name the addresses of captures");
  app.add_flag("--dns-names", flags.dns_names,
               "addresses of captures get the names that DNS answers in them give");
  app.add_option("--skew", flags.skew,
                 "NODE=±DURATION: correct the node's own clock (_SENT, _RCVD); repeatable")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option(
      "--drop", flags.drop,
      "RATE:QUEUE: drop as a sniffer would that reads RATE messages per second and queues QUEUE");
  app.add_option("--reorder", flags.reorder,
                 "how far out of order a line may be and still be sorted")
      ->capture_default_str();
  app.add_flag("--lenient", flags.lenient, "skip and count malformed lines");
}

Result<std::pair<std::string, Nanos>> ParseSkew(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals != std::string::npos && equals != 0 && equals + 1 < text.size()) {
    const char sign = text[equals + 1];
    const auto duration = ParseDuration(text.substr(equals + (sign == '+' || sign == '-' ? 2 : 1)));
    if (duration.ok())
      return std::pair(text.substr(0, equals), sign == '-' ? -*duration : *duration);
  }
  return BadInput("--skew " + text + ": not NODE=±DURATION", "as in --skew ws2=+30ms");
}

Result<detect::SightingOptions> SightingOptionsOf(const SightingFlags& flags) {
  detect::SightingOptions options;
  options.lenient = flags.lenient;
  const auto reorder = ParseDuration(flags.reorder);
  if (!reorder.ok()) {
    return BadInput("--reorder " + flags.reorder + ": " + reorder.error().message,
                    "as in --reorder 10s");
  }
  options.reorder = *reorder;
  options.rename_file = flags.rename;
  options.nodes_file = flags.nodes;
  options.dns_names = flags.dns_names;
  for (const std::string& text : flags.skew) {
    WF_ASSIGN(const auto skew, ParseSkew(text));
    if (!options.skew.insert(skew).second) {
      return BadInput("--skew " + skew.first + ": given twice", "one for each node");
    }
  }
  if (!flags.drop.empty()) {
    WF_ASSIGN(options.drop, detect::ParseDropModel(flags.drop));
  }
  return options;
}

void PrintNotes(const detect::SightingInput& input) {
  for (const std::string& note : input.Notes()) {
    std::fprintf(stderr, "wherefore: %s\n", note.c_str());
  }
}

}  // namespace wf::cli
