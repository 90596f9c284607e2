// Places, merging and counts over whole inputs; what the stages do is tested with them.
#include "import/detect/sighting_input.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "net/compression.h"

namespace wf::detect {
namespace {

namespace fs = std::filesystem;

class SightingInputTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/sightings-XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = folder_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  // "K:N time from id" of each sighting.
  std::vector<std::string> Read(const std::vector<std::string>& inputs,
                                const SightingOptions& options = {}) {
    StringTable nodes;
    auto input = SightingInput::Open(inputs, options, nodes);
    EXPECT_TRUE(input.ok()) << (input.ok() ? "" : input.error().message);
    std::vector<std::string> out;
    if (!input.ok()) return out;
    SightingLine line;
    while (true) {
      const auto more = (*input)->Next(line);
      if (!more.ok()) {
        error_ = more.error().message;
        break;
      }
      if (!*more) break;
      const Sighting& s = line.sighting;
      out.push_back(std::to_string(s.place.input) + ":" + std::to_string(s.place.line) + " " +
                    std::to_string(s.time_ns / kSecond) + " " + std::string(nodes.At(s.sender)));
    }
    counts_ = (*input)->counts();
    notes_ = (*input)->Notes();
    EXPECT_EQ((*input)->inputs(), inputs.size());
    EXPECT_EQ((*input)->bytes_read(), (*input)->bytes_total());
    return out;
  }

