#include "bpf/elf_functions.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace wf::bpf {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The C library of this very process: its bytes at a function's offset are the bytes that run.
TEST(ElfFunctions, FindsWhatTheLoaderFound) {
  for (const char* name : {"pthread_mutex_lock", "pthread_mutex_unlock", "pthread_rwlock_rdlock"}) {
    void* address = dlsym(RTLD_DEFAULT, name);
    ASSERT_NE(address, nullptr);
    Dl_info info;
    ASSERT_NE(dladdr(address, &info), 0);
    const std::string file = ReadFile(info.dli_fname);
    const auto found = FindElfFunctions(file, {"no_such_function", name});
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_FALSE(found->empty()) << name << " in " << info.dli_fname;
    const bool ours = std::any_of(found->begin(), found->end(), [&](const ElfFunction& function) {
      EXPECT_EQ(function.name, 1u);
      return file.compare(function.offset, 16, std::string(static_cast<char*>(address), 16)) == 0;
    });
    EXPECT_TRUE(ours) << name;
    const auto offset =
        static_cast<uint64_t>(static_cast<char*>(address) - static_cast<char*>(info.dli_fbase));
    EXPECT_LT(offset, ElfMemoryBytes(file));
    EXPECT_EQ(ElfMemoryBytes(file), ElfMemoryBytes(file.substr(0, 4096)));
  }
}

TEST(ElfFunctions, WhatIsNotElfIsRefused) {
  EXPECT_FALSE(FindElfFunctions("", {"main"}).ok());
  EXPECT_FALSE(FindElfFunctions("\x7F"
                                "ELF",
                                {"main"})
                   .ok());
  EXPECT_FALSE(FindElfFunctions(std::string(4096, '\0'), {"main"}).ok());
  EXPECT_EQ(ElfMemoryBytes("#!/bin/sh\n"), 0u);
}

TEST(ElfFunctions, ATruncatedFileIsReadAsFarAsItGoes) {
  const std::string file = ReadFile("/proc/self/exe");
  for (size_t size = 64; size < file.size(); size = size * 5 / 3) {
    const auto found = FindElfFunctions(std::string_view(file).substr(0, size), {"main"});
    ASSERT_TRUE(found.ok());
    for (const ElfFunction& function : *found) EXPECT_LT(function.offset, size);
  }
}

}  // namespace
}  // namespace wf::bpf
