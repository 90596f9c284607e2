// A program under ptrace with breakpoints at probe sites: does in user space, one step at a time, what the kernel's
// probes and our eBPF do, and so says what a located tracepoint sees. For tests; needs no privilege.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "weaver/probe_site.h"

namespace wf::weaver {

class TracedProgram {
 public:
  // Stopped at its first instruction, with all its libraries loaded.
  explicit TracedProgram(const std::string& exe) {
    pid_ = fork();
    if (pid_ == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, 1);
      execl(exe.c_str(), exe.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL);
    memory_ = open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDWR | O_CLOEXEC);
    const uint64_t entry = AuxiliaryValue(AT_ENTRY);
    const uint8_t saved = Plant(entry);
    ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    Restore(entry, saved);
    user_regs_struct regs{};
    ptrace(PTRACE_GETREGS, pid_, nullptr, &regs);
    regs.rip = entry;
    ptrace(PTRACE_SETREGS, pid_, nullptr, &regs);
  }
  ~TracedProgram() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(memory_);
  }
  TracedProgram(const TracedProgram&) = delete;
  TracedProgram& operator=(const TracedProgram&) = delete;

  pid_t pid() const { return pid_; }
  int exit_status() const { return exit_status_; }

  // To the end. One text per event of the tracepoint: its values, joined by blanks; behind "throw" if an exception was
  // the end.
  std::vector<std::string> Run(const LocatedTracepoint& tracepoint) {
    for (const auto* list : {&tracepoint.functions, &tracepoint.unwinders}) {
      for (const LocatedFunction& function : *list) {
        for (const ProbeSite& site : function.sites) {
          const uint64_t address = RuntimeAddress(function.seen_as, site.offset);
          EXPECT_NE(address, 0u) << function.seen_as << " " << site.offset;
          sites_[address].push_back({&function, &site});
        }
      }
    }
    std::map<uint64_t, uint8_t> saved;
    for (const auto& [address, hits] : sites_) saved[address] = Plant(address);
    for (;;) {
      int status = 0;
      ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
      if (waitpid(pid_, &status, 0) < 0) break;
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        pid_ = -1;
        break;
      }
      user_regs_struct regs{};
      ptrace(PTRACE_GETREGS, pid_, nullptr, &regs);
      const auto found = sites_.find(regs.rip - 1);
      if (WSTOPSIG(status) != SIGTRAP || found == sites_.end()) {
        ADD_FAILURE() << "stopped by signal " << WSTOPSIG(status) << " at " << std::hex << regs.rip;
        break;
      }
      regs.rip -= 1;
      ptrace(PTRACE_SETREGS, pid_, nullptr, &regs);
      regs_ = regs;
      for (const Placed& placed : found->second) Hit(tracepoint, placed);
      Restore(found->first, saved[found->first]);
      ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr);
      waitpid(pid_, &status, 0);
      Plant(found->first);
    }
    EXPECT_EQ(open_activations(), 0u);
    return events_;
  }

  size_t open_activations() const {
    size_t count = 0;
    for (const auto& [function, open] : activations_) count += open.size();
    return count;
  }

  uint64_t Evaluate(const Recipe& recipe) const {
    uint64_t value = 0;
    for (const ReadStep& step : recipe) {
      switch (step.op) {
        case ReadOp::kRegister:
          value = RegisterValue(step.reg);
          break;
        case ReadOp::kConstant:
          value = static_cast<uint64_t>(step.operand);
          break;
        case ReadOp::kAdd:
          value += static_cast<uint64_t>(step.operand);
          break;
        case ReadOp::kLoad: {
          uint64_t loaded = 0;
          if (!Read(value, &loaded, step.width))
            ADD_FAILURE() << "cannot read " << std::hex << value;
          value = loaded;
          break;
        }
        case ReadOp::kShiftRight:
          value >>= step.operand;
          break;
        case ReadOp::kZeroExtend:
          if (step.width < 64) value &= (uint64_t{1} << step.width) - 1;
          break;
        case ReadOp::kSignExtend:
          value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - step.width)) >>
                                        (64 - step.width));
          break;
      }
    }
    return value;
  }

 private:
  struct Placed {
    const LocatedFunction* function;
    const ProbeSite* site;
  };
  struct Activation {
    uint64_t frame;
    std::vector<std::string> values;
  };

  void Hit(const LocatedTracepoint& tracepoint, const Placed& placed) {
    const ProbeSite& site = *placed.site;
    if (site.kind == SiteKind::kUnwinder) {
      const uint64_t stack = Evaluate(site.frame);
      for (const LocatedFunction& function : tracepoint.functions) {
        if (!function.activations) continue;
        auto& open = activations_[&function];
        while (!open.empty() && open.back().frame <= stack) {
          if (throws_happen_) events_.push_back("throw " + Values(site, &open.back()));
          open.pop_back();
        }
      }
      return;
    }
    if (!placed.function->activations) {
      events_.push_back(Values(site, nullptr));
      return;
    }
    auto& open = activations_[placed.function];
    const uint64_t frame = Evaluate(site.frame);
    if (site.kind == SiteKind::kEntry) {
      while (!open.empty() && open.back().frame <= frame) open.pop_back();
      open.push_back({frame, {}});
      for (const ValueRead& value : site.values)
        open.back().values.push_back(Text(value, nullptr, 0));
      return;
    }
    EXPECT_FALSE(open.empty()) << "an end without a beginning";
    if (open.empty()) return;
    EXPECT_EQ(open.back().frame, frame) << placed.function->name;
    if (site.happens) events_.push_back(Values(site, &open.back()));
    open.pop_back();
  }

  std::string Values(const ProbeSite& site, const Activation* activation) const {
    std::string out;
    for (size_t i = 0; i < site.values.size(); ++i)
      out += (i > 0 ? " " : "") + Text(site.values[i], activation, i);
    return out;
  }

  std::string Text(const ValueRead& value, const Activation* activation, size_t index) const {
    switch (value.form) {
      case ValueForm::kInteger:
        return std::to_string(static_cast<int64_t>(Evaluate(value.value)));
      case ValueForm::kBool:
        return Evaluate(value.value) != 0 ? "true" : "false";
      case ValueForm::kDouble: {
        const uint64_t bits = Evaluate(value.value);
        double out = 0;
        std::memcpy(&out, &bits, 8);
        return fmt::format("{}", out);
      }
      case ValueForm::kFloat: {
        const auto bits = static_cast<uint32_t>(Evaluate(value.value));
        float out = 0;
        std::memcpy(&out, &bits, 4);
        return fmt::format("{}", out);
      }
      case ValueForm::kCString: {
        const uint64_t address = Evaluate(value.value);
        if (address == 0) return "null";
        std::string out;
        for (char c = 0; Read(address + out.size(), &c, 1) && c != 0 && out.size() < 256;) out += c;
        return "'" + out + "'";
      }
      case ValueForm::kBytes: {
        const uint64_t address = Evaluate(value.value), length = Evaluate(value.length);
        EXPECT_LT(length, 10000u);
        std::string out(std::min<uint64_t>(length, 10000), '\0');
        Read(address, out.data(), out.size());
        if (value.until_zero) out.resize(std::min(out.find('\0'), out.size()));
        return "'" + out + "'";
      }
      case ValueForm::kText:
        return "'" + value.text + "'";
      case ValueForm::kElapsed:
        return activation != nullptr ? "elapsed" : "no entry";
      case ValueForm::kAtEntry:
        return activation != nullptr ? activation->values.at(index) : "no entry";
      case ValueForm::kUnknown:
        return "null";
    }
    return "?";
  }

  uint64_t RegisterValue(Register reg) const {
    switch (reg) {
      case Register::kRax:
        return regs_.rax;
      case Register::kRdx:
        return regs_.rdx;
      case Register::kRcx:
        return regs_.rcx;
      case Register::kRbx:
        return regs_.rbx;
      case Register::kRsi:
        return regs_.rsi;
      case Register::kRdi:
        return regs_.rdi;
      case Register::kRbp:
        return regs_.rbp;
      case Register::kRsp:
        return regs_.rsp;
      case Register::kR8:
        return regs_.r8;
      case Register::kR9:
        return regs_.r9;
      case Register::kR10:
        return regs_.r10;
      case Register::kR11:
        return regs_.r11;
      case Register::kR12:
        return regs_.r12;
      case Register::kR13:
        return regs_.r13;
      case Register::kR14:
        return regs_.r14;
      case Register::kR15:
        return regs_.r15;
      case Register::kIp:
        return regs_.rip;
    }
    return 0;
  }

  bool Read(uint64_t address, void* to, size_t size) const {
    return pread(memory_, to, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
  }
  uint8_t Plant(uint64_t address) {
    uint8_t before = 0;
    const uint8_t breakpoint = 0xCC;
    EXPECT_TRUE(Read(address, &before, 1));
    EXPECT_EQ(pwrite(memory_, &breakpoint, 1, static_cast<off_t>(address)), 1);
    return before;
  }
  void Restore(uint64_t address, uint8_t byte) {
    EXPECT_EQ(pwrite(memory_, &byte, 1, static_cast<off_t>(address)), 1);
  }

  uint64_t AuxiliaryValue(uint64_t type) const {
    std::ifstream file(fmt::format("/proc/{}/auxv", pid_), std::ios::binary);
    Elf64_auxv_t entry{};
    while (file.read(reinterpret_cast<char*>(&entry), sizeof entry)) {
      if (entry.a_type == type) return entry.a_un.a_val;
    }
    return 0;
  }

  // As the kernel does for a uprobe: the executable mapping of the file that holds the offset.
  uint64_t RuntimeAddress(const std::string& path, uint64_t offset) const {
    std::ifstream maps(fmt::format("/proc/{}/maps", pid_));
    for (std::string line; std::getline(maps, line);) {
      std::istringstream words(line);
      std::string range, rights, file_offset, device, inode, name;
      words >> range >> rights >> file_offset >> device >> inode >> name;
      if (name != path || rights[2] != 'x') continue;
      const uint64_t begin = std::stoull(range, nullptr, 16);
      const uint64_t end = std::stoull(range.substr(range.find('-') + 1), nullptr, 16);
      const uint64_t first = std::stoull(file_offset, nullptr, 16);
      if (offset >= first && offset - first < end - begin) return begin + offset - first;
    }
    return 0;
  }

 public:
  bool throws_happen_ = true;  // false: ends by exception close activations, but are no events

 private:
  pid_t pid_ = -1;
  int memory_ = -1;
  int exit_status_ = -1;
  user_regs_struct regs_{};
  std::map<uint64_t, std::vector<Placed>> sites_;
  std::map<const LocatedFunction*, std::vector<Activation>> activations_;
  std::vector<std::string> events_;
};

}  // namespace wf::weaver
