// Runs that never were, as .cpg files: a test says in one order what the threads did, and gets the bytes that a recorder
// would have written. One step a call, or a line of text:
//
//   0 start                     the main thread begins
//   0 create 1 · 1 start        1 begins with what 0 had done; `1 end`, `0 join 1`
//   0 lock m · 0 unlock m       also wrlock, rdlock, rwunlock; post, semwait; signal
//   0 wait c m · 0 woken        a condition variable; `timedout` instead of `woken`
//   0 arrive b 2 · 0 leave b    a barrier of two; without their number a round ends with the first to leave
//   0 once o ran|seen           seen: it ran nothing
//   0 reads 10 11 · 0 writes 12-14              pages, by number
//   0 input NAME 0 100 [stream]                 bytes; also output; `mapin NAME 0 8192 stream page`
//   0 crash 11 · 0 name worker · 0 fork
//
// Names of objects are free; `destroy m` ends one. Time goes on by 10 ns a step. Each thread's records are one chunk, or,
// with `chunk_records`, many.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/format/records.h"
#include "recorder/reader/chunk_reader.h"

namespace wf::recorder {

class ScriptedRun {
 public:
  explicit ScriptedRun(uint32_t depth = kSchedule | kData) : depth_(depth) {}

  // What happened to objects, in the order in which it did: for tests that compute from it what the reader should find.
  struct Happened {
    uint32_t thread = 0, sub = 0;  // released by; opened
    uint32_t object = 0;
    Role role{};
    uint64_t round = 0;
  };
  const std::vector<Happened>& happened() const { return happened_; }
  uint32_t subs(uint32_t thread) const { return threads_.at(thread).sub + 1; }
  size_t threads() const { return threads_.size(); }
  uint32_t object(const std::string& name) const { return objects_.at(name).id; }

  ScriptedRun& Lines(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::vector<std::string> word;
      for (std::string one; words >> one;) word.push_back(one);
      if (!word.empty() && word[0][0] != '#')
        Step(static_cast<uint32_t>(std::stoul(word[0])), {word.begin() + 1, word.end()});
    }
    return *this;
  }

