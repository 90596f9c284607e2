#include "scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "json/json_writer.h"
#include "scenario/cold_start.h"
#include "scenario/network_incident.h"
#include "scenario/page_events.h"
#include "scenario/page_load.h"

namespace wf::scenario {
namespace {

constexpr Nanos kBetweenRequests = 2 * kSecond;

enum DrawFamily : uint64_t { kUsers, kRequests, kTraceIds, kArrival };

// What is asked, and what must be found.
struct Question {
  std::string text, dataset, metric;
  std::string culprit_kind, culprit;
};

// One population: requests that see the same inputs, at one time. Each request is of a user of its own: when users
// repeat, the few of a small scenario make its mean differ more from seed to seed.
struct Population {
  std::string name;
  std::function<void(int64_t request, TraceEvents& events)> record;
};

struct Plan {
  Question question;
  std::vector<Population> populations;  // the first is "before", the last "after"
};

Population PagePopulation(std::string name, PageSite site, const ScenarioOptions& options) {
  const Draws draws(options.seed);
  return {std::move(name), [site = std::move(site), draws](int64_t request, TraceEvents& events) {
            const Draws of_request = draws.For(kRequests, static_cast<uint64_t>(request));
            const PageUser user = MakeUser(site, draws.For(kUsers, static_cast<uint64_t>(request)));
            RecordPageLoad(site, SimulatePageLoad(site, user, of_request.For(0)), events);
          }};
}

Plan PagePlan(const PageSite& before, const PageSite& after, Question question,
              const ScenarioOptions& options) {
  Plan plan;
  plan.question = std::move(question);
  plan.populations.push_back(PagePopulation("before", before, options));
  plan.populations.push_back(
      PagePopulation("after", options.fault == Fault::kOn ? after : before, options));
  return plan;
}

// Canopy §2.1. The early flush configuration is that of the page as it was before.
Result<Plan> PageLoadPlan(const ScenarioOptions& options) {
  const PageSite before = HomePage();
  PageSite after = before;
  const std::string piece = options.piece.empty() ? "UserInput" : options.piece;
  PagePiece* changed = after.Find(piece);
  if (changed == nullptr) {
    std::string names;
    for (const PagePiece& known : before.pieces) names += (names.empty() ? "" : ", ") + known.name;
    return BadInput(fmt::format("--piece {}: the page has no such piece", piece),
                    "its pieces: " + names);
  }
  changed->css_bytes += 10'000;
  return PagePlan(before, after,
                  {"The page is displayed later than before. Which page piece did it?", "page_load",
                   "display_done", "piece", piece},
                  options);
}

// §5.4 "Causal Ordering".
Result<Plan> LowPriorityPlan(const ScenarioOptions& options) {
  PageSite before = HomePage();
  // Seldom waited for where it is needed, long for the first phase.
  before.background_work = 560 * kMilli;
  PageSite after = before;
  after.early_await_permille = 400;
  return PagePlan(before, after,
                  {"The first phase is displayed later. Which piece does the server wait for?",
                   "page_load", "first_phase_done", "piece", before.background_piece},
                  options);
}

// §5.4 "Regressions in Subpopulations".
Result<Plan> CountryPlan(const ScenarioOptions& options) {
  const PageSite before = HomePage();
  PageSite after = before;
  Country& country = after.countries[1];
  country.congestion_permille = 1900;
  return PagePlan(before, after,
                  {"The page is displayed later than before. Whose page?", "page_load",
                   "display_done", "country", country.code},
                  options);
}

// §5.4 "Identifying Improvements": here the change is the cure, and the fault is what it cures: the low-priority
// pieces need resources that early flush does not know of.
Result<Plan> WhatIfPlan(const ScenarioOptions& options) {
  PageSite before = HomePage();
  if (options.fault == Fault::kOn) {
    for (PagePiece& piece : before.pieces) {
      if (piece.phase < before.phases()) continue;
      piece.early_css_bytes = 0;
      piece.early_js = Prediction::kUnknown;
    }
  }
  PageSite after = before;
  after.second_wave = SecondWave::kOn;
  Plan plan;
  plan.question = {"What would it save if resources were there in half the time?", "page_load",
                   "display_done", "component", "resource"};
  plan.populations = {PagePopulation("before", before, options),
                      PagePopulation("after", after, options)};
  return plan;
}

// §5.4 "Exploratory Analysis": the index of one table is gone, its query looks at all rows.
Result<Plan> MissingIndexPlan(const ScenarioOptions& options) {
  const PageSite before = HomePage();
  PageSite after = before;
  DatabaseQuery& query = after.Find("Notifications")->query;
  query.rows_examined = 245'000;
  return PagePlan(before, after,
                  {"The page is displayed far later. Which query did it?", "page_load",
                   "display_done", "query", query.name},
                  options);
}

// §5.4 "Custom Analysis": the latency that counts is the first piece that shows something.
Result<Plan> FirstNonEmptyPlan(const ScenarioOptions& options) {
  const PageSite before = SearchPage();
  PageSite after = before;
  PagePiece& piece = after.pieces.front();
  piece.empty_permille = 650;
  return PagePlan(before, after,
                  {"Search shows its first result later. Which piece stays empty?",
                   "search_results", "first_result", "piece", piece.name},
                  options);
}

Population StartPopulation(std::string name, AppRelease release, const ScenarioOptions& options) {
  const Draws draws(options.seed);
  return {std::move(name),
          [release = std::move(release), draws](int64_t request, TraceEvents& events) {
            const Draws of_request = draws.For(kRequests, static_cast<uint64_t>(request));
            RecordColdStart(release, draws.For(kUsers, static_cast<uint64_t>(request)),
                            of_request.For(0), events);
          }};
}

// §5.4 "Mobile Clients", first part: no release regresses much, all of them together do.
Result<Plan> GrowingInitPlan(const ScenarioOptions& options) {
  constexpr int kReleases = 5;
  const std::string registry = "ProductRegistry";
  Plan plan;
  plan.question = {"Cold start grew over the releases. Whose initialization grew?", "cold_start",
                   "cold_start", "frame", registry + ".start"};
  AppRelease release = FirstRelease();
  for (int i = 0; i < kReleases; ++i) {
    const bool last = i + 1 == kReleases;
    plan.populations.push_back(StartPopulation(i == 0 ? "before"
                                               : last ? "after"
                                                      : "release " + release.version,
                                               release, options));
    release = NextRelease(release, registry, options.fault == Fault::kOn ? 2 : 0);
  }
  return plan;
}

// §5.4 "Mobile Clients", second part.
Result<Plan> StartupGapsPlan(const ScenarioOptions& options) {
  const AppRelease before = FirstRelease();
  AppRelease after = before;
  if (options.fault == Fault::kOn) after.background_permille = 200;
  Plan plan;
  plan.question = {"Some cold starts take very long. What runs meanwhile?", "cold_start",
                   "cold_start", "trigger", "push"};
  plan.populations = {StartPopulation("before", before, options),
                      StartPopulation("after", after, options)};
  return plan;
}

struct Entry {
  ScenarioDescription description;
  Result<Plan> (*plan)(const ScenarioOptions&);
};

constexpr Entry kEntries[] = {
    {{"page-load", "a page of ten pieces regresses by 300 ms after one piece needs more CSS"},
     PageLoadPlan},
    {{"low-priority-piece", "the server waits for a low-priority piece before its first flush"},
     LowPriorityPlan},
    {{"country-regression", "one country's network degrades, everybody's mean regresses"},
     CountryPlan},
    {{"what-if", "pieces wait for resources that a second wave could bring"}, WhatIfPlan},
    {{"missing-index", "one query examines a whole table, and the page waits for it"},
     MissingIndexPlan},
    {{"first-non-empty", "search results whose first piece stays empty"}, FirstNonEmptyPlan},
    {{"growing-init", "an app's cold start grows release by release"}, GrowingInitPlan},
    {{"startup-gaps", "cold starts in which nothing runs for a long time"}, StartupGapsPlan},
};

int64_t SizeOf(const ScenarioOptions& options) { return options.size.value_or(150); }

TraceId IdOf(const Draws& draws, size_t population, int64_t request) {
  const Draws of_trace = draws.For(kTraceIds, population);
  TraceId id;
  id.hi = of_trace.Bits(0, static_cast<uint64_t>(request));
  id.lo = of_trace.Bits(1, static_cast<uint64_t>(request));
  if (id.zero()) id.lo = 1;
  return id;
}

Status CheckOptions(const ScenarioOptions& options) {
  // The scenario's own time must still fit in.
  constexpr Nanos kFarthest = INT64_MAX - 4000 * kDay;
  if (options.start > kFarthest || options.start < -kFarthest) {
    return BadInput(fmt::format("--start {}: too far away", options.start),
                    "as in --start 3h, three hours back from now");
  }
  if (!options.piece.empty() && options.name != "page-load") {
    return BadInput(
        fmt::format("--piece {}: scenario {} has no such input", options.piece, options.name),
        "--piece is for page-load");
  }
  return {};
}

struct Window {
  Nanos since = 0, until = 0;
};

std::string QueryJson(const ScenarioOptions& options, const Plan& plan,
                      const std::vector<Window>& windows) {
  JsonWriter json;
  const auto window = [&](const char* key, const Window& of) {
    json.Key(key).BeginObject().Field("since_ns", of.since).Field("until_ns", of.until).EndObject();
  };
  json.BeginObject().Field("scenario", options.name).Field("question", plan.question.text);
  json.Field("seed", options.seed).Field("size", SizeOf(options));
  window("before", windows.front());
  window("after", windows.back());
  json.Field("dataset", plan.question.dataset).Field("metric", plan.question.metric);
  json.Key("truth").BeginObject().Field("fault", options.fault == Fault::kOn);
  json.Field("kind", plan.question.culprit_kind).Key("culprit");
  if (options.fault == Fault::kOn) {
    json.String(plan.question.culprit);
  } else {
    json.Null();
  }
  json.EndObject().EndObject();
  return json.Take() + "\n";
}

}  // namespace

const std::vector<ScenarioDescription>& Scenarios() {
  static const std::vector<ScenarioDescription> all = [] {
    std::vector<ScenarioDescription> descriptions;
    for (const Entry& entry : kEntries) descriptions.push_back(entry.description);
    for (const ScenarioDescription& incident : NetworkIncidents()) descriptions.push_back(incident);
    return descriptions;
  }();
  return all;
}

Result<std::string> GenerateScenario(const ScenarioOptions& options, const LineSink& sink) {
  if (IsNetworkIncident(options.name)) {
    WF_TRY(CheckOptions(options));
    WF_ASSIGN(const NetworkIncident incident, PlanNetworkIncident(options));
    WF_ASSIGN(const ndlog::Recording recording, RecordIncident(incident, options.seed));
    WF_ASSIGN(const IncidentProvenance provenance, ReplayIncident(incident, recording));
    WF_TRY(sink(provenance.lines));
    return IncidentQueryJson(options, incident, provenance);
  }
  const auto entry =
      std::find_if(std::begin(kEntries), std::end(kEntries),
                   [&](const Entry& known) { return known.description.name == options.name; });
  if (entry == std::end(kEntries)) {
    return BadInput(fmt::format("scenario {}: no such scenario", options.name),
                    "wherefore scenario list shows them");
  }
  constexpr int64_t kMost = 1'000'000;
  const int64_t size = SizeOf(options);
  if (size < 1 || size > kMost) {
    return BadInput(fmt::format("--size {}: must be from 1 to {}", size, kMost),
                    "it is the number of requests in each population; 150 when not given");
  }
  WF_TRY(CheckOptions(options));
  WF_ASSIGN(const Plan plan, entry->plan(options));

  const Draws draws(options.seed);
  std::vector<Window> windows;
  Nanos now = options.start;
  std::string lines;
  for (size_t p = 0; p < plan.populations.size(); ++p) {
    const Nanos begin = now;
    for (int64_t request = 0; request < size; ++request) {
      const Nanos jitter =
          draws.For(kArrival).Below(kBetweenRequests / kMicro, 0, static_cast<uint64_t>(request));
      TraceEvents events(IdOf(draws, p, request), now + jitter * kMicro);
      plan.populations[p].record(request, events);
      lines.clear();
      events.Write(lines);
      WF_TRY(sink(lines));
      now += kBetweenRequests;
    }
    // Clocks that are a little off do not carry a request out of its population's time.
    windows.push_back({begin - kMinute, now + kMinute});
    // The next population comes an hour or more later, by whole hours from the first: clocks are solved by windows of
    // time, and so the populations fall into these alike.
    now = begin + ((now - begin) / kHour + 2) * kHour;
  }
  return QueryJson(options, plan, windows);
}

}  // namespace wf::scenario
