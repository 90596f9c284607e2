#include "client/queries/kernel_tuples.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "advice/handed_events.h"
#include "client/queries/advice_runner.h"
#include "client/queries/handed_event.h"
#include "client/queries/query_report.h"
#include "client/queries/thread_baggage.h"
#include "client/runtime/block_id.h"

namespace wherefore::client {

using wf::advice::HandedThread;

namespace {

constexpr size_t kMostPacket = 256 << 10;
// Rings are read with a number's lower bits, threads likewise: both are powers of two.
constexpr double kLeastRecord = 64, kMostRecord = 1 << 20, kMostThreads = 1 << 16;

bool PowerOfTwo(double number, double least, double most, uint32_t& out) {
  if (!(number >= least && number <= most)) return false;
  out = static_cast<uint32_t>(number);
  return (out & (out - 1)) == 0;
}

}  // namespace

// The memory of one query. What it is made of stays; places come to be known.
struct MappedQuery {
  uint64_t query = 0;
  std::shared_ptr<const ProcessIdentity> process;
  uint32_t record_bytes = 0, records = 0, threads = 0;
  char* memory = nullptr;
  size_t bytes = 0;
  std::atomic<bool> revoked{false};

  std::mutex mutex;  // guards what follows
  int connection = -1;
  std::vector<HandedPlace> places;

  ~MappedQuery() {
    if (connection >= 0) close(connection);
    if (memory != nullptr) munmap(memory, bytes);
  }

  size_t stride() const { return sizeof(HandedThread) + size_t{record_bytes} * records; }
  HandedThread* Thread(uint32_t index) const {
    return reinterpret_cast<HandedThread*>(memory + stride() * index);
  }

