// The labels of pages are a table of two levels over the address space, in the recorder's memory: all threads see it,
// a forked child has its copy. Leaves come when something in their gigabyte is labelled. What files, pipes and socket
// pairs carry lies in memory that forked children share, because they are written to by one process and read by another.
#include "recorder/preload/data/flow.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdlib>

#include "recorder/format/flow_policy.h"
#include "recorder/preload/data/data_depth.h"
#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/state.h"
#include "recorder/preload/data/text.h"
#include "recorder/preload/data/tracker.h"
#include "recorder/preload/start.h"

namespace wf::recorder::data {
namespace {

constexpr uint64_t kLeafBits = 18, kLeaf = uint64_t{1} << kLeafBits;  // pages
constexpr uint64_t kLeaves = uint64_t{1} << (47 - 12 - kLeafBits);
constexpr uint64_t kPagesOfAll = kLeaves * kLeaf;
constexpr uint32_t kStreams = 1 << 14;

using Leaf = std::atomic<uint64_t>[kLeaf];

struct StreamLabels {
  std::atomic<uint64_t> stream;
  std::atomic<uint64_t> labels;
};

}  // namespace

struct Flow {
  std::atomic<uint32_t> any;  // whether anything was ever labelled
  PolicyText policy;
  const char* entry;
  StreamLabels* streams;
  std::atomic<uint64_t> crowded;  // labels of streams that found no room: every stream carries them
  std::atomic<Leaf*> leaves[kLeaves];
};

namespace {

PolicyText NameOf(const Channel& channel) {
  return {channel.name, channel.name + channel.name_length};
}

bool IsStandard(const Channel& channel) {
  return channel.kind == TransferKind::kStdin || channel.kind == TransferKind::kStdout ||
         channel.kind == TransferKind::kStderr;
}

// A standard stream may be a file, which has a name of its own.
struct FileName {
  FileName(int fd, const Channel& channel) {
    if (!IsStandard(channel)) return;
    char link[40];
    AppendNumber(AppendText(link, "/proc/self/fd/"), static_cast<uint64_t>(fd));
    const long n = Kernel(SYS_readlink, Word(link), Word(text), sizeof text);
    if (n > 0 && text[0] == '/') length = static_cast<uint64_t>(n);
  }
  PolicyText name() const { return {text, text + length}; }
  char text[4096];
  uint64_t length = 0;
};

// The labels whose lines of this kind match.
struct Matching {
  uint64_t inputs = 0, denied = 0, reported = 0;
};
Matching Match(int fd, const Channel& channel) {
  const FileName file(fd, channel);
  Matching out;
  ForEachPolicyLine(shared->flow->policy, [&](PolicyLine kind, uint32_t label, PolicyText glob) {
    if (!GlobMatches(glob, NameOf(channel)) &&
        (file.length == 0 || !GlobMatches(glob, file.name())))
      return;
    const uint64_t bit = uint64_t{1} << label;
    if (kind == PolicyLine::kInput) out.inputs |= bit;
    if (kind == PolicyLine::kDeny) out.denied |= bit;
    if (kind == PolicyLine::kReport) out.reported |= bit;
  });
  return out;
}

Leaf* LeafOf(uint64_t page) {
  std::atomic<Leaf*>& slot = shared->flow->leaves[page >> kLeafBits];
  Leaf* leaf = slot.load(std::memory_order_acquire);
  if (leaf != nullptr) return leaf;
  auto* made = static_cast<Leaf*>(RecorderMemory(sizeof(Leaf)));
  return slot.compare_exchange_strong(leaf, made, std::memory_order_acq_rel) ? made : leaf;
}

// Calls `visit` with the words of the pages that have one.
template <typename Visit>
void ForLabelled(uint64_t first, uint64_t end, const Visit& visit) {
  if (end > kPagesOfAll) end = kPagesOfAll;
  while (first < end) {
    const uint64_t next = (first | (kLeaf - 1)) + 1;
    const uint64_t stop = next < end ? next : end;
    Leaf* leaf = shared->flow->leaves[first >> kLeafBits].load(std::memory_order_acquire);
    if (leaf != nullptr)
      for (uint64_t page = first; page < stop; ++page) visit((*leaf)[page & (kLeaf - 1)]);
    first = stop;
  }
}

struct PageRange {
  PageRange(uint64_t address, uint64_t length)
      : first(address / kPage), end((address + length + kPage - 1) / kPage) {
    if (address + length < address) end = kPagesOfAll;
  }
  uint64_t first, end;
};

StreamLabels* StreamOf(uint64_t stream) {
  const uint64_t start = (stream * 0x9e3779b97f4a7c15) >> 50;
  for (uint32_t i = 0; i < 64; ++i) {
    StreamLabels& one = shared->flow->streams[(start + i) % kStreams];
    uint64_t there = one.stream.load(std::memory_order_acquire);
    if (there == 0 && one.stream.compare_exchange_strong(there, stream)) return &one;
    if (there == stream) return &one;
  }
  return nullptr;
}

void LabelStream(const Channel& channel, uint64_t labels) {
  if (!channel.carries || channel.stream == 0 || labels == 0) return;
  StreamLabels* one = StreamOf(channel.stream);
  (one != nullptr ? one->labels : shared->flow->crowded).fetch_or(labels);
}

void AddLabelsOfRun(void* to, uint64_t start, uint64_t end, bool) {
  *static_cast<uint64_t*>(to) |= LabelsOfPages(start, end - start);
}

}  // namespace

const char* StartFlow() {
  const char* text = ::getenv(kPolicyVariable);
  if (text == nullptr || *text == 0) return nullptr;
  auto* flow = static_cast<Flow*>(RecorderMemory(sizeof(Flow)));
  const uint64_t size = Length(text);
  auto* entry = static_cast<char*>(RecorderMemory(sizeof kPolicyVariable + size + 1));
  char* at = AppendText(AppendText(entry, kPolicyVariable), "=");
  flow->policy = {at, AppendText(at, text)};
  flow->entry = entry;
  const long streams = Kernel(SYS_mmap, 0, kStreams * sizeof(StreamLabels), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (streams < 0 && streams > -4096) return "no memory for the labels of the policy";
  flow->streams = reinterpret_cast<StreamLabels*>(streams);
  shared->flow = flow;
  return nullptr;
}

bool FlowIsWatched() { return shared != nullptr && shared->flow != nullptr; }

uint64_t LabelsOfInput(int fd, const Channel& channel) {
  if (!FlowIsWatched()) return 0;
  uint64_t labels = channel.kind == TransferKind::kArgument ? Match(-1, channel).inputs
                                                            : Match(fd, channel).inputs;
  if (channel.carries && channel.stream != 0) {
    const StreamLabels* one = StreamOf(channel.stream);
    if (one != nullptr) labels |= one->labels.load();
    labels |= shared->flow->crowded.load();
  }
  return labels;
}

uint64_t LabelsOfPages(uint64_t address, uint64_t length) {
  if (!FlowIsWatched() || shared->flow->any.load() == 0 || length == 0) return 0;
  uint64_t labels = 0;
  const PageRange range(address, length);
  ForLabelled(range.first, range.end, [&](const std::atomic<uint64_t>& page) {
    labels |= page.load(std::memory_order_relaxed);
  });
  return labels;
}

uint64_t LabelsOfRunning() {
  if (!FlowIsWatched() || shared->flow->any.load() == 0) return 0;
  PeekTouched(&AddLabelsOfRun, &self->labels);
  return self->labels;
}

void LabelPages(uint64_t address, uint64_t length, uint64_t labels) {
  if (!FlowIsWatched() || labels == 0 || length == 0) return;
  shared->flow->any.store(1);
  const PageRange range(address, length);
  for (uint64_t page = range.first; page < range.end && page < kPagesOfAll; ++page) {
    std::atomic<uint64_t>& word = (*LeafOf(page))[page & (kLeaf - 1)];
    if ((word.load(std::memory_order_relaxed) & labels) != labels) word.fetch_or(labels);
  }
}

void LabelRunning(uint64_t labels) {
  if (!FlowIsWatched() || labels == 0) return;
  shared->flow->any.store(1);
  self->labels |= labels;
}

void RelabelPages(uint64_t address, uint64_t length, uint64_t labels) {
  if (!FlowIsWatched() || length == 0) return;
  if (shared->flow->any.load() != 0) {
    const PageRange range(address, length);
    ForLabelled(range.first, range.end, [](std::atomic<uint64_t>& page) {
      if (page.load(std::memory_order_relaxed) != 0) page.store(0);
    });
  }
  LabelPages(address, length, labels);
}

uint16_t JudgeOutput(int fd, const Channel& channel, uint64_t labels) {
  if (labels == 0) return 0;
  const Matching rules = Match(fd, channel);
  const uint16_t verdict = (rules.denied & labels) != 0     ? kDenied
                           : (rules.reported & labels) != 0 ? kReported
                                                            : 0;
  if (verdict != kDenied) LabelStream(channel, labels);
  if (verdict != 0) CountVerdict(verdict);
  return verdict;
}

void GatherLabels() { LabelsOfRunning(); }

void LabelWritten(uint64_t start, uint64_t end) { LabelPages(start, end - start, self->labels); }

}  // namespace wf::recorder::data

namespace wf::recorder {

const char* PolicyEntry() {
  return data::Running() && data::shared->flow != nullptr ? data::shared->flow->entry : nullptr;
}

}  // namespace wf::recorder
