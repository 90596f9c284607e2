// A real program is stepped through, instruction by instruction. From its path the test makes the packets that a
// processor with Intel PT would write, with libipt's encoder, and the thunks they must decode to.
#include "recorder/control/pt_decoder.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <intel-pt.h>
#include <rapidcheck.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "recorder/control/instruction_flow.h"
#include "recorder/control/thunk_reader.h"
#include "recorder/format/block.h"

namespace wf::recorder {
namespace {

// The code of an ELF file at the addresses it was linked for.
class Image {
 public:
  explicit Image(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream all;
    all << in.rdbuf();
    bytes_ = all.str();
    Elf64_Ehdr head{};
    if (bytes_.size() < sizeof head) return;
    std::memcpy(&head, bytes_.data(), sizeof head);
    for (int i = 0; i < head.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, bytes_.data() + head.e_phoff + static_cast<size_t>(i) * sizeof segment,
                  sizeof segment);
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) segments_.push_back(segment);
    }
  }
  std::string_view At(uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_)
      if (address >= segment.p_vaddr && address < segment.p_vaddr + segment.p_filesz)
        return std::string_view(bytes_).substr(segment.p_offset + (address - segment.p_vaddr),
                                               segment.p_filesz - (address - segment.p_vaddr));
    return {};
  }

 private:
  std::string bytes_;
  std::vector<Elf64_Phdr> segments_;
};

const std::string kProgram = WHEREFORE_CONTROL_FIXTURES "/traced";

// The addresses of all instructions that the program runs between its traps.
std::vector<uint64_t> StepThrough() {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execl(kProgram.c_str(), kProgram.c_str(), nullptr);
    _exit(127);
  }
  std::vector<uint64_t> path;
  int status = 0;
  const auto resume = [&](auto how) {
    ptrace(how, child, nullptr, nullptr);
    return waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  };
  waitpid(child, &status, 0);  // exec
  bool on = resume(PTRACE_CONT);
  while (on && path.size() < 100'000) {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, child, nullptr, &registers);
    // In front of the second trap.
    const long word = ptrace(PTRACE_PEEKTEXT, child, registers.rip, nullptr);
    path.push_back(registers.rip);
    if (!path.empty() && (word & 0xFF) == 0xCC) break;
    on = resume(PTRACE_SINGLESTEP);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return path;
}

Block EndOf(const Image& image, uint64_t address) {
  const std::string_view code = image.At(address);
  Block block;
  if (const auto found = elf::DecodeInstruction(code, address))
    Classify(reinterpret_cast<const uint8_t*>(code.data()), found->length, address, block);
  return block;
}

std::vector<Thunk> ThunksOf(const Image& image, const std::vector<uint64_t>& path) {
  std::vector<Thunk> out = {{path.front(), 0, false}};
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const Block block = EndOf(image, path[i]);
    if (block.end == BlockEnd::kOther) continue;
    out.push_back(
        {path[i + 1], path[i], block.end != BlockEnd::kConditional || path[i + 1] == block.target});
  }
  return out;
}

// Packets as the processor writes them.
class Packets {
 public:
  Packets() : bytes_(size_t{1} << 20) {
    pt_config config;
    pt_config_init(&config);
    config.begin = bytes_.data();
    config.end = bytes_.data() + bytes_.size();
    encoder_ = pt_alloc_encoder(&config);
  }
  ~Packets() { pt_free_encoder(encoder_); }
  Packets(const Packets&) = delete;
  Packets& operator=(const Packets&) = delete;

