#include "scenario/scenario.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/ids.h"
#include "json/json_reader.h"
#include "model/clock_exchange.h"
#include "model/packed.h"
#include "model/trace_builder.h"
#include "scenario/downlink.h"
#include "scenario/network_incident.h"
#include "scenario/page_load.h"

namespace wf::scenario {
namespace {

struct Generated {
  std::string lines, query;
  std::vector<size_t> trace_ends;  // offsets into lines
};

Generated Generate(const ScenarioOptions& options) {
  Generated out;
  const auto query = GenerateScenario(options, [&](std::string_view lines) -> Status {
    out.lines += lines;
    out.trace_ends.push_back(out.lines.size());
    return {};
  });
  EXPECT_TRUE(query.ok()) << (query.ok() ? "" : query.error().message);
  if (query.ok()) out.query = *query;
  return out;
}

ScenarioOptions Options(std::string_view name, int64_t size, uint64_t seed = 1) {
  ScenarioOptions options;
  options.name = std::string(name);
  options.size = size;
  options.seed = seed;
  return options;
}

// R1 to R4 are of another kind: network_incident_test.cc.
std::vector<ScenarioDescription> WithPopulations() {
  std::vector<ScenarioDescription> out;
  for (const ScenarioDescription& known : Scenarios())
    if (!IsNetworkIncident(known.name)) out.push_back(known);
  return out;
}

// The events as the store would hold them: the folder of the decoder is not ours to use.
class Events {
 public:
  explicit Events(const std::string& lines) {
    batch.scopes.push_back({});
    JsonParser parser;
    for (size_t begin = 0, end; begin < lines.size(); begin = end + 1) {
      end = lines.find('\n', begin);
      const auto event = parser.Parse(std::string_view(lines).substr(begin, end - begin));
      if (!event.ok()) {
        ADD_FAILURE() << event.error().message;
        return;
      }
      Add(*event);
    }
  }

  EventBatch batch;
  std::map<TraceId, std::vector<uint32_t>> rows;

 private:
  void Add(JsonValue event) {
    const TraceId trace = *ParseTraceId(event.Get("trace_id").String());
    const JsonValue annotations = event.Get("annotations");
    const uint32_t process = ProcessOf(annotations);
    rows[trace].push_back(static_cast<uint32_t>(batch.AddRow()));
    batch.trace_hi.back() = trace.hi;
    batch.trace_lo.back() = trace.lo;
    batch.type.back() = wherefore::ParseEventType(event.Get("type").String());
    EXPECT_NE(batch.type.back(), EventType::kUnknown);
    batch.id1.back() = ParseSpanId(event.Get("id1").String())->value;
    if (!event.Get("id2").missing())
      batch.id2.back() = ParseSpanId(event.Get("id2").String())->value;
    batch.start_ns.back() = *event.Get("time_ns").Int();
    batch.marks.back() = kHasStart;
    batch.process.back() = process;
    batch.SetSequence(*event.Get("seq").Int());
    for (const auto& [key, value] : annotations.Members()) {
      PutVarint(batch.strings.Intern(key), batch.bytes);
      PutString(value.String(), batch.bytes);
    }
    batch.EndAttributes();
    batch.EndPoints();
    batch.EndLinks();
  }

