// How calls are paired.
//
// A request may be sighted by three clocks: a common one (plain lines), the caller's, the callee's; so may its return.
// What one clock shows of one known id is in order: request, return, request, return… (a request again before the
// return is a retransmission). Between clocks nothing is sure, since they may differ by more than a call lasts. So:
//
// - a request sighted by clock k joins a call that has neither request nor return by k; else it is a retransmission
//   while the last call has no return, else a new call;
// - a return by k goes to the last call whose request k has shown and whose return not; else to the first of which k
//   has shown nothing;
// - a return that finds no call waits for one. A call that comes takes it, but gives it back for a better one: a later
//   return by the clock that showed the request, or one that is nearer in time;
// - a return from a third node answers the earliest open call of its id and caller, for as long as neither the callee
//   answers nor a call to that node appears. It also answers the calls of the same id by which the callee passed the
//   request on to that node, directly or through others, unless they get returns of their own: that is known for sure
//   when the first call is settled.
//
// With unknown ids there is only order: first in, first out, by each clock.
//
// A call goes to the sink as soon as nothing can be added: request and return sighted by the common clock, or by both
// ends. Others stay until they settle.
#include "analysis/paths/call_pairing.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "analysis/paths/open_calls.h"

namespace wf::paths {

using pairing::Entry;
using pairing::Item;
using pairing::ItemNumber;
using pairing::kCalleeClock;
using pairing::kCallerClock;
using pairing::kCommonClock;
using pairing::Key;
using pairing::kNobody;

namespace {

constexpr uint8_t Bit(int clock) { return static_cast<uint8_t>(1 << clock); }
constexpr uint8_t kOwnClocks = Bit(kCallerClock) | Bit(kCalleeClock);

bool Whole(uint8_t sighted) {
  return (sighted & Bit(kCommonClock)) != 0 || (sighted & kOwnClocks) == kOwnClocks;
}

// Of calls that returned and lack sightings, per key: more are settled at once. A known id rarely has two; unknown ids
// share one key, and with several ends and skew some dozens are in flight.
constexpr uint32_t kMostReturnedKnown = 8, kMostReturnedUnknown = 256;
// How far back a sighting of an unknown id looks for the message it shows.
constexpr int kLongestScan = 4096;
constexpr size_t kMostHalfMessages = 500'000;
// A request is passed on by a few nodes at most. Where calls of one id lead to many, ids mean little.
constexpr int kMostLooks = 32;

// Inputs are identified by 16 bits of their number: there are many items, and few inputs on a command line.
uint16_t InputOf(const Sighting& s) { return static_cast<uint16_t>(s.place.input); }

Nanos Distance(Nanos a, Nanos b) { return a < b ? SaturatingSub(b, a) : SaturatingSub(a, b); }

// The time at an end: by its own clock, else the common one, else the other end's.
struct EndTime {
  Nanos ns;
  bool own;
};
EndTime TimeAt(int own, const Nanos (&times)[pairing::kClocks], uint8_t sighted) {
  if (sighted & Bit(own)) return {times[own], true};
  if (sighted & Bit(kCommonClock)) return {times[kCommonClock], true};
  return {times[own == kCallerClock ? kCalleeClock : kCallerClock], false};
}

// True if, by this clock, no later request belongs to this call. Where times are coarse, lines of equal time
// are in any order.
bool AnsweredBefore(const Item& item, int clock, Nanos time) {
  return (item.reply & Bit(clock)) != 0 && item.answered[clock] < time;
}

bool AskedAfter(const Item& item, int clock, Nanos time) {
  return (item.request & Bit(clock)) != 0 && item.asked[clock] > time;
}

// A return that came first, by a clock that showed the request too: it is kept for lack of a better one, and
// most likely belongs to another call. It says nothing about which requests belong to this call.
bool HeldForWantOfBetter(const Item& item) {
  if (!item.early) return false;
  for (int clock = 0; clock < pairing::kClocks; ++clock) {
    if ((item.request & Bit(clock)) != 0 && AnsweredBefore(item, clock, item.asked[clock]))
      return true;
  }
  return false;
}

// Whether `item` may be a step on the way from `call` to the third node that answered it: it left after the
// request and before the answer, as far as one clock shows both.
bool OnTheWay(const Item& item, const Item& call) {
  if (item.reply != 0) return false;
  const auto by = [&](int clock) { return (item.request & Bit(clock)) != 0; };
  if (by(kCommonClock) && (AskedAfter(call, kCommonClock, item.asked[kCommonClock]) ||
                           AnsweredBefore(call, kCommonClock, item.asked[kCommonClock])))
    return false;
  if (item.caller == call.callee && by(kCallerClock) &&
      AskedAfter(call, kCalleeClock, item.asked[kCallerClock]))
    return false;
  return item.callee != call.third || !by(kCalleeClock) ||
         !AnsweredBefore(call, kCalleeClock, item.asked[kCalleeClock]);
}

Call MakeCall(const Item& item) {
  Call call;
  call.place = item.place;
  call.caller = item.caller;
  call.callee = item.callee;
  const EndTime sent = TimeAt(kCallerClock, item.asked, item.request);
  const EndTime received = TimeAt(kCalleeClock, item.asked, item.request);
  call.sent_ns = sent.ns, call.own_sent = sent.own;
  call.received_ns = received.ns, call.own_received = received.own;
  call.returned = item.reply != 0;
  if (call.returned) {
    const EndTime replied = TimeAt(kCalleeClock, item.answered, item.reply);
    call.replied_ns = replied.ns;
    call.own_replied = replied.own && item.third == kNobody;
    // A return that bypassed the caller ends the call when it leaves, and also the call into the caller.
    const EndTime returned = item.past_caller ? EndTime{replied.ns, false}
                                              : TimeAt(kCallerClock, item.answered, item.reply);
    call.returned_ns = returned.ns, call.own_returned = returned.own;
  } else {
    call.returned_ns = call.sent_ns, call.own_returned = false;
    call.replied_ns = call.received_ns, call.own_replied = false;
  }
  call.sent_thread = item.sent_thread;
  call.received_thread = item.received_thread;
  call.conn = item.conn;
  call.path = item.path;
  return call;
}

}  // namespace

struct CallPairing::Impl {
  Impl(const PairingOptions& given, Sink to) : options(given), sink(std::move(to)) {}