  void Put(pt_packet_type type) { Next({type}); }
  void Ip(pt_packet_type type, uint64_t ip, pt_ip_compression compression = pt_ipc_sext_48) {
    FlushBits();
    pt_packet packet{};
    packet.type = type;
    packet.payload.ip.ipc = compression;
    packet.payload.ip.ip = ip;
    Next(packet);
  }
  void Mode() {
    pt_packet packet{};
    packet.type = ppt_mode;
    packet.payload.mode.leaf = pt_mol_exec;
    packet.payload.mode.bits.exec.csl = 1;
    Next(packet);
  }
  void Bit(bool taken) {
    bits_ = bits_ << 1 | (taken ? 1 : 0);
    if (++bit_count_ == 6) FlushBits();
  }
  void Begin(uint64_t ip) {
    Put(ppt_psb);
    Put(ppt_psbend);
    Mode();
    Ip(ppt_tip_pge, ip);
  }
  void End() { Ip(ppt_tip_pgd, 0, pt_ipc_suppressed); }
  void FlushBits() {
    if (bit_count_ == 0) return;
    pt_packet packet{};
    packet.type = ppt_tnt_8;
    packet.payload.tnt.bit_size = static_cast<uint8_t>(bit_count_);
    packet.payload.tnt.payload = bits_;
    bits_ = 0;
    bit_count_ = 0;
    Next(packet);
  }
  std::string Take() {
    FlushBits();
    uint64_t size = 0;
    pt_enc_get_offset(encoder_, &size);
    return std::string(reinterpret_cast<const char*>(bytes_.data()), size);
  }

 private:
  void Next(const pt_packet& packet) {
    if (packet.type != ppt_tnt_8) FlushBits();
    EXPECT_GT(pt_enc_next(encoder_, &packet), 0);
  }
  std::vector<uint8_t> bytes_;
  pt_encoder* encoder_ = nullptr;
  uint64_t bits_ = 0;
  int bit_count_ = 0;
};

// What the processor says of the step from path[i] to path[i + 1]; returns are not compressed.
void PutStep(const Image& image, const std::vector<uint64_t>& path, size_t i, Packets& out) {
  const Block block = EndOf(image, path[i]);
  if (block.end == BlockEnd::kConditional) return out.Bit(path[i + 1] == block.target);
  const auto instruction = elf::DecodeInstruction(image.At(path[i]), path[i]);
  const bool returned = instruction && FlowOf(instruction->kind) == Flow::kEnd;
  if (block.end != BlockEnd::kOther || returned) out.Ip(ppt_tip, path[i + 1]);
}

struct Decoded {
  std::vector<Thunk> thunks;
  PtDecoded facts;
};

class PtDecoder : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    image_ = new Image(kProgram);
    path_ = new std::vector<uint64_t>(StepThrough());
  }
  static void TearDownTestSuite() {
    delete image_;
    delete path_;
  }
  void SetUp() override {
    ASSERT_GT(path_->size(), 500U) << "this machine does not let a test step through a program";
  }
  Decoded Decode(const std::string& bytes, const PtFacts& facts = {}) {
    Decoded out;
    out.facts = DecodePt(
        facts, bytes, [](uint64_t address) { return image_->At(address); },
        [&](const Thunk& thunk) { out.thunks.push_back(thunk); });
    return out;
  }
  std::string Encode(size_t begin, size_t end) {
    Packets packets;
    packets.Begin((*path_)[begin]);
    for (size_t i = begin; i + 1 < end; ++i) PutStep(*image_, *path_, i, packets);
    packets.End();
    return packets.Take();
  }
  static inline Image* image_ = nullptr;
  static inline std::vector<uint64_t>* path_ = nullptr;
};

TEST_F(PtDecoder, TheThunksOfARealPathAreFound) {
  const Decoded decoded = Decode(Encode(0, path_->size()));
  EXPECT_EQ(decoded.facts.gaps, 0U);
  EXPECT_EQ(decoded.thunks, ThunksOf(*image_, *path_));
  // The loop runs forty times, fib and the switch take many more.
  EXPECT_GT(decoded.thunks.size(), 200U);
}

TEST_F(PtDecoder, TheRecordersOwnCodeIsLeftOut) {
  // fib stands for it: what runs there is not the program's.
  const auto truth = ThunksOf(*image_, *path_);
  uint64_t own = 0;
  for (size_t i = 0; i < path_->size(); ++i) {
    const auto call = elf::DecodeInstruction(image_->At((*path_)[i]), (*path_)[i]);
    if (call && FlowOf(call->kind) == Flow::kCall && call->target) own = *call->target;
  }
  ASSERT_NE(own, 0U);
  PtFacts facts{};
  facts.own_begin = own;
  facts.own_end = own + 16;
  for (const Thunk& thunk : Decode(Encode(0, path_->size()), facts).thunks) {
    EXPECT_FALSE(thunk.branch >= facts.own_begin && thunk.branch < facts.own_end);
  }
}

