#include "import/messages/message_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "import/messages/message_text_reader.h"

namespace wf::messages {
namespace {

Nanos Seconds(std::string_view text) {
  Nanos ns = -12345;
  EXPECT_TRUE(ParseSeconds(text, ns)) << text;
  return ns;
}

TEST(MessageText, TimesAreExact) {
  EXPECT_EQ(Seconds("1655759356.535256"), 1655759356535256000);
  EXPECT_EQ(Seconds("1655759356.000000001"), 1655759356000000001);
  EXPECT_EQ(Seconds("0"), 0);
  EXPECT_EQ(Seconds("0.1"), 100000000);
  EXPECT_EQ(Seconds("-1.5"), -1500000000);
  EXPECT_EQ(Seconds("007"), 7 * kSecond);
  EXPECT_EQ(Seconds("9223372036.854775807"), INT64_MAX);
  EXPECT_EQ(Seconds("-9223372036.854775808"), INT64_MIN);
}

TEST(MessageText, WhatIsNoTime) {
  for (const char* text : {"", "-", ".", "1.", ".5", "1.0000000001", "1e9", "+1", "1,5", "0x10",
                           "nan", "1.5s", "1.2.3", "--1", "1.-5", "9223372036.854775808",
                           "-9223372036.854775809", "9223372037", "99999999999999999999999999"}) {
    Nanos ns = 0;
    EXPECT_FALSE(ParseSeconds(text, ns)) << text;
  }
}

RC_GTEST_PROP(MessageText, TimesComeBack, (Nanos ns)) {
  std::string text;
  AppendSeconds(ns, text);
  Nanos back = 0;
  RC_ASSERT(ParseSeconds(text, back));
  RC_ASSERT(back == ns);
}

TEST(MessageText, EveryOp) {
  for (const MessageKind kind : {MessageKind::kCall, MessageKind::kReturn, MessageKind::kMessage}) {
    for (const SightedBy by : {SightedBy::kCommon, SightedBy::kSender, SightedBy::kReceiver}) {
      MessageFields fields;
      std::string fault;
      const std::string line = "1 " + std::string(OpName(kind, by)) + " a b 1";
      ASSERT_EQ(ParseMessageLine(line, fields, fault), LineKind::kSighting) << line;
      EXPECT_EQ(fields.kind, kind);
      EXPECT_EQ(fields.by, by);
    }
  }
}

std::string FaultOf(std::string_view line) {
  MessageFields fields;
  std::string fault;
  return ParseMessageLine(line, fields, fault) == LineKind::kMalformed ? fault : "none";
}

TEST(MessageText, FaultsSayWhatIsWrong) {
  EXPECT_EQ(FaultOf("1 CAL a b 1"), "op `CAL`: not CALL, RET or MSG, plain or with _SENT or _RCVD");
  EXPECT_EQ(FaultOf("1 call a b 1").substr(0, 9), "op `call`");
  EXPECT_EQ(FaultOf("1 CALL_BOTH a b 1").substr(0, 14), "op `CALL_BOTH`");
  EXPECT_EQ(FaultOf("1 CALL_SENT_RCVD a b 1").substr(0, 3), "op ");
  EXPECT_EQ(FaultOf("x CALL a b 1"),
            "time `x`: not Unix seconds with up to 9 digits behind the point");
  EXPECT_EQ(FaultOf("1 CALL a b"), "too few words: seconds op sender receiver id [key=value …]");
  EXPECT_EQ(FaultOf("1"), "the line ends behind its time");
  EXPECT_EQ(FaultOf("1 CALL a b 1 more"), "`more` behind the id is not key=value");
  EXPECT_EQ(FaultOf("1 CALL a b 1 =x"), "`=x` behind the id is not key=value");
  EXPECT_EQ(FaultOf("1 CALL a\xFF b 1"), "not UTF-8");
  EXPECT_EQ(FaultOf(std::string_view("1 CALL a\0 b 1", 13)), "a NUL in it");
  EXPECT_EQ(FaultOf("1 CALL ä b 1"), "none");
}

struct ReadBack {
  std::vector<SightingLine> lines;
  StringTable nodes;
  uint64_t counted = 0, malformed = 0;
  std::string error, first_fault;
};

// Given in pieces of so many bytes.
void ReadAll(const std::string& text, size_t piece, OnMalformed on_malformed, ReadBack& out) {
  size_t at = 0;
  MessageTextOptions options;
  options.on_malformed = on_malformed;
  MessageTextReader reader(
      [&](char* buffer, size_t size) -> Result<size_t> {
        const size_t n = std::min({size, piece, text.size() - at});
        std::memcpy(buffer, text.data() + at, n);
        at += n;
        return n;
      },
      "f.txt", options, out.nodes);
  SightingLine line;
  while (true) {
    const auto more = reader.Next(line);
    if (!more.ok()) {
      out.error = more.error().message;
      break;
    }
    if (!*more) break;
    out.lines.push_back(line);
  }
  out.counted = reader.lines();
  out.malformed = reader.malformed();
  out.first_fault = reader.first_fault();
}

TEST(MessageTextReader, LinesKeysAndNumbers) {
  ReadBack read;
  ReadAll(
      "# a comment\n\n1.5 CALL a b 7 thread=3 conn=x bytes=12 path=p other=1\r\n  \n"
      "\t2 RET_SENT\tb  a -   \n3 MSG a b 9",
      1000, OnMalformed::kFail, read);
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.lines.size(), 3u);
  EXPECT_EQ(read.counted, 6u);
  const Sighting& call = read.lines[0].sighting;
  EXPECT_EQ(call.place, (Place{1, 3}));
  EXPECT_EQ(call.id, KeyOf("7"));
  EXPECT_EQ(call.thread, KeyOf("3"));
  EXPECT_EQ(call.conn, KeyOf("x"));
  EXPECT_EQ(call.bytes, 12);
  EXPECT_EQ(call.path, KeyOf("p"));
  EXPECT_EQ(read.lines[0].keys, "thread=3 conn=x bytes=12 path=p other=1");
  const Sighting& ret = read.lines[1].sighting;
  EXPECT_EQ(ret.id, 0u);
  EXPECT_EQ(ret.by, SightedBy::kSender);
  EXPECT_EQ(ret.place.line, 5u);
  EXPECT_EQ(ret.thread, 0u);  // not that of the line before
  EXPECT_EQ(ret.bytes, -1);
  EXPECT_EQ(read.lines[1].keys, "");
  EXPECT_EQ(read.nodes.At(ret.sender), "b");
  EXPECT_EQ(read.lines[2].sighting.place.line, 6u);  // no line feed at the end
}

TEST(MessageTextReader, AByteOrderMarkIsPassedOver) {
  ReadBack read;
  ReadAll(
      "\xEF\xBB\xBF"
      "1 CALL a b 1\n",
      1000, OnMalformed::kFail, read);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.lines.size(), 1u);
}

