#include "weaver/probe_batch.h"

#include <algorithm>
#include <utility>

#include "bpf/assembler.h"
#include "bpf/bpf_object.h"
#include "bpf/uprobe.h"

namespace wf::weaver {
namespace {

using R = bpf::BpfReg;

// Jumps have 16 bits, and the kernel looks at no more than a million instructions, some of them often.
constexpr size_t kMostInstructions = 12'000, kMostPrograms = 64;

Result<bpf::BpfProgram> Load(const std::vector<bpf_insn>& text, ProbeBatch::Links how) {
  return bpf::BpfProgram::Load("wf_advice",
                               how == ProbeBatch::Links::kMulti
                                   ? bpf::BpfProgramType::kReadingProbe
                                   : bpf::BpfProgramType::kReadingProbeOneByOne,
                               text);
}

}  // namespace

std::vector<bpf_insn> ByCookie(const std::vector<std::vector<bpf_insn>>& programs) {
  bpf::BpfAssembler a;
  std::vector<bpf::BpfAssembler::Label> labels;
  a.Move(R::r6, R::r1);
  a.Call(BPF_FUNC_get_attach_cookie);
  a.Move(R::r1, R::r6);
  for (size_t i = 0; i < programs.size(); ++i) {
    labels.push_back(a.NewLabel());
    a.JumpIf(R::r0, bpf::BpfCondition::kEqual, static_cast<int32_t>(i), labels.back());
  }
  a.Return(0);
  for (size_t i = 0; i < programs.size(); ++i) {
    a.Bind(labels[i]);
    a.Append(programs[i]);
  }
  return a.Finish();
}

void ProbeBatch::Add(std::vector<bpf_insn> text, std::string file, std::vector<uint64_t> offsets,
                     pid_t pid) {
  waiting_.push_back({std::move(text), std::move(file), std::move(offsets), pid});
}

Status ProbeBatch::Attach(Links how, std::vector<FileDescriptor>& links) {
  const std::vector<Program> programs = std::exchange(waiting_, {});
  const auto attach_one = [&](const Program& program) -> Status {
    WF_ASSIGN(const bpf::BpfProgram loaded, Load(program.text, how));
    const bpf::UprobePlaces places{program.file, program.offsets, program.pid, {}};
    WF_ASSIGN(bpf::Uprobe probe,
              how == Links::kMulti
                  ? bpf::Uprobe::Attach(loaded, places, wf::bpf::ProbeSite::kEntry)
                  : bpf::Uprobe::AttachOneByOne(loaded, places, wf::bpf::ProbeSite::kEntry));
    for (FileDescriptor& link : std::move(probe).Release()) links.push_back(std::move(link));
    return {};
  };
  std::vector<bool> attached(programs.size());
  for (size_t first = 0; first < programs.size(); ++first) {
    if (attached[first]) continue;
    std::vector<size_t> together = {first};
    size_t instructions = programs[first].text.size();
    for (size_t i = first + 1; i < programs.size() && how == Links::kMulti; ++i) {
      const bool same = !attached[i] && programs[i].file == programs[first].file &&
                        programs[i].pid == programs[first].pid;
      if (!same || together.size() == kMostPrograms ||
          instructions + programs[i].text.size() > kMostInstructions)
        continue;
      together.push_back(i);
      instructions += programs[i].text.size();
    }
    for (const size_t i : together) attached[i] = true;
    if (together.size() == 1) {
      WF_TRY(attach_one(programs[first]));
      continue;
    }
    std::vector<std::vector<bpf_insn>> texts;
    bpf::UprobePlaces places{programs[first].file, {}, programs[first].pid, {}};
    for (const size_t i : together) {
      for (const uint64_t offset : programs[i].offsets) {
        places.offsets.push_back(offset);
        places.cookies.push_back(texts.size());
      }
      texts.push_back(programs[i].text);
    }
    const auto loaded = Load(ByCookie(texts), how);
    if (!loaded.ok()) {
      // Too much for the verifier, perhaps: each by itself tells whose fault it is.
      for (const size_t i : together) WF_TRY(attach_one(programs[i]));
      continue;
    }
    WF_ASSIGN(bpf::Uprobe probe, bpf::Uprobe::Attach(*loaded, places, wf::bpf::ProbeSite::kEntry));
    for (FileDescriptor& link : std::move(probe).Release()) links.push_back(std::move(link));
  }
  return {};
}

}  // namespace wf::weaver