TEST_F(PtDecoder, AnOverflowIsAGapAndTheRestIsRead) {
  const size_t half = path_->size() / 2;
  Packets packets;
  packets.Begin(path_->front());
  for (size_t i = 0; i + 1 < half; ++i) PutStep(*image_, *path_, i, packets);
  packets.FlushBits();
  packets.Put(ppt_ovf);
  packets.Ip(ppt_fup, (*path_)[half + 100]);
  for (size_t i = half + 100; i + 1 < path_->size(); ++i) PutStep(*image_, *path_, i, packets);
  packets.End();
  const Decoded decoded = Decode(packets.Take());
  EXPECT_EQ(decoded.facts.gaps, 1U);
  const auto first =
      ThunksOf(*image_, {path_->begin(), path_->begin() + static_cast<long>(half) - 1});
  ASSERT_GT(decoded.thunks.size(), first.size());
  const auto rest =
      ThunksOf(*image_, {path_->begin() + static_cast<long>(half) + 100, path_->end()});
  // Thunk 0 of the rest is none: nothing began there.
  const std::vector<Thunk> tail(decoded.thunks.end() - static_cast<long>(rest.size() - 1),
                                decoded.thunks.end());
  EXPECT_EQ(tail, std::vector<Thunk>(rest.begin() + 1, rest.end()));
}

TEST_F(PtDecoder, CodeThatIsMissingIsAGap) {
  const std::string bytes = Encode(0, path_->size());
  const PtDecoded decoded = DecodePt(
      {}, bytes, [](uint64_t) { return std::string_view(); }, [](const Thunk&) {});
  EXPECT_GE(decoded.gaps, 1U);
}

// The operations around the processor's bytes, and several sub-computations in one stream.
TEST_F(PtDecoder, AStreamKeepsSubComputationsApart) {
  const size_t third = path_->size() / 3;
  const auto varint = [](std::string& out, uint64_t value) {
    uint8_t bytes[kMaxVarint];
    out.append(reinterpret_cast<char*>(bytes),
               static_cast<size_t>(PutVarint(bytes, value) - bytes));
  };
  std::string stream;
  const PtFacts facts{};
  varint(stream, kPtFacts);
  stream.append(reinterpret_cast<const char*>(&facts), sizeof facts);
  for (uint64_t index = 0; index < 3; ++index) {
    varint(stream, kPtOpen);
    varint(stream, index);
    const std::string bytes = Encode(index * third, (index + 1) * third);
    // As one would drain it: in pieces.
    for (size_t at = 0; at < bytes.size(); at += 7) {
      varint(stream, kPtBytes);
      varint(stream, std::min<size_t>(7, bytes.size() - at));
      stream += bytes.substr(at, 7);
    }
    if (index == 1) {
      varint(stream, kPtGap);
      varint(stream, 2);
      varint(stream, static_cast<uint64_t>(PtGapReason::kTruncated));
    }
  }
  const BranchesHead head{BranchSource::kPt, {}, 0};
  const std::string payload =
      std::string(reinterpret_cast<const char*>(&head), sizeof head) + stream;
  for (uint64_t index = 0; index < 3; ++index) {
    std::vector<Thunk> thunks;
    ThunkReader reader({index, 0, [](uint64_t address) { return image_->At(address); }},
                       [&](const Thunk& thunk) { thunks.push_back(thunk); });
    reader.Read(payload);
    reader.Finish();
    EXPECT_EQ(reader.gaps(), index == 1 ? 2U : 0U);
    EXPECT_EQ(NameOf(*reader.source()), "pt");
    const auto part =
        std::vector<uint64_t>(path_->begin() + static_cast<long>(index * third),
                              path_->begin() + static_cast<long>((index + 1) * third));
    EXPECT_EQ(thunks, ThunksOf(*image_, part));
  }
}

// The processor's bytes may be damaged in any way.
TEST_F(PtDecoder, DamagedBytesAreReadWithoutHarm) {
  const std::string whole = Encode(0, path_->size());
  EXPECT_TRUE(rc::check([&] {
    std::string bytes = whole;
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i)
      bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    bytes.resize(*rc::gen::inRange<size_t>(0, bytes.size() + 1));
    DecodePt(
        {}, bytes, [](uint64_t address) { return image_->At(address); }, [](const Thunk&) {});
  }));
}

}  // namespace
}  // namespace wf::recorder
