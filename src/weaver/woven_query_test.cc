// Advice in the kernel, on real calls: this program's child calls functions that know nothing of it. The sites are given
// by hand here; finding them is locator_test's business.
#include "weaver/woven_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weaver/own_function_test.h"

extern "C" {
[[gnu::noinline]] void wf_test_call(int64_t a, int64_t b, const char* text) {
  asm volatile("nop" ::"r"(a), "r"(b), "r"(text) : "memory");
}
}

namespace wf::weaver {
namespace {

// Through a pointer that the compiler knows nothing about: it would make copies of the function for known arguments.
void (*volatile const called)(int64_t, int64_t, const char*) = &wf_test_call;

const char* const kUnreadable = reinterpret_cast<const char*>(16);

void Call(int64_t a, int64_t b, const char* text) {
  // Programs cannot wait for a page that was never touched.
  if (text != nullptr && text != kUnreadable) {
    for (volatile const char* at = text; *at != 0; ++at) {
    }
  }
  called(a, b, text);
}

using advice::AggregateKind;
using advice::Expression;
using advice::Op;
using advice::Value;

struct Shared {
  std::atomic<int> go{0}, done{0};
};

class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    shared_ = new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0)) Shared;
    pid_ = fork();
    if (pid_ == 0) {
      while (shared_->go == 0) usleep(1000);
      body();
      shared_->done = 1;
      while (true) pause();
    }
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(shared_, sizeof(Shared));
  }
  pid_t pid() const { return pid_; }
  void Go() { shared_->go = 1; }
  bool done() const { return shared_->done == 1; }

 private:
  Shared* shared_;
  pid_t pid_ = 0;
};

Recipe Argument(Register reg) { return {{ReadOp::kRegister, reg, 0, 0}}; }

LocatedTracepoint CallTracepoint() {
  LocatedTracepoint located;
  located.name = "Call";
  located.exports = {"a", "b", "text"};
  LocatedFunction function;
  function.file = "/proc/self/exe";
  function.name = "wf_test_call";
  ProbeSite site;
  site.offset = FileOffset(reinterpret_cast<const void*>(&wf_test_call));
  ValueRead a, b, text;
  a.form = b.form = ValueForm::kInteger;
  a.value = Argument(Register::kRdi);
  b.value = Argument(Register::kRsi);
  text.form = ValueForm::kCString;
  text.value = Argument(Register::kRdx);
  site.values = {a, b, text};
  function.sites = {site};
  located.functions = {function};
  return located;
}

Expression Infix(Expression left, Op op, const Expression& right) {
  const auto shift = static_cast<uint32_t>(left.constants.size());
  for (advice::Instruction instruction : right.code) {
    if (instruction.op == Op::kConstant) instruction.operand += shift;
    left.code.push_back(instruction);
  }
  left.constants.insert(left.constants.end(), right.constants.begin(), right.constants.end());
  left.code.push_back({op, 0});
  return left;
}
Expression Apply(Op op, Expression of) {
  of.code.push_back({op, 0});
  return of;
}
Expression Number(int64_t number) { return advice::Constant(Value(number)); }
Expression Text(const char* text) { return advice::Constant(Value(std::string(text))); }

// From c In Call Where … GroupBy keys Select keys…, aggregates…; columns 0 to 2 are a, b, text.
struct Query {
  std::vector<Expression> where, keys;
  std::vector<std::pair<AggregateKind, Expression>> aggregates;
  bool grouped = true;
};

advice::Program ProgramOf(const Query& query,
                          std::vector<std::string> observed = {"a", "b", "text"}) {
  advice::Program program;
  program.query = 1;
  advice::Advice advice;
  advice.tracepoints = {"Call"};
  advice.steps.push_back(advice::Observe{std::move(observed)});
  for (const Expression& condition : query.where) advice.steps.push_back(advice::Filter{condition});
  advice::Emit emit;
  emit.grouped = query.grouped;
  emit.grouping.columns = query.keys;
  for (const auto& [kind, argument] : query.aggregates) {
    advice::AggregateInput input;
    input.aggregate.kind = kind;
    input.argument = argument;
    emit.grouping.aggregates.push_back(input);
  }
  const size_t columns = query.keys.size() + query.aggregates.size();
  for (uint32_t i = 0; i < columns; ++i) {
    emit.select.push_back(advice::Column(i));
    program.result_columns.push_back("c" + std::to_string(i));
  }
  advice.steps.push_back(std::move(emit));
  program.advice = {std::move(advice)};
  return program;
}

