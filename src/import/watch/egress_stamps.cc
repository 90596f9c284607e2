#include "import/watch/egress_stamps.h"

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "bpf/assembler.h"
#include "bpf/bpf_object.h"
#include "bpf/egress_hook.h"
#include "bpf/ring_submit.h"

namespace wf::watch {
namespace {

// Ahead of the packet's bytes in the ring.
struct StampHeader {
  uint64_t time;  // monotonic
  uint32_t length, captured;
};
static_assert(sizeof(StampHeader) == 16);

// At 10 Mbit/s of full frames, over four seconds; a gigabit of them, 40 ms.
constexpr uint32_t kRingBytes = 8u << 20;

// Reads the packet and lets it pass.
std::vector<bpf_insn> StampProgram(const bpf::BpfMap& ring, const bpf::BpfMap& dropped,
                                   uint32_t snap) {
  using R = bpf::BpfReg;
  using W = bpf::BpfWidth;
  using C = bpf::BpfCondition;
  bpf::BpfAssembler a;
  const auto out = a.NewLabel(), reserved = a.NewLabel(), fits = a.NewLabel(),
             discard = a.NewLabel(), submit = a.NewLabel();
  a.Move(R::r6, R::r1);
  a.Call(BPF_FUNC_ktime_get_ns);
  a.Move(R::r8, R::r0);
  a.Map(R::r1, ring.fd());
  a.Move(R::r2, static_cast<int32_t>(sizeof(StampHeader) + snap));
  a.Move(R::r3, 0);
  a.Call(BPF_FUNC_ringbuf_reserve);
  a.JumpIf(R::r0, C::kNotEqual, 0, reserved);
  a.MapValue(R::r1, dropped.fd(), 0);
  a.Move(R::r2, 1);
  a.AtomicAdd(R::r1, 0, R::r2);
  a.Jump(out);
  a.Bind(reserved);
  a.Move(R::r7, R::r0);
  a.Store(W::k8, R::r7, offsetof(StampHeader, time), R::r8);
  a.Load(W::k4, R::r9, R::r6, offsetof(__sk_buff, len));
  a.Store(W::k4, R::r7, offsetof(StampHeader, length), R::r9);
  a.JumpIf(R::r9, C::kEqual, 0, discard);
  a.JumpIf(R::r9, C::kLess, static_cast<int32_t>(snap) + 1, fits);
  a.Move(R::r9, static_cast<int32_t>(snap));
  a.Bind(fits);
  a.Store(W::k4, R::r7, offsetof(StampHeader, captured), R::r9);
  a.Move(R::r1, R::r6);
  a.Move(R::r2, 0);
  a.Move(R::r3, R::r7);
  a.Add(R::r3, sizeof(StampHeader));
  a.Move(R::r4, R::r9);
  a.Call(BPF_FUNC_skb_load_bytes);
  a.JumpIf(R::r0, C::kEqual, 0, submit);
  a.Bind(discard);
  a.Move(R::r1, R::r7);
  a.Move(R::r2, 0);
  a.Call(BPF_FUNC_ringbuf_discard);
  a.Jump(out);
  a.Bind(submit);
  bpf::AppendRingSubmit(a, ring, R::r7);
  a.Bind(out);
  a.Return(TC_ACT_UNSPEC);  // no verdict: other classifiers decide
  return a.Finish();
}

// The offset from the monotonic clock to Unix time. A thread that reads two clocks may be interrupted in
// between; then a packet's time would be off by as much and after its own egress. So the wall clock is read
// between two readings of the other one, and the closest of several such readings counts.
Nanos WallClock() {
  Nanos offset = 0, closest = INT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const Nanos before = MonotonicNow(), wall = Now(), after = MonotonicNow();
    if (after - before >= closest) continue;
    closest = after - before;
    offset = wall - before - closest / 2;
  }
  return offset;
}

class AttachedStamps : public EgressStamps {
 public:
  AttachedStamps(bpf::BpfMap ring, bpf::BpfMap dropped, std::unique_ptr<Nanos> wall_clock,
                 bpf::BpfRingReader reader, bpf::EgressHook hook)
      : ring_(std::move(ring)),
        dropped_(std::move(dropped)),
        wall_clock_(std::move(wall_clock)),
        reader_(std::move(reader)),
        hook_(std::move(hook)) {}