  ScriptedRun& Step(uint32_t id, const std::vector<std::string>& words) {
    now_ += 10;
    const std::string& what = words.at(0);
    const auto word = [&](size_t i) { return i < words.size() ? words[i] : std::string(); };
    if (what == "start") return Start(id);
    Thread& thread = threads_.at(id);
    if (what == "create") {
      const auto child = static_cast<uint32_t>(std::stoul(word(1)));
      const uint32_t object = ThreadObject(child);
      thread.actions = {Released(id, object, Role::kReleaseAll)};
      parents_[child] = id;
      Cut(id, Op::kCreate, object);
    } else if (what == "end") {
      const uint32_t object = ThreadObject(id);
      End(id, Op::kThreadExit, object, {Released(id, object, Role::kReleaseAll)}, 0);
    } else if (what == "exit") {
      End(id, Op::kExit, 0, {}, 0);
    } else if (what == "inside") {  // in a lock's call for ever
      End(id, Op::kMutexLock, ObjectOf(word(1), ObjectKind::kMutex), {}, 1);
    } else if (what == "join") {
      const uint32_t object = ThreadObject(static_cast<uint32_t>(std::stoul(word(1))));
      thread.actions = {Acquired(id, object, Role::kAcquireAll)};
      Cut(id, Op::kJoin, object);
    } else if (what == "lock") {
      Acquire(id, Op::kMutexLock, ObjectOf(word(1), ObjectKind::kMutex), Role::kAcquireAll);
    } else if (what == "unlock") {
      Release(id, Op::kMutexUnlock, ObjectOf(word(1), ObjectKind::kMutex), Role::kReleaseAll);
    } else if (what == "wrlock" || what == "rdlock") {
      const uint32_t object = ObjectOf(word(1), ObjectKind::kRwlock);
      const bool write = what == "wrlock";
      thread.writes_lock[object] = write;
      Acquire(id, write ? Op::kRwlockWrlock : Op::kRwlockRdlock, object,
              write ? Role::kAcquireAll : Role::kAcquireFromWriters);
    } else if (what == "rwunlock") {
      const uint32_t object = ObjectOf(word(1), ObjectKind::kRwlock);
      Release(id, Op::kRwlockUnlock, object,
              thread.writes_lock[object] ? Role::kReleaseAll : Role::kReleaseToWriters);
    } else if (what == "post") {
      Release(id, Op::kSemPost, ObjectOf(word(1), ObjectKind::kSemaphore), Role::kReleaseAll);
    } else if (what == "semwait") {
      Acquire(id, Op::kSemWait, ObjectOf(word(1), ObjectKind::kSemaphore), Role::kAcquireAll);
    } else if (what == "signal") {
      Release(id, Op::kCondSignal, ObjectOf(word(1), ObjectKind::kCond), Role::kReleaseAll);
    } else if (what == "wait") {
      thread.cond = ObjectOf(word(1), ObjectKind::kCond);
      thread.mutex = ObjectOf(word(2), ObjectKind::kMutex);
      thread.entered = now_;
      thread.actions = {Released(id, thread.mutex, Role::kReleaseAll)};
    } else if (what == "woken" || what == "timedout") {
      const bool woken = what == "woken";
      if (woken) thread.actions.push_back(Acquired(id, thread.cond, Role::kAcquireAll));
      thread.actions.push_back(Acquired(id, thread.mutex, Role::kAcquireAll));
      Cut(id, woken ? Op::kCondWait : Op::kCondTimedwait, thread.cond, woken ? 0 : kTimedOut);
    } else if (what == "arrive") {
      const uint32_t object = ObjectOf(word(1), ObjectKind::kBarrier);
      Barrier& barrier = barriers_[object];
      thread.round = barrier.round;
      if (++barrier.inside == (word(2).empty() ? 0 : std::stoul(word(2)))) {
        ++barrier.round;
        barrier.inside = 0;
      }
      thread.entered = now_;
      thread.actions = {Rounded(id, object, Role::kReleaseRound, thread.round)};
    } else if (what == "leave") {
      const uint32_t object = ObjectOf(word(1), ObjectKind::kBarrier);
      Barrier& barrier = barriers_[object];
      if (thread.round == barrier.round)
        ++barrier.round;  // the first to leave: nobody arrives in this round any more
      thread.actions.push_back(Rounded(id, object, Role::kAcquireRound, thread.round));
      Cut(id, Op::kBarrierWait, object);
    } else if (what == "once") {
      const uint32_t object = ObjectOf(word(1), ObjectKind::kOnce);
      if (word(2) == "ran") return Release(id, Op::kOnce, object, Role::kReleaseAll);
      thread.actions = {Acquired(id, object, Role::kAcquireAll)};
      Cut(id, Op::kOnce, object, kIfItAdds);
    } else if (what == "fork") {
      Cut(id, Op::kFork, 0);
    } else if (what == "reads" || what == "writes") {
      AddPages(id, {words.begin() + 1, words.end()}, what == "writes");
    } else if (what == "input" || what == "output") {
      AddTransfer(id, words, what == "output" ? kOutput : 0);
    } else if (what == "mapin" || what == "mapout") {
      AddTransfer(id, words, static_cast<uint16_t>(kMapped | (what == "mapout" ? kOutput : 0)));
    } else if (what == "crash") {
      wf::recorder::Crash crash{};
      crash.head = {RecordKind::kCrash, static_cast<uint16_t>(std::stoul(word(1))), sizeof crash};
      crash.thread = id;
      crash.time_ns = now_;
      Append(thread, &crash, sizeof crash);
    } else if (what == "name") {
      ThreadName name{};
      const std::string text = Padded(word(1));
      name.head = {RecordKind::kThreadName, static_cast<uint16_t>(word(1).size()),
                   static_cast<uint32_t>(sizeof name + text.size())};
      name.thread = id;
      Append(thread, &name, sizeof name, text);
    } else if (what == "snapshot") {
      Snapshot one{};
      one.head = {RecordKind::kSnapshot, 0, sizeof one};
      one.number = static_cast<uint32_t>(std::stoul(word(1)));
      one.start_ns = snapshot_ns_;
      one.end_ns = snapshot_ns_ = now_;
      process_.append(reinterpret_cast<const char*>(&one), sizeof one);
    } else if (what == "destroy") {
      ObjectEnd end{};
      end.head = {RecordKind::kObjectEnd, 0, sizeof end};
      end.id = objects_.at(word(1)).id;
      end.time_ns = now_;
      Append(thread, &end, sizeof end);
      objects_.erase(word(1));
    } else {
      throw std::invalid_argument("scripted run: " + what);
    }
    return *this;
  }

