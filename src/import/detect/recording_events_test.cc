#include "import/recording/recording_events.h"

#include <gtest/gtest.h>

#include "import/events/events_binary_decoder.h"
#include "model/trace_builder.h"

namespace wf::detect {
namespace {

using recorder::Action;
using recorder::ObjectKind;
using recorder::Op;
using recorder::Recording;
using recorder::Role;
using recorder::SubComputation;

// Main creates two threads. Thread 1 takes the lock at 10 and gives it up at 400; thread 2 asks at 50, has it from 401
// to 500. Main joins both.
class RecordedProgram {
 public:
  RecordedProgram() {
    recording_.started_unix_ns = 1'000'000;
    recording_.pid = 77;
    recording_.complete = true;
    recording_.objects = {{1, ObjectKind::kMutex, recorder::kNoThread, 0x1000, 0},
                          {2, ObjectKind::kThread, 1, 0, 0},
                          {3, ObjectKind::kThread, 2, 0, 0}};
    Thread(0, recorder::kNoThread, "program", recorder::kNone, {});
    Sub(0, 5, Op::kCreate, 1, 0, {{1, Role::kReleaseAll, 0, 1}});
    Sub(6, 8, Op::kCreate, 2, 0, {{2, Role::kReleaseAll, 0, 1}});
    Sub(9, 20, Op::kJoin, 1, 390, {{1, Role::kAcquireAll, 0, 4}});
    Sub(410, 420, Op::kJoin, 2, 100, {{2, Role::kAcquireAll, 0, 4}});
    Sub(520, 530, Op::kExit, recorder::kNone, 0, {});
    Thread(1, 0, "worker", 1, {{1, Role::kAcquireAll, 0, 2}});
    Sub(7, 10, Op::kMutexLock, 0, 0, {{0, Role::kAcquireAll, 0, 1}});
    Sub(10, 400, Op::kMutexUnlock, 0, 0, {{0, Role::kReleaseAll, 0, 2}});
    Sub(400, 405, Op::kThreadExit, 1, 0, {{1, Role::kReleaseAll, 0, 3}});
    Thread(2, 0, "worker", 2, {{2, Role::kAcquireAll, 0, 2}});
    Sub(10, 50, Op::kMutexLock, 0, 351, {{0, Role::kAcquireAll, 0, 3}});
    Sub(401, 500, Op::kMutexUnlock, 0, 0, {{0, Role::kReleaseAll, 0, 4}});
    Sub(500, 510, Op::kThreadExit, 2, 0, {{2, Role::kReleaseAll, 0, 3}});
  }

  Recording& recording() { return recording_; }

  EventBatch Events() const {
    EventBatch batch;
    decode::DecodeReport report;
    const Status status = recording::RecordingToEvents(recording_, [&](const std::string& body) {
      return events::DecodeEventsBinary(body, {}, batch, report);
    });
    EXPECT_TRUE(status.ok());
    EXPECT_TRUE(report.first_fault.empty()) << report.first_fault;
    return batch;
  }

 private:
  recorder::Slice Add(const std::vector<Action>& actions) {
    const auto begin = static_cast<uint32_t>(recording_.actions.size());
    recording_.actions.insert(recording_.actions.end(), actions.begin(), actions.end());
    return {begin, static_cast<uint32_t>(recording_.actions.size())};
  }
  void Thread(uint32_t id, uint32_t parent, const char* name, uint32_t object,
              const std::vector<Action>& actions) {
    recorder::ThreadFacts thread;
    thread.id = id;
    thread.parent = parent;
    thread.tid = 700 + id;
    thread.object = object;
    thread.name = name;
    thread.started = thread.ended = true;
    thread.subs.begin = thread.subs.end = static_cast<uint32_t>(recording_.subs.size());
    thread.actions = Add(actions);
    recording_.threads.push_back(thread);
  }
  void Sub(int64_t start, int64_t end, Op op, uint32_t object, int64_t wait,
           const std::vector<Action>& actions) {
    recorder::ThreadFacts& thread = recording_.threads.back();
    SubComputation sub;
    sub.thread = thread.id;
    sub.index = thread.subs.size();
    sub.start_ns = start;
    sub.end_ns = end;
    sub.wait_ns = wait;
    sub.op = op;
    sub.object = object;
    sub.actions = Add(actions);
    if (sub.index == 0) thread.start_ns = start;
    recording_.subs.push_back(sub);
    thread.subs.end = static_cast<uint32_t>(recording_.subs.size());
  }