  Status Poll(int milliseconds) override {
    *wall_clock_ = WallClock();  // steps of the wall clock show
    WF_TRY(reader_.Poll(milliseconds));
    return {};
  }
  uint64_t dropped() const override {
    const uint32_t first = 0;
    uint64_t count = 0;
    dropped_.Lookup(&first, &count);
    return count;
  }

 private:
  bpf::BpfMap ring_, dropped_;
  std::unique_ptr<Nanos> wall_clock_;  // what the reader adds to stamps; where it knows it to be
  bpf::BpfRingReader reader_;
  bpf::EgressHook hook_;  // detached first
};

void Put32(uint32_t value, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

}  // namespace

Result<std::unique_ptr<EgressStamps>> EgressStamps::Attach(const EgressStampOptions& options,
                                                           Take take) {
  constexpr uint32_t kMostSnap = 65'536;
  if (options.snap_bytes < 64 || options.snap_bytes > kMostSnap) {
    return BadInput(
        "--snap " + std::to_string(options.snap_bytes) + ": must be from 64 to 65536 bytes",
        "1520 holds a whole frame, 64 most headers");
  }
  WF_ASSIGN(bpf::BpfMap ring,
            bpf::BpfMap::Create("wf_egress_ring", {bpf::BpfMapType::kRing, 0, 0, kRingBytes}));
  WF_ASSIGN(bpf::BpfMap dropped,
            bpf::BpfMap::Create("wf_egress_drops", {bpf::BpfMapType::kArray, 4, 8, 1}));
  WF_ASSIGN(const bpf::BpfProgram program,
            bpf::BpfProgram::Load("wf_egress_stamp", bpf::BpfProgramType::kPacket,
                                  StampProgram(ring, dropped, options.snap_bytes)));
  auto wall_clock = std::make_unique<Nanos>(WallClock());
  const Nanos* clock = wall_clock.get();
  WF_ASSIGN(
      bpf::BpfRingReader reader,
      bpf::BpfRingReader::Open(ring, [take = std::move(take), clock](std::string_view record) {
        StampHeader header;
        if (record.size() < sizeof header) return;
        std::memcpy(&header, record.data(), sizeof header);
        record.remove_prefix(sizeof header);
        take({static_cast<Nanos>(header.time) + *clock, header.length,
              record.substr(0, header.captured)});
      }));
  WF_ASSIGN(bpf::EgressHook hook, bpf::EgressHook::Attach(program, options.interface));
  return std::unique_ptr<EgressStamps>(
      std::make_unique<AttachedStamps>(std::move(ring), std::move(dropped), std::move(wall_clock),
                                       std::move(reader), std::move(hook)));
}

std::string PcapHeader(uint32_t snap_bytes) {
  std::string out;
  Put32(0xA1B23C4D, out);   // nanoseconds
  Put32(2 | 4 << 16, out);  // version 2.4
  Put32(0, out);            // UTC
  Put32(0, out);
  Put32(snap_bytes, out);
  Put32(1, out);  // Ethernet
  return out;
}

void AppendPcapPacket(const StampedPacket& packet, std::string& out) {
  Put32(static_cast<uint32_t>(packet.time / kSecond), out);
  Put32(static_cast<uint32_t>(packet.time % kSecond), out);
  Put32(static_cast<uint32_t>(packet.bytes.size()), out);
  Put32(packet.length, out);
  out.append(packet.bytes);
}

}  // namespace wf::watch
