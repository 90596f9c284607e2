// Each rule of docs/reference/messages.md, "Pairing", as a small case; and what must hold for any trace.
#include "analysis/paths/call_pairing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <sstream>

namespace wf::paths {
namespace {

constexpr NodeId kA = 1, kB = 2;

NodeId NodeOf(const std::string& name) { return static_cast<NodeId>(name[0] - 'A' + 1); }

// "7 CALL A B 1": time in ns. A file of several is "2:7 CALL …": the input, then the time.
std::vector<Sighting> Read(const std::string& text) {
  std::vector<Sighting> out;
  std::istringstream lines(text);
  std::string line;
  std::map<uint32_t, uint64_t> numbers;
  while (std::getline(lines, line, ';')) {
    std::istringstream words(line);
    std::string time, op, from, to, id;
    if (!(words >> time >> op >> from >> to >> id)) continue;
    Sighting s;
    const size_t colon = time.find(':');
    s.place.input =
        colon == std::string::npos ? 1 : static_cast<uint32_t>(std::stoul(time.substr(0, colon)));
    s.time_ns = std::stoll(colon == std::string::npos ? time : time.substr(colon + 1));
    s.place.line = ++numbers[s.place.input];
    s.sender = NodeOf(from);
    s.receiver = NodeOf(to);
    s.kind = op[0] == 'C'   ? MessageKind::kCall
             : op[0] == 'R' ? MessageKind::kReturn
                            : MessageKind::kMessage;
    if (op.find("_SENT") != std::string::npos) s.by = SightedBy::kSender;
    if (op.find("_RCVD") != std::string::npos) s.by = SightedBy::kReceiver;
    s.id = id == "-" ? 0 : KeyOf(id);
    std::string key;
    while (words >> key) {
      if (key.rfind("thread=", 0) == 0) s.thread = KeyOf(key.substr(7));
      if (key.rfind("conn=", 0) == 0) s.conn = KeyOf(key.substr(5));
      if (key.rfind("path=", 0) == 0) s.path = KeyOf(key.substr(5));
    }
    out.push_back(s);
  }
  return out;
}

struct Paired {
  std::vector<Call> calls;  // by place
  PairingCounts counts;
};

Paired Pair(const std::vector<Sighting>& sightings, const PairingOptions& options = {}) {
  Paired out;
  CallPairing pairing(options, [&](const Call& call) { out.calls.push_back(call); });
  for (const Sighting& s : sightings) pairing.Add(s);
  pairing.Finish();
  EXPECT_EQ(pairing.waiting(), 0u);
  std::stable_sort(out.calls.begin(), out.calls.end(),
                   [](const Call& a, const Call& b) { return a.place < b.place; });
  out.counts = pairing.counts();
  EXPECT_EQ(out.counts.calls, out.calls.size());
  return out;
}

// "1:1 A>B 1-11 2-10": place, who, at the caller, at the callee; `?` for a call without a return.
std::string Shown(const Paired& paired) {
  std::string out;
  for (const Call& c : paired.calls) {
    const auto node = [](NodeId n) { return std::string(1, static_cast<char>('A' + n - 1)); };
    const auto end = [&](Nanos t) { return c.returned ? std::to_string(t) : std::string("?"); };
    out += (out.empty() ? "" : "; ") + std::to_string(c.place.line) + " " + node(c.caller) + ">" +
           node(c.callee) + " " + std::to_string(c.sent_ns) + "-" + end(c.returned_ns) + " " +
           std::to_string(c.received_ns) + "-" + end(c.replied_ns);
  }
  return out;
}
std::string Shown(const std::string& text) { return Shown(Pair(Read(text))); }

TEST(CallPairing, ByCallerCalleeAndId) {
  EXPECT_EQ(
      Shown("1 CALL A B 1; 2 CALL A B 2; 3 CALL A C 1; 4 RET B A 2; 5 RET C A 1; 6 RET B A 1"),
      "1 A>B 1-6 1-6; 2 A>B 2-4 2-4; 3 A>C 3-5 3-5");
}

TEST(CallPairing, BothEndsSightingsAreOneMessage) {
  const Paired paired =
      Pair(Read("1 CALL_SENT A B 1; 2 CALL_RCVD A B 1; 8 RET_SENT B A 1; 9 RET_RCVD B A 1"));
  ASSERT_EQ(paired.calls.size(), 1u);
  const Call& call = paired.calls[0];
  EXPECT_EQ(call.sent_ns, 1);
  EXPECT_EQ(call.received_ns, 2);
  EXPECT_EQ(call.replied_ns, 8);
  EXPECT_EQ(call.returned_ns, 9);
  EXPECT_TRUE(call.own_sent && call.own_received && call.own_replied && call.own_returned);
  EXPECT_EQ(paired.counts.messages, 2u);
}

TEST(CallPairing, AnEndThatIsNotSightedTakesTheOthersTime) {
  const Call call = Pair(Read("1 CALL_SENT A B 1; 8 RET_SENT B A 1")).calls.at(0);
  EXPECT_EQ(call.received_ns, 1);
  EXPECT_EQ(call.returned_ns, 8);
  EXPECT_TRUE(call.own_sent && call.own_replied);
  EXPECT_FALSE(call.own_received || call.own_returned);
}

TEST(CallPairing, ClocksThatDifferDoNotMatterForIds) {
  // The callee's clock is 100 behind, then 100 ahead.
  EXPECT_EQ(Shown("-98 CALL_RCVD A B 1; -92 RET_SENT B A 1; 1 CALL_SENT A B 1; 9 RET_RCVD B A 1"),
            "1 A>B 1-9 -98--92");
  EXPECT_EQ(Shown("1 CALL_SENT A B 1; 9 RET_RCVD B A 1; 102 CALL_RCVD A B 1; 108 RET_SENT B A 1"),
            "1 A>B 1-9 102-108");
  EXPECT_EQ(Shown("-92 RET_SENT B A 1; 1 CALL_SENT A B 1"), "2 A>B 1--92 1--92");
}

TEST(CallPairing, LinesOfOneTimeMayStandInAnyOrder) {
  EXPECT_EQ(Shown("5 CALL_SENT A B 1; 5 RET_SENT B A 1; 5 CALL_RCVD A B 1; 5 RET_RCVD B A 1"),
            "1 A>B 5-5 5-5");
  EXPECT_EQ(Shown("5 RET B A 1; 5 CALL A B 1"), "2 A>B 5-5 5-5");
}

TEST(CallPairing, RepeatedIdsWithAReturnBeforeEachCall) {
  // The callee's clock is 3 behind: every return seems to come before its call.
  EXPECT_EQ(Shown("9 RET_SENT B A 1; 10 CALL_SENT A B 1; 49 RET_SENT B A 1; 50 CALL_SENT A B 1"),
            "2 A>B 10-9 10-9; 4 A>B 50-49 50-49");
}

TEST(CallPairing, AReturnWhoseCallWasLostDoesNotShiftTheRest) {
  const std::string plain = "1 RET B A 1; 10 CALL A B 1; 12 RET B A 1; 20 CALL A B 1; 22 RET B A 1";
  EXPECT_EQ(Shown(plain), "2 A>B 10-12 10-12; 4 A>B 20-22 20-22");
  EXPECT_EQ(Pair(Read(plain)).counts.unpaired_returns, 1u);
  EXPECT_EQ(Shown("1 RET_SENT B A 1; 10 CALL_SENT A B 1; 12 RET_SENT B A 1; 20 CALL_SENT A B 1; "
                  "22 RET_SENT B A 1"),
            "2 A>B 10-12 10-12; 4 A>B 20-22 20-22");
}

TEST(CallPairing, UnknownIdsGoToTheEarliestOpenCall) {
  EXPECT_EQ(Shown("1 CALL A B -; 2 CALL A B -; 3 RET B A -; 4 RET B A -; 5 RET B A -"),
            "1 A>B 1-3 1-3; 2 A>B 2-4 2-4");
  EXPECT_EQ(Pair(Read("5 RET B A -; 6 CALL A B -")).counts.unpaired_returns, 1u);
}

TEST(CallPairing, UnknownIdsByTwoClocks) {
  EXPECT_EQ(Shown("1 CALL_SENT A B -; 2 CALL_SENT A B -; 3 CALL_RCVD A B -; 4 CALL_RCVD A B -; "
                  "5 RET_SENT B A -; 6 RET_RCVD B A -; 7 RET_SENT B A -; 8 RET_RCVD B A -"),
            "1 A>B 1-6 3-5; 2 A>B 2-8 4-7");
}

TEST(CallPairing, RepeatedIdsAfterTheReturnAreNewCalls) {
  const std::string text = "1 CALL A B 1; 2 RET B A 1; 3 CALL A B 1; 4 RET B A 1";
  EXPECT_EQ(Shown(text), "1 A>B 1-2 1-2; 3 A>B 3-4 3-4");
  EXPECT_EQ(Pair(Read(text)).counts.retransmissions, 0u);
}

TEST(CallPairing, AReturnSentTwiceDoesNotSplitTheNextCallOfItsId) {
  const Paired paired =
      Pair(Read("1 CALL_SENT A B 1; 2 CALL_RCVD A B 1; 3 RET_SENT B A 1; 4 RET_RCVD B A 1;"
                "5 RET_SENT B A 1; 6 RET_RCVD B A 1;"
                "11 CALL_SENT A B 1; 12 CALL_RCVD A B 1; 13 RET_SENT B A 1; 14 RET_RCVD B A 1"));
  ASSERT_EQ(paired.calls.size(), 2u);
  EXPECT_EQ(paired.calls[1].sent_ns, 11);
  EXPECT_EQ(paired.calls[1].received_ns, 12);
  EXPECT_EQ(paired.calls[1].replied_ns, 13);
  EXPECT_EQ(paired.calls[1].returned_ns, 14);
  EXPECT_EQ(paired.counts.messages, 5u);
  EXPECT_EQ(paired.counts.unpaired_returns, 1u);
}

TEST(CallPairing, AgainBeforeTheReturnInTheSameFileIsARetransmission) {
  const Paired paired = Pair(Read("1 CALL A B 1; 2 CALL A B 1; 3 RET B A 1"));
  ASSERT_EQ(paired.calls.size(), 1u);
  EXPECT_EQ(paired.calls[0].sent_ns, 1);
  EXPECT_EQ(paired.counts.retransmissions, 1u);
  EXPECT_EQ(paired.counts.duplicates, 0u);
  EXPECT_EQ(paired.counts.messages, 2u);
}

TEST(CallPairing, AgainFromAnotherFileIsADuplicate) {
  const Paired paired = Pair(Read("1:1 CALL A B 1; 2:2 CALL A B 1; 1:3 RET B A 1; 2:4 RET B A 1"));
  ASSERT_EQ(paired.calls.size(), 1u);
  EXPECT_EQ(paired.calls[0].returned_ns, 3);
  EXPECT_EQ(paired.counts.duplicates, 2u);
  EXPECT_EQ(paired.counts.retransmissions, 0u);
  EXPECT_EQ(paired.counts.unpaired_returns, 0u);
}

TEST(CallPairing, EachEndsLinesInItsOwnFileAreNoDuplicates) {
  const Paired paired = Pair(Read(
      "1:1 CALL_SENT A B 1; 2:2 CALL_RCVD A B 1; 2:3 CALL_RCVD A B 1; 2:4 RET_SENT B A 1; 1:5 "
      "RET_RCVD B A 1; 1:6 CALL_SENT A B 1; 2:7 CALL_RCVD A B 1; 2:8 RET_SENT B A 1; 1:9 RET_RCVD "
      "B A 1"));
  ASSERT_EQ(paired.calls.size(), 2u);
  EXPECT_EQ(paired.counts.duplicates, 0u);
  EXPECT_EQ(paired.counts.retransmissions, 1u);
  EXPECT_EQ(paired.calls[0].received_ns, 2);
  EXPECT_EQ(paired.calls[1].returned_ns, 9);
}

TEST(CallPairing, AReturnFromAThirdNodeClosesTheCall) {
  const Paired paired = Pair(Read("1 CALL A B 7; 2 CALL B C 9; 5 RET C A 7"));
  ASSERT_EQ(paired.calls.size(), 2u);
  EXPECT_TRUE(paired.calls[0].returned);
  EXPECT_EQ(paired.calls[0].callee, kB);
  EXPECT_EQ(paired.calls[0].returned_ns, 5);
  EXPECT_FALSE(paired.calls[1].returned);
  EXPECT_EQ(paired.counts.unpaired_returns, 0u);
  EXPECT_EQ(paired.counts.unpaired_calls, 1u);
}

TEST(CallPairing, AReturnFromAThirdNodeClosesTheCallsThatPassedTheRequestOn) {
  const Paired paired = Pair(Read("1 CALL A B 7; 2 CALL B C 7; 5 RET C A 7"));
  EXPECT_EQ(Shown(paired), "1 A>B 1-5 1-5; 2 B>C 2-5 2-5");
  EXPECT_EQ(paired.counts.unpaired_calls + paired.counts.unpaired_returns, 0u);
  EXPECT_EQ(paired.counts.passed_on, 1u);
  EXPECT_EQ(paired.counts.messages, 3u);
  // Through several nodes; what they asked others on the way is nobody's answer.
  EXPECT_EQ(Shown("1 CALL A B 7; 2 CALL B C 7; 3 CALL C E 7; 4 CALL C D 7; 9 RET D A 7"),
            "1 A>B 1-9 1-9; 2 B>C 2-9 2-9; 3 C>E 3-? 3-?; 4 C>D 4-9 4-9");
  EXPECT_EQ(
      Shown("1 CALL A B 7; 2 CALL B C 7; 3 CALL C B 7; 4 CALL B D 7; 5 CALL D E 7; 9 RET E A 7"),
      "1 A>B 1-9 1-9; 2 B>C 2-? 2-?; 3 C>B 3-? 3-?; 4 B>D 4-9 4-9; 5 D>E 5-9 5-9");
}

TEST(CallPairing, WhatWasPassedOnEndsByTheClockOfTheNodeThatAnswered) {
  const Paired paired =
      Pair(Read("1 CALL_SENT A B 7; 2 CALL_RCVD A B 7; 3 CALL_SENT B C 7; 4 CALL_RCVD B C 7; "
                "8 RET_SENT C A 7; 9 RET_RCVD C A 7"));
  EXPECT_EQ(Shown(paired), "1 A>B 1-9 2-8; 3 B>C 3-8 4-8");
  EXPECT_FALSE(paired.calls[0].own_replied);
  EXPECT_TRUE(paired.calls[1].own_replied);
  EXPECT_FALSE(paired.calls[1].own_returned);
  // B's clock is ahead: its sighting stands behind the return.
  EXPECT_EQ(Shown("1 CALL_SENT A B 7; 8 RET_SENT C A 7; 20 CALL_SENT B C 7"),
            "1 A>B 1-8 1-8; 3 B>C 20-8 20-8");
}

TEST(CallPairing, WhatWasPassedOnKeepsAReturnOfItsOwn) {
  EXPECT_EQ(Shown("1 CALL A B 7; 2 CALL B C 7; 5 RET C A 7; 6 RET C B 7"),
            "1 A>B 1-5 1-5; 2 B>C 2-6 2-6");
  // The callee answers itself after all: C's return is of a call that was lost.
  EXPECT_EQ(Shown("1 CALL A B 7; 2 CALL B C 7; 5 RET C A 7; 8 RET B A 7"),
            "1 A>B 1-8 1-8; 2 B>C 2-? 2-?");
}

TEST(CallPairing, OnlyWhatLiesBetweenRequestAndAnswerWasPassedOn) {
  EXPECT_EQ(Shown("1 CALL B C 7; 2 CALL A B 7; 5 RET C A 7"), "1 B>C 1-? 1-?; 2 A>B 2-5 2-5");
  EXPECT_EQ(Shown("1 CALL A B 7; 5 RET C A 7; 6 CALL B C 7"), "1 A>B 1-5 1-5; 3 B>C 6-? 6-?");
  // Another id: C may have been asked for anything.
  EXPECT_EQ(Shown("1 CALL A B 7; 2 CALL B C 9; 5 RET C A 7"), "1 A>B 1-5 1-5; 2 B>C 2-? 2-?");
}

TEST(CallPairing, IdsUsedAgainArePassedOnAgain) {
  const Paired paired = Pair(
      Read("1 CALL A B 7; 2 CALL B C 7; 3 CALL B C 7; 5 RET C A 7; 11 CALL A B 7; 12 CALL B C 7; "
           "16 RET C A 7"));
  EXPECT_EQ(Shown(paired), "1 A>B 1-5 1-5; 2 B>C 2-5 2-5; 5 A>B 11-16 11-16; 6 B>C 12-16 12-16");
  EXPECT_EQ(paired.counts.retransmissions, 1u);
}

TEST(CallPairing, WhatWasPassedOnSettlesWithTheCall) {
  PairingOptions options;
  options.settle = 100;
  options.settle_calls = 0;
  std::vector<Call> calls;
  CallPairing pairing(options, [&](const Call& call) { calls.push_back(call); });
  for (const Sighting& s : Read("1 CALL A B 7; 2 CALL B C 7; 5 RET C A 7; 90 CALL A D 8"))
    pairing.Add(s);
  EXPECT_TRUE(calls.empty());
  for (const Sighting& s : Read("200 CALL A D 9")) pairing.Add(s);
  EXPECT_EQ(calls.size(), 2u);
  EXPECT_EQ(pairing.waiting(), 2u);
}

TEST(CallPairing, AThirdNodeMayBeSightedByBothEnds) {
  EXPECT_EQ(Shown("1 CALL_SENT A B 7; 2 CALL_RCVD A B 7; 5 RET_SENT C A 7; 6 RET_RCVD C A 7"),
            "1 A>B 1-6 2-5");
}

TEST(CallPairing, TheCalleesOwnReturnCountsBeforeAThirdNodes) {
  // Ids count per pair here: C's return belongs to a call that was lost.
  const Paired paired = Pair(Read("1 CALL A B 7; 3 RET C A 7; 5 RET B A 7"));
  EXPECT_EQ(paired.calls.at(0).returned_ns, 5);
  EXPECT_EQ(paired.counts.unpaired_returns, 1u);
}

TEST(CallPairing, ACallThatAppearsLaterTakesItsReturnBackFromAThird) {
  // C's clock is behind; ids count per pair.
  EXPECT_EQ(Shown("1 CALL_SENT A B 7; 3 RET_SENT C A 7; 4 CALL_SENT A C 7; 9 RET_SENT B A 7"),
            "1 A>B 1-9 1-9; 3 A>C 4-3 4-3");
}

TEST(CallPairing, AThirdNodesReturnThatWasPushedOutFindsItsCall) {
  // C's clock is behind; B answers before the call to C is seen.
  EXPECT_EQ(Shown("1 CALL_SENT A B 7; 3 RET_SENT C A 7; 4 RET_SENT B A 7; 5 CALL_SENT A C 7"),
            "1 A>B 1-4 1-4; 4 A>C 5-3 5-3");
}

TEST(CallPairing, WhatHasNoPartnerIsCounted) {
  const Paired paired = Pair(Read("1 CALL A B 1; 2 RET C D 1; 3 MSG A B 1; 4 RET B A 5"));
  EXPECT_EQ(paired.counts.unpaired_calls, 1u);
  EXPECT_EQ(paired.counts.unpaired_returns, 2u);
  EXPECT_EQ(paired.counts.messages, 4u);
  EXPECT_EQ(paired.counts.msgs, 1u);
}

TEST(CallPairing, MessagesByBothEndsCountOnce) {
  const Paired paired =
      Pair(Read("1 MSG_SENT A B 1; 2 MSG_RCVD A B 1; 3 MSG A B 1; 4 MSG_SENT A B -"));
  EXPECT_EQ(paired.counts.msgs, 3u);
  EXPECT_EQ(paired.counts.messages, 3u);
}

TEST(CallPairing, TheFirstLineIsTheFirstInTheFileNotInTime) {
  std::vector<Sighting> lines = Read("5 CALL_SENT A B 1; 2 CALL_RCVD A B 1; 9 RET B A 1");
  std::swap(lines[0], lines[1]);  // sorted by time
  EXPECT_EQ(Pair(lines).calls.at(0).place.line, 1u);
}

TEST(CallPairing, PlainLinesBesideOwnClocks) {
  EXPECT_EQ(Shown("1 CALL A B 1; 2 CALL_RCVD A B 1; 5 RET_SENT B A 1; 6 RET B A 1"),
            "1 A>B 1-6 2-5");
}

TEST(CallPairing, EvidenceIsOfTheEndThatSawIt) {
  const Call call =
      Pair(Read("1 CALL_SENT A B 1 thread=s conn=c path=p; 2 CALL_RCVD A B 1 thread=r; "
                "3 RET_SENT B A 1 thread=x; 4 RET_RCVD B A 1"))
          .calls.at(0);
  EXPECT_EQ(call.sent_thread, KeyOf("s"));
  EXPECT_EQ(call.received_thread, KeyOf("r"));
  EXPECT_EQ(call.conn, KeyOf("c"));
  EXPECT_EQ(call.path, KeyOf("p"));
}

TEST(CallPairing, GivesUpAfterTwoHours) {
  const Nanos late = 2 * kHour + 10;
  std::vector<Sighting> lines = Read("1 CALL A B 1; 2 CALL A C 1");
  Sighting end = lines[0];
  end.kind = MessageKind::kReturn;
  std::swap(end.sender, end.receiver);
  end.time_ns = late;
  end.place.line = 3;
  lines.push_back(end);
  const Paired paired = Pair(lines);
  // The return itself comes before the call is given up: it is there when it is looked for.
  EXPECT_TRUE(paired.calls.at(0).returned);
  EXPECT_FALSE(paired.calls.at(1).returned);
}

TEST(CallPairing, WhatWaitsIsBounded) {
  PairingOptions options;
  options.settle = 100;
  options.settle_calls = 5;
  size_t calls = 0, most = 0;
  CallPairing pairing(options, [&](const Call& call) { calls += call.returned ? 1 : 0; });
  for (int i = 0; i < 2000; ++i) {  // senders only: the other end could always show more
    for (Sighting s : Read(std::to_string(10 * i) + " CALL_SENT A B " + std::to_string(i) + "; " +
                           std::to_string(10 * i + 3) + " RET_SENT B A " + std::to_string(i))) {
      pairing.Add(s);
      most = std::max(most, pairing.waiting());
      EXPECT_LE(pairing.horizon(), s.time_ns);
      EXPECT_GE(pairing.horizon(), s.time_ns - 130);
    }
  }
  EXPECT_LE(most, 13u);
  pairing.Finish();
  EXPECT_EQ(calls, 2000u);
}

// What is there to find: calls of four nodes with their own clocks.
struct TrueCall {
  NodeId caller, callee;
  uint64_t id;
  Nanos sent, received, replied, returned;  // by the node's clock
};

enum class Sniffed { kPlain, kBoth, kSenders, kReceivers };

std::vector<Sighting> SightingsOf(const std::vector<TrueCall>& calls, Sniffed sniffed) {
  std::vector<Sighting> out;
  const auto add = [&](Nanos t, MessageKind kind, SightedBy by, const TrueCall& c) {
    Sighting s;
    s.time_ns = t;
    s.kind = kind;
    s.by = by;
    const bool call = kind == MessageKind::kCall;
    s.sender = call ? c.caller : c.callee;
    s.receiver = call ? c.callee : c.caller;
    s.id = c.id;
    out.push_back(s);
  };
  for (const TrueCall& c : calls) {
    if (sniffed == Sniffed::kPlain) {
      add(c.sent, MessageKind::kCall, SightedBy::kCommon, c);
      add(c.replied, MessageKind::kReturn, SightedBy::kCommon, c);
      continue;
    }
    if (sniffed != Sniffed::kReceivers) {
      add(c.sent, MessageKind::kCall, SightedBy::kSender, c);
      add(c.replied, MessageKind::kReturn, SightedBy::kSender, c);
    }
    if (sniffed != Sniffed::kSenders) {
      add(c.received, MessageKind::kCall, SightedBy::kReceiver, c);
      add(c.returned, MessageKind::kReturn, SightedBy::kReceiver, c);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Sighting& a, const Sighting& b) { return a.time_ns < b.time_ns; });
  for (size_t i = 0; i < out.size(); ++i) out[i].place = {1, i + 1};
  return out;
}

std::vector<TrueCall> DrawCalls(Nanos most_skew) {
  const size_t n = *rc::gen::inRange<size_t>(1, 60);
  std::vector<Nanos> skew(5, 0);
  for (size_t i = 1; i < skew.size(); ++i)
    skew[i] = most_skew == 0 ? 0 : *rc::gen::inRange<Nanos>(-most_skew, most_skew);
  std::vector<TrueCall> calls;
  for (size_t i = 0; i < n; ++i) {
    TrueCall c;
    c.caller = *rc::gen::inRange<NodeId>(1, 5);
    c.callee = *rc::gen::inRange<NodeId>(1, 5);
    c.id = i + 1;
    const Nanos at = *rc::gen::inRange<Nanos>(0, 2000);
    const Nanos there = at + *rc::gen::inRange<Nanos>(0, 20);
    const Nanos done = there + *rc::gen::inRange<Nanos>(0, 200);
    const Nanos back = done + *rc::gen::inRange<Nanos>(0, 20);
    c.sent = at + skew[c.caller];
    c.received = there + skew[c.callee];
    c.replied = done + skew[c.callee];
    c.returned = back + skew[c.caller];
    calls.push_back(c);
  }
  return calls;
}

using Quadruple = std::tuple<NodeId, NodeId, Nanos, Nanos, Nanos, Nanos>;

void CheckTruth(const std::vector<TrueCall>& truth, Sniffed sniffed,
                const PairingOptions& options = {}) {
  const std::vector<Sighting> sightings = SightingsOf(truth, sniffed);
  const Paired paired = Pair(sightings, options);
  std::multiset<Quadruple> found, wanted;
  for (const Call& c : paired.calls) {
    RC_ASSERT(c.returned);
    found.emplace(c.caller, c.callee, c.sent_ns, c.received_ns, c.replied_ns, c.returned_ns);
    // The place is a line that shows this very request, and the first of them.
    const Sighting& line = sightings[c.place.line - 1];
    RC_ASSERT(line.kind == MessageKind::kCall && line.sender == c.caller &&
              line.receiver == c.callee);
    RC_ASSERT(line.time_ns == std::min(c.sent_ns, c.received_ns));
  }
  for (const TrueCall& c : truth) {
    const bool sent = sniffed == Sniffed::kBoth || sniffed == Sniffed::kSenders;
    const bool received = sniffed == Sniffed::kBoth || sniffed == Sniffed::kReceivers;
    if (sniffed == Sniffed::kPlain) {
      wanted.emplace(c.caller, c.callee, c.sent, c.sent, c.replied, c.replied);
    } else {
      wanted.emplace(c.caller, c.callee, sent ? c.sent : c.received, received ? c.received : c.sent,
                     sent ? c.replied : c.returned, received ? c.returned : c.replied);
    }
  }
  RC_ASSERT(found == wanted);
  RC_ASSERT(paired.counts.messages == 2 * truth.size());
  RC_ASSERT(paired.counts.retransmissions + paired.counts.duplicates == 0u);
  RC_ASSERT(paired.counts.unpaired_calls + paired.counts.unpaired_returns == 0u);
}

RC_GTEST_PROP(CallPairing, UniqueIdsPairWhateverTheClocks, ()) {
  CheckTruth(DrawCalls(5000),
             *rc::gen::element(Sniffed::kBoth, Sniffed::kSenders, Sniffed::kReceivers));
}

// Ids that count per pair of nodes, as many systems have them: the returns of others look like third nodes'.
RC_GTEST_PROP(CallPairing, IdsPerPairOfNodesPairWhateverTheClocks, ()) {
  std::vector<TrueCall> calls = DrawCalls(5000);
  std::map<std::pair<NodeId, NodeId>, uint64_t> next;
  for (TrueCall& c : calls) c.id = ++next[{c.caller, c.callee}];
  CheckTruth(calls, *rc::gen::element(Sniffed::kBoth, Sniffed::kSenders, Sniffed::kReceivers));
}

RC_GTEST_PROP(CallPairing, UniqueIdsPairOnOneClock, ()) {
  CheckTruth(DrawCalls(0), Sniffed::kPlain);
}

// Ids that are used again once the call before has returned, by true time and by both clocks.
RC_GTEST_PROP(CallPairing, IdsUsedAgainPair, ()) {
  std::vector<TrueCall> calls;
  Nanos at = 0;
  const size_t n = *rc::gen::inRange<size_t>(1, 40);
  for (size_t i = 0; i < n; ++i) {
    TrueCall c{kA, kB, 7, 0, 0, 0, 0};
    c.sent = at += *rc::gen::inRange<Nanos>(1, 100);
    c.received = at += *rc::gen::inRange<Nanos>(0, 10);
    c.replied = at += *rc::gen::inRange<Nanos>(1, 100);
    c.returned = at += *rc::gen::inRange<Nanos>(0, 10);
    calls.push_back(c);
  }
  CheckTruth(calls, *rc::gen::element(Sniffed::kBoth, Sniffed::kSenders, Sniffed::kReceivers,
                                      Sniffed::kPlain));
}

// One clock, anything at all on it: a reference that keeps everything.
RC_GTEST_PROP(CallPairing, PlainLinesAsTheReferenceHasThem, ()) {
  const size_t n = *rc::gen::inRange<size_t>(1, 80);
  std::vector<Sighting> lines;
  Nanos at = 0;
  for (size_t i = 0; i < n; ++i) {
    Sighting s;
    s.time_ns = at += *rc::gen::inRange<Nanos>(0, 5);
    s.place = {1, i + 1};
    const bool call = *rc::gen::arbitrary<bool>();
    s.kind = call ? MessageKind::kCall : MessageKind::kReturn;
    const NodeId callee = *rc::gen::inRange<NodeId>(2, 4);
    s.sender = call ? kA : callee;
    s.receiver = call ? callee : kA;
    s.id = 0;
    lines.push_back(s);
  }
  std::map<NodeId, std::deque<size_t>> open;
  std::map<uint64_t, Nanos> ends;  // by line of the call
  uint64_t orphans = 0;
  for (const Sighting& s : lines) {
    if (s.kind == MessageKind::kCall) {
      open[s.receiver].push_back(s.place.line);
    } else if (auto& queue = open[s.sender]; queue.empty()) {
      ++orphans;
    } else {
      ends[queue.front()] = s.time_ns;
      queue.pop_front();
    }
  }
  const Paired paired = Pair(lines);
  RC_ASSERT(paired.counts.unpaired_returns == orphans);
  for (const Call& c : paired.calls) {
    const auto end = ends.find(c.place.line);
    RC_ASSERT(c.returned == (end != ends.end()));
    if (c.returned) RC_ASSERT(c.returned_ns == end->second);
  }
}

// Losses: whoever kept both sightings is paired with his own; nobody is paired with another's.
RC_GTEST_PROP(CallPairing, LossTakesOnlyWhatWasLost, ()) {
  const std::vector<TrueCall> truth = DrawCalls(0);
  const std::vector<Sighting> all = SightingsOf(truth, Sniffed::kPlain);
  std::vector<Sighting> kept;
  std::map<uint64_t, int> seen;  // id → 1: call, 2: return
  for (const Sighting& s : all) {
    if (*rc::gen::inRange(0, 4) == 0) continue;
    kept.push_back(s);
    seen[s.id] |= s.kind == MessageKind::kCall ? 1 : 2;
  }
  const Paired paired = Pair(kept);
  uint64_t calls = 0, returns = 0;
  for (const auto& [id, which] : seen) {
    calls += which == 1 ? 1 : 0;
    returns += which == 2 ? 1 : 0;
  }
  RC_ASSERT(paired.counts.unpaired_calls == calls);
  RC_ASSERT(paired.counts.unpaired_returns == returns);
  RC_ASSERT(paired.counts.messages == kept.size());
}

// A bound on what waits changes nothing while clocks agree.
RC_GTEST_PROP(CallPairing, SettlingEarlyIsEnoughWhenClocksAgree, ()) {
  PairingOptions options;
  options.settle = 50;
  options.settle_calls = 0;
  CheckTruth(DrawCalls(0), *rc::gen::element(Sniffed::kBoth, Sniffed::kSenders), options);
}

// Anything in any order: nothing is lost, nothing is counted twice, nothing stays.
RC_GTEST_PROP(CallPairing, EverySightingIsAccountedFor, ()) {
  const size_t n = *rc::gen::inRange<size_t>(1, 120);
  std::vector<Sighting> lines;
  for (size_t i = 0; i < n; ++i) {
    Sighting s;
    s.time_ns = *rc::gen::inRange<Nanos>(0, 300);
    s.place = {*rc::gen::inRange<uint32_t>(1, 3), i + 1};
    s.kind = *rc::gen::element(MessageKind::kCall, MessageKind::kReturn);
    s.by = *rc::gen::element(SightedBy::kCommon, SightedBy::kSender, SightedBy::kReceiver);
    s.sender = *rc::gen::inRange<NodeId>(1, 4);
    s.receiver = *rc::gen::inRange<NodeId>(1, 4);
    s.id = *rc::gen::inRange<uint64_t>(0, 3);
    lines.push_back(s);
  }
  PairingOptions options;
  options.settle = *rc::gen::inRange<Nanos>(0, 100);
  options.settle_calls = *rc::gen::inRange<size_t>(0, 10);
  options.give_up = *rc::gen::inRange<Nanos>(50, 400);
  const Paired paired = Pair(lines, options);
  uint64_t unreturned = 0;
  for (const Call& c : paired.calls) unreturned += c.returned ? 0 : 1;
  RC_ASSERT(unreturned == paired.counts.unpaired_calls);
  const uint64_t returns = paired.counts.calls - unreturned - paired.counts.passed_on;
  RC_ASSERT(paired.counts.messages ==
            paired.counts.calls + returns + paired.counts.unpaired_returns);
}

}  // namespace
}  // namespace wf::paths
