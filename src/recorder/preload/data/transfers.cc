// Inputs and outputs at the system calls that make them. The call is made from a stub that comes back here, so that what
// really went through is known; a read fills memory by the kernel, which marks the pages like any other write.
//
// A mapped file is one record at the time of mapping: which of its bytes a sub-computation took in is told by the pages
// it read.
#include "recorder/preload/data/transfers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "recorder/preload/data/channels.h"
#include "recorder/preload/data/flow.h"
#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/state.h"
#include "recorder/preload/data/text.h"
#include "recorder/preload/data/tracker.h"
#include "recorder/preload/data/transfer_form.h"
#include "recorder/preload/data/trap.h"
#include "recorder/preload/recording.h"

namespace wf::recorder::data {
namespace {

CallArguments ArgumentsOf(const ucontext_t* context) {
  const greg_t* registers = context->uc_mcontext.gregs;
  static constexpr int kOrder[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
  CallArguments given = {};
  for (int i = 0; i < 6; ++i) given.value[i] = static_cast<uint64_t>(registers[kOrder[i]]);
  return given;
}

constexpr uint64_t kMostPieces = 1024;  // IOV_MAX

KernelAccess AccessOf(Direction direction) {
  return direction == Direction::kIn ? KernelAccess::kWrites : KernelAccess::kReads;
}

void OpenVector(const iovec* pieces, uint64_t count, KernelAccess access) {
  MakeAccessible(reinterpret_cast<uint64_t>(pieces), count * sizeof(iovec), KernelAccess::kReads);
  for (uint64_t i = 0; i < count && i < kMostPieces; ++i)
    MakeAccessible(reinterpret_cast<uint64_t>(pieces[i].iov_base), pieces[i].iov_len, access);
}

void OpenMessage(const msghdr* message, KernelAccess access) {
  MakeAccessible(reinterpret_cast<uint64_t>(message), sizeof *message);
  MakeAccessible(reinterpret_cast<uint64_t>(message->msg_name), message->msg_namelen);
  MakeAccessible(reinterpret_cast<uint64_t>(message->msg_control), message->msg_controllen);
  OpenVector(message->msg_iov, message->msg_iovlen, access);
}

void Write(const Channel& channel, const Passage& passage) {
  Slot* slot = t_slot;
  if (slot == nullptr) return;
  TransferRecord record;
  FillTransfer(channel, passage, Now(), &record);
  Append(slot, &record, record.transfer.head.size);
}

// Of which call the pieces are, and what the policy said of it.
struct Passed {
  long number;
  int fd;
  Direction direction;
  uint16_t verdict;
};

void NotePieces(const Passed& call, const iovec* pieces, uint64_t count, uint64_t size,
                int64_t offset) {
  const auto& [number, fd, direction, verdict] = call;
  Channel channel;
  if (!DescribeChannel(fd, direction, &channel)) return;
  const uint64_t labels = direction == Direction::kIn ? LabelsOfInput(fd, channel) : 0;
  LabelRunning(labels);
  uint64_t place = PlaceOf(fd, channel, direction, size, offset);
  ForEachPiece(pieces, count, size, [&](uint64_t address, uint64_t part) {
    LabelPages(address, part, labels);
    const auto flags = static_cast<uint16_t>(FlagsOf(direction) | verdict);
    Write(channel, {flags, number, place, place + part, address});
    place += part;
  });
}

void NoteBetween(long number, int in, int out, uint64_t size, uint16_t verdict) {
  Channel channel;
  if (DescribeChannel(in, Direction::kIn, &channel)) {
    const uint64_t place = PlaceOf(in, channel, Direction::kIn, size, -1);
    Write(channel, {0, number, place, place + size, 0});
  }
  if (DescribeChannel(out, Direction::kOut, &channel)) {
    const uint64_t place = PlaceOf(out, channel, Direction::kOut, size, -1);
    Write(channel, {static_cast<uint16_t>(kOutput | verdict), number, place, place + size, 0});
  }
}

// What an output call is about to send.
struct Sent {
  uint64_t size = 0;
  uint64_t labels = 0;
  void Add(const iovec* pieces, uint64_t count) {
    for (uint64_t i = 0; i < count && i < kMostPieces; ++i) {
      size += pieces[i].iov_len;
      labels |= LabelsOfPages(reinterpret_cast<uint64_t>(pieces[i].iov_base), pieces[i].iov_len);
    }
  }
};

Sent SentBy(long number, const Form& form, const CallArguments& given) {
  Sent sent;
  switch (form.shape) {
    case Shape::kBuffer: {
      const iovec piece = {reinterpret_cast<void*>(given.value[1]), given.value[2]};
      sent.Add(&piece, 1);
      break;
    }
    case Shape::kVector:
      sent.Add(reinterpret_cast<const iovec*>(given.value[1]), given.value[2]);
      break;
    case Shape::kMessage: {
      const auto* message = reinterpret_cast<const msghdr*>(given.value[1]);
      sent.Add(message->msg_iov, message->msg_iovlen);
      break;
    }
    case Shape::kMessages: {
      const auto* messages = reinterpret_cast<const mmsghdr*>(given.value[1]);
      for (uint64_t i = 0; i < given.value[2] && i < kMostPieces; ++i)
        sent.Add(messages[i].msg_hdr.msg_iov, messages[i].msg_hdr.msg_iovlen);
      break;
    }
    case Shape::kBetween: {
      // From one descriptor to the other: the program's memory has no part in it.
      const int in = EndsOf(number, given).in;
      Channel channel;
      if (DescribeChannel(in, Direction::kIn, &channel)) sent.labels = LabelsOfInput(in, channel);
      sent.size = given.value[number == SYS_sendfile ? 3 : 4];
      return sent;
    }
    case Shape::kNone:
      return sent;
  }
  sent.labels |= LabelsOfRunning();
  return sent;
}

// What the policy says of the output that is about to happen; a denied one is noted here, because it never returns.
uint16_t Judge(long number, const Form& form, const CallArguments& given) {
  const int fd =
      form.shape == Shape::kBetween ? EndsOf(number, given).out : static_cast<int>(given.value[0]);
  const Sent sent = SentBy(number, form, given);
  Channel channel;
  if (sent.size == 0 || sent.labels == 0 || !DescribeChannel(fd, Direction::kOut, &channel))
    return 0;
  const uint16_t verdict = JudgeOutput(fd, channel, sent.labels);
  if (verdict != kDenied) return verdict;
  const uint64_t place = PlaceOf(fd, channel, Direction::kOut, 0, given.Offset(form));
  Write(channel, {kOutput | kDenied, number, place, place + sent.size, 0});
  return verdict;
}

// What the kernel touched of the buffers.
void NoteTouched(const Form& form, const CallArguments& given, uint64_t size) {
  const KernelAccess access = AccessOf(form.direction);
  ForEachVector(form, given, size, [&](const iovec* pieces, uint64_t count, uint64_t bytes) {
    if (form.shape != Shape::kBuffer)
      NoteKernelAccess(reinterpret_cast<uint64_t>(pieces), count * sizeof(iovec),
                       KernelAccess::kReads);
    ForEachPiece(pieces, count, bytes,
                 [&](uint64_t address, uint64_t part) { NoteKernelAccess(address, part, access); });
  });
}

bool FromLoader(uint64_t called_from) {
  return called_from >= shared->loader_start && called_from < shared->loader_end;
}

}  // namespace

bool IsTransfer(long number) { return FormOf(number).shape != Shape::kNone; }

void BeforeTransfer(long number, ucontext_t* context) {
  const CallArguments given = ArgumentsOf(context);
  const KernelAccess access = AccessOf(FormOf(number).direction);
  switch (FormOf(number).shape) {
    case Shape::kBuffer:
      MakeAccessible(given.value[1], given.value[2], access);
      break;
    case Shape::kVector:
      OpenVector(reinterpret_cast<const iovec*>(given.value[1]), given.value[2], access);
      break;
    case Shape::kMessage:
      OpenMessage(reinterpret_cast<const msghdr*>(given.value[1]), access);
      break;
    case Shape::kMessages:
      for (uint64_t i = 0; i < given.value[2] && i < kMostPieces; ++i)
        OpenMessage(&reinterpret_cast<const mmsghdr*>(given.value[1])[i].msg_hdr, access);
      break;
    default:
      break;
  }
  uint16_t verdict = 0;
  if (FlowIsWatched() && t_slot != nullptr && FormOf(number).direction == Direction::kOut &&
      !FromLoader(static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RIP])))
    verdict = Judge(number, FormOf(number), given);
  if (verdict == kDenied) {
    EndKernelAccess();
    context->uc_mcontext.gregs[REG_RAX] = -EACCES;
    return;
  }
  PassCallAndReturn(context);
  reinterpret_cast<StubFrame*>(context->uc_mcontext.gregs[REG_RSP])->verdict = verdict;
}

