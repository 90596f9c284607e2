#include <gtest/gtest.h>

#include <cstring>

#include "import/mail/mail_reader.h"
#include "import/mail/received_header.h"

namespace wf::mail {
namespace {

std::string DateOf(std::string_view text) {
  Nanos ns = 0;
  return ParseMailDate(text, ns) ? FormatInstant(ns).substr(0, 19) : "none";
}

TEST(MailDate, FormsThatAreReallySent) {
  const std::string want = "2003-06-02T17:30:05";
  for (const char* text :
       {"Mon, 2 Jun 2003 17:30:05 +0000", "Mon, 02 Jun 2003 10:30:05 -0700 (PDT)",
        "2 Jun 2003 17:30:05 GMT", "Mon, 2 Jun 03 17:30:05 UT", "Mon, 2 Jun 103 17:30:05 Z",
        "Mon,2 Jun 2003 17:30:05 -0000", "Mon, 2 Jun 2003 19:30:05 +02:00",
        "Mon, 2 Jun 2003 10:30:05 PDT", "Mon Jun  2 17:30:05 2003", "Mon, 2 Jun 2003 17:30:05",
        "  Mon,\r\n\t2 June 2003\r\n 17:30:05 (a (nested) comment) +0000",
        "02-Jun-2003 17:30:05 UTC", "Mon, 2 Jun 2003 17:30:05.123 +0000",
        "Mon, 2 Jun 2003 13:30:05 -0400 (Eastern Daylight Time)"}) {
    EXPECT_EQ(DateOf(text), want) << text;
  }
  EXPECT_EQ(DateOf("Sat, 29 Feb 2020 23:59 +0000"), "2020-02-29T23:59:00");
  EXPECT_EQ(DateOf("Thu, 1 Jan 1970 00:00:00 +0000"), "1970-01-01T00:00:00");
  EXPECT_EQ(DateOf("Tue, 30 Jun 2015 23:59:60 +0000"), "2015-07-01T00:00:00");
}

TEST(MailDate, WhatIsNone) {
  for (const char* text :
       {"", "yesterday", "Mon, 2 Jun 2003", "17:30:05", "31 Apr 2003 1:00:00 +0000",
        "29 Feb 2003 1:00:00 +0000", "2 Jun 2003 25:00:00 +0000", "2 Jun 2003 17:61:00",
        "2 Jun 2003 17:30:05 +9999", "0 Jun 2003 17:30:05", "2 Foo 2003 17:30:05",
        "2 Jun 9999 17:30:05", "2 Jun 2003 1:2:3:4"}) {
    EXPECT_EQ(DateOf(text), "none") << text;
  }
}

std::string HopOf(std::string_view value) {
  ReceivedHop hop;
  switch (ParseReceived(value, hop)) {
    case ReceivedFault::kNone:
      return hop.from + ">" + hop.by;
    case ReceivedFault::kNoHosts:
      return "no hosts";
    case ReceivedFault::kGenericHost:
      return "generic";
    case ReceivedFault::kNoTime:
      return "no time";
  }
  return "";
}

TEST(Received, HostsOutsideComments) {
  const std::string date = "; Mon, 2 Jun 2003 17:30:05 +0000";
  EXPECT_EQ(
      HopOf("from A.example.com (by evil.example [10.0.0.1]) by mx.Example.com. (8.12/8.12) with "
            "ESMTP id h52 for <x@y>" +
            date),
      "a.example.com>mx.example.com");
  EXPECT_EQ(HopOf("from [10.0.0.1] by b" + date), "10.0.0.1>b");
  EXPECT_EQ(HopOf("FROM a BY b (x; y)" + date), "a>b");
  EXPECT_EQ(HopOf("from a\r\n\tby b\r\n\t" + date), "a>b");
  EXPECT_EQ(HopOf("from a (unclosed by b" + date), "no hosts");
  EXPECT_EQ(HopOf("by b with local" + date), "no hosts");
  EXPECT_EQ(HopOf("from localhost (localhost [127.0.0.1]) by b" + date), "generic");
  EXPECT_EQ(HopOf("from unknown (HELO x) by b" + date), "generic");
  EXPECT_EQ(HopOf("from a by b"), "no time");
  EXPECT_EQ(HopOf("from a by b; whenever"), "no time");
  EXPECT_EQ(HopOf(""), "no hosts");
  EXPECT_EQ(HopOf("from"), "no hosts");
}

struct Mailbox {
  std::vector<std::string> lines;
  MailCounts counts;
};

Mailbox ReadBox(const std::string& text, size_t piece = 1000) {
  Mailbox out;
  StringTable nodes;
  size_t at = 0;
  MailReader reader(
      [&](char* buffer, size_t size) -> Result<size_t> {
        const size_t n = std::min({size, piece, text.size() - at});
        std::memcpy(buffer, text.data() + at, n);
        at += n;
        return n;
      },
      "box", 1, nodes);
  SightingLine line;
  while (*reader.Next(line)) {
    const Sighting& s = line.sighting;
    out.lines.push_back(std::string(nodes.At(s.sender)) + ">" + std::string(nodes.At(s.receiver)) +
                        " " + line.id + " " + line.keys + " " +
                        FormatInstant(s.time_ns).substr(11, 8));
    EXPECT_EQ(s.kind, MessageKind::kMessage);
    EXPECT_EQ(s.id, line.id == "-" ? 0 : KeyOf(line.id));
  }
  out.counts = reader.counts();
  return out;
}

constexpr const char* kBox =
    "From someone@example.com Mon Jun  2 17:30:07 2003\n"
    "Received: from b.example (b [1.2.3.4])\r\n"
    "\tby c.example; Mon, 2 Jun 2003\r\n"
    " 17:30:07 +0000\n"
    "X-Other: Received: from x by y; Mon, 2 Jun 2003 17:30:07 +0000\n"
    "received : from a.example by b.example; Mon, 2 Jun 2003 17:30:05 +0000\n"
    "Received: from localhost by a.example; Mon, 2 Jun 2003 17:30:04 +0000\n"
    "Received: by a.example; Mon, 2 Jun 2003 17:30:04 +0000\n"
    "Received: from q by a.example; noon\n"
    "Message-ID: <1@a.example>\n"
    "\n"
    "Received: from body by body; Mon, 2 Jun 2003 17:30:04 +0000\n"
    ">From quoted\n"
    "From within a paragraph it is no mail\n"
    "\n"
    "From another@example.com Mon Jun  2 17:31:00 2003\n"
    "Received: from d by e; Mon, 2 Jun 2003 17:31:00 +0000\n"
    "\n"
    "no id in this one";

TEST(MailReader, OneMessageAHeaderInTheOrderOfTheHosts) {
  for (const size_t piece : {1, 5, 64, 100'000}) {
    const Mailbox box = ReadBox(kBox, piece);
    EXPECT_EQ(box.lines,
              (std::vector<std::string>{"a.example>b.example 1@a.example path=1@a.example 17:30:05",
                                        "b.example>c.example 1@a.example path=1@a.example 17:30:07",
                                        "d>e -  17:31:00"}));
    EXPECT_EQ(box.counts.mails, 2u);
    EXPECT_EQ(box.counts.headers, 6u);
    EXPECT_EQ(box.counts.generic_host, 1u);
    EXPECT_EQ(box.counts.no_hosts, 1u);
    EXPECT_EQ(box.counts.no_time, 1u);
  }
}

TEST(MailReader, HeadersAloneAndASingleMail) {
  EXPECT_EQ(ReadBox("From a\nReceived: from a by b; 2 Jun 2003 17:30:05\nMessage-Id: x\nFrom b\n"
                    "Received: from c by d; 2 Jun 2003 17:30:05\nMessage-Id: <y z>\n")
                .lines,
            (std::vector<std::string>{"a>b x path=x 17:30:05", "c>d yz path=yz 17:30:05"}));
  EXPECT_EQ(ReadBox("Received: from a by b; 2 Jun 2003 17:30:05\n").lines,
            (std::vector<std::string>{"a>b -  17:30:05"}));
  EXPECT_TRUE(ReadBox("").lines.empty());
}

TEST(MailReader, EndlessLinesAreCut) {
  const Mailbox box = ReadBox("From a\nReceived: from a by b; 2 Jun 2003 17:30:05\nX: " +
                                  std::string(5'000'000, 'x') + "\nMessage-ID: <1>\n\nbody\n",
                              100'000);
  EXPECT_EQ(box.lines, std::vector<std::string>{"a>b 1 path=1 17:30:05"});
  EXPECT_EQ(box.counts.overlong, 1u);
}

}  // namespace
}  // namespace wf::mail
