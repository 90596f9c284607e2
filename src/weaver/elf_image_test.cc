#include "elf/elf_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "weaver/dwarf_function.h"

namespace wf::weaver {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Fixture(const std::string& name) {
  return std::string(WHEREFORE_FIXTURES) + "/" + name;
}

class File {
 public:
  explicit File(const std::string& bytes)
      : path_(::testing::TempDir() + "elf_image_" + std::to_string(getpid())) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const elf::FunctionSymbol* Find(const elf::ElfImage& image, std::string_view name) {
  for (const elf::FunctionSymbol& symbol : image.symbols()) {
    if (symbol.name == name) return &symbol;
  }
  return nullptr;
}

TEST(ElfImage, AddressesLeadToTheBytesInTheFile) {
  for (const char* name : {"shop_O2", "shop_fixed"}) {
    auto image = elf::ElfImage::Open(Fixture(name));
    ASSERT_TRUE(image.ok());
    const elf::FunctionSymbol* add = Find(**image, "_ZN4shop3AddEil");
    ASSERT_NE(add, nullptr);
    const auto offset = (*image)->OffsetOf(add->address);
    ASSERT_TRUE(offset);
    const std::string file = ReadFile(Fixture(name));
    EXPECT_EQ((*image)->Text(add->address, add->size), file.substr(*offset, add->size));
    EXPECT_FALSE((*image)->build_id().empty());
    EXPECT_TRUE(FindDwarfFunction(**image, add->address));
    EXPECT_FALSE(FindDwarfFunction(**image, add->address + 1));
    EXPECT_TRUE(DwarfFunctionAround(**image, add->address + 1));
  }
}

TEST(ElfImage, DebugInformationApartFromTheFile) {
  auto image = elf::ElfImage::Open(Fixture("shop_split"));
  ASSERT_TRUE(image.ok());
  EXPECT_THAT((*image)->debug_file(), ::testing::EndsWith("/shop_split.debug"));
  EXPECT_NE((*image)->dwarf(), nullptr);
  EXPECT_NE(Find(**image, "_ZN4shop3AddEil"), nullptr);
}

TEST(ElfImage, WhatIsNoProgramIsRefused) {
  EXPECT_FALSE(elf::ElfImage::Open("/nonexistent").ok());
  EXPECT_FALSE(elf::ElfImage::Open("/tmp").ok());
  EXPECT_FALSE(elf::ElfImage::Open("/dev/null").ok());
  EXPECT_FALSE(elf::ElfImage::Open(File("").path()).ok());
  EXPECT_FALSE(elf::ElfImage::Open(File("#!/bin/sh\n").path()).ok());
  EXPECT_FALSE(elf::ElfImage::Open(File(std::string("\x7F"
                                                    "ELF",
                                                    4))
                                       .path())
                   .ok());
}

TEST(ElfImage, ATruncatedFileIsReadAsFarAsItGoes) {
  const std::string file = ReadFile(Fixture("shop_O2"));
  for (size_t size = 64; size < file.size(); size = size * 3 / 2) {
    const File cut(file.substr(0, size));
    auto image = elf::ElfImage::Open(cut.path());
    if (!image.ok()) continue;
    for (const elf::FunctionSymbol& symbol : (*image)->symbols())
      FindDwarfFunction(**image, symbol.address);
  }
}

// The fuzzer's find: libdw measures a string that has no end.
TEST(ElfImage, DebugStringsWithoutAnEndAreNotRead) {
  std::string file = ReadFile(Fixture("shop_O2"));
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), file.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  bool spoilt = false;
  for (const Elf64_Shdr& section : sections) {
    const char* name = file.data() + sections[header.e_shstrndx].sh_offset + section.sh_name;
    if (std::strcmp(name, ".debug_line_str") != 0) continue;
    file[section.sh_offset + section.sh_size - 1] = 'x';
    spoilt = true;
  }
  ASSERT_TRUE(spoilt) << "the fixture is built with DWARF 5, which has .debug_line_str";
  const File damaged(file);
  auto image = elf::ElfImage::Open(damaged.path());
  ASSERT_TRUE(image.ok());
  EXPECT_EQ((*image)->dwarf(), nullptr);
  EXPECT_NE(Find(**image, "_ZN4shop3AddEil"), nullptr);
}

}  // namespace
}  // namespace wf::weaver