  void AddRequest(const Key& key, int clock, const Sighting& s);
  void AddReturn(const Key& key, int clock, const Sighting& s);
  void AddMessage(const Sighting& s);

  // Where a request joins a call that is known by other sightings; 0: nowhere.
  ItemNumber FindJoin(const Entry& entry, int clock, const Sighting& s);
  ItemNumber FindJoinUnknown(const Entry& entry, int clock, const Sighting& s);
  ItemNumber FindAnswered(const Entry& entry, int clock, const Sighting& s);
  ItemNumber FindAnsweredUnknown(const Entry& entry, int clock);
  ItemNumber FindAnsweredByThird(const Key& key, int clock);

  void NewCall(Entry* entry, const Key& key, int clock, const Sighting& s);
  void FillRequest(ItemNumber n, int clock, const Sighting& s);
  void FillReturn(ItemNumber n, int clock, const Sighting& s);
  void TakeWaiting(ItemNumber call, Entry& entry);
  void TakeFromThird(ItemNumber call, const Key& key);
  Item& NewWaiting(Entry* entry, const Key& key);
  void Wait(Entry* entry, const Key& key, int clock, const Sighting& s);
  bool PassedOn(const Item& item);
  bool FindWay(NodeId from, const Item& call, ItemNumber number, int& looks);
  void PassOn(ItemNumber call);
  void AnswerPassedOn(ItemNumber call);
  void Unanswer(Item& call);
  void WaitAgain(const Item& answered);
  void Returned(ItemNumber n);
  void Complete(ItemNumber n);

  void Emit(Item& item);
  void Finalize(ItemNumber n);
  void RemoveCall(ItemNumber n);
  void RemoveWaiting(ItemNumber n);
  void Expire();

  struct Due {
    ItemNumber n;
    uint32_t generation;
    Nanos time;
  };
  bool Gone(const Due& due) {
    const Item& item = open.At(due.n);
    return !item.live || item.generation != due.generation;
  }

