// Where a recording from slots begins, if earlier slots are gone.
//
// A slot begins wherever the recorder was in the threads' records, which is not a consistent cut: one
// thread's acquire may be in the previous slot, and the release that it saw, written a moment later, in this
// one. A Settled record marks the point from which this cannot happen: for every acquire before the slot, the
// releases it saw come before that record. So the recording begins at the smallest consistent cut that
// contains everything that had ended at the first Settled record. What is in that cut counts as before the
// recording; then the clocks need nothing from before the slot.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "recorder/reader/recording_builder.h"

namespace wf::recorder {

class SlotBase {
 public:
  explicit SlotBase(RecordingBuilder& builder) : threads_(builder.threads_), cut_(builder.base_) {}
  // Removes from the threads what is in the cut.
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
    uint32_t next = 0, end = 0;  // in releases_; earlier ones are in the cut
  };
  std::vector<Range> of_object_;
  std::vector<std::pair<uint32_t, uint32_t>> work_;  // thread, index: added to the cut
};

}  // namespace wf::recorder
