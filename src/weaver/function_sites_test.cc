#include "weaver/function_sites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::weaver {
namespace {

using ::testing::ElementsAre;
using namespace std::string_literals;

constexpr uint64_t kBase = 0x1000;

Code Decoded(const std::string& bytes) {
  Code code;
  code.ranges = {{kBase, kBase + bytes.size()}};
  for (size_t at = 0; at < bytes.size();) {
    auto instruction = Decode(std::string_view(bytes).substr(at), kBase + at);
    if (!instruction) {
      ADD_FAILURE() << "at " << at;
      break;
    }
    at += instruction->length;
    code.instructions.push_back(*instruction);
  }
  return code;
}

std::vector<uint64_t> Offsets(const Code& code) {
  std::vector<uint64_t> out;
  for (const EntryCandidate& candidate : EntryCandidates(code))
    out.push_back(candidate.instruction->address - kBase);
  return out;
}

TEST(EntryCandidates, UpToTheFirstBranch) {
  // push rbp; mov rbp, rsp; test edi, edi; je +1; nop; ret
  EXPECT_THAT(Offsets(Decoded("\x55\x48\x89\xe5\x85\xff\x74\x01\x90\xc3"s)),
              ElementsAre(0, 1, 4, 6));
}

TEST(EntryCandidates, NotBeyondABranchTarget) {
  // xor eax, eax; (target:) nop; dec edi; jne target; ret
  EXPECT_THAT(Offsets(Decoded("\x31\xc0\x90\xff\xcf\x75\xfb\xc3"s)), ElementsAre(0));
}

TEST(EntryCandidates, AFiveByteNopOnlyAsTheFirstInstruction) {
  const std::string nop5 = "\x0f\x1f\x44\x00\x00"s;
  EXPECT_THAT(Offsets(Decoded(nop5 + "\xc3")), ElementsAre(0, 5));
  EXPECT_THAT(Offsets(Decoded("\x31\xc0"s + nop5 + "\xc3")), ElementsAre(0, 7));
}

TEST(EntryCandidates, OnlyThePrologueIfASwitchMayLeadAnywhere) {
  // push rbx; xor eax, eax; nop; jmp [rax*8+0x1000]
  EXPECT_THAT(Offsets(Decoded("\x53\x31\xc0\x90\xff\x24\xc5\x00\x10\x00\x00"s)), ElementsAre(0));
}

TEST(EntryCandidates, WhatWasWrittenBefore) {
  // push rbx; mov edi, 1; nop; ret
  const Code code = Decoded("\x53\xbf\x01\x00\x00\x00\x90\xc3"s);
  const auto candidates = EntryCandidates(code);
  ASSERT_EQ(candidates.size(), 4u);
  const uint32_t rdi = uint32_t{1} << static_cast<int>(Register::kRdi);
  EXPECT_EQ(candidates[1].written & rdi, 0u);
  EXPECT_EQ(candidates[2].written & rdi, rdi);
  EXPECT_EQ(candidates[2].pushed, 8u);
}

TEST(Instruction, WhatTheKernelDoesItself) {
  const auto cost = [](const std::string& bytes) { return Decode(bytes, kBase)->cost; };
  for (const std::string& cheap :
       {"\x90"s, "\x66\x90"s, "\x0f\x1f\x40\x00"s, "\x55"s, "\x41\x54"s, "\xeb\x00"s,
        "\xe9\x00\x00\x00\x00"s, "\xe8\x00\x00\x00\x00"s, "\x74\x00"s, "\x0f\x84\x00\x00\x00\x00"s})
    EXPECT_EQ(cost(cheap), CostClass::kEmulated);
  for (const std::string& dear : {"\xf3\x0f\x1e\xfa"s, "\x48\x83\xec\x08"s, "\x48\x89\xf8"s,
                                  "\xc3"s, "\x5b"s, "\x6a\x01"s, "\xff\xe1"s, "\xff\x30"s})
    EXPECT_EQ(cost(dear), CostClass::kStepped);
}

}  // namespace
}  // namespace wf::weaver
