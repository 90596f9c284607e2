// Where a recording begins that was read from slots, when the slots before them are gone.
//
// A slot begins at whatever places of the threads' records the recorder had come to, and that is no consistent cut: one
// thread's acquire may stand in the slot before, and the release that it saw, written down a moment later, in this one.
// A Settled record says that nothing of the kind is left: of every acquire before the slot, the releases it saw stand
// before that record. So the recording begins at the smallest consistent cut that holds everything that had ended at
// the first Settled record. What is in that cut counts as before; the clocks then need nothing from before the slot.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "recorder/reader/recording_builder.h"

namespace wf::recorder {

class SlotBase {
 public:
  explicit SlotBase(RecordingBuilder& builder) : threads_(builder.threads_), cut_(builder.base_) {}
  // Leaves out of the threads what is in the cut.
  void Apply();

 private:
  using ThreadDraft = RecordingBuilder::ThreadDraft;
  struct Release {
    uint32_t object;
    uint64_t sequence;
    uint32_t thread, index;
  };
  void OrderReleases();
  void TakeIn(uint32_t thread, uint32_t count);
  void TakeInSeen(const Action& acquire);
  void LeaveOut(ThreadDraft& thread, uint32_t count);

  std::vector<ThreadDraft>& threads_;
  std::vector<uint32_t> cut_;
  std::vector<Release> releases_;  // by object and sequence
  struct Range {
    uint32_t next = 0, end = 0;  // in releases_; those before are in the cut
  };
  std::vector<Range> of_object_;
  std::vector<std::pair<uint32_t, uint32_t>> work_;  // thread, index: came into the cut
};

}  // namespace wf::recorder