TEST(MessageTextReader, ErrorsNameFileAndLine) {
  ReadBack read;
  ReadAll("1 CALL a b 1\n#\n2 CALLED a b 1\n3 RET b a 1\n", 1000, OnMalformed::kFail, read);
  EXPECT_EQ(read.error, "f.txt:3: op `CALLED`: not CALL, RET or MSG, plain or with _SENT or _RCVD");
  EXPECT_EQ(read.lines.size(), 1u);
}

TEST(MessageTextReader, LenientCountsAndSkips) {
  ReadBack read;
  ReadAll("junk\n1 CALL a b 1\n1 2 3\n3 RET b a 1\n", 1000, OnMalformed::kSkip, read);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.lines.size(), 2u);
  EXPECT_EQ(read.malformed, 2u);
  EXPECT_EQ(read.first_fault.substr(0, 14), "f.txt:1: time ");
  EXPECT_EQ(read.lines[1].sighting.place.line, 4u);
}

TEST(MessageTextReader, AnEndlessLineIsOneMalformedLine) {
  ReadBack read;
  ReadAll("1 CALL a b 1\n" + std::string(9'000'000, 'x') + "\n3 RET b a 1\n", 100'000,
          OnMalformed::kSkip, read);
  EXPECT_EQ(read.lines.size(), 2u);
  EXPECT_EQ(read.malformed, 1u);
  EXPECT_EQ(read.counted, 3u);
  ReadBack open;
  ReadAll(std::string(9'000'000, 'x'), 1'000'000, OnMalformed::kSkip, open);
  EXPECT_EQ(open.malformed, 1u);
}

TEST(MessageTextReader, PiecesDoNotMatter) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += std::to_string(i) + ".25 CALL node" + std::to_string(i % 7) + " b " +
            std::to_string(i) + (i % 3 == 0 ? " path=" + std::to_string(i) : "") + "\n";
  }
  ReadBack whole;
  ReadAll(text, text.size(), OnMalformed::kFail, whole);
  ASSERT_EQ(whole.lines.size(), 200u);
  for (const size_t piece : {1, 7, 64, 333}) {
    ReadBack read;
    ReadAll(text, piece, OnMalformed::kFail, read);
    ASSERT_EQ(read.lines.size(), whole.lines.size()) << piece;
    std::string a, b;
    for (size_t i = 0; i < read.lines.size(); ++i) {
      for (auto [from, to] : {std::pair{&read, &a}, std::pair{&whole, &b}}) {
        const SightingLine& line = from->lines[i];
        AppendMessageLine(line, from->nodes.At(line.sighting.sender),
                          from->nodes.At(line.sighting.receiver), *to);
      }
    }
    EXPECT_EQ(a, b);
  }
}

RC_GTEST_PROP(MessageText, PrintedLinesReadBack, ()) {
  const auto word = rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::element('a', 'B', '0', '-', '_', '.', ':', '/')));
  SightingLine line;
  line.sighting.time_ns = *rc::gen::arbitrary<Nanos>();
  line.sighting.kind =
      *rc::gen::element(MessageKind::kCall, MessageKind::kReturn, MessageKind::kMessage);
  line.sighting.by =
      *rc::gen::element(SightedBy::kCommon, SightedBy::kSender, SightedBy::kReceiver);
  const std::string sender = *word, receiver = *word;
  line.id = *word;
  if (*rc::gen::arbitrary<bool>()) line.keys = "k=" + *word + " path=" + *word;
  std::string text;
  AppendMessageLine(line, sender, receiver, text);
  MessageFields fields;
  std::string fault;
  RC_ASSERT(text.back() == '\n');
  RC_ASSERT(ParseMessageLine(std::string_view(text).substr(0, text.size() - 1), fields, fault) ==
            LineKind::kSighting);
  RC_ASSERT(fields.time_ns == line.sighting.time_ns);
  RC_ASSERT(fields.kind == line.sighting.kind && fields.by == line.sighting.by);
  RC_ASSERT(fields.sender == sender && fields.receiver == receiver && fields.id == line.id);
  RC_ASSERT(fields.keys == line.keys);
}

TEST(MessageText, NamesThatTextCannotHold) {
  SightingLine line;
  std::string text;
  AppendMessageLine(line, "a b", "", text);
  EXPECT_EQ(text, "0.000000 MSG a_b _ -\n");
}

}  // namespace
}  // namespace wf::messages
