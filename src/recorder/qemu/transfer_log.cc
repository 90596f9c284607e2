#include "recorder/qemu/transfer_log.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "recorder/preload/data/gate.h"
#include "recorder/preload/ring.h"

// The emulated program's descriptors and addresses are the emulator's own, so its calls are asked about by plain ones.
long wf_gate_call(long number, long a, long b, long c, long d, long e, long f) {
  const long result = ::syscall(number, a, b, c, d, e, f);
  return result == -1 ? -errno : result;
}

namespace wf::recorder {

namespace data {

Streams& ProgramStreams() {
  static Streams streams = {};
  return streams;
}

}  // namespace data

namespace {

// By the clock of the emulated program's recorder, who knows when it began.
uint64_t MonotonicNow() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

bool IsLoader(const Block* code) {
  static const data::LoaderPlace kPlace = data::FindLoaderPlace();
  return code != nullptr && code->start >= kPlace.start && code->start < kPlace.end;
}

}  // namespace

void TransferLog::Enter(int64_t number, const data::CallArguments& given, const Block* from) {
  const bool matters = data::FormOf(number).shape != data::Shape::kNone || number == SYS_mmap ||
                       number == SYS_socketpair || number == SYS_getdents64;
  number_ = matters && !IsLoader(from) ? number : -1;
  given_ = given;
}

void TransferLog::Return(int64_t result, PageLog& pages) {
  const int64_t number = number_;
  number_ = -1;
  if (number < 0) return;
  if (number == SYS_socketpair) {
    const auto* ends = reinterpret_cast<const int*>(given_.value[3]);
    if (result == 0) data::PairStreams(ends[0], ends[1]);
    return;
  }
  if (number == SYS_mmap) {
    if (result < -4095 || result > 0) NoteMapping(static_cast<uint64_t>(result));
    return;
  }
  if (result <= 0) return;
  const auto size = static_cast<uint64_t>(result);
  if (number == SYS_getdents64) return pages.Touch(given_.value[1], size, Access::kWrite);

  const data::Form form = data::FormOf(number);
  data::Channel channel;
  if (form.shape == data::Shape::kBetween) {
    const data::Ends ends = data::EndsOf(number, given_);
    for (const data::Direction direction : {data::Direction::kIn, data::Direction::kOut}) {
      const int fd = direction == data::Direction::kIn ? ends.in : ends.out;
      if (!data::DescribeChannel(fd, direction, &channel)) continue;
      const uint64_t place = data::PlaceOf(fd, channel, direction, size, -1);
      Note(channel, {data::FlagsOf(direction), number, place, place + size, 0});
    }
    return;
  }
  const auto fd = static_cast<int>(given_.value[0]);
  const bool known = data::DescribeChannel(fd, form.direction, &channel);
  const Access access = form.direction == data::Direction::kIn ? Access::kWrite : Access::kRead;
  data::ForEachVector(form, given_, size, [&](const iovec* pieces, uint64_t count, uint64_t bytes) {
    uint64_t place =
        known ? data::PlaceOf(fd, channel, form.direction, bytes, given_.Offset(form)) : 0;
    if (form.shape != data::Shape::kBuffer)
      pages.Touch(reinterpret_cast<uint64_t>(pieces), count * sizeof(iovec), Access::kRead);
    data::ForEachPiece(pieces, count, bytes, [&](uint64_t address, uint64_t part) {
      pages.Touch(address, part, access);
      if (known)
        Note(channel, {data::FlagsOf(form.direction), number, place, place + part, address});
      place += part;
    });
  });
}

void TransferLog::NoteMapping(uint64_t address) {
  const data::Mapping mapping = {address,
                                 given_.value[1],
                                 static_cast<int>(given_.value[2]),
                                 static_cast<int>(given_.value[3]),
                                 static_cast<int>(given_.value[4]),
                                 given_.value[5]};
  data::Channel channel;
  uint64_t end = 0;
  if (!data::DescribeMapping(mapping, &channel, &end)) return;
  if ((mapping.protection & PROT_READ) != 0)
    Note(channel, {kMapped, SYS_mmap, mapping.offset, end, address});
  if (data::MapsForWriting(mapping))
    Note(channel, {kMapped | kOutput, SYS_mmap, mapping.offset, end, address});
}

void TransferLog::Note(const data::Channel& channel, const data::Passage& passage) {
  data::TransferRecord record;
  data::FillTransfer(channel, passage, MonotonicNow(), &record);
  if (slot_ != nullptr) return Put(record);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&record);
  records_.insert(records_.end(), bytes, bytes + record.transfer.head.size);
}

// The thread is in a system call, so nothing else writes to its ring.
void TransferLog::Put(data::TransferRecord& record) {
  const uint32_t size = record.transfer.head.size;
  record.transfer.time_ns -= region_->started_ns;
  if (!HasRoom(slot_, size)) {
    region_->lost_records.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  uint64_t head = slot_->head.load(std::memory_order_relaxed);
  if (EndOf(head, size) != head + size) {
    SkipToStart(slot_, head);
    head = slot_->head.load(std::memory_order_relaxed);
  }
  std::memcpy(slot_->ring + (head & (kRingSize - 1)), &record, size);
  slot_->head.store(head + size, std::memory_order_release);
}

size_t TransferLog::Take(uint8_t* out, size_t capacity) {
  size_t size = 0;
  while (taken_ < records_.size()) {
    RecordHead head;
    std::memcpy(&head, records_.data() + taken_, sizeof head);
    if (size + head.size > capacity) break;
    std::memcpy(out + size, records_.data() + taken_, head.size);
    size += head.size;
    taken_ += head.size;
  }
  if (taken_ == records_.size()) {
    records_.clear();
    taken_ = 0;
  }
  return size;
}

}  // namespace wf::recorder