  // The process ends now: threads that are inside a call stay there for ever.
  ScriptedRun& Stop() {
    now_ += 10;
    for (auto& [id, thread] : threads_) {
      if (thread.actions.empty()) continue;
      const bool waits = thread.actions.front().role == Role::kReleaseAll;
      End(id, waits ? Op::kCondWait : Op::kBarrierWait, waits ? thread.cond : 0, thread.actions, 1);
      thread.actions.clear();
    }
    return *this;
  }

  struct Form {
    size_t chunk_records = 0;  // 0: all records of a thread in one chunk
    bool lz4 = false;
    bool end = true;  // the recording ended in good order
  };
  std::string Bytes() const { return Bytes(Form{}); }
  std::string Bytes(const Form& form) const {
    FileHead head{};
    std::memcpy(head.magic, kMagic, sizeof kMagic);
    head.version = kVersion;
    head.depth = depth_;
    head.started_unix_ns = 1'700'000'000'000'000'000;
    head.head_size = sizeof head;
    std::string out(reinterpret_cast<const char*>(&head), sizeof head);
    if (!process_.empty()) out += ChunkOf(ChunkKind::kProcess, 0, process_, form.lz4);
    // By turns: chunks of threads come mixed.
    std::map<uint32_t, size_t> written;
    for (bool more = true; more;) {
      more = false;
      for (auto it = threads_.rbegin(); it != threads_.rend(); ++it) {
        const std::vector<std::string>& records = it->second.records;
        size_t& at = written[it->first];
        if (at >= records.size()) continue;
        std::string payload;
        const size_t most = form.chunk_records == 0 ? records.size() : form.chunk_records;
        for (size_t i = 0; i < most && at < records.size(); ++i) payload += records[at++];
        out += ChunkOf(ChunkKind::kThread, it->first, payload, form.lz4);
        more = true;
      }
    }
    if (form.end) out += ChunkOf(ChunkKind::kEnd, 0, "", false);
    return out;
  }

  // A chunk as the recorder writes it. Compressed: as literals only, which is a block too.
  static std::string ChunkOf(ChunkKind kind, uint32_t thread, const std::string& payload,
                             bool lz4) {
    std::string stored = payload;
    if (lz4) {
      stored.clear();
      stored += static_cast<char>(std::min<size_t>(payload.size(), 15) << 4);
      if (payload.size() >= 15) {
        size_t more = payload.size() - 15;
        for (; more >= 255; more -= 255) stored += static_cast<char>(255);
        stored += static_cast<char>(more);
      }
      stored += payload;
    }
    ChunkHead head{kChunkMark,
                   kind,
                   thread,
                   lz4 ? Codec::kLz4 : Codec::kNone,
                   static_cast<uint32_t>(payload.size()),
                   static_cast<uint32_t>(stored.size()),
                   ChecksumOf(stored)};
    return std::string(reinterpret_cast<const char*>(&head), sizeof head) + stored;
  }