  std::string folder_, error_;
  SightingCounts counts_;
  std::vector<std::string> notes_;
};

using Lines = std::vector<std::string>;

TEST_F(SightingInputTest, TextKeepsItsLineNumbers) {
  const std::string path = Write("a", "# one\n5 CALL a b 1\n\n3 CALL c b 1\n");
  EXPECT_EQ(Read({path}), (Lines{"1:4 3 c", "1:2 5 a"}));
  EXPECT_EQ(counts_.lines, 4u);
  EXPECT_EQ(counts_.sightings, 2u);
  EXPECT_EQ(counts_.text_files, 1u);
}

TEST_F(SightingInputTest, CompressedTextIsText) {
  const std::string text = "# one\n5 CALL a b 1\n";
  const std::string gz = Write("a", net::Compress(net::Compression::kGzip, text));
  const std::string zst = Write("b", net::Compress(net::Compression::kZstd, text));
  EXPECT_EQ(Read({gz}), Lines{"1:2 5 a"});
  EXPECT_EQ(Read({zst}), Lines{"1:2 5 a"});
}

TEST_F(SightingInputTest, SeveralInputsAreMergedAndNumberedApart) {
  const std::string a = Write("a", "1 CALL a x 1\n3 CALL a x 2\n3 CALL a x 3\n");
  const std::string b = Write("b", "#\n2 CALL b x 1\n3 CALL b x 2\n");
  EXPECT_EQ(Read({b, a}), (Lines{"2:1 1 a", "1:2 2 b", "1:3 3 b", "2:2 3 a", "2:3 3 a"}));
}

TEST_F(SightingInputTest, AFolderIsOneInputNumberedAsItIsPrinted) {
  Write("d/2", "#\n#\n1 CALL a x 1\n4 CALL a x 2\n");
  Write("d/1/z", "2 CALL b x 1\n1 CALL a x 1\n");  // the second is a double
  const std::string other = Write("other", "3 CALL c x 1\n");
  EXPECT_EQ(Read({folder_ + "/d"}), (Lines{"1:1 1 a", "1:2 2 b", "1:3 4 a"}));
  EXPECT_EQ(counts_.duplicates, 1u);
  EXPECT_EQ(Read({other, folder_ + "/d"}), (Lines{"2:1 1 a", "2:2 2 b", "1:1 3 c", "2:3 4 a"}));
}

TEST_F(SightingInputTest, AFolderOfOneFileIsStillAFolder) {
  Write("d/1", "#\n2 CALL a x 1\n1 CALL b x 1\n");
  EXPECT_EQ(Read({folder_ + "/d"}), (Lines{"1:1 1 b", "1:2 2 a"}));
}

TEST_F(SightingInputTest, NumbersOfAFolderDoNotDependOnOtherInputs) {
  Write("d/1", "1 CALL a x 1\n2 CALL a x 2\n");
  const std::string same = Write("same", "1 CALL a x 1\n");
  EXPECT_EQ(Read({same, folder_ + "/d"}), (Lines{"1:1 1 a", "2:2 2 a"}));
  EXPECT_EQ(counts_.duplicates, 1u);
}

TEST_F(SightingInputTest, MailIsNumberedAsItIsPrinted) {
  const std::string box =
      Write("box",
            "From x\nReceived: from b by c; 2 Jun 2003 17:30:07\nReceived: from a by b; 2 Jun 2003 "
            "17:30:05\n\nFrom y\nReceived: from d by e; 1 Jun 2003 00:00:00\n\n");
  EXPECT_EQ(Read({box}), (Lines{"1:1 1054425600 d", "1:2 1054575005 a", "1:3 1054575007 b"}));
  EXPECT_EQ(counts_.mailboxes, 1u);
}

TEST_F(SightingInputTest, ASingleMailIsMailAndALineWithAColonIsNot) {
  const std::string mail = "Received: from a by b; 2 Jun 2003 17:30:05 +0000\n\n";
  EXPECT_EQ(Read({Write("1", "Return-Path: <x>\n" + mail)}), Lines{"1:1 1054575005 a"});
  EXPECT_EQ(Read({Write("2", "X-Mailer: x\n" + mail)}), Lines{"1:1 1054575005 a"});
  const std::string text = Write("3", "note: not a mail\n");
  EXPECT_TRUE(Read({text}).empty());
  EXPECT_EQ(error_.substr(0, text.size() + 3), text + ":1:");
}

TEST_F(SightingInputTest, ErrorsNameFileAndLine) {
  const std::string path = Write("a", "1 CALL a b 1\n2 HELLO a b 1\n");
  Read({path});
  EXPECT_EQ(error_.substr(0, path.size() + 12), path + ":2: op `HELL");
  SightingOptions options;
  options.lenient = true;
  error_.clear();
  EXPECT_EQ(Read({path}, options), Lines{"1:1 1 a"});
  EXPECT_EQ(error_, "");
  EXPECT_EQ(counts_.malformed, 1u);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find(path + ":2: "), std::string::npos);
}

TEST_F(SightingInputTest, WhatIsNoInput) {
  StringTable nodes;
  EXPECT_EQ(SightingInput::Open({}, {}, nodes).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(SightingInput::Open({folder_ + "/none"}, {}, nodes).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(SightingInput::Open({folder_}, {}, nodes).error().code, ErrorCode::kBadInput);
  const std::string json = Write("a.json", "{\"data\": []}");
  EXPECT_NE(SightingInput::Open({json}, {}, nodes).error().hint.find("import"), std::string::npos);
}

TEST_F(SightingInputTest, DropsAreCounted) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "1 MSG a b " + std::to_string(i) + "\n";
  SightingOptions options;
  options.drop = DropModel{10, 4};
  EXPECT_EQ(Read({Write("a", text)}, options).size(), 5u);
  EXPECT_EQ(counts_.dropped, 95u);
}

TEST(DropModel, RateAndQueue) {
  EXPECT_EQ(ParseDropModel("500:64")->per_second, 500);
  EXPECT_EQ(ParseDropModel("0.5:0")->queue, 0u);
  for (const char* text :
       {"", "500", "500:", ":64", "0:64", "-1:64", "500:-1", "a:b", "nan:1", "inf:1", "1:2x"})
    EXPECT_FALSE(ParseDropModel(text).ok()) << text;
}

}  // namespace
}  // namespace wf::detect