  // The kernel's memory goes at once. A thread that is just reading finds zeros there, and sees that it was revoked.
  void Revoke() {
    revoked.store(true, std::memory_order_release);
    if (memory != nullptr) {
      mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    const std::lock_guard lock(mutex);
    if (connection >= 0) close(std::exchange(connection, -1));
  }

  // What the weaver has said since. False if it has gone, or makes no sense. With `mutex` held.
  bool Listen() {
    if (connection < 0) return false;
    std::string packet;
    while (true) {
      packet.resize(kMostPacket);
      const ssize_t got = recv(connection, packet.data(), packet.size(), MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      if (got == 0) return false;
      packet.resize(static_cast<size_t>(got));
      const auto json = ParseJson(packet);
      if (!json || !ReadPlaces(*json, record_bytes, places)) return false;
    }
  }

  // A copy: places are described while others read.
  bool Place(uint32_t number, HandedPlace& place) {
    const std::lock_guard lock(mutex);
    const auto known = [&] { return number < places.size() && !places[number].tracepoint.empty(); };
    if (!known()) Listen();
    if (!known()) return false;
    place = places[number];
    return true;
  }
};

namespace {

// The memory stays while a query goes over to another plan.
struct RunningQuery {
  std::shared_ptr<MappedQuery> mapped;
  std::shared_ptr<const LiveQuery> query;
};
using MappedQueries = std::vector<RunningQuery>;

struct Published {
  std::mutex mutex;
  std::shared_ptr<const MappedQueries> all = std::make_shared<MappedQueries>();
  std::atomic<uint64_t> generation{0};
};
Published& ThePublished() {
  static auto* published = new Published;  // used by threads that outlive static destruction
  return *published;
}

// --- What a thread knows of it

__thread bool thread_is_over = false;
// What is done here may itself hit a tracepoint (in an allocator, in a signal's handler), which comes back here.
__thread bool taking = false;
struct ThreadView {
  uint64_t generation = 0;
  std::shared_ptr<const MappedQueries> all;
  uint64_t number = 0;  // gettid
  struct Own {
    HandedThread* thread = nullptr;
    uint64_t lost = 0;                                     // of those that were told already
    std::vector<std::pair<uint32_t, HandedPlace>> places;  // met before
  };
  std::vector<Own> own;

  ~ThreadView() { thread_is_over = true; }
};
thread_local ThreadView thread_view;

void Refresh(ThreadView& view) {
  Published& published = ThePublished();
  const uint64_t now = published.generation.load(std::memory_order_acquire);
  if (view.generation == now && view.all != nullptr) return;
  const auto before = std::move(view.all);
  std::vector<ThreadView::Own> own;
  {
    const std::lock_guard lock(published.mutex);
    view.generation = published.generation.load(std::memory_order_relaxed);
    view.all = published.all;
  }
  for (const RunningQuery& running : *view.all) {
    own.emplace_back();
    for (size_t i = 0; before != nullptr && i < before->size(); ++i)
      if ((*before)[i].mapped == running.mapped) own.back() = std::move(view.own[i]);
  }
  view.own = std::move(own);
  if (view.number == 0) view.number = static_cast<uint64_t>(syscall(SYS_gettid));
}

// Both sides of these words are this thread, or the kernel on its behalf; only the compiler must not reorder.
uint64_t ReadWord(const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
void WriteWord(uint64_t& word, uint64_t value) { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }

HandedThread* FindThread(const MappedQuery& mapped, const ThreadView& view, ThreadView::Own& own) {
  if (own.thread != nullptr && ReadWord(own.thread->owner) == view.number) return own.thread;
  own.thread = nullptr;
  for (uint32_t i = 0; i < wf::advice::kHandedTries; ++i) {
    HandedThread* const thread =
        mapped.Thread(static_cast<uint32_t>(view.number + i) & (mapped.threads - 1));
    if (ReadWord(thread->owner) != view.number) continue;
    own.thread = thread;
    own.lost = 0;
    return thread;
  }
  return nullptr;
}

// The events of one thread that wait in one query's memory, one after the other.
class Waiting : public HandedEvents {
 public:
  Waiting(MappedQuery& mapped, ThreadView::Own& own, uint64_t head)
      : mapped_(mapped), own_(own), head_(head), record_(mapped.record_bytes, '\0') {}

  bool Next(const Use& use) override {
    while (true) {
      uint64_t taken = ReadWord(own_.thread->taken);
      if (taken == head_ || head_ - taken > mapped_.records) return false;
      Copy(taken);
      WriteWord(own_.thread->taken, ++taken);
      if (mapped_.revoked.load(std::memory_order_acquire)) return false;
      uint32_t number;
      std::memcpy(&number, record_.data() + wf::advice::kHandedPlaceAt, sizeof number);
      const HandedPlace* const place = Place(number);
      if (place == nullptr) continue;  // of a weaver that has gone
      const HandedEvent event(record_, *place, *mapped_.process, NewBlockId());
      use(place->tracepoint, event);
      return true;
    }
  }

 private:
  void Copy(uint64_t number) {
    const char* const from = reinterpret_cast<const char*>(own_.thread + 1) +
                             size_t{mapped_.record_bytes} * (number & (mapped_.records - 1));
    // Word by word and by nobody's function: one that is woven could put another record here meanwhile.
    for (uint32_t at = 0; at < mapped_.record_bytes; at += 8) {
      const uint64_t word =
          __atomic_load_n(reinterpret_cast<const uint64_t*>(from + at), __ATOMIC_RELAXED);
      __builtin_memcpy(record_.data() + at, &word, sizeof word);
    }
  }
  const HandedPlace* Place(uint32_t number) {
    for (const auto& [known, place] : own_.places)
      if (known == number) return &place;
    HandedPlace place;
    if (!mapped_.Place(number, place)) return nullptr;
    own_.places.emplace_back(number, std::move(place));
    return &own_.places.back().second;
  }

  MappedQuery& mapped_;
  ThreadView::Own& own_;
  const uint64_t head_;
  std::string record_;
};

void TakeFrom(const RunningQuery& running, const ThreadView& view, ThreadView::Own& own) {
  MappedQuery& mapped = *running.mapped;
  HandedThread* const thread = FindThread(mapped, view, own);
  if (thread == nullptr) return;
  const uint64_t head = ReadWord(thread->head), lost = ReadWord(thread->lost);
  if (head == ReadWord(thread->taken) && lost == own.lost) return;
  const uint64_t lost_now = lost - own.lost;
  own.lost = lost;
  if (CurrentLine() == 0) {  // of no request: nobody's
    WriteWord(thread->taken, head);
    return;
  }
  Waiting waiting(mapped, own, head);
  RunHandedEvents(running.query, waiting, lost_now);
  WriteWord(thread->taken, head);
}

// --- The weaver

bool IsKernelMap(int descriptor) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return false;
  char line[256];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, file) != nullptr)
    found = std::strncmp(line, "map_type:", 9) == 0;
  std::fclose(file);
  return found;
}

bool Trusted(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  if (peer.uid == 0 || peer.uid == geteuid()) return true;
  const char* const other = std::getenv("WHEREFORE_AGENT_UID");
  if (other == nullptr || *other == '\0') return false;
  char* end = nullptr;
  const unsigned long uid = std::strtoul(other, &end, 10);
  return *end == '\0' && uid == peer.uid;
}

// The first packet, and the descriptor that comes with it; -1: none.
int ReceiveGreeting(int connection, std::string& packet) {
  packet.resize(kMostPacket);
  iovec part{packet.data(), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  packet.resize(got > 0 ? static_cast<size_t>(got) : 0);
  if (got <= 0) return -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int)))
    return -1;
  int descriptor;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

bool ReadGreeting(const std::string& packet, MappedQuery& mapped) {
  const auto json = ParseJson(packet);
  if (!json || json->Get("version").number != wf::advice::kHandedVersion ||
      json->Get("query").text != QueryIdText(mapped.query))
    return false;
  if (!PowerOfTwo(json->Get("record_bytes").number, kLeastRecord, kMostRecord,
                  mapped.record_bytes) ||
      !PowerOfTwo(json->Get("records").number, 1, kMostRecord, mapped.records) ||
      !PowerOfTwo(json->Get("threads").number, 1, kMostThreads, mapped.threads) ||
      mapped.record_bytes < wf::advice::kHandedVariablesAt)
    return false;
  constexpr size_t kMostMemory = 256 << 20;
  mapped.bytes = mapped.stride() * mapped.threads;
  return mapped.bytes <= kMostMemory;
}

}  // namespace