  PairingOptions options;
  Sink sink;
  PairingCounts counts;
  pairing::OpenCalls open;
  ItemNumber oldest = 0, youngest = 0;  // of all calls
  std::deque<Due> settling;             // returned, not emitted
  std::deque<Due> closed;               // emitted, kept to recognise duplicates
  std::deque<Due> waiting;              // returns without a call
  size_t third_answers = 0;
  std::vector<ItemNumber> way;  // of PassOn
  Nanos now = INT64_MIN;
  uint32_t first_input = 0;
  uint8_t clocks_seen = 0;
  // Several inputs, or plain lines among others: more sightings of a call may come after its end.
  bool keep_closed = false;
  // Messages of known id that one end has shown, for the count; the older half is forgotten at times.
  std::unordered_map<uint64_t, uint8_t> half_messages, older_half_messages;
};

ItemNumber CallPairing::Impl::FindJoinUnknown(const Entry& entry, int clock, const Sighting& s) {
  if (clock == kCommonClock) return 0;
  // Messages are joined in order, so those without a sighting by this clock are at the end.
  ItemNumber found = 0;
  int steps = 0;
  for (ItemNumber n = entry.last_call; n != 0 && steps < kLongestScan; ++steps) {
    const Item& item = open.At(n);
    if ((item.request & Bit(clock)) != 0) break;
    if (!AnsweredBefore(item, clock, s.time_ns) && (item.request & Bit(kCommonClock)) == 0)
      found = n;
    n = item.previous;
  }
  return found;
}

ItemNumber CallPairing::Impl::FindJoin(const Entry& entry, int clock, const Sighting& s) {
  ItemNumber found = 0;
  Nanos nearest = 0;
  for (ItemNumber n = entry.last_call; n != 0; n = open.At(n).previous) {
    const Item& item = open.At(n);
    if ((item.request & Bit(clock)) != 0) continue;
    if (AnsweredBefore(item, clock, s.time_ns) && item.third == kNobody &&
        !HeldForWantOfBetter(item))
      continue;
    const Nanos distance = Distance(item.created, s.time_ns);
    if (found == 0 || distance < nearest) {
      found = n;
      nearest = distance;
    }
  }
  return found;
}

void CallPairing::Impl::FillRequest(ItemNumber n, int clock, const Sighting& s) {
  Item& item = open.At(n);
  item.asked[clock] = s.time_ns;
  item.asked_input[clock] = InputOf(s);
  item.request |= Bit(clock);
  if (s.place < item.place) item.place = s.place;
  if (clock == kCallerClock) item.sent_thread = s.thread;
  if (clock == kCalleeClock) item.received_thread = s.thread;
  if (item.conn == 0) item.conn = s.conn;
  if (item.path == 0) item.path = s.path;
}

void CallPairing::Impl::AddRequest(const Key& key, int clock, const Sighting& s) {
  Entry* entry = open.Find(key);
  if (entry != nullptr && entry->first_call != 0) {
    const ItemNumber join =
        key.id == 0 ? FindJoinUnknown(*entry, clock, s) : FindJoin(*entry, clock, s);
    if (join != 0) {
      FillRequest(join, clock, s);
      Complete(join);
      return;
    }
    Item& last = open.At(entry->last_call);
    const bool answered =
        (last.reply != 0 && !(last.early && entry->first_return == 0)) || PassedOn(last);
    if (key.id != 0 && (last.request & Bit(clock)) != 0 && !answered) {
      if (InputOf(s) == last.asked_input[clock]) {
        ++counts.retransmissions;
      } else {
        ++counts.duplicates;
      }
      if (s.place < last.place) last.place = s.place;
      return;
    }
  }
  NewCall(entry, key, clock, s);
}

void CallPairing::Impl::NewCall(Entry* entry, const Key& key, int clock, const Sighting& s) {
  ++counts.calls;
  ++counts.messages;
  const ItemNumber n = open.Take();
  if (entry == nullptr) entry = &open.Insert(key);
  Item& item = open.At(n);
  item.id = key.id;
  item.caller = key.caller;
  item.callee = key.callee;
  item.place = s.place;
  item.created = s.time_ns;
  item.previous = entry->last_call;
  (item.previous != 0 ? open.At(item.previous).next : entry->first_call) = n;
  entry->last_call = n;
  item.older = youngest;
  (item.older != 0 ? open.At(item.older).younger : oldest) = n;
  youngest = n;
  FillRequest(n, clock, s);
  if (key.id == 0) return;
  if (entry->last_return != 0) {
    TakeWaiting(n, *entry);
  } else if (third_answers > 0) {
    TakeFromThird(n, key);
  }
}

// A return was there before its call. The last one is nearest; what waits longer has lost its call.
void CallPairing::Impl::TakeWaiting(ItemNumber call, Entry& entry) {
  const ItemNumber n = entry.last_return;
  Item& item = open.At(call);
  const Item& early = open.At(n);
  std::copy(std::begin(early.answered), std::end(early.answered), item.answered);
  item.reply = early.reply;
  std::copy(std::begin(early.answered_input), std::end(early.answered_input), item.answered_input);
  item.early = true;
  RemoveWaiting(n);
  Returned(call);
}

// Another call was thought answered by this call's callee.
void CallPairing::Impl::TakeFromThird(ItemNumber call, const Key& key) {
  ItemNumber from = 0;
  open.EachCallee(key.caller, key.id, [&](Entry& entry) {
    for (ItemNumber n = entry.first_call; n != 0; n = open.At(n).next) {
      if (open.At(n).third == key.callee) from = n;
    }
  });
  if (from == 0) return;
  Item& item = open.At(call);
  Item& other = open.At(from);
  for (int clock = 0; clock < pairing::kClocks; ++clock) {
    if ((item.request & Bit(clock)) != 0 && AnsweredBefore(other, clock, item.asked[clock])) return;
  }
  std::copy(std::begin(other.answered), std::end(other.answered), item.answered);
  item.reply = other.reply;
  std::copy(std::begin(other.answered_input), std::end(other.answered_input), item.answered_input);
  item.early = true;
  other.reply = 0;
  other.third = kNobody;
  --third_answers;
  --open.Find({other.caller, other.callee, other.id})->returned;
  Returned(call);
}

ItemNumber CallPairing::Impl::FindAnsweredUnknown(const Entry& entry, int clock) {
  ItemNumber fallback = 0;
  int steps = 0;
  for (ItemNumber n = entry.first_call; n != 0 && steps < kLongestScan; n = open.At(n).next) {
    const Item& item = open.At(n);
    if (fallback != 0) ++steps;
    if ((item.reply & Bit(clock)) != 0) continue;
    if ((item.request & Bit(clock)) != 0) return n;
    if (fallback == 0) fallback = n;
  }
  return fallback;
}

ItemNumber CallPairing::Impl::FindAnswered(const Entry& entry, int clock, const Sighting& s) {
  ItemNumber untold = 0;  // the first of which this clock has shown nothing
  for (ItemNumber n = entry.last_call; n != 0; n = open.At(n).previous) {
    const Item& item = open.At(n);
    const bool asked = (item.request & Bit(clock)) != 0;
    const bool answered = (item.reply & Bit(clock)) != 0 && item.third == kNobody;
    if (answered && item.early && !item.emitted) {
      const Nanos before = Distance(item.created, item.answered[clock]);
      if (asked || Distance(item.created, s.time_ns) < before) return n;
    }
    if (answered) continue;
    if (asked) return n;
    untold = n;
  }
  return untold;
}

// The earliest open call of this caller and id, to whomever; or that which this node has answered by another clock.
ItemNumber CallPairing::Impl::FindAnsweredByThird(const Key& key, int clock) {
  ItemNumber earliest = 0, same = 0;
  open.EachCallee(key.caller, key.id, [&](Entry& entry) {
    if (entry.key.callee == key.callee) return;
    for (ItemNumber n = entry.first_call; n != 0; n = open.At(n).next) {
      const Item& item = open.At(n);
      if (item.third == key.callee && (item.reply & Bit(clock)) == 0) same = n;
      if (item.reply != 0) continue;
      if (earliest == 0 || item.created < open.At(earliest).created) earliest = n;
    }
  });
  return same != 0 ? same : earliest;
}

void CallPairing::Impl::AddReturn(const Key& key, int clock, const Sighting& s) {
  Entry* entry = open.Find(key);
  ItemNumber n = 0;
  if (entry != nullptr && entry->first_call != 0) {
    n = key.id == 0 ? FindAnsweredUnknown(*entry, clock) : FindAnswered(*entry, clock, s);
    if (n != 0) {
      const Item before = open.At(n);
      const bool third = before.third != kNobody;
      if (third || (before.early && (before.reply & Bit(clock)) != 0)) Unanswer(open.At(n));
      FillReturn(n, clock, s);
      Complete(n);
      if (third) {
        WaitAgain(before);
      } else if (before.early && (before.reply & Bit(clock)) != 0) {
        ++counts.unpaired_returns;
      }
      return;
    }
    const Item& last = open.At(entry->last_call);
    if (key.id != 0 && (last.reply & Bit(clock)) != 0 && last.answered_input[clock] != InputOf(s)) {
      ++counts.duplicates;
      return;
    }
  }
  if (key.id == 0) {
    ++counts.messages;
    ++counts.unpaired_returns;
    return;
  }
  n = FindAnsweredByThird(key, clock);
  if (n == 0) {
    Wait(entry, key, clock, s);
    return;
  }
  Item& item = open.At(n);
  if (item.third == kNobody) {
    item.third = key.callee;
    ++third_answers;
    FillReturn(n, clock, s);
    PassOn(n);
    return;
  }
  FillReturn(n, clock, s);
}

// Is it answered by the return that a call into its caller got from a third node?
bool CallPairing::Impl::PassedOn(const Item& item) {
  if (item.passed_on == 0 || item.reply != 0) return false;
  const Item& call = open.At(item.passed_on);
  return call.live && call.generation == item.passed_on_generation && call.third != kNobody;
}

// Open calls of the id of `call` that lead from a node to the one that answered it. `looks`: how many pairs of nodes may
// still be looked at.
bool CallPairing::Impl::FindWay(NodeId from, const Item& call, ItemNumber number, int& looks) {
  const auto step = [&](const Entry& entry) {
    ItemNumber found = 0;
    for (ItemNumber n = entry.first_call; n != 0; n = open.At(n).next) {
      const Item& item = open.At(n);
      if (!OnTheWay(item, call)) continue;
      if (PassedOn(item)) {
        if (item.passed_on == number) return n;
      } else if (found == 0) {
        found = n;
      }
    }
    return found;
  };
  const Entry* const direct = open.Find({from, call.third, call.id});
  const ItemNumber last = direct == nullptr ? 0 : step(*direct);
  if (last != 0) {
    way.push_back(last);
    return true;
  }
  bool arrived = false;
  open.EachCallee(from, call.id, [&](const Entry& entry) {
    if (arrived || --looks < 0) return;
    const auto comes_from = [&](ItemNumber n) { return open.At(n).caller == entry.key.callee; };
    if (std::any_of(way.begin(), way.end(), comes_from)) return;  // in circles
    const ItemNumber n = step(entry);
    if (n == 0) return;
    way.push_back(n);
    arrived = FindWay(entry.key.callee, call, number, looks);
    if (!arrived) way.pop_back();
  });
  return arrived;
}

// A third node has answered `call`: the calls by which the request came there.
void CallPairing::Impl::PassOn(ItemNumber call) {
  way.clear();
  int looks = kMostLooks;
  if (!FindWay(open.At(call).callee, open.At(call), call, looks)) return;
  for (const ItemNumber n : way) {
    open.At(n).passed_on = call;
    open.At(n).passed_on_generation = open.At(call).generation;
  }
}

// `call` is settled: only the third node answered. Calls that passed the request on have their answer.
void CallPairing::Impl::AnswerPassedOn(ItemNumber call) {
  PassOn(call);  // again: by other clocks, calls may have come after the return
  const Item& answered = open.At(call);
  for (const ItemNumber n : way) {
    Item& item = open.At(n);
    std::copy(std::begin(answered.answered), std::end(answered.answered), item.answered);
    item.reply = answered.reply;
    item.past_caller = true;
    ++counts.passed_on;
    ++open.Find({item.caller, item.callee, item.id})->returned;
    if (item.callee != answered.third) {
      item.third = answered.third;
      ++third_answers;
    }
    sink(MakeCall(item));
    RemoveCall(n);
  }
}

// The return that was assigned to a call belongs to another one after all.
void CallPairing::Impl::Unanswer(Item& call) {
  if (call.third != kNobody) --third_answers;
  call.third = kNobody;
  call.early = false;
  call.reply = 0;
  --open.Find({call.caller, call.callee, call.id})->returned;
}

void CallPairing::Impl::FillReturn(ItemNumber n, int clock, const Sighting& s) {
  Item& item = open.At(n);
  const bool first = item.reply == 0;
  item.answered[clock] = s.time_ns;
  item.answered_input[clock] = InputOf(s);
  item.reply |= Bit(clock);
  if (item.conn == 0) item.conn = s.conn;
  if (!first) {
    item.early = false;  // two clocks agree
    return;
  }
  ++counts.messages;
  Returned(n);
}

void CallPairing::Impl::Wait(Entry* entry, const Key& key, int clock, const Sighting& s) {
  if (entry != nullptr && entry->last_return != 0) {
    Item& last = open.At(entry->last_return);
    if ((last.reply & Bit(clock)) == 0) {  // the other end's sighting of it
      last.answered[clock] = s.time_ns;
      last.answered_input[clock] = InputOf(s);
      last.reply |= Bit(clock);
      return;
    }
    if (last.answered_input[clock] != InputOf(s)) {
      ++counts.duplicates;
      return;
    }
  }
  ++counts.messages;
  Item& item = NewWaiting(entry, key);
  item.answered[clock] = s.time_ns;
  item.reply = Bit(clock);
  item.answered_input[clock] = InputOf(s);
}

// A third node's return, which the callee's own has pushed out: its call may still come.
void CallPairing::Impl::WaitAgain(const Item& answered) {
  const Key key{answered.caller, answered.third, answered.id};
  Item& item = NewWaiting(open.Find(key), key);
  std::copy(std::begin(answered.answered), std::end(answered.answered), item.answered);
  std::copy(std::begin(answered.answered_input), std::end(answered.answered_input),
            item.answered_input);
  item.reply = answered.reply;
}

Item& CallPairing::Impl::NewWaiting(Entry* entry, const Key& key) {
  const ItemNumber n = open.Take();
  if (entry == nullptr) entry = &open.Insert(key);
  Item& item = open.At(n);
  item.id = key.id;
  item.caller = key.caller;
  item.callee = key.callee;
  item.previous = entry->last_return;
  (item.previous != 0 ? open.At(item.previous).next : entry->first_return) = n;
  entry->last_return = n;
  waiting.push_back({n, item.generation, now});
  return item;
}

// Of the calls of one key that have returned, only some are kept for what the other end may still show.
void CallPairing::Impl::Returned(ItemNumber n) {
  const Item& item = open.At(n);
  const bool whole =
      Whole(item.request) && Whole(item.reply) && !item.early && item.third == kNobody;
  Entry& entry = *open.Find({item.caller, item.callee, item.id});
  ++entry.returned;
  if (whole) return;  // Complete follows
  settling.push_back({n, item.generation, now});
  if (entry.returned <= (item.id == 0 ? kMostReturnedUnknown : kMostReturnedKnown)) return;
  for (ItemNumber old = entry.first_call; old != 0; old = open.At(old).next) {
    if (old == n || open.At(old).reply == 0) continue;
    Finalize(old);
    return;
  }
}

void CallPairing::Impl::Complete(ItemNumber n) {
  Item& item = open.At(n);
  if (!Whole(item.request) || !Whole(item.reply) || item.third != kNobody || item.emitted) return;
  if (item.early) return;
  if (!keep_closed || item.id == 0) {
    Finalize(n);
    return;
  }
  Emit(item);
  closed.push_back({n, item.generation, now});
}

void CallPairing::Impl::Emit(Item& item) {
  item.emitted = true;
  if (item.reply == 0) ++counts.unpaired_calls;
  sink(MakeCall(item));
}

void CallPairing::Impl::Finalize(ItemNumber n) {
  Item& item = open.At(n);
  if (!item.emitted) Emit(item);
  if (item.third != kNobody) AnswerPassedOn(n);
  RemoveCall(n);
}

void CallPairing::Impl::RemoveCall(ItemNumber n) {
  Item& item = open.At(n);
  if (item.third != kNobody) --third_answers;
  const Key key{item.caller, item.callee, item.id};
  Entry& entry = *open.Find(key);
  if (item.reply != 0) --entry.returned;
  (item.previous != 0 ? open.At(item.previous).next : entry.first_call) = item.next;
  (item.next != 0 ? open.At(item.next).previous : entry.last_call) = item.previous;
  (item.older != 0 ? open.At(item.older).younger : oldest) = item.younger;
  (item.younger != 0 ? open.At(item.younger).older : youngest) = item.older;
  if (entry.first_call == 0 && entry.first_return == 0) open.Erase(key);
  open.Free(n);
}

void CallPairing::Impl::RemoveWaiting(ItemNumber n) {
  Item& item = open.At(n);
  const Key key{item.caller, item.callee, item.id};
  Entry& entry = *open.Find(key);
  (item.previous != 0 ? open.At(item.previous).next : entry.first_return) = item.next;
  (item.next != 0 ? open.At(item.next).previous : entry.last_return) = item.previous;
  if (entry.first_call == 0 && entry.first_return == 0) open.Erase(key);
  open.Free(n);
}

void CallPairing::Impl::Expire() {
  const Nanos settled = SaturatingSub(now, options.settle);
  while (!settling.empty()) {
    const Due due = settling.front();
    const bool gone = Gone(due);
    if (!gone && (settling.size() <= options.settle_calls || due.time >= settled)) break;
    settling.pop_front();
    // A call whose return was taken from it again is open, not settled.
    if (!gone && open.At(due.n).reply != 0) Finalize(due.n);
  }
  while (!closed.empty() && closed.front().time < settled) {
    if (!Gone(closed.front())) Finalize(closed.front().n);
    closed.pop_front();
  }
  const Nanos given_up = SaturatingSub(now, options.give_up);
  while (!waiting.empty() && (Gone(waiting.front()) || waiting.front().time < given_up)) {
    if (!Gone(waiting.front())) {
      ++counts.unpaired_returns;
      RemoveWaiting(waiting.front().n);
    }
    waiting.pop_front();
  }
  while (oldest != 0 && open.At(oldest).created < given_up) Finalize(oldest);
}

// Both ends' sightings of one message count once. Messages with unknown ids cannot be distinguished, so each
// counts.
void CallPairing::Impl::AddMessage(const Sighting& s) {
  if (s.by != SightedBy::kCommon && s.id != 0) {
    const uint64_t key =
        MixBits(s.id ^ MixBits(static_cast<uint64_t>(s.sender) << 32 | s.receiver));
    const uint8_t bit = Bit(s.by == SightedBy::kSender ? kCallerClock : kCalleeClock);
    for (auto* map : {&half_messages, &older_half_messages}) {
      const auto found = map->find(key);
      if (found == map->end() || found->second == bit) continue;
      map->erase(found);
      return;
    }
    if (half_messages.size() >= kMostHalfMessages) {
      older_half_messages.swap(half_messages);
      half_messages.clear();
    }
    half_messages[key] = bit;
  }
  ++counts.messages;
  ++counts.msgs;
}

CallPairing::CallPairing(const PairingOptions& options, Sink sink)
    : impl_(std::make_unique<Impl>(options, std::move(sink))) {}
CallPairing::~CallPairing() = default;

void CallPairing::Add(const Sighting& s) {
  Impl& impl = *impl_;
  if (s.time_ns > impl.now) impl.now = s.time_ns;
  if (s.kind == MessageKind::kMessage) {
    impl.AddMessage(s);
    return;
  }
  if (impl.clocks_seen == 0) impl.first_input = s.place.input;
  impl.clocks_seen |= s.by == SightedBy::kCommon ? Bit(kCommonClock) : kOwnClocks;
  impl.keep_closed = impl.keep_closed || impl.clocks_seen == (Bit(kCommonClock) | kOwnClocks) ||
                     s.place.input != impl.first_input;
  const bool by_sender = s.by == SightedBy::kSender;
  if (s.kind == MessageKind::kCall) {
    const int clock = s.by == SightedBy::kCommon ? kCommonClock
                      : by_sender                ? kCallerClock
                                                 : kCalleeClock;
    impl.AddRequest({s.sender, s.receiver, s.id}, clock, s);
  } else {
    const int clock = s.by == SightedBy::kCommon ? kCommonClock
                      : by_sender                ? kCalleeClock
                                                 : kCallerClock;
    impl.AddReturn({s.receiver, s.sender, s.id}, clock, s);
  }
  impl.Expire();
}

void CallPairing::Finish() {
  Impl& impl = *impl_;
  // First those whose returns answer others.
  for (const Impl::Due& due : impl.settling) {
    if (!impl.Gone(due) && impl.open.At(due.n).third != kNobody) impl.Finalize(due.n);
  }
  while (impl.oldest != 0) impl.Finalize(impl.oldest);
  for (const Impl::Due& due : impl.waiting) {
    if (impl.Gone(due)) continue;
    ++impl.counts.unpaired_returns;
    impl.RemoveWaiting(due.n);
  }
  impl.waiting.clear();
  impl.settling.clear();
  impl.closed.clear();
}

const PairingCounts& CallPairing::counts() const { return impl_->counts; }
Nanos CallPairing::horizon() const {
  return impl_->oldest == 0 ? impl_->now
                            : std::min(impl_->now, impl_->open.At(impl_->oldest).created);
}
size_t CallPairing::waiting() const { return impl_->open.size(); }

}  // namespace wf::paths