 private:
  struct Thread {
    std::vector<std::string> records;
    uint32_t sub = 0;
    std::vector<Action> actions;  // of the call that is running
    uint64_t entered = 0;
    uint32_t cond = 0, mutex = 0;
    uint64_t round = 0;
    std::map<uint32_t, bool> writes_lock;
  };
  struct KnownObject {
    uint32_t id = 0;
  };
  struct Barrier {
    uint64_t round = 1;
    uint32_t inside = 0;
  };

  static std::string Padded(std::string text) {
    text.resize((text.size() + 7) / 8 * 8);
    return text;
  }

  static void Append(Thread& thread, const void* record, size_t size,
                     const std::string& more = {}) {
    thread.records.push_back(std::string(static_cast<const char*>(record), size) + more);
  }

  uint32_t ObjectOf(const std::string& name, ObjectKind kind, uint32_t thread = kNoThread) {
    const auto [it, added] = objects_.try_emplace(name);
    if (!added) return it->second.id;
    it->second.id = ++last_object_;
    Object object{};
    object.head = {RecordKind::kObject, static_cast<uint16_t>(kind), sizeof object};
    object.id = last_object_;
    object.thread = thread;
    object.address = 0x1000 * uint64_t{last_object_};
    object.time_ns = now_;
    process_.append(reinterpret_cast<const char*>(&object), sizeof object);
    return last_object_;
  }
  uint32_t ThreadObject(uint32_t thread) {
    return ObjectOf("thread " + std::to_string(thread), ObjectKind::kThread, thread);
  }

  Action Released(uint32_t id, uint32_t object, Role role) {
    happened_.push_back({id, threads_.at(id).sub, object, role, 0});
    return {object, role, 0, ++sequences_[object]};
  }
  Action Acquired(uint32_t id, uint32_t object, Role role) {
    happened_.push_back({id, threads_.at(id).sub + 1, object, role, 0});
    return {object, role, 0, ++sequences_[object]};
  }
  Action Rounded(uint32_t id, uint32_t object, Role role, uint64_t round) {
    const uint32_t sub = threads_.at(id).sub + (role == Role::kAcquireRound ? 1 : 0);
    happened_.push_back({id, sub, object, role, round});
    return {object, role, 0, round};
  }

  ScriptedRun& Start(uint32_t id) {
    Thread& thread = threads_[id];
    ThreadStart start{};
    std::vector<Action> actions;
    const auto parent = parents_.find(id);
    if (parent != parents_.end()) {
      const uint32_t object = ThreadObject(id);
      happened_.push_back({id, 0, object, Role::kAcquireAll, 0});
      actions.push_back({object, Role::kAcquireAll, 0, ++sequences_[object]});
      start.object = object;
    }
    start.head = {RecordKind::kThreadStart, static_cast<uint16_t>(actions.size()),
                  static_cast<uint32_t>(sizeof start + actions.size() * sizeof(Action))};
    start.thread = id;
    start.parent = parent == parents_.end() ? kNoThread : parent->second;
    start.start_ns = now_;
    start.tid = 1000 + id;
    Append(thread, &start, sizeof start, ActionBytes(actions));
    return *this;
  }

  static std::string ActionBytes(const std::vector<Action>& actions) {
    return {reinterpret_cast<const char*>(actions.data()), actions.size() * sizeof(Action)};
  }

  ScriptedRun& Acquire(uint32_t id, Op op, uint32_t object, Role role) {
    threads_.at(id).actions = {Acquired(id, object, role)};
    return Cut(id, op, object);
  }
  ScriptedRun& Release(uint32_t id, Op op, uint32_t object, Role role) {
    threads_.at(id).actions = {Released(id, object, role)};
    return Cut(id, op, object);
  }