  uint32_t ProcessOf(JsonValue annotations) {
    const uint32_t service = Code(annotations.Get("label:service").String());
    const uint32_t host = Code(annotations.Get("label:host").String());
    for (uint32_t p = 0; p < batch.processes.size(); ++p) {
      if (batch.processes[p].service == service && batch.processes[p].host == host) return p;
    }
    batch.processes.push_back({service, host, 0, 0});
    return static_cast<uint32_t>(batch.processes.size() - 1);
  }
  uint32_t Code(std::string_view text) { return text.empty() ? 0 : batch.strings.Intern(text); }
};

// Durations, names and structure of all traces of one population, without ids and instants.
std::vector<std::string> Shapes(const Generated& generated, size_t first, size_t count) {
  std::vector<std::string> shapes;
  for (size_t t = first; t < first + count; ++t) {
    const size_t begin = t == 0 ? 0 : generated.trace_ends[t - 1];
    const std::string lines = generated.lines.substr(begin, generated.trace_ends[t] - begin);
    std::string& shape = shapes.emplace_back();
    JsonParser parser;
    std::optional<int64_t> start;
    for (size_t at = 0, end; at < lines.size(); at = end + 1) {
      end = lines.find('\n', at);
      const auto event = parser.Parse(std::string_view(lines).substr(at, end - at));
      const int64_t time = *event->Get("time_ns").Int();
      if (!start) start = time;
      shape += std::string(event->Get("type").String()) + "@" + std::to_string(time - *start);
      for (const auto& [key, value] : event->Get("annotations").Members())
        shape += " " + std::string(key) + "=" + std::string(value.String());
      shape += "\n";
    }
  }
  return shapes;
}

TEST(Scenario, EveryOneBuildsUsableTracesThatNeedNoRepair) {
  for (const ScenarioDescription& known : WithPopulations()) {
    SCOPED_TRACE(known.name);
    const Events events(Generate(Options(known.name, 12)).lines);
    ExchangeTable exchanges;
    for (const auto& [trace, rows] : events.rows) CollectExchanges(events.batch, rows, exchanges);
    const HostClocks clocks(SolveClocks(exchanges.Exchanges()));
    BuildOptions options;
    options.clocks = &clocks;
    for (const auto& [trace, rows] : events.rows) {
      const Trace built = BuildTrace(events.batch, rows, options);
      EXPECT_TRUE(built.complete) << ToHex(trace);
      EXPECT_TRUE(built.repairs.empty()) << RepairPassName(built.repairs[0].pass);
      EXPECT_TRUE(built.violations.empty()) << InvariantName(built.violations[0].invariant);
      EXPECT_TRUE(built.unknown_events.empty());
      // A page goes on loading after it has been displayed.
      EXPECT_EQ(built.roots.size(),
                known.name == "growing-init" || known.name == "startup-gaps" ? 1u : 2u);
      EXPECT_EQ(built.doubles, 0);
    }
  }
}

TEST(Scenario, TheSameSeedGivesTheSameBytesAndAnotherGivesOthers) {
  for (const ScenarioDescription& known : WithPopulations()) {
    SCOPED_TRACE(known.name);
    const Generated once = Generate(Options(known.name, 5, 7));
    const Generated again = Generate(Options(known.name, 5, 7));
    const Generated other = Generate(Options(known.name, 5, 8));
    EXPECT_EQ(once.lines, again.lines);
    EXPECT_EQ(once.query, again.query);
    EXPECT_NE(once.lines, other.lines);
  }
}

// What every machine must write. It changes when a scenario changes, and only then.
TEST(Scenario, TheBytesDoNotDependOnTheMachine) {
  EXPECT_EQ(ToHex64(HashBytes(Generate(Options("page-load", 3, 42)).lines)), "40725ee3210292ac");
  EXPECT_EQ(ToHex64(HashBytes(Generate(Options("growing-init", 3, 42)).lines)), "cefaea78dd225d9f");
}

TEST(Scenario, WithoutTheFaultBothPopulationsAreTheSameRequests) {
  for (const ScenarioDescription& known : WithPopulations()) {
    // There the change is the cure; without the fault it changes when deferred resources come, not what is displayed.
    if (known.name == "what-if") continue;
    SCOPED_TRACE(known.name);
    ScenarioOptions options = Options(known.name, 6);
    options.fault = Fault::kOff;
    const Generated generated = Generate(options);
    const size_t traces = generated.trace_ends.size();
    std::vector<std::string> before = Shapes(generated, 0, 6),
                             after = Shapes(generated, traces - 6, 6);
    for (auto* shapes : {&before, &after}) {
      for (std::string& shape :
           *shapes) {  // releases have different names even when nothing else changes
        const size_t at = shape.find("label:release=");
        if (at != std::string::npos) shape.erase(at, shape.find(' ', at) - at);
      }
    }
    EXPECT_EQ(before, after);
    EXPECT_NE(generated.query.find("\"culprit\":null"), std::string::npos);
  }
}

TEST(Scenario, WithTheFaultThePopulationsDiffer) {
  for (const ScenarioDescription& known : WithPopulations()) {
    SCOPED_TRACE(known.name);
    const Generated generated = Generate(Options(known.name, 20));
    const size_t traces = generated.trace_ends.size();
    EXPECT_NE(Shapes(generated, 0, 20), Shapes(generated, traces - 20, 20));
    EXPECT_EQ(generated.query.find("\"culprit\":null"), std::string::npos);
  }
}

TEST(Scenario, EventsGrowWithTheSize) {
  for (const ScenarioDescription& known : WithPopulations()) {
    const auto small = static_cast<double>(Generate(Options(known.name, 10)).lines.size());
    const auto large = static_cast<double>(Generate(Options(known.name, 100)).lines.size());
    EXPECT_NEAR(large / small, 10, 1) << known.name;
  }
}

TEST(Scenario, TraceIdsAreDistinct) {
  const Events events(Generate(Options("startup-gaps", 500)).lines);
  EXPECT_EQ(events.rows.size(), 1000u);
}

TEST(Scenario, WhatDoesNotExistIsNamed) {
  const LineSink nothing = [](std::string_view) -> Status { return {}; };
  const auto unknown = GenerateScenario(Options("page-lode", 5), nothing);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kBadInput);
  EXPECT_NE(unknown.error().hint.find("scenario list"), std::string::npos);
  ScenarioOptions options = Options("page-load", 5);
  options.piece = "Footer";
  const auto piece = GenerateScenario(options, nothing);
  ASSERT_FALSE(piece.ok());
  EXPECT_NE(piece.error().hint.find("UserInput"), std::string::npos);
  EXPECT_FALSE(GenerateScenario(Options("page-load", 0), nothing).ok());
  ScenarioOptions far = Options("page-load", 5);
  far.start = INT64_MAX;
  EXPECT_FALSE(GenerateScenario(far, nothing).ok());
  options.name = "growing-init";
  EXPECT_FALSE(GenerateScenario(options, nothing).ok());
}

// --- The mechanism of page-load

struct Outcome {
  double display_ms = 0;
  int early_css = 0, early_css_used = 0, early_js = 0, early_js_used = 0;
  int64_t awaited_css_bytes = 0;
};

Outcome Measure(const PageSite& site, uint64_t seed, int loads) {
  Outcome out;
  const Draws draws(seed);
  for (int i = 0; i < loads; ++i) {
    const PageUser user = MakeUser(site, draws.For(1, static_cast<uint64_t>(i)));
    const PageLoad load = SimulatePageLoad(site, user, draws.For(2, static_cast<uint64_t>(i)));
    out.display_ms += static_cast<double>(load.display_done) / 1e6 / loads;
    for (const PageResource& resource : load.resources) {
      if (resource.kind == ResourceKind::kCss && resource.awaited_by != kNobody)
        out.awaited_css_bytes += resource.bytes;
      if (resource.batch != Batch::kEarly) continue;
      const bool css = resource.kind == ResourceKind::kCss;
      ++(css ? out.early_css : out.early_js);
      if (resource.used) ++(css ? out.early_css_used : out.early_js_used);
    }
  }
  return out;
}

TEST(PageLoad, TenKilobytesOfCssCostOnePackageAndAboutThreeHundredMilliseconds) {
  const PageSite before = HomePage();
  PageSite after = before;
  after.Find("UserInput")->css_bytes += 10'000;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const Outcome a = Measure(before, seed, 400), b = Measure(after, seed, 400);
    EXPECT_NEAR(b.display_ms - a.display_ms, 300, 50) << seed;
    EXPECT_NEAR((b.display_ms - a.display_ms) / a.display_ms, 0.13, 0.02) << seed;
    const auto accuracy = [](int used, int sent) { return 100.0 * used / sent; };
    EXPECT_NEAR(accuracy(b.early_css_used, b.early_css) - accuracy(a.early_css_used, a.early_css),
                -5, 0.5);
    EXPECT_EQ(a.early_js_used, b.early_js_used);
  }
}