void TakeMappedTuples() noexcept {
  if (thread_is_over || taking || !MayRunAdvice()) return;
  taking = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  try {
    ThreadView& view = thread_view;
    Refresh(view);
    for (size_t i = 0; i < view.own.size(); ++i) TakeFrom((*view.all)[i], view, view.own[i]);
  } catch (...) {  // no memory: taken the next time, or lost and counted by the kernel's side
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  taking = false;
}

bool Packs(const LiveQuery& query) {
  return std::any_of(query.program.advice.begin(), query.program.advice.end(),
                     [](const wf::advice::Advice& advice) {
                       return std::get_if<wf::advice::Pack>(&advice.steps.back()) != nullptr;
                     });
}

KernelTuples::KernelTuples(std::shared_ptr<const ProcessIdentity> process, Sound sound)
    : process_(std::move(process)), sound_(sound != nullptr ? sound : &IsKernelMap) {}

KernelTuples::~KernelTuples() { Want({}); }

void KernelTuples::Want(const std::vector<std::shared_ptr<const LiveQuery>>& queries) {
  std::vector<std::shared_ptr<const LiveQuery>> wanted;
  for (const auto& query : queries)
    if (Packs(*query)) wanted.push_back(query);
  if (wanted == wanted_) return;
  wanted_ = std::move(wanted);
  const auto kept = std::stable_partition(mapped_.begin(), mapped_.end(), [&](const auto& mapped) {
    return std::any_of(wanted_.begin(), wanted_.end(),
                       [&](const auto& query) { return query->program.query == mapped->query; });
  });
  const std::vector<std::shared_ptr<MappedQuery>> gone(kept, mapped_.end());
  mapped_.erase(kept, mapped_.end());
  Publish();
  for (const auto& mapped : gone) mapped->Revoke();
}

bool KernelTuples::Connect() {
  std::vector<std::shared_ptr<MappedQuery>> gone;
  for (const auto& mapped : mapped_) {
    const std::lock_guard lock(mapped->mutex);
    if (!mapped->Listen()) gone.push_back(mapped);
  }
  const size_t before = mapped_.size();
  for (const auto& mapped : gone) mapped_.erase(std::find(mapped_.begin(), mapped_.end(), mapped));
  bool changed = mapped_.size() != before;
  for (const auto& query : wanted_) {
    const bool has = std::any_of(mapped_.begin(), mapped_.end(),
                                 [&](const auto& m) { return m->query == query->program.query; });
    if (has) continue;
    if (auto mapped = Ask(query->program.query)) {
      mapped_.push_back(std::move(mapped));
      changed = true;
    }
  }
  if (changed) Publish();
  for (const auto& mapped : gone) mapped->Revoke();
  return !wanted_.empty();
}

std::shared_ptr<MappedQuery> KernelTuples::Ask(uint64_t query) {
  auto mapped = std::make_shared<MappedQuery>();
  mapped->query = query;
  mapped->process = process_;
  mapped->connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (mapped->connection < 0) return nullptr;
  // A weaver answers when it next looks; one that does not is asked again.
  const timeval patience{0, 500'000};
  setsockopt(mapped->connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(mapped->connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = wf::advice::HandedSocketName(query);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (connect(mapped->connection, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      !Trusted(mapped->connection))
    return nullptr;
  std::string packet;
  const int descriptor = ReceiveGreeting(mapped->connection, packet);
  if (descriptor < 0) return nullptr;
  if (sound_(descriptor) && ReadGreeting(packet, *mapped)) {
    void* const memory =
        mmap(nullptr, mapped->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory != MAP_FAILED) mapped->memory = static_cast<char*>(memory);
  }
  close(descriptor);
  if (mapped->memory == nullptr) return nullptr;
  const std::lock_guard lock(mapped->mutex);
  return mapped->Listen() ? mapped : nullptr;
}

void KernelTuples::Publish() {
  auto all = std::make_shared<MappedQueries>();
  for (const auto& mapped : mapped_) {
    for (const auto& query : wanted_)
      if (query->program.query == mapped->query) all->push_back({mapped, query});
  }
  Published& published = ThePublished();
  const std::lock_guard lock(published.mutex);
  published.all = std::move(all);
  published.generation.fetch_add(1, std::memory_order_release);
  hot_flags.any_kernel_tuples.store(!mapped_.empty(), std::memory_order_release);
}

}  // namespace wherefore::client