  ScriptedRun& Cut(uint32_t id, Op op, uint32_t object, uint16_t flags = 0) {
    Thread& thread = threads_.at(id);
    wf::recorder::Cut cut{};
    cut.head = {RecordKind::kCut, static_cast<uint16_t>(op),
                static_cast<uint32_t>(sizeof cut + thread.actions.size() * sizeof(Action))};
    cut.object = object;
    cut.actions = static_cast<uint16_t>(thread.actions.size());
    cut.flags = flags;
    cut.end_ns = thread.entered != 0 ? thread.entered : now_;
    cut.start_ns = now_ + 1;
    cut.wait_ns = thread.entered != 0 ? now_ - thread.entered : 0;
    Append(thread, &cut, sizeof cut, ActionBytes(thread.actions));
    thread.actions.clear();
    thread.entered = 0;
    ++thread.sub;
    return *this;
  }

  void End(uint32_t id, Op op, uint32_t object, const std::vector<Action>& actions,
           uint16_t inside) {
    Thread& thread = threads_.at(id);
    ThreadEnd end{};
    end.head = {RecordKind::kThreadEnd, static_cast<uint16_t>(op),
                static_cast<uint32_t>(sizeof end + actions.size() * sizeof(Action))};
    end.object = object;
    end.actions = static_cast<uint16_t>(actions.size());
    end.inside = inside;
    end.end_ns = now_;
    Append(thread, &end, sizeof end, ActionBytes(actions));
  }

  void AddPages(uint32_t id, const std::vector<std::string>& runs, bool written) {
    Pages pages{};
    pages.runs = runs.size();
    pages.head = {RecordKind::kPages, 0,
                  static_cast<uint32_t>(sizeof pages + runs.size() * sizeof(PageRun))};
    std::string bytes;
    for (const std::string& run : runs) {
      const size_t dash = run.find('-');
      const uint64_t first = std::stoull(run);
      const uint64_t last = dash == std::string::npos ? first : std::stoull(run.substr(dash + 1));
      const PageRun one{first, (last - first + 1) | (written ? kWritten : 0)};
      bytes.append(reinterpret_cast<const char*>(&one), sizeof one);
    }
    Append(threads_.at(id), &pages, sizeof pages, bytes);
  }

  // words: what, name, begin, end, stream, page
  void AddTransfer(uint32_t id, const std::vector<std::string>& words, uint16_t flags) {
    const std::string& name = words.at(1);
    Transfer transfer{};
    transfer.kind = name == "stdin"                 ? TransferKind::kStdin
                    : name == "stdout"              ? TransferKind::kStdout
                    : name == "stderr"              ? TransferKind::kStderr
                    : name.rfind("pipe:", 0) == 0   ? TransferKind::kPipe
                    : name.rfind("socket:", 0) == 0 ? TransferKind::kSocket
                    : name.rfind("arg:", 0) == 0    ? TransferKind::kArgument
                                                    : TransferKind::kFile;
    transfer.flags = flags;
    transfer.op = (flags & kMapped) != 0 ? 9 : (flags & kOutput) != 0 ? 1 : 0;
    transfer.begin = std::stoull(words.at(2));
    transfer.end = std::stoull(words.at(3));
    transfer.stream = words.size() > 4 ? std::stoull(words[4]) : 0;
    transfer.address = words.size() > 5 ? std::stoull(words[5]) * 4096 : 0;
    transfer.time_ns = now_;
    const std::string text = Padded(name);
    transfer.head = {RecordKind::kTransfer, static_cast<uint16_t>(name.size()),
                     static_cast<uint32_t>(sizeof transfer + text.size())};
    Append(threads_.at(id), &transfer, sizeof transfer, text);
  }

  uint32_t depth_;
  uint64_t now_ = 0;
  uint64_t snapshot_ns_ = 0;
  std::map<uint32_t, Thread> threads_;
  std::map<uint32_t, uint32_t> parents_;
  std::map<std::string, KnownObject> objects_;
  uint32_t last_object_ = 0;
  std::map<uint32_t, uint64_t> sequences_;
  std::map<uint32_t, Barrier> barriers_;
  std::string process_;
  std::vector<Happened> happened_;
};

}  // namespace wf::recorder