struct Answer {
  std::vector<advice::Tuple> rows;
  WeaveCounters counters;
};

void AddUp(WeaveCounters& sum, const WeaveCounters& more) {
  sum.hits += more.hits;
  sum.lost += more.lost;
  sum.singly += more.singly;
  sum.inexact += more.inexact;
  sum.cut_strings += more.cut_strings;
  sum.unread += more.unread;
  sum.unpaired += more.unpaired;
}

Result<Answer> WeaveAndRun(const advice::Program& program, const std::function<void()>& body,
                           const WeaveOptions& options = {}) {
  Child child(body);
  WF_ASSIGN(const auto woven, WovenQuery::Create(program, options));
  WF_TRY(woven->Prepare(CallTracepoint(), child.pid(),
                        [](const LocatedFunction&) { return std::nullopt; }));
  WF_TRY(woven->AttachWaiting());
  child.Go();
  Answer answer;
  advice::Results results(program);
  for (int i = 0; i < 600 && !child.done(); ++i) {
    WF_TRY(woven->Poll(20));
    WF_ASSIGN(const WeaveCounters counters, woven->Collect(results));
    AddUp(answer.counters, counters);
  }
  if (!child.done()) return EnvironmentError("the child did not get done");
  WF_TRY(woven->Detach());
  WF_ASSIGN(const WeaveCounters counters, woven->Collect(results));
  AddUp(answer.counters, counters);
  answer.rows = results.Rows();
  return answer;
}

