// bench_pivot_request [ROW [PASSES]]: what bench/pivot-overhead measures in three processes, done by one thread without a
// network: the calls that a Read8k and an Open make into the library, in their order. Everything is warm, and nothing else
// runs in between, so these are lower bounds; their use is to profile (perf, callgrind) and to compare two builds.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "client/queries/advice_runner.h"
#include "client/queries/live_query.h"
#include "client/queries/thread_baggage.h"
#include "client/queries/tracepoint_registry.h"
#include "client/runtime/tick_clock.h"
#include "lang/query/parser.h"
#include "lang/query/rewrite.h"
#include "wherefore/baggage.h"
#include "wherefore/tracepoint.h"

namespace {

using wherefore::BaggageScope;
using wherefore::client::LiveQuery;
using wherefore::client::WovenAdvice;

const char* const kQ8 =
    "From response In SendResponse Join request In MostRecent(ReceiveRequest) On request -> "
    "response "
    "Select response.time - request.time";
const std::vector<std::string> kSection61 = {
    "From dnop In DN.DataTransferProtocol GroupBy dnop.host Select dnop.host, COUNT",
    "From getloc In NN.GetBlockLocations Join st In StressTest.DoNextOp On st -> getloc "
    "GroupBy st.host, getloc.src Select st.host, getloc.src, COUNT",
    "From getloc In NN.GetBlockLocations Join st In StressTest.DoNextOp On st -> getloc "
    "GroupBy st.host, getloc.replicas Select st.host, getloc.replicas, COUNT",
    "From DNop In DN.DataTransferProtocol Join st In StressTest.DoNextOp On st -> DNop "
    "GroupBy st.host, DNop.host Select st.host, DNop.host, COUNT",
    "From DNop In DN.DataTransferProtocol Join getloc In NN.GetBlockLocations On getloc -> DNop "
    "Join st In StressTest.DoNextOp On st -> getloc Where st.host != DNop.host "
    "GroupBy DNop.host, getloc.replicas Select DNop.host, getloc.replicas, COUNT"};
const std::vector<std::string> kSection62 = {
    kQ8, std::string("Q8: ") + kQ8 +
             "; From job In JobComplete Join latencyMeasurement In Q8 On latencyMeasurement -> job "
             "Select job.id, AVERAGE(latencyMeasurement)"};

void Weave(const std::vector<std::string>& texts) {
  auto process = std::make_shared<wherefore::client::ProcessIdentity>();
  process->host = "A";
  process->name = "client";
  process->pid = 7;
  std::vector<std::shared_ptr<const LiveQuery>> queries;
  for (const std::string& text : texts) {
    const auto parsed = wf::query::ParseQuery(text);
    if (!parsed.ok()) std::exit(2);
    auto compiled = wf::query::Rewrite(**parsed);
    if (!compiled.ok()) std::exit(2);
    auto query = std::make_shared<LiveQuery>();
    query->program = std::move(compiled->program);
    query->program.query = 0x1234567890 + queries.size();
    queries.push_back(std::move(query));
  }
  wherefore::client::AllowAdvice();
  for (auto* point = wherefore::client::FirstTracepoint(); point != nullptr; point = point->next) {
    auto woven = std::make_unique<WovenAdvice>();
    for (const auto& query : queries) {
      for (const auto& advice : query->program.advice) {
        if (std::count(advice.tracepoints.begin(), advice.tracepoints.end(), point->name) == 0)
          continue;
        woven->Add(query, *point);
        break;
      }
    }
    woven->process = process;
    point->woven = woven->queries.empty() ? nullptr : woven.release();
  }
}

void PackTuples(int count) {
  wf::advice::Slot slot;
  slot.columns = 2;
  static int64_t number = 0;
  for (int i = 0; i < count; ++i) {
    wf::advice::Rows row(2, 0);
    row.AddColumn(number += 0x123456789ABCDEF);
    row.AddColumn(number += 0x123456789ABCDEF);
    row.EndRow(1);
    wherefore::client::CurrentBaggage()->Pack(77, 0, slot, {1'000, 100'000}, 0, {}, row);
  }
}

template <typename Handle>
void Call(const char* method, Handle handle) {
  std::string message, answer;  // whoever sends has memory for what is sent: not ours
  message.reserve(1500);
  answer.reserve(1500);
  wherefore::append_baggage(message);
  {
    const BaggageScope request(message);
    WHEREFORE_TRACEPOINT("ReceiveRequest", {"method", method});
    handle();
    WHEREFORE_TRACEPOINT("SendResponse", {"method", method}, {"ns", 17});
    wherefore::append_baggage(answer);
  }
  wherefore::join_baggage(answer);
  WHEREFORE_TRACEPOINT("Call", {"service", "data-node-A"}, {"method", method}, {"ns", 17});
}

void Open(int tuples) {
  const BaggageScope request;
  PackTuples(tuples);
  Call("Open", [] {});
  WHEREFORE_TRACEPOINT("RequestComplete", {"kind", "Open"}, {"ns", 17});
}

void Read8k(int tuples) {
  static const std::vector<std::string> replicas = {"B", "D", "E"};
  static const std::string path = "/files/00017";
  const BaggageScope request;
  PackTuples(tuples);
  WHEREFORE_TRACEPOINT("StressTest.DoNextOp");
  WHEREFORE_TRACEPOINT("ClientProtocols", {"protocol", "DataTransferProtocol"});
  Call("GetBlockLocations", [] {
    WHEREFORE_TRACEPOINT("NN.Locked", {"ns", 17});
    WHEREFORE_TRACEPOINT("NN.GetBlockLocations", {"src", path}, {"replicas", replicas});
  });
  Call("Read", [] {
    WHEREFORE_TRACEPOINT("DN.DataTransferProtocol", {"op", "Read"}, {"src", path}, {"size", 8192});
    WHEREFORE_TRACEPOINT("FileInputStream.read", {"length", 8192});
    WHEREFORE_TRACEPOINT("DataNodeMetrics.incrBytesRead", {"delta", 8192});
    WHEREFORE_TRACEPOINT("DN.DiskRead", {"ns", 17});
  });
  WHEREFORE_TRACEPOINT("RequestComplete", {"kind", "StressTest"}, {"ns", 17});
}

// Of this thread alone, whatever else the machine does.
double CpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double Ns(void (*operation)(int), int tuples, int passes) {
  constexpr int kRounds = 50;
  double least = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const double began = CpuNs();
    for (int i = 0; i < passes / kRounds; ++i) operation(tuples);
    least = std::min(least, (CpuNs() - began) / (passes / kRounds));
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  wherefore::client::use_time_stamp_counter = wherefore::client::TimeStampCounterIsSound();
  const std::string only = argc > 1 ? argv[1] : "";
  const int passes = argc > 2 ? std::atoi(argv[2]) : 20'000;
  fmt::print("{:12}{:>10}{:>10}   ns per request, with packing what the row carries\n", "",
             "Read8k", "Open");
  const auto row = [&](const char* name, int tuples) {
    if (only.empty() || only == name)
      fmt::print("{:12}{:>10.0f}{:>10.0f}\n", name, Ns(Read8k, tuples, passes),
                 Ns(Open, tuples, passes));
  };
  row("enabled", 0);
  row("1-tuple", 1);
  row("60-tuples", 60);
  if (only.empty() || only == "6.1") Weave(kSection61);
  row("6.1", 0);
  if (only.empty() || only == "6.2") Weave(kSection62);
  row("6.2", 0);
  return 0;
}