long AfterTransfer(long number, ucontext_t* context, long result, uint64_t called_from) {
  if (result <= 0) return result;
  const Form form = FormOf(number);
  const CallArguments given = ArgumentsOf(context);
  NoteTouched(form, given, static_cast<uint64_t>(result));
  if (t_slot == nullptr || FromLoader(called_from)) return result;
  const auto* frame = reinterpret_cast<const StubFrame*>(context->uc_mcontext.gregs[REG_RSP]);
  const Passed call = {number, static_cast<int>(given.value[0]), form.direction,
                       static_cast<uint16_t>(frame->verdict)};
  const auto size = static_cast<uint64_t>(result);
  if (form.shape == Shape::kBetween)
    NoteBetween(number, EndsOf(number, given).in, EndsOf(number, given).out, size, call.verdict);
  ForEachVector(form, given, size, [&](const iovec* pieces, uint64_t count, uint64_t bytes) {
    NotePieces(call, pieces, count, bytes, given.Offset(form));
  });
  return result;
}

void OnMapped(uint64_t address, uint64_t length, int protection, int flags, int fd, uint64_t offset,
              uint64_t called_from) {
  if (FlowIsWatched()) RelabelPages(address, length, 0);
  if (FromLoader(called_from)) return;
  const Mapping mapping = {address, length, protection, flags, fd, offset};
  Channel channel;
  uint64_t end = 0;
  if (!DescribeMapping(mapping, &channel, &end)) return;
  LabelPages(address, length, LabelsOfInput(fd, channel));
  if ((protection & PROT_READ) != 0) Write(channel, {kMapped, SYS_mmap, offset, end, address});
  if (MapsForWriting(mapping)) Write(channel, {kMapped | kOutput, SYS_mmap, offset, end, address});
}

