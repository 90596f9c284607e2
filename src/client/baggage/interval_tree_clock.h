// Interval tree clocks (Almeida, Baquero, Fonte: OPODIS 2008): causality among a changing number of participants. A
// participant has a stamp: an id, which is a share of the interval [0,1), and an event tree, which says how often what
// part of the interval has ticked as far as this participant knows. Forking halves the share; joining adds the shares
// up and takes the greater of the trees; an event makes the tree grow where the share is.
//
// Baggage names its instances by them inside a process (Pivot Tracing §5): shares of live branches never overlap, so
// whoever holds a share holds all that was packed under it.
//
// Immutable values; trees are shared between copies. Any thread. Recursion is as deep as the trees: a stamp that has
// grown past kDeep is to be given up for a new seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace wherefore::client {

// 0, 1, or a pair of halves.
class IntervalId {
 public:
  static IntervalId Whole() { return IntervalId(1); }
  static IntervalId None() { return IntervalId(0); }
  static IntervalId Of(const IntervalId& left, const IntervalId& right);  // (0,0) is 0, (1,1) is 1

  bool leaf() const { return node_ == nullptr; }
  bool none() const { return leaf() && share_ == 0; }
  bool whole() const { return leaf() && share_ == 1; }
  const IntervalId& left() const;
  const IntervalId& right() const;
  int depth() const;

  bool Contains(const IntervalId& other) const;
  bool Overlaps(const IntervalId& other) const;
  bool operator==(const IntervalId& other) const;
  std::string Text() const;  // 1, ((0,1),1)

 private:
  struct Node;
  explicit IntervalId(uint8_t share) : share_(share) {}
  uint8_t share_;
  std::shared_ptr<const Node> node_;
};

// n, or n and what the halves have beyond it; normal: one of the halves is 0 at its base.
class EventTree {
 public:
  explicit EventTree(uint64_t base = 0) : base_(base) {}
  static EventTree Of(uint64_t base, const EventTree& left, const EventTree& right);  // normal

  uint64_t base() const { return base_; }
  bool leaf() const { return node_ == nullptr; }
  const EventTree& left() const;
  const EventTree& right() const;
  EventTree Raised(uint64_t by) const;
  uint64_t Greatest() const;
  int depth() const;

  bool AtMost(const EventTree& other) const;
  bool operator==(const EventTree& other) const;
  std::string Text() const;  // 2, (1,(0,1,0),1)

 private:
  struct Node;
  uint64_t base_;
  std::shared_ptr<const Node> node_;
};

struct Stamp {
  IntervalId id = IntervalId::Whole();
  EventTree events;

  static constexpr int kDeep = 48;
  int depth() const;

  Stamp Fork();  // this keeps one half, the other is returned
  void Event();  // of a stamp with a share
  void Join(const Stamp& other);
  // Everything `this` has seen, `other` has.
  bool HappenedBefore(const Stamp& other) const { return events.AtMost(other.events); }
  std::string Text() const { return "(" + id.Text() + "," + events.Text() + ")"; }
};

}  // namespace wherefore::client