#define RUN_OR_SKIP(name, ...)                                                     \
  const auto name##_result = WeaveAndRun(__VA_ARGS__);                             \
  if (!name##_result.ok() && name##_result.error().code != ErrorCode::kBadInput && \
      name##_result.error().message.find("\n") == std::string::npos &&             \
      getenv("WHEREFORE_NEEDS_BPF") == nullptr) {                                  \
    GTEST_SKIP() << name##_result.error().message;                                 \
  }                                                                                \
  ASSERT_TRUE(name##_result.ok()) << name##_result.error().message;                \
  const Answer& name = *name##_result

const Expression kA = advice::Column(0), kB = advice::Column(1), kText = advice::Column(2);
const Expression kTrue = advice::Constant(Value(true));

TEST(WovenQuery, CountsExactlyAMillionCallsOfSeveralThreads) {
  constexpr int kThreads = 4, kCalls = 250'000;
  RUN_OR_SKIP(answer, ProgramOf({{}, {}, {{AggregateKind::kCount, kTrue}}}, {}), [] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < kCalls; ++i) Call(i, 0, nullptr);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  ASSERT_EQ(answer.rows.size(), 1u);
  EXPECT_EQ(answer.rows[0][0], Value(int64_t{kThreads} * kCalls));
  EXPECT_EQ(answer.counters.hits, uint64_t{kThreads} * kCalls);
  EXPECT_EQ(answer.counters.lost, 0u);
  EXPECT_EQ(answer.counters.singly, 0u);
}

TEST(WovenQuery, AggregatesByGroup) {
  Query query;
  query.keys = {kB};
  for (const AggregateKind kind :
       {AggregateKind::kCount, AggregateKind::kSum, AggregateKind::kMin, AggregateKind::kMax,
        AggregateKind::kAverage, AggregateKind::kHistogram})
    query.aggregates.emplace_back(kind, kA);
  RUN_OR_SKIP(answer, ProgramOf(query), [] {
    for (int64_t i = -3; i <= 5; ++i) Call(i * 1'000'000'007, i & 1, "x");
    Call(0, 7, "x");
    Call(INT64_MAX, 8, "x");
    Call(INT64_MAX, 8, "x");
    Call(INT64_MIN, 9, "x");
  });
  ASSERT_EQ(answer.rows.size(), 5u);
  constexpr int64_t kUnit = 1'000'000'007;
  // Even multiples: -2, 0, 2, 4.
  EXPECT_EQ(answer.rows[0][1], Value(int64_t{4}));
  EXPECT_EQ(answer.rows[0][2], Value(4 * kUnit));
  EXPECT_EQ(answer.rows[0][3], Value(-2 * kUnit));
  EXPECT_EQ(answer.rows[0][4], Value(4 * kUnit));
  EXPECT_EQ(answer.rows[0][5], Value(static_cast<double>(kUnit)));
  const auto& histogram = std::get<advice::List>(answer.rows[0][6]);
  ASSERT_EQ(histogram.size(), 4u);
  EXPECT_EQ(std::get<advice::List>(histogram[0])[0], Value());
  EXPECT_EQ(std::get<advice::List>(histogram[1])[0], Value(int64_t{0}));
  EXPECT_EQ(std::get<advice::List>(histogram[2])[0], Value(int64_t{1} << 30));
  EXPECT_EQ(std::get<advice::List>(histogram[3])[0], Value(int64_t{1} << 31));
  EXPECT_EQ(answer.rows[1][2], Value(5 * kUnit));  // -3, -1, 1, 3, 5
  EXPECT_EQ(answer.rows[2][3], Value(int64_t{0}));
  EXPECT_EQ(answer.rows[3][2], Value(2.0 * 9223372036854775807.0));
  EXPECT_EQ(answer.rows[3][4], Value(INT64_MAX));
  EXPECT_EQ(answer.rows[4][3], Value(INT64_MIN));
  EXPECT_EQ(answer.counters.singly + answer.counters.inexact, 0u);
}

TEST(WovenQuery, StringsAreKeysAndAreCut) {
  Query query;
  query.keys = {kText};
  query.aggregates = {{AggregateKind::kCount, kTrue}};
  RUN_OR_SKIP(answer, ProgramOf(query), [] {
    const std::string exact(64, 'e'), longer(65, 'l'), much(300, 'm');
    for (int i = 0; i < 3; ++i) {
      Call(1, 1, "one");
      Call(1, 1, "");
      Call(1, 1, exact.c_str());
      Call(1, 1, longer.c_str());
      Call(1, 1, much.c_str());
      Call(1, 1, nullptr);
      Call(1, 1, kUnreadable);
    }
  });
  ASSERT_EQ(answer.rows.size(), 6u);
  EXPECT_EQ(answer.rows[0], (advice::Tuple{Value(), Value(int64_t{6})}));
  EXPECT_EQ(answer.rows[1][0], Value(std::string()));
  EXPECT_EQ(answer.rows[2][0], Value(std::string(64, 'e')));
  EXPECT_EQ(answer.rows[3][0], Value(std::string(64, 'l')));
  EXPECT_EQ(answer.rows[4], (advice::Tuple{Value(std::string(64, 'm')), Value(int64_t{3})}));
  EXPECT_EQ(answer.rows[5], (advice::Tuple{Value(std::string("one")), Value(int64_t{3})}));
  EXPECT_EQ(answer.counters.cut_strings, 6u);
  EXPECT_EQ(answer.counters.unread, 3u);
}

TEST(WovenQuery, StringsMayBeLonger) {
  Query query;
  query.keys = {kText, kText};
  query.aggregates = {{AggregateKind::kCount, kTrue}};
  WeaveOptions options;
  options.string_bytes = 256;
  RUN_OR_SKIP(
      answer, ProgramOf(query),
      [] {
        const std::string exact(256, 'e'), much(300, 'm');
        Call(1, 1, exact.c_str());
        Call(1, 1, much.c_str());
        Call(1, 1, "short");
      },
      options);
  ASSERT_EQ(answer.rows.size(), 3u);
  EXPECT_EQ(answer.rows[0][0], Value(std::string(256, 'e')));
  EXPECT_EQ(answer.rows[1][1], Value(std::string(256, 'm')));
  EXPECT_EQ(answer.rows[2][1], Value(std::string("short")));
  EXPECT_EQ(answer.counters.cut_strings, 1u);
  EXPECT_EQ(answer.counters.singly + answer.counters.inexact, 0u);
}

// Every expression that the kernel does gives what the interpreter gives.
TEST(WovenQuery, FiltersAndArithmeticAreThoseOfTheInterpreter) {
  const std::vector<Expression> expressions = {
      Infix(kA, Op::kAdd, kB),
      Infix(kA, Op::kSubtract, kB),
      Infix(kA, Op::kMultiply, kB),
      Infix(Infix(kA, Op::kMultiply, kB), Op::kAdd, Number(3)),
      Apply(Op::kNegate, kA),
      Infix(kA, Op::kBucket, Number(10)),
      Infix(kA, Op::kDivide, kB),
      Infix(kA, Op::kLess, kB),
      Infix(kA, Op::kLessEqual, kB),
      Infix(kA, Op::kGreater, Number(4)),
      Infix(kA, Op::kEqual, kB),
      Infix(kA, Op::kNotEqual, kText),
      Infix(kText, Op::kEqual, Text("beta")),
      Infix(kText, Op::kNotEqual, Text("beta")),
      Infix(kText, Op::kLess, Text("beta")),
      Infix(kText, Op::kLessEqual, Text("beta")),
      Infix(kText, Op::kGreaterEqual, Text("alphabetically")),
      Infix(kText, Op::kGreater, kText),
      Infix(kText, Op::kStartsWith, Text("alphabet")),
      Infix(kText, Op::kStartsWith, Text("be")),
      Infix(kText, Op::kContains, Text("et")),
      Apply(Op::kLength, kText),
      Apply(Op::kHas, kText),
      Apply(Op::kHas, kA),
      Apply(Op::kNot, Infix(kA, Op::kLess, kB)),
      Apply(Op::kNot, kA),
      Infix(Infix(kA, Op::kLess, kB), Op::kAnd, Infix(kText, Op::kEqual, Text("beta"))),
      Infix(Infix(kA, Op::kLess, kB), Op::kOr, Infix(kText, Op::kEqual, Text("beta"))),
      Infix(kTrue, Op::kOr, kTrue),
      Infix(kA, Op::kAdd, kText),
      Apply(Op::kUpper, kText),
  };
  const std::vector<int64_t> numbers = {INT64_MIN, -5, 0, 4, 17, INT64_MAX};
  const std::vector<const char*> texts = {nullptr, "", "alpha", "alphabetical", "beta", "betamax"};
  std::vector<advice::Tuple> tuples;
  for (const int64_t a : numbers) {
    for (const int64_t b : numbers) {
      for (const char* text : texts)
        tuples.push_back(
            {Value(a), Value(b), text == nullptr ? Value() : Value(std::string(text))});
    }
  }
  for (size_t i = 0; i < expressions.size(); ++i) {
    SCOPED_TRACE(i);
    Query query;
    query.keys = {expressions[i]};
    query.aggregates = {{AggregateKind::kCount, kTrue},
                        {AggregateKind::kCount, expressions[i]},
                        {AggregateKind::kSum, expressions[i]}};
    if (i % 2 == 0) query.where = {expressions[i]};
    const advice::Program program = ProgramOf(query);
    RUN_OR_SKIP(answer, program, [&] {
      for (const int64_t a : numbers)
        for (const int64_t b : numbers)
          for (const char* text : texts) Call(a, b, text);
    });
    // The interpreter's answer to the same tuples.
    advice::Results expected(program);
    advice::Rows rows(1, 3);
    for (const advice::Tuple& tuple : tuples) {
      if (!query.where.empty() && !advice::IsTrue(query.where[0], tuple.data(), tuple.size()))
        continue;
      const Value value = advice::Evaluate(expressions[i], tuple);
      rows.AddColumn(value);
      for (const auto& [kind, argument] : query.aggregates) {
        advice::AggregateState state(kind);
        state.Add(advice::Evaluate(argument, tuple), 1);
        rows.AddState(std::move(state));
      }
      rows.EndRow(1);
    }
    expected.Add(rows);
    EXPECT_EQ(answer.rows, expected.Rows());
    EXPECT_EQ(answer.counters.hits, tuples.size());
    EXPECT_EQ(answer.counters.lost, 0u);
  }
}

TEST(WovenQuery, WhatTheKernelCannotGroupIsSentSingly) {
  Query query;
  query.keys = {kB};
  query.aggregates = {{AggregateKind::kPercentile, kA}};
  query.where = {Infix(kA, Op::kLess, Number(1000))};
  advice::Program program = ProgramOf(query);
  std::get<advice::Emit>(program.advice[0].steps.back())
      .grouping.aggregates[0]
      .aggregate.parameter = 50;
  RUN_OR_SKIP(answer, program, [] {
    for (int i = 0; i < 2000; ++i) Call(i, i & 1, "x");
  });
  ASSERT_EQ(answer.rows.size(), 2u);
  EXPECT_EQ(answer.counters.singly, 1000u);
  EXPECT_EQ(answer.counters.hits, 2000u);
}

TEST(WovenQuery, MoreGroupsThanTheKernelKeepsAreExactAllTheSame) {
  Query query;
  query.keys = {kA};
  query.aggregates = {{AggregateKind::kCount, kTrue}};
  WeaveOptions options;
  options.groups = 100;
  RUN_OR_SKIP(
      answer, ProgramOf(query),
      [] {
        for (int round = 0; round < 3; ++round)
          for (int i = 0; i < 1000; ++i) Call(i, 0, "x");
      },
      options);
  ASSERT_EQ(answer.rows.size(), 1000u);
  for (const advice::Tuple& row : answer.rows) EXPECT_EQ(row[1], Value(int64_t{3}));
  EXPECT_GT(answer.counters.inexact, 0u);
}

TEST(WovenQuery, AFullRingIsCounted) {
  Query query;
  query.keys = {kA};
  query.grouped = false;
  WeaveOptions options;
  options.ring_bytes = 4096;
  constexpr int kCalls = 3000;
  RUN_OR_SKIP(
      answer, ProgramOf(query),
      [] {
        for (int i = 0; i < kCalls; ++i) Call(i, 0, "x");
      },
      options);
  EXPECT_GT(answer.counters.lost, 0u);
  EXPECT_EQ(answer.rows.size() + answer.counters.lost, size_t{kCalls});
}

TEST(WovenQuery, DefaultsAreObserved) {
  Query query;
  query.keys = {advice::Column(0), advice::Column(1), advice::Column(2), advice::Column(3)};
  query.aggregates = {{AggregateKind::kCount, kTrue}, {AggregateKind::kMin, advice::Column(4)}};
  timespec before{};
  clock_gettime(CLOCK_REALTIME, &before);
  RUN_OR_SKIP(answer, ProgramOf(query, {"host", "procName", "procId", "tracepoint", "time"}),
              [] { Call(1, 2, "x"); });
  ASSERT_EQ(answer.rows.size(), 1u);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(answer.rows[0][0], Value(std::string(host)));
  EXPECT_EQ(answer.rows[0][1], Value(std::string("weaver_test")));
  EXPECT_EQ(answer.rows[0][3], Value(std::string("Call")));
  EXPECT_GE(std::get<int64_t>(answer.rows[0][5]), before.tv_sec * 1'000'000'000 + before.tv_nsec);
}

TEST(WovenQuery, PerfLinksCountTheSame) {
  WeaveOptions options;
  options.link = LinkChoice::kPerf;
  Query query;
  query.keys = {kB};
  query.aggregates = {{AggregateKind::kSum, kA}};
  RUN_OR_SKIP(
      answer, ProgramOf(query),
      [] {
        std::thread other([] {
          for (int i = 0; i < 5000; ++i) Call(2, 1, "x");
        });
        for (int i = 0; i < 5000; ++i) Call(1, 1, "x");
        other.join();
      },
      options);
  ASSERT_EQ(answer.rows.size(), 1u);
  EXPECT_EQ(answer.rows[0][1], Value(int64_t{15000}));
}

}  // namespace
}  // namespace wf::weaver