bool DeniesMapping(int protection, int flags, int fd, uint64_t offset, uint64_t length) {
  if (!FlowIsWatched() || t_slot == nullptr || (flags & MAP_ANONYMOUS) != 0 ||
      (flags & MAP_TYPE) == MAP_PRIVATE || (protection & PROT_WRITE) == 0)
    return false;
  const uint64_t labels = LabelsOfRunning();
  Channel channel;
  if (labels == 0 || !DescribeChannel(fd, Direction::kOut, &channel)) return false;
  if (JudgeOutput(fd, channel, labels) != kDenied) return false;
  Write(channel, {kOutput | kDenied, SYS_mmap, offset, offset + length, 0});
  return true;
}

void OnSocketPair(int a, int b) { PairStreams(a, b); }

namespace {

char arguments[64 << 10];  // one behind the other, as the kernel laid them
uint64_t arguments_size;

}  // namespace

void ReadArguments() {
  arguments_size = ReadWhole("/proc/self/cmdline", arguments, sizeof arguments - 1);
}

__attribute__((noinline)) void NoteArguments() {
  const auto first = reinterpret_cast<uint64_t>(program_invocation_name);
  Channel channel = {};
  channel.kind = TransferKind::kArgument;
  uint64_t number = 0;
  for (uint64_t at = 0; at < arguments_size; ++number) {
    const uint64_t length = Length(arguments + at);
    channel.name_length = static_cast<uint32_t>(
        AppendNumber(AppendText(channel.name, "arg:"), number) - channel.name);
    LabelPages(first + at, length + 1, LabelsOfInput(-1, channel));
    Write(channel, {0, 0, 0, length, first + at});
    at += length + 1;
  }
}

void FindLoader() {
  const LoaderPlace place = FindLoaderPlace();
  shared->loader_start = place.start;
  shared->loader_end = place.end;
}

}  // namespace wf::recorder::data
