// A library compiled with -fsanitize-coverage=trace-pc runs in this process, which gives it the function it calls; what
// was logged is decoded with the code in memory, and the branches compared with those that the source has.
#include "recorder/control/coverage_reader.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "recorder/control/testing/ring.h"
#include "recorder/control/thunk_reader.h"
#include "recorder/format/coverage_log.h"

namespace {
wf::recorder::CoverageLog* g_log = nullptr;
}

extern "C" __attribute__((visibility("default"), noinline)) void __sanitizer_cov_trace_pc() {
  if (g_log != nullptr)
    g_log->Enter(reinterpret_cast<uint64_t>(__builtin_return_address(0)),
                 reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
}

namespace wf::recorder {
namespace {

struct Segment {
  uint64_t begin, end;
};

int FindSegment(dl_phdr_info* info, size_t, void* data) {
  auto* const asked = static_cast<Segment*>(data);  // begin: the address
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const uint64_t begin = info->dlpi_addr + header.p_vaddr;
    if (asked->begin < begin || asked->begin >= begin + header.p_memsz) continue;
    asked->end = begin + header.p_memsz;
    return 1;
  }
  return 0;
}

std::string_view CodeInMemory(uint64_t address) {
  Segment segment = {address, address};
  dl_iterate_phdr(FindSegment, &segment);
  return {reinterpret_cast<const char*>(address), segment.end - address};
}

// Each optimization compiles the same source to other branches, so outcomes are compared, not addresses.
class Coverage : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    library_ = dlopen((std::string(WHEREFORE_CONTROL_FIXTURES "/") + GetParam()).c_str(), RTLD_NOW);
    ASSERT_NE(library_, nullptr) << dlerror();
    log_.Begin(&ring_.ring, ring_.bytes.data(), ring_.bell);
    log_.Open(0);
  }
  void TearDown() override {
    g_log = nullptr;
    if (library_ != nullptr) dlclose(library_);
  }

  template <typename F>
  F* Function(const char* name) {
    return reinterpret_cast<F*>(dlsym(library_, name));
  }
  template <typename... Args>
  void Run(const char* name, Args... args) {
    auto* const function = Function<int(Args...)>(name);
    ASSERT_NE(function, nullptr);
    g_log = &log_;
    function(args...);
    g_log = nullptr;
  }

  // Outcomes of the branches within a function, by branch; only those in sub-computation `index`.
  struct Counts {
    uint64_t taken = 0, not_taken = 0;
    uint64_t all() const { return taken + not_taken; }
  };
  std::vector<Thunk> Thunks(uint64_t index = 0) {
    std::vector<Thunk> out;
    ThunkReader reader({index, 0x1234, CodeInMemory},
                       [&](const Thunk& thunk) { out.push_back(thunk); });
    for (const std::string& payload : ring_.Payloads(BranchSource::kCoverage)) reader.Read(payload);
    reader.Finish();
    EXPECT_EQ(reader.gaps(), 0U);
    return out;
  }
  std::map<uint64_t, Counts> BranchesOf(const char* name, uint64_t index = 0) {
    std::map<uint64_t, Counts> out;
    for (const Thunk& thunk : Thunks(index)) {
      Dl_info info;
      if (thunk.branch == 0 || dladdr(reinterpret_cast<void*>(thunk.branch), &info) == 0 ||
          info.dli_sname == nullptr || std::string(name) != info.dli_sname)
        continue;
      ++(thunk.taken ? out[thunk.branch].taken : out[thunk.branch].not_taken);
    }
    return out;
  }
  static uint64_t Total(const std::map<uint64_t, Counts>& branches) {
    uint64_t total = 0;
    for (const auto& [address, counts] : branches) total += counts.all();
    return total;
  }

  void* library_ = nullptr;
  TestRing ring_;
  CoverageLog log_;
};

TEST_P(Coverage, AnIfGoesOneWayOrTheOther) {
  Run("wf_if", 1);
  log_.Open(1);
  Run("wf_if", 0);
  const auto with = BranchesOf("wf_if", 0);
  const auto without = BranchesOf("wf_if", 1);
  ASSERT_EQ(with.size(), 1U);
  ASSERT_EQ(without.size(), 1U);
  EXPECT_EQ(with.begin()->first, without.begin()->first);
  EXPECT_EQ(with.begin()->second.all(), 1U);
  EXPECT_NE(with.begin()->second.taken, without.begin()->second.taken);
}

