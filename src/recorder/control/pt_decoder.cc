#include "recorder/control/pt_decoder.h"

#include <intel-pt.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "recorder/format/block.h"

namespace wf::recorder {
namespace {

struct DecoderDeleter {
  void operator()(pt_insn_decoder* decoder) const { pt_insn_free_decoder(decoder); }
};
using Decoder = std::unique_ptr<pt_insn_decoder, DecoderDeleter>;

// A damaged stream could make the decoder walk jumps for ever. The processor spends at most a bit on a branch, so a byte
// stands for some dozens of them, and few functions have more than a hundred instructions between two.
constexpr uint64_t kMostInstructionsPerByte = 1024;
constexpr uint64_t kMostInstructionsAnyway = 100'000;

int ReadCode(uint8_t* buffer, size_t size, const pt_asid* /*asid*/, uint64_t address,
             void* context) {
  const std::string_view code = (*static_cast<const CodeAt*>(context))(address);
  if (code.empty()) return -pte_nomap;
  const size_t count = std::min(size, code.size());
  std::memcpy(buffer, code.data(), count);
  return static_cast<int>(count);
}

// Instructions become thunks, as blocks of the emulator do: the outcome of a branch is where the next instruction is.
class Walk {
 public:
  Walk(const PtFacts& facts, const ThunkSink& sink) : facts_(facts), sink_(sink) {}

  void Step(const pt_insn& instruction) {
    ++out.instructions;
    if (instruction.ip >= facts_.own_begin && instruction.ip < facts_.own_end) return;
    if (pending_)
      Resolve(instruction.ip);
    else if (!begun_)
      sink_({instruction.ip, 0, false});
    begun_ = true;
    Classify(instruction.raw, instruction.size, instruction.ip, branch_);
    pending_ = branch_.end != BlockEnd::kOther;
  }
  void Gap() {
    ++out.gaps;
    pending_ = false;
  }

  PtDecoded out;

 private:
  void Resolve(uint64_t next) {
    const bool conditional = branch_.end == BlockEnd::kConditional;
    if (conditional && next != branch_.target && next != branch_.following) return Gap();
    sink_({next, branch_.last, !conditional || next == branch_.target});
  }

  const PtFacts& facts_;
  const ThunkSink& sink_;
  bool begun_ = false;
  bool pending_ = false;
  Block branch_;
};

Decoder Allocate(const PtFacts& facts, std::vector<uint8_t>& bytes, const CodeAt& code) {
  pt_config config;
  pt_config_init(&config);
  config.begin = bytes.data();
  config.end = bytes.data() + bytes.size();
  config.cpu.vendor = pcv_intel;
  config.cpu.family = facts.family;
  config.cpu.model = facts.model;
  config.cpu.stepping = facts.stepping;
  config.mtc_freq = facts.mtc_frequency;
  config.nom_freq = facts.nominal_frequency;
  config.cpuid_0x15_eax = facts.cpuid_15_eax;
  config.cpuid_0x15_ebx = facts.cpuid_15_ebx;
  // libipt has no workarounds for errata of a processor that it does not know.
  if (pt_cpu_errata(&config.errata, &config.cpu) < 0)
    std::memset(&config.errata, 0, sizeof config.errata);
  Decoder decoder(pt_insn_alloc_decoder(&config));
  if (decoder != nullptr)
    pt_image_set_callback(pt_insn_get_image(decoder.get()), ReadCode, const_cast<CodeAt*>(&code));
  return decoder;
}

// Decodes from one entry point of the stream until it ends or is invalid. Returns the status that ended it.
int DecodeStretch(pt_insn_decoder* decoder, int status, uint64_t most, Walk& walk) {
  while (walk.out.instructions < most) {
    while ((status & pts_event_pending) != 0) {
      pt_event event;
      status = pt_insn_event(decoder, &event, sizeof event);
      if (status < 0) return status;
      if (event.type == ptev_overflow) walk.Gap();
    }
    if ((status & pts_eos) != 0) return -pte_eos;
    pt_insn instruction;
    status = pt_insn_next(decoder, &instruction, sizeof instruction);
    if (status < 0) return status;
    walk.Step(instruction);
  }
  return -pte_bad_query;
}

}  // namespace

PtDecoded DecodePt(const PtFacts& facts, std::string_view bytes, const CodeAt& code,
                   const ThunkSink& sink) {
  Walk walk(facts, sink);
  if (bytes.empty()) return walk.out;
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());  // libipt takes it as its own
  const Decoder decoder = Allocate(facts, copy, code);
  if (decoder == nullptr) {
    walk.Gap();
    return walk.out;
  }
  const uint64_t most = kMostInstructionsAnyway + bytes.size() * kMostInstructionsPerByte;
  for (;;) {
    int status = pt_insn_sync_forward(decoder.get());
    if (status >= 0) status = DecodeStretch(decoder.get(), status, most, walk);
    if (status == -pte_eos) return walk.out;
    walk.Gap();
    if (walk.out.instructions >= most || status == -pte_bad_query) return walk.out;
  }
}

}  // namespace wf::recorder
