// Builds a recording from records. Threads are collected separately and concatenated at the end, because
// chunks of threads are interleaved. No part of a record is trusted: neither its size, nor its counts, nor
// its ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recorder/reader/recording.h"

namespace wf::recorder {

class RecordingBuilder {
 public:
  // The chunks come from slots of a file of fixed size. Before::kOthers: there were earlier slots, and what
  // is before the first Settled record is left out (slot_base.h).
  enum class Before { kNothing, kOthers };
  void ExpectSlots(Before before);
  // Chunks of branches are ignored.
  void Add(const Chunk& chunk);
  // Moves everything into `recording`; the builder is done.
  void Finish(Recording& recording);

 private:
  friend class SlotBase;
  // The call that a thread was in at a snapshot. Its Cut may still come.
  struct InsideDraft {
    bool known = false;
    Op op{};
    uint32_t object = kNone;
    int64_t end_ns = 0;
    uint64_t site = 0;
    std::vector<Action> actions;
  };
  struct ThreadDraft {
    ThreadFacts facts;
    std::vector<SubComputation> subs;
    SubComputation running;  // until its Cut comes
    InsideDraft inside;
    // How many have ended, including those before the file.
    uint32_t Ended() const {
      return facts.first_index + static_cast<uint32_t>(subs.size()) +
             (inside.known && facts.started && !facts.ended ? 1 : 0);
    }
    std::vector<Action> actions;
    std::vector<PageRuns> pages, running_pages;
    std::vector<TransferFacts> transfers;
    std::vector<TraceMark> traces;  // `sub` is an index
  };
  struct ObjectDraft {
    ObjectFacts facts;
    bool known = false;
  };
  struct MemoryEvent {
    int64_t time_ns = 0;
    uint64_t address = 0, size = 0, site = 0;
    uint32_t thread = 0;
    bool release = false;
  };
  struct CrashDraft {
    CrashFacts facts;
    uint32_t index = 0;
  };

  void AddRecord(std::string_view record, const Chunk& chunk);
  void Count(const char* what, uint64_t count = 1) { lost_[what] += count; }
  ThreadDraft* Thread(uint32_t id);
  ThreadDraft* Running(uint32_t id);  // a thread that has begun and not ended
  void EndSub(ThreadDraft& thread);
  Slice TakeActions(ThreadDraft& thread, std::string_view record, size_t at, size_t count);
  uint32_t ObjectAt(uint32_t id);
  uint32_t Name(std::string_view text);

  void AddThreadStart(std::string_view record);
  void AddCut(std::string_view record, uint32_t thread);
  void AddThreadEnd(std::string_view record, uint32_t thread);
  void AddObject(std::string_view record);
  void AddModule(std::string_view record);
  void AddPages(std::string_view record, uint32_t thread);
  void AddMemory(std::string_view record, uint32_t thread);
  void AddTransfer(std::string_view record, uint32_t thread);
  void AddCrash(std::string_view record);
  void AddThreadBase(std::string_view record);
  void AddInside(std::string_view record);
  void AddSnapshot(std::string_view record, ChunkKind where);
  void EndInside(ThreadDraft& thread);
  std::vector<uint32_t> EndedOfAll() const;

  void LayOutThreads(Recording& recording);
  void LayOutMemory(Recording& recording);

  uint64_t written_entries_ = 0;
  bool slots_ = false, base_open_ = false;
  std::vector<uint32_t> base_;  // for each thread, how many had ended at the first Settled record
  std::vector<ThreadDraft> threads_;
  uint64_t thread_records_ = 0;  // limits the ids that are accepted
  std::vector<ObjectDraft> objects_;
  std::unordered_map<uint32_t, uint32_t> object_places_;
  std::vector<ModuleFacts> modules_;  // an empty path: the end of a mapping
  std::vector<MemoryEvent> memory_;
  std::vector<ForkFacts> forks_;
  std::vector<SnapshotFacts> snapshots_;
  std::vector<CrashDraft> crashes_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> name_places_;
  std::string program_name_;
  std::string host_;
  std::map<std::string, uint64_t> lost_;
};

}  // namespace wf::recorder