TEST_P(Coverage, ThunkZeroBeginsWhereTheSubComputationDoes) {
  Run("wf_if", 1);
  const auto thunks = Thunks();
  ASSERT_FALSE(thunks.empty());
  EXPECT_EQ(thunks[0], (Thunk{0x1234, 0, false}));
  EXPECT_EQ(
      std::count_if(thunks.begin(), thunks.end(), [](const Thunk& t) { return t.branch == 0; }), 1);
}

TEST_P(Coverage, ALoopIsCountedExactly) {
  Run("wf_loop", 30);
  // One decision of the loop and one of the if for each turn. Compilers test the loop's condition before it, too, or
  // jump to the test: 30 or 31 times.
  const uint64_t total = Total(BranchesOf("wf_loop"));
  EXPECT_GE(total, 60U);
  EXPECT_LE(total, 61U);
  // The remainder by 3 is 0 ten times of thirty.
  bool found = false;
  for (const auto& [address, counts] : BranchesOf("wf_loop"))
    found |= std::min(counts.taken, counts.not_taken) == 10 && counts.all() == 30;
  EXPECT_TRUE(found);
}

TEST_P(Coverage, CallsAndReturnsAreToldFromJumps) {
  Run("wf_calls", 40);
  const auto called = BranchesOf("wf_if");
  ASSERT_EQ(called.size(), 1U);
  EXPECT_EQ(called.begin()->second.taken, 20U);
  EXPECT_EQ(called.begin()->second.not_taken, 20U);
  const uint64_t caller = Total(BranchesOf("wf_calls"));
  EXPECT_GE(caller, 41U);  // the loop, and the if behind it
  EXPECT_LE(caller, 42U);
}

TEST_P(Coverage, RecursionIsACallLikeAnyOther) {
  Run("wf_recurse", 25);
  const auto branches = BranchesOf("wf_recurse");
  // At -O2 it is a loop in part: the sum is what every shape has in common.
  EXPECT_GE(Total(branches), 25U);
  EXPECT_LE(Total(branches), 26U);
}

TEST_P(Coverage, ASwitchLeadsToItsCase) {
  for (int which = 0; which < 9; ++which) {
    if (which != 0) log_.Open(static_cast<uint64_t>(which));
    Run("wf_switch", which);
  }
  std::map<uint64_t, int> starts;
  for (uint64_t which = 0; which < 7; ++which) {
    std::vector<Thunk> own;
    for (const Thunk& thunk : Thunks(which)) {
      Dl_info info;
      if (thunk.branch != 0 && dladdr(reinterpret_cast<void*>(thunk.branch), &info) != 0 &&
          info.dli_sname != nullptr && std::string("wf_switch") == info.dli_sname)
        own.push_back(thunk);
    }
    ASSERT_FALSE(own.empty()) << which;
    ++starts[own.back().start];
  }
  EXPECT_EQ(starts.size(), 7U);  // each case somewhere else
}

TEST_P(Coverage, RoomMadeOnTheStackIsNoCall) {
  Run("wf_alloca", 64);
  log_.Open(1);
  Run("wf_alloca", 300000);
  EXPECT_EQ(Total(BranchesOf("wf_alloca", 0)), 1U);
  EXPECT_EQ(Total(BranchesOf("wf_alloca", 1)), 1U);
}

TEST_P(Coverage, ACallThroughAPointerReturnsToItsCaller) {
  Run("wf_callback", Function<int(int)>("wf_if"), 10);
  const auto called = BranchesOf("wf_if");
  ASSERT_EQ(called.size(), 1U);
  EXPECT_EQ(called.begin()->second.all(), 10U);
}

TEST_P(Coverage, AFunctionThatEndsByAJumpIsRead) {
  Run("wf_tails", 20);
  const auto called = BranchesOf("wf_tail");
  ASSERT_EQ(called.size(), 1U);
  EXPECT_EQ(called.begin()->second.taken, 10U);
  EXPECT_EQ(called.begin()->second.not_taken, 10U);
}

INSTANTIATE_TEST_SUITE_P(Compiled, Coverage,
                         testing::Values("libpaths_O0.so", "libpaths_O1.so", "libpaths_O2.so"),
                         [](const auto& info) { return std::string(info.param).substr(9, 2); });

}  // namespace
}  // namespace wf::recorder