TEST(PageLoad, TellingEarlyFlushOfTheChangeCuresIt) {
  const PageSite before = HomePage();
  PageSite cured = before;
  cured.Find("UserInput")->css_bytes += 10'000;
  ConfigureEarlyFlush(cured);
  const double cost = Measure(cured, 1, 300).display_ms - Measure(before, 1, 300).display_ms;
  EXPECT_GE(cost, 0);
  EXPECT_LT(cost, 30);  // its bytes and its styles, and no miss
}

TEST(PageLoad, WhateverPieceChangesItsOwnResourceIsAwaited) {
  const PageSite before = HomePage();
  for (size_t changed = 0; changed < before.pieces.size(); ++changed) {
    PageSite after = before;
    after.pieces[changed].css_bytes += 10'000;
    const Draws draws(3);
    const PageLoad load = SimulatePageLoad(after, MakeUser(after, draws.For(1)), draws.For(2));
    int missed = 0;
    for (const PageResource& resource : load.resources) {
      if (resource.batch != Batch::kNext || !resource.used) continue;
      ++missed;
      EXPECT_EQ(resource.piece, static_cast<int>(changed));
      EXPECT_EQ(resource.awaited_by, static_cast<int>(changed));
      EXPECT_EQ(resource.asked_by, static_cast<int>(changed));
      EXPECT_EQ(resource.bytes, 10'000);
    }
    EXPECT_EQ(missed, 1) << before.pieces[changed].name;
  }
}

TEST(PageLoad, NothingHappensBeforeItsCause) {
  PageSite site = HomePage();
  site.Find("Chat")->css_bytes += 10'000;
  const Draws draws(9);
  for (uint64_t i = 0; i < 200; ++i) {
    const PageLoad load = SimulatePageLoad(site, MakeUser(site, draws.For(1, i)), draws.For(2, i));
    const Nanos one_way = load.user.round_trip / 2;
    EXPECT_GE(load.head.received, load.head.sent + one_way);
    Nanos last = load.head.received;
    for (size_t p = 0; p < load.browser.size(); ++p) {
      const BrowserPiece& shown = load.browser[p];
      EXPECT_GE(shown.begin, last);
      EXPECT_GE(shown.begin, load.phases[static_cast<size_t>(site.pieces[p].phase - 1)].received);
      EXPECT_LE(shown.begin, shown.parsed);
      EXPECT_LE(shown.parsed, shown.ready);
      EXPECT_LE(shown.ready, shown.styled);
      EXPECT_LE(shown.styled, shown.end);
      last = shown.end;
    }
    EXPECT_GE(load.display_done, last);
    for (const PageResource& resource : load.resources) {
      EXPECT_GT(resource.usable, resource.asked);
      if (resource.batch == Batch::kNext) {
        EXPECT_GE(resource.usable, resource.asked + 2 * one_way);
      }
      if (resource.used) {
        EXPECT_GE(load.browser[static_cast<size_t>(resource.piece)].ready, resource.usable);
      }
    }
  }
}

TEST(Downlink, BytesOverBandwidthMostUrgentFirst) {
  Downlink link(1'000'000);  // a byte a microsecond
  link.Add(0, Urgency::kResource, 12'000);
  link.Add(0, Urgency::kResource, 1'000);
  link.Add(2 * kMilli, Urgency::kDocument, 3'000);  // waits for the slice under way only
  link.Add(100 * kMilli, Urgency::kResource, 500);
  link.Add(5 * kMilli, Urgency::kResource, 0);
  EXPECT_EQ(link.Finished(), (std::vector<Nanos>{15 * kMilli, 16 * kMilli, 9 * kMilli,
                                                 100 * kMilli + 500 * kMicro, 5 * kMilli}));
}

TEST(Draws, AreSpreadAsTold) {
  const Draws draws(5);
  const Deciles deciles = {{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 1000}};
  int64_t below_half = 0, heads = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const int64_t value = draws.From(deciles, 1, i);
    ASSERT_GE(value, 0);
    ASSERT_LE(value, 1000);
    below_half += value < 50;
    heads += draws.Chance(250, 2, i);
  }
  EXPECT_NEAR(static_cast<double>(below_half), 10'000, 300);
  EXPECT_NEAR(static_cast<double>(heads), 5'000, 250);
}

}  // namespace
}  // namespace wf::scenario
