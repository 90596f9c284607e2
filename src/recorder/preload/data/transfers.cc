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
#include "recorder/preload/data/trap.h"
#include "recorder/preload/recording.h"

namespace wf::recorder::data {
namespace {

enum class Shape : uint8_t { kNone, kBuffer, kVector, kMessage, kMessages, kBetween };

struct Form {
  Shape shape;
  Direction direction;
  int offset_argument;  // -1: the file's own position
};

Form FormOf(long number) {
  switch (number) {
    case SYS_read:
      return {Shape::kBuffer, Direction::kIn, -1};
    case SYS_pread64:
      return {Shape::kBuffer, Direction::kIn, 3};
    case SYS_recvfrom:
      return {Shape::kBuffer, Direction::kIn, -1};
    case SYS_write:
      return {Shape::kBuffer, Direction::kOut, -1};
    case SYS_pwrite64:
      return {Shape::kBuffer, Direction::kOut, 3};
    case SYS_sendto:
      return {Shape::kBuffer, Direction::kOut, -1};
    case SYS_readv:
      return {Shape::kVector, Direction::kIn, -1};
    case SYS_preadv:
    case SYS_preadv2:
      return {Shape::kVector, Direction::kIn, 3};
    case SYS_writev:
      return {Shape::kVector, Direction::kOut, -1};
    case SYS_pwritev:
    case SYS_pwritev2:
      return {Shape::kVector, Direction::kOut, 3};
    case SYS_recvmsg:
      return {Shape::kMessage, Direction::kIn, -1};
    case SYS_sendmsg:
      return {Shape::kMessage, Direction::kOut, -1};
    case SYS_recvmmsg:
      return {Shape::kMessages, Direction::kIn, -1};
    case SYS_sendmmsg:
      return {Shape::kMessages, Direction::kOut, -1};
    case SYS_sendfile:
    case SYS_copy_file_range:
    case SYS_splice:
      return {Shape::kBetween, Direction::kOut, -1};
    default:
      return {Shape::kNone, Direction::kIn, -1};
  }
}

struct Arguments {
  explicit Arguments(const ucontext_t* context) {
    const greg_t* registers = context->uc_mcontext.gregs;
    static constexpr int kOrder[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    for (int i = 0; i < 6; ++i) value[i] = static_cast<uint64_t>(registers[kOrder[i]]);
  }
  uint64_t value[6];
};

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

void Write(const Channel& channel, uint16_t flags, long number, uint64_t begin, uint64_t end,
           uint64_t address) {
  Slot* slot = t_slot;
  if (slot == nullptr) return;
  struct {
    Transfer transfer;
    char name[sizeof channel.name + 8];
  } record;
  Transfer& transfer = record.transfer;
  const uint32_t padded = (channel.name_length + 7) / 8 * 8;
  transfer.head = {RecordKind::kTransfer, static_cast<uint16_t>(channel.name_length),
                   static_cast<uint32_t>(sizeof(Transfer)) + padded};
  transfer.kind = channel.kind;
  transfer.flags = flags;
  transfer.op = static_cast<uint32_t>(number);
  transfer.begin = begin;
  transfer.end = end;
  transfer.address = address;
  transfer.time_ns = Now();
  transfer.stream = channel.stream;
  for (uint32_t i = 0; i < padded; ++i)
    record.name[i] = i < channel.name_length ? channel.name[i] : static_cast<char>(0);
  Append(slot, &record, transfer.head.size);
}

uint16_t FlagsOf(Direction direction) { return direction == Direction::kOut ? kOutput : 0; }

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
  for (uint64_t i = 0; i < count && size > 0; ++i) {
    const uint64_t part = pieces[i].iov_len < size ? pieces[i].iov_len : size;
    if (part == 0) continue;
    const auto address = reinterpret_cast<uint64_t>(pieces[i].iov_base);
    LabelPages(address, part, labels);
    Write(channel, FlagsOf(direction) | verdict, number, place, place + part, address);
    place += part;
    size -= part;
  }
}

void NoteBetween(long number, int in, int out, uint64_t size, uint16_t verdict) {
  Channel channel;
  if (DescribeChannel(in, Direction::kIn, &channel)) {
    const uint64_t place = PlaceOf(in, channel, Direction::kIn, size, -1);
    Write(channel, 0, number, place, place + size, 0);
  }
  if (DescribeChannel(out, Direction::kOut, &channel)) {
    const uint64_t place = PlaceOf(out, channel, Direction::kOut, size, -1);
    Write(channel, kOutput | verdict, number, place, place + size, 0);
  }
}

struct Ends {
  int in, out;
};
Ends EndsOf(long number, const Arguments& given) {
  const auto first = static_cast<int>(given.value[0]);
  return number == SYS_sendfile ? Ends{static_cast<int>(given.value[1]), first}
                                : Ends{first, static_cast<int>(given.value[2])};
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

Sent SentBy(long number, const Form& form, const Arguments& given) {
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
uint16_t Judge(long number, const Form& form, const Arguments& given) {
  const int fd =
      form.shape == Shape::kBetween ? EndsOf(number, given).out : static_cast<int>(given.value[0]);
  const Sent sent = SentBy(number, form, given);
  Channel channel;
  if (sent.size == 0 || sent.labels == 0 || !DescribeChannel(fd, Direction::kOut, &channel))
    return 0;
  const uint16_t verdict = JudgeOutput(fd, channel, sent.labels);
  if (verdict != kDenied) return verdict;
  const int64_t offset =
      form.offset_argument < 0 ? -1 : static_cast<int64_t>(given.value[form.offset_argument]);
  const uint64_t place = PlaceOf(fd, channel, Direction::kOut, 0, offset);
  Write(channel, kOutput | kDenied, number, place, place + sent.size, 0);
  return verdict;
}

// What the kernel touched of the buffers.
void NoteTouched(const Form& form, const Arguments& given, uint64_t size) {
  const KernelAccess access = AccessOf(form.direction);
  const auto pieces = [&](const iovec* list, uint64_t count, uint64_t left) {
    NoteKernelAccess(reinterpret_cast<uint64_t>(list), count * sizeof(iovec), KernelAccess::kReads);
    for (uint64_t i = 0; i < count && left > 0; ++i) {
      const uint64_t part = list[i].iov_len < left ? list[i].iov_len : left;
      NoteKernelAccess(reinterpret_cast<uint64_t>(list[i].iov_base), part, access);
      left -= part;
    }
  };
  if (form.shape == Shape::kBuffer) {
    NoteKernelAccess(given.value[1], size, access);
  } else if (form.shape == Shape::kVector) {
    pieces(reinterpret_cast<const iovec*>(given.value[1]), given.value[2], size);
  } else if (form.shape == Shape::kMessage) {
    const auto* message = reinterpret_cast<const msghdr*>(given.value[1]);
    pieces(message->msg_iov, message->msg_iovlen, size);
  } else if (form.shape == Shape::kMessages) {
    const auto* messages = reinterpret_cast<const mmsghdr*>(given.value[1]);
    for (uint64_t i = 0; i < size; ++i)
      pieces(messages[i].msg_hdr.msg_iov, messages[i].msg_hdr.msg_iovlen, messages[i].msg_len);
  }
}

bool FromLoader(uint64_t called_from) {
  return called_from >= shared->loader_start && called_from < shared->loader_end;
}

}  // namespace

bool IsTransfer(long number) { return FormOf(number).shape != Shape::kNone; }

void BeforeTransfer(long number, ucontext_t* context) {
  const Arguments given(context);
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
  const Arguments given(context);
  NoteTouched(form, given, static_cast<uint64_t>(result));
  if (t_slot == nullptr || FromLoader(called_from)) return result;
  const auto* frame = reinterpret_cast<const StubFrame*>(context->uc_mcontext.gregs[REG_RSP]);
  const Passed call = {number, static_cast<int>(given.value[0]), form.direction,
                       static_cast<uint16_t>(frame->verdict)};
  const auto size = static_cast<uint64_t>(result);
  const int64_t offset =
      form.offset_argument < 0 ? -1 : static_cast<int64_t>(given.value[form.offset_argument]);
  switch (form.shape) {
    case Shape::kBuffer: {
      const iovec piece = {reinterpret_cast<void*>(given.value[1]), size};
      NotePieces(call, &piece, 1, size, offset);
      break;
    }
    case Shape::kVector:
      NotePieces(call, reinterpret_cast<const iovec*>(given.value[1]), given.value[2], size,
                 offset);
      break;
    case Shape::kMessage: {
      const auto* message = reinterpret_cast<const msghdr*>(given.value[1]);
      NotePieces(call, message->msg_iov, message->msg_iovlen, size, -1);
      break;
    }
    case Shape::kMessages: {
      const auto* messages = reinterpret_cast<const mmsghdr*>(given.value[1]);
      for (uint64_t i = 0; i < size; ++i)
        NotePieces(call, messages[i].msg_hdr.msg_iov, messages[i].msg_hdr.msg_iovlen,
                   messages[i].msg_len, -1);
      break;
    }
    case Shape::kBetween:
      NoteBetween(number, EndsOf(number, given).in, EndsOf(number, given).out, size, call.verdict);
      break;
    case Shape::kNone:
      break;
  }
  return result;
}

void OnMapped(uint64_t address, uint64_t length, int protection, int flags, int fd, uint64_t offset,
              uint64_t called_from) {
  if (FlowIsWatched()) RelabelPages(address, length, 0);
  if ((flags & MAP_ANONYMOUS) != 0 || (protection & PROT_EXEC) != 0 || FromLoader(called_from))
    return;
  Channel channel;
  if (!DescribeChannel(fd, Direction::kIn, &channel) || channel.counted) return;
  LabelPages(address, length, LabelsOfInput(fd, channel));
  struct stat about = {};
  uint64_t end = offset + length;
  if (Kernel(SYS_fstat, fd, Word(&about)) == 0 && static_cast<uint64_t>(about.st_size) < end)
    end = static_cast<uint64_t>(about.st_size);
  if (end <= offset) return;
  const bool output = (flags & MAP_TYPE) != MAP_PRIVATE && (protection & PROT_WRITE) != 0;
  if ((protection & PROT_READ) != 0) Write(channel, kMapped, SYS_mmap, offset, end, address);
  if (output) Write(channel, kMapped | kOutput, SYS_mmap, offset, end, address);
}

bool DeniesMapping(int protection, int flags, int fd, uint64_t offset, uint64_t length) {
  if (!FlowIsWatched() || t_slot == nullptr || (flags & MAP_ANONYMOUS) != 0 ||
      (flags & MAP_TYPE) == MAP_PRIVATE || (protection & PROT_WRITE) == 0)
    return false;
  const uint64_t labels = LabelsOfRunning();
  Channel channel;
  if (labels == 0 || !DescribeChannel(fd, Direction::kOut, &channel)) return false;
  if (JudgeOutput(fd, channel, labels) != kDenied) return false;
  Write(channel, kOutput | kDenied, SYS_mmap, offset, offset + length, 0);
  return true;
}

void OnSocketPair(int a, int b) { PairStreams(a, b); }

namespace {

char arguments[64 << 10];  // one behind the other, as the kernel laid them
uint64_t arguments_size;

uint64_t ReadWhole(const char* path, char* to, uint64_t room) {
  const int fd = static_cast<int>(Kernel(SYS_open, Word(path), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return 0;
  uint64_t size = 0;
  for (long n = 0; size < room &&
                   (n = Kernel(SYS_read, fd, Word(to + size), static_cast<long>(room - size))) > 0;)
    size += static_cast<uint64_t>(n);
  Kernel(SYS_close, fd);
  return size;
}

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
    Write(channel, 0, 0, 0, length, first + at);
    at += length + 1;
  }
}

void FindLoader() {
  static char maps[64 << 10];
  const uint64_t size = ReadWhole("/proc/self/maps", maps, sizeof maps - 1);
  for (const char* line = maps; line < maps + size;) {
    const char* end = line;
    while (end < maps + size && *end != '\n') ++end;
    const char* at = line;
    const uint64_t start = ReadHex(&at);
    ++at;
    const uint64_t stop = ReadHex(&at);
    for (const char* p = at; p + 9 < end; ++p) {
      if (!StartsWith(p, "/ld-linux")) continue;
      if (shared->loader_start == 0) shared->loader_start = start;
      shared->loader_end = stop;
    }
    line = end + 1;
  }
}

}  // namespace wf::recorder::data