  Recording recording_;
};

size_t CountBlocks(const Trace& trace, std::string_view name) {
  size_t count = 0;
  for (const Block& block : trace.blocks) count += trace.str(block.name) == name ? 1 : 0;
  return count;
}

TEST(RecordingEvents, ThreadsAreUnitsAndSubComputationsBlocks) {
  const EventBatch events = RecordedProgram().Events();
  const Trace trace = BuildTrace(events);
  EXPECT_EQ(trace.units.size(), 3u);
  // Itself, and its sub-computations without symbols.
  EXPECT_EQ(CountBlocks(trace, "thread 1 worker"), 4u);
  EXPECT_EQ(CountBlocks(trace, "pthread_join thread 1 worker"), 1u);
  EXPECT_EQ(CountBlocks(trace, "program"), 1u);  // the main thread is the program
}

TEST(RecordingEvents, WhoHeldTheLockIsTheCauseOfTheWait) {
  const EventBatch events = RecordedProgram().Events();
  const Trace trace = BuildTrace(events);
  size_t waited = 0;
  for (const Edge& edge : trace.edges) {
    if (edge.type != EdgeType::kLock || !edge.blocking) continue;
    ++waited;
    const Block& from = trace.blocks[trace.points[edge.from].block];
    const Block& to = trace.blocks[trace.points[edge.to].block];
    EXPECT_EQ(from.kind, BlockKind::kHold);
    EXPECT_EQ(from.end_ns - from.start_ns, 390);
    EXPECT_EQ(to.kind, BlockKind::kWait);
    EXPECT_EQ(to.end_ns - to.start_ns, 351);
  }
  EXPECT_EQ(waited, 1u);
}

TEST(RecordingEvents, WhatIsDoneForARequestStandsInItsTrace) {
  RecordedProgram program;
  // Thread 2 turns to a request at 20.
  program.recording().traces = {{8, 0xaa, 0xbb, 0xcc, 20}};
  const EventBatch events = program.Events();
  size_t own = 0, requests = 0;
  for (size_t row = 0; row < events.size(); ++row)
    ++(events.trace_id(row) == TraceId{0xaa, 0xbb} ? requests : own);
  EXPECT_GT(own, 0u);
  EXPECT_GT(requests, 0u);
  EventBatch request;
  RowCopier copier(events, request);
  for (size_t row = 0; row < events.size(); ++row)
    if (events.trace_id(row) == TraceId{0xaa, 0xbb}) copier.Copy(row);
  const Trace trace = BuildTrace(request);
  // Itself, the rest of the sub-computation it was in, and the two that followed.
  EXPECT_EQ(CountBlocks(trace, "thread 2 worker"), 4u);
}

TEST(RecordingEvents, TheSameRecordingGivesTheSameEvents) {
  const EventBatch once = RecordedProgram().Events(), twice = RecordedProgram().Events();
  ASSERT_EQ(once.size(), twice.size());
  for (size_t row = 0; row < once.size(); ++row) {
    EXPECT_EQ(once.id1[row], twice.id1[row]);
    EXPECT_TRUE(once.trace_id(row) == twice.trace_id(row));
  }
}

TEST(RecordingEvents, ALockTakenTwiceByItsHolderIsHeldOnce) {
  RecordedProgram program;
  Recording& recording = program.recording();
  // Thread 1 locks once more in between: another cut of the same kind.
  const size_t nested = 6;
  recording.actions[recording.subs[nested].actions.begin].role = Role::kAcquireAll;
  const EventBatch events = program.Events();
  size_t releases = 0;
  for (size_t row = 0; row < events.size(); ++row)
    releases += events.type[row] == wherefore::EventType::kLockRelease ? 1 : 0;
  EXPECT_EQ(releases, 1u);  // thread 2's; thread 1 never gives it up
}

}  // namespace
}  // namespace wf::detect
