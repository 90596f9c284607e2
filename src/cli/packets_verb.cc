// `wherefore packets INT.pcap`, or `--before A.pcap --after B.pcap --queue SWITCH/PORT/QUEUE`: packets at queues as
// events for `explain --events`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "import/packets/capture_pair.h"
#include "import/packets/int_passages.h"
#include "import/packets/packets_file.h"

namespace wf::cli {
namespace {

namespace fs = std::filesystem;

struct PacketsFlags {
  std::vector<std::string> captures, before, after, queues;
  std::string out;
  uint16_t int_port = 0;
};

struct CaptureFile {
  std::string path;
  // By the user, who wants to know if it cannot be read; else found in a folder.
  bool named = false;
};

// A folder (that of `serve --int`) stands for its captures, in the order of their names.
Result<std::vector<CaptureFile>> ListCaptures(const std::vector<std::string>& paths) {
  std::vector<CaptureFile> files;
  for (const std::string& path : paths) {
    std::error_code code;
    if (!fs::is_directory(path, code)) {
      files.push_back({path, true});
      continue;
    }
    std::vector<std::string> found;
    for (fs::directory_iterator it(path, code), end; !code && it != end; it.increment(code)) {
      const std::string extension = it->path().extension().string();
      if (extension == ".pcap" || extension == ".pcapng") found.push_back(it->path().string());
    }
    if (code) return EnvironmentError(path + ": " + code.message(), "is the folder readable?");
    if (found.empty()) return BadInput(path + ": no .pcap in it", "name the capture files");
    std::sort(found.begin(), found.end());
    for (const std::string& file : found) files.push_back({file, false});
  }
  return files;
}

Result<packets::QueueName> ParseQueue(const std::string& text) {
  const size_t first = text.find('/');
  const size_t second = first == std::string::npos ? first : text.find('/', first + 1);
  packets::QueueName queue;
  if (second != std::string::npos) {
    queue = {text.substr(0, first), text.substr(first + 1, second - first - 1),
             text.substr(second + 1)};
  }
  if (queue.node.empty() || queue.port.empty() || queue.queue.empty() ||
      queue.queue.find('/') != std::string::npos) {
    return BadInput("--queue " + text + ": not a queue name", "as in --queue s1/eth2/0");
  }
  return queue;
}

// "a.pcap,b.pcap": several ways into one queue. A file whose own name has a comma is taken as it is.
std::vector<std::string> SplitPaths(const std::string& text) {
  std::error_code code;
  if (fs::exists(text, code)) return {text};
  std::vector<std::string> paths;
  for (size_t begin = 0;;) {
    const size_t comma = text.find(',', begin);
    paths.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return paths;
    begin = comma + 1;
  }
}

Status CheckPacketsFlags(const PacketsFlags& flags) {
  if (flags.out.empty()) {
    return BadInput("packets: --out is missing", "name the file to write: --out events.jsonl");
  }
  const size_t pairs = flags.queues.size();
  if (flags.before.size() != pairs || flags.after.size() != pairs) {
    return BadInput(
        "packets: --before, --after and --queue go together, " +
            std::to_string(flags.before.size()) + ", " + std::to_string(flags.after.size()) +
            " and " + std::to_string(pairs) + " are given",
        "one of each for each queue: --before in.pcap --after out.pcap --queue s1/eth2/0");
  }
  if (flags.captures.empty() && pairs == 0) {
    return BadInput("packets: no capture given",
                    "name one of INT reports, or --before, --after and --queue");
  }
  return {};
}

Result<std::vector<packets::CapturePair>> ListPairs(const PacketsFlags& flags) {
  std::vector<packets::CapturePair> pairs;
  for (size_t i = 0; i < flags.queues.size(); ++i) {
    WF_ASSIGN(const packets::QueueName queue, ParseQueue(flags.queues[i]));
    pairs.push_back({queue, SplitPaths(flags.before[i]), flags.after[i]});
  }
  return pairs;
}

size_t SizeOf(const std::string& path) {
  std::error_code code;
  const auto size = fs::file_size(path, code);
  return code ? 0 : static_cast<size_t>(size);
}

// Reads everything, with one bar over all files. A folder's files come and go while a server runs (retention deletes
// the oldest), so one of them that cannot be read is named and counted, and the rest goes on.
Status ReadPassages(const std::vector<CaptureFile>& captures,
                    const std::vector<packets::CapturePair>& pairs, uint16_t int_port,
                    const std::string& format, packets::PacketPassages& passages,
                    std::string& left_out) {
  size_t total = 0, done = 0, unreadable = 0;
  for (const CaptureFile& capture : captures) total += SizeOf(capture.path);
  for (const packets::CapturePair& pair : pairs) {
    for (const std::string& path : pair.before) total += SizeOf(path);
    total += SizeOf(pair.after);
  }
  ProgressBar progress("reading", static_cast<int64_t>(total), format);
  const packets::CaptureProgress show = [&](size_t bytes) {
    progress.Show(done + bytes);
    return !Interrupted();
  };
  packets::IntPassages reports(passages);
  for (const CaptureFile& capture : captures) {
    const Status added = reports.AddCapture(capture.path, int_port, show);
    if (!added.ok()) {
      // None of them: then it is no trifle.
      const bool all = ++unreadable == captures.size() && pairs.empty();
      if (capture.named || Interrupted() || all) {
        progress.Finish();
        return added;
      }
      left_out += "left out: " + added.error().message + "\n";
      passages.Count("unreadable_files");
    }
    done += SizeOf(capture.path);
  }
  const Status added = pairs.empty() ? Status() : packets::AddCapturePairs(pairs, passages, show);
  progress.Finish();
  return added;
}

Status WriteEvents(packets::PacketPassages& passages, const std::string& out,
                   const std::string& format) {
  const packets::PacketEvents events = packets::MakePacketEvents(passages);
  ProgressCount progress("written", format);
  const Status written = packets::WritePacketEvents(events, out, [&](int64_t count) {
    progress.Show(count);
    return !Interrupted();
  });
  progress.Finish();
  return written;
}

Status RunPackets(const PacketsFlags& flags, const CommonFlags& common) {
  WF_TRY(CheckPacketsFlags(flags));
  packets::PacketPassages passages;
  WF_ASSIGN(const auto captures, ListCaptures(flags.captures));
  WF_ASSIGN(const auto pairs, ListPairs(flags));
  StopOnInterrupt();
  std::string left_out;
  WF_TRY(ReadPassages(captures, pairs, flags.int_port, common.format, passages, left_out));
  if (passages.passages.empty()) {
    return NotFound("packets: no packet at a queue in the input:\n" + left_out +
                        packets::PacketCountsText(passages),
                    captures.empty()
                        ? "are the captures of the same time, on both sides of one queue?"
                        : "use INT reports of version 2.0 with ingress and egress times");
  }
  WF_TRY(WriteEvents(passages, flags.out, common.format));
  std::fputs(left_out.c_str(), stderr);
  return Print(common.format == "json" ? packets::PacketCountsJson(passages)
                                       : packets::PacketCountsText(passages));
}

}  // namespace

Verb AddPackets(CLI::App& root) {
  Verb verb = MakeVerb(root, "packets", "Convert packets at queues to events for explain");
  const auto flags = std::make_shared<PacketsFlags>();
  verb.app->add_option("CAPTURE", flags->captures,
                       "captures (pcap, pcapng) of INT reports, or a folder of them");
  verb.app
      ->add_option(
          "--before", flags->before,
          "capture where packets enter the switch; comma-separated for several ports; repeatable")
      ->allow_extra_args(false)
      ->take_all();
  verb.app->add_option("--after", flags->after, "capture where they leave the queue")
      ->allow_extra_args(false)
      ->take_all();
  verb.app->add_option("--queue", flags->queues, "the queue between them: SWITCH/PORT/QUEUE")
      ->allow_extra_args(false)
      ->take_all();
  verb.app->add_option("--out", flags->out, "the file of events to write");
  verb.app
      ->add_option("--int-port", flags->int_port,
                   "only datagrams to this UDP port are reports (0: any that look like one)")
      ->capture_default_str();
  verb.run = [flags, common = verb.common] { return RunPackets(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
