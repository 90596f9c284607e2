// `wherefore watch`: looks at what runs here by eBPF, without its help: messages between processes (watch_messages.h). `--locks --pid P`: who waits for which lock and
// who holds it, as events in the store. `--egress IFACE --out FILE`: packets as they come to an interface's queue.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "cli/interrupt.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "cli/watch_messages.h"
#include "import/watch/egress_stamps.h"
#include "import/watch/lock_events.h"
#include "import/watch/lock_probe.h"
#include "import/watch/lock_reacquisition.h"
#include "json/json_writer.h"

namespace wf::cli {
namespace {

struct WatchFlags {
  bool locks = false;
  WatchMessagesFlags messages;
  int pid = 0;  // of --locks: the one of messages.pids
  std::string for_, at_least = "50us", service;
  std::string egress, out;
  uint32_t snap_bytes = watch::EgressStampOptions().snap_bytes;
};

// When to end, by the monotonic clock.
Result<Nanos> EndOf(const std::string& duration) {
  if (duration.empty()) return INT64_MAX;
  WF_ASSIGN(const Nanos time, ParseDuration(duration));
  if (time <= 0) return BadInput("--for " + duration + ": must be longer than 0", "--for 10s");
  return SaturatingAdd(MonotonicNow(), time);
}

struct LockReport {
  int64_t holdings = 0, events = 0, unfinished = 0;
  uint64_t unneeded = 0, bounded = 0;
  watch::LockProbeCounters counters;
  bool ended = false;  // the process, before we did
};

std::string LockReportJson(const watch::WatchedProcess& process, const LockReport& report) {
  JsonWriter json;
  json.BeginObject().Field("pid", process.pid).Field("service", process.service);
  json.Field("holdings", report.holdings).Field("events", report.events);
  json.Field("unfinished", report.unfinished).Field("process_ended", report.ended);
  json.Key("after_condition").BeginObject().Field("bounded", report.bounded);
  json.Field("nobody_waited", report.unneeded).EndObject();
  json.Key("not_told").BeginObject();
  json.Field("brief", report.counters.brief).Field("gave_up", report.counters.gave_up);
  json.Field("unpaired", report.counters.unpaired);
  json.Field("dropped_ring_full", report.counters.dropped_ring_full);
  json.Field("dropped_table_full", report.counters.dropped_table_full);
  json.EndObject().EndObject();
  return json.Take() + "\n";
}

std::string LockReportText(const watch::WatchedProcess& process, const LockReport& report,
                           const std::string& at_least) {
  std::string text = fmt::format(
      "locks of {} (process {}{}): {} holds stored as {} events\n", process.service, process.pid,
      report.ended ? ", which has ended" : "", report.holdings, report.events);
  const auto line = [&](uint64_t count, const std::string& what) {
    if (count != 0) text += fmt::format("  {} {}\n", count, what);
  };
  line(static_cast<uint64_t>(report.unfinished), "of them still held");
  line(report.bounded, "of them after a wait on a condition: held at least since the first waiter");
  line(report.unneeded, "not stored: after a wait on a condition, with no waiters");
  line(report.counters.brief, "not stored: wait and hold took less than " + at_least);
  line(report.counters.gave_up, "not stored: a try or a timed wait that did not get the lock");
  line(report.counters.unpaired, "not stored: taken before the watch began");
  line(report.counters.dropped_ring_full, "lost: they came faster than they could be read");
  line(report.counters.dropped_table_full, "lost: too many threads or locks at once");
  return text;
}

Status WatchLocks(const WatchFlags& flags, const CommonFlags& common) {
  WF_ASSIGN(watch::WatchedProcess process, watch::WatchedProcess::Look(flags.pid));
  if (!flags.service.empty()) process.service = flags.service;
  watch::LockProbeOptions options;
  WF_ASSIGN(options.at_least, ParseDuration(flags.at_least));
  WF_ASSIGN(const auto access, StoreAccess::Open(common.store));

  LockReport report;
  watch::LockEvents events(process);
  watch::LockReacquisition reacquisition;
  std::vector<watch::LockHolding> settled;
  Nanos clock = Now() - MonotonicNow();
  const auto keep = [&] {
    for (const watch::LockHolding& holding : settled) events.Add(holding, clock);
    settled.clear();
  };
  const auto send = [&](const std::vector<std::string>& bodies) -> Status {
    for (const std::string& body : bodies) WF_TRY(access->SendEvents(body));
    return {};
  };
  WF_ASSIGN(auto probe,
            watch::LockProbe::Attach(process, options, [&](const watch::LockHolding& holding) {
              reacquisition.Add(holding, settled);
            }));
  WF_ASSIGN(const Nanos end, EndOf(flags.for_));
  if (common.format != "json") {
    std::fprintf(stderr, "watching the locks of %s (process %d) at %zu places; Ctrl-C stops\n",
                 process.service.c_str(), process.pid, probe->probes());
  }
  StopOnInterrupt();
  while (!Interrupted() && MonotonicNow() < end && !report.ended) {
    WF_TRY(probe->Poll(100));
    clock = Now() - MonotonicNow();
    keep();
    WF_TRY(send(events.TakeClosed(Now())));
    report.ended = ::kill(flags.pid, 0) != 0 && errno == ESRCH;
  }
  WF_TRY(probe->Poll(0));
  const std::vector<watch::LockHolding> unfinished = probe->Unfinished();
  report.counters = probe->Counters();
  probe.reset();  // the process runs on unwatched while the rest is stored
  reacquisition.Finish(settled);
  settled.insert(settled.end(), unfinished.begin(), unfinished.end());
  keep();
  WF_TRY(send(events.TakeAll()));
  report.unfinished = static_cast<int64_t>(unfinished.size());
  report.holdings = events.holdings();
  report.events = events.events();
  report.bounded = reacquisition.bounded();
  report.unneeded = reacquisition.unneeded();
  return Print(common.format == "json" ? LockReportJson(process, report)
                                       : LockReportText(process, report, flags.at_least));
}

Status WatchEgress(const WatchFlags& flags, const CommonFlags& common) {
  if (flags.out.empty())
    return BadInput("watch --egress: --out is missing", "name the capture file: --out before.pcap");
  watch::EgressStampOptions options;
  options.interface = flags.egress;
  options.snap_bytes = flags.snap_bytes;
  const std::string header = watch::PcapHeader(options.snap_bytes);
  std::string packets = header;
  int64_t count = 0;
  WF_ASSIGN(auto stamps,
            watch::EgressStamps::Attach(options, [&](const watch::StampedPacket& packet) {
              watch::AppendPcapPacket(packet, packets);
              ++count;
            }));
  WF_ASSIGN(const Nanos end, EndOf(flags.for_));
  // Nothing is written over before it is clear that there is something to write.
  std::FILE* file = std::fopen(flags.out.c_str(), "wbe");
  const auto failed = [&] {
    return EnvironmentError(flags.out + ": " + std::strerror(errno),
                            "is the folder writable, and is there room?");
  };
  if (file == nullptr) return failed();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closes(file, &std::fclose);
  if (common.format != "json")
    std::fprintf(stderr, "watching packets that enter the queue of %s; Ctrl-C stops\n",
                 flags.egress.c_str());
  StopOnInterrupt();
  const auto write = [&]() -> Status {
    if (std::fwrite(packets.data(), 1, packets.size(), file) != packets.size() ||
        std::fflush(file) != 0)
      return failed();
    packets.clear();
    return {};
  };
  // The header at once: whoever waits for the file knows then that packets are being seen.
  WF_TRY(write());
  while (!Interrupted() && MonotonicNow() < end) {
    WF_TRY(stamps->Poll(100));
    WF_TRY(write());
  }
  WF_TRY(stamps->Poll(0));
  WF_TRY(write());
  const uint64_t dropped = stamps->dropped();
  if (common.format == "json") {
    JsonWriter json;
    json.BeginObject().Field("interface", flags.egress).Field("packets", count);
    json.Field("dropped_ring_full", dropped).Field("file", flags.out).EndObject();
    return Print(json.Take() + "\n");
  }
  std::string text = fmt::format("{} packets in {}\n", count, flags.out);
  if (dropped != 0)
    text += fmt::format("  {} lost: they came faster than they could be read\n", dropped);
  return Print(text);
}

Status RunWatch(const WatchFlags& flags, const CommonFlags& common) {
  if (flags.locks && !flags.egress.empty())
    return BadInput("watch: --locks and --egress exclude each other", "run two commands");
  const bool of_messages = !flags.messages.programs.empty() || !flags.messages.ports.empty() ||
                           flags.messages.by != "name";
  if ((flags.locks || !flags.egress.empty()) && of_messages)
    return BadInput("watch: --exe, --port and --by are for messages",
                    "leave out --locks or --egress to watch those");
  if (!flags.egress.empty()) return WatchEgress(flags, common);
  if (!flags.locks) {
    WF_ASSIGN(const Nanos end, EndOf(flags.for_));
    StopOnInterrupt();
    WatchMessagesFlags messages = flags.messages;
    messages.out = flags.out;
    return WatchMessages(
        messages, end, [] { return Interrupted(); }, common);
  }
  if (flags.messages.pids.size() != 1)
    return BadInput("watch --locks: one --pid is needed", "pgrep -a NAME finds its number");
  WatchFlags locks = flags;
  locks.pid = flags.messages.pids[0];
  return WatchLocks(locks, common);
}

}  // namespace

Verb AddWatch(CLI::App& root) {
  Verb verb = MakeVerb(root, "watch", "Watch running programs by eBPF, without changing them");
  const auto flags = std::make_shared<WatchFlags>();
  verb.app->add_flag("--locks", flags->locks, "lock waits and holders");
  verb.app->add_option("--pid", flags->messages.pids, "only these processes");
  verb.app->add_option(
      "--exe", flags->messages.programs,
      "messages of programs whose name or file matches, as in 'nginx' or '*/app-*'");
  verb.app->add_option("--port", flags->messages.ports, "messages of connections with this port");
  verb.app->add_option("--by", flags->messages.by, "a node is a program (name) or a process (pid)")
      ->check(CLI::IsMember({"name", "pid"}))
      ->capture_default_str();
  verb.app->add_option("--for", flags->for_,
                       "stop after this time, as in 10s (default: at Ctrl-C)");
  verb.app
      ->add_option("--at-least", flags->at_least,
                   "shorter holds, wait included, are counted but not stored")
      ->capture_default_str();
  verb.app->add_option("--service", flags->service,
                       "service name (default: its $OTEL_SERVICE_NAME, or its program)");
  verb.app->add_option("--egress", flags->egress, "packets that enter the queue of this interface");
  verb.app->add_option("--out", flags->out,
                       "the file to write: message text, or with --egress a capture (pcap)");
  verb.app
      ->add_option("--snap", flags->snap_bytes, "--egress: bytes kept of each packet, at least 64")
      ->capture_default_str();
  verb.run = [flags, common = verb.common] { return RunWatch(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
