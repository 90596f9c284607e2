#include "client/baggage/interval_tree_clock.h"

#include <algorithm>
#include <utility>

namespace wherefore::client {

struct IntervalId::Node {
  IntervalId left, right;
};
struct EventTree::Node {
  EventTree left, right;
};

// --- Ids

IntervalId IntervalId::Of(const IntervalId& left, const IntervalId& right) {
  if (left.leaf() && right.leaf() && left.share_ == right.share_) return left;
  IntervalId id(0);
  id.node_ = std::make_shared<const Node>(Node{left, right});
  return id;
}

// The halves of a leaf are leaves like it.
const IntervalId& IntervalId::left() const { return leaf() ? *this : node_->left; }
const IntervalId& IntervalId::right() const { return leaf() ? *this : node_->right; }

int IntervalId::depth() const { return leaf() ? 0 : 1 + std::max(left().depth(), right().depth()); }

bool IntervalId::Contains(const IntervalId& other) const {
  if (whole() || other.none()) return true;
  if (none() || other.whole()) return false;
  return left().Contains(other.left()) && right().Contains(other.right());
}

bool IntervalId::Overlaps(const IntervalId& other) const {
  if (none() || other.none()) return false;
  if (whole() || other.whole()) return true;
  return left().Overlaps(other.left()) || right().Overlaps(other.right());
}

bool IntervalId::operator==(const IntervalId& other) const {
  if (leaf() != other.leaf()) return false;
  if (leaf()) return share_ == other.share_;
  return node_ == other.node_ || (left() == other.left() && right() == other.right());
}

std::string IntervalId::Text() const {
  if (leaf()) return share_ == 0 ? "0" : "1";
  return "(" + left().Text() + "," + right().Text() + ")";
}

namespace {

std::pair<IntervalId, IntervalId> Halves(const IntervalId& id) {
  if (id.none()) return {id, id};
  if (id.whole()) {
    return {IntervalId::Of(IntervalId::Whole(), IntervalId::None()),
            IntervalId::Of(IntervalId::None(), IntervalId::Whole())};
  }
  if (id.left().none()) {
    const auto [a, b] = Halves(id.right());
    return {IntervalId::Of(IntervalId::None(), a), IntervalId::Of(IntervalId::None(), b)};
  }
  if (id.right().none()) {
    const auto [a, b] = Halves(id.left());
    return {IntervalId::Of(a, IntervalId::None()), IntervalId::Of(b, IntervalId::None())};
  }
  return {IntervalId::Of(id.left(), IntervalId::None()),
          IntervalId::Of(IntervalId::None(), id.right())};
}

// Shares that never overlap; if they do (they are not of one seed) the union is as good as any answer.
IntervalId Sum(const IntervalId& a, const IntervalId& b) {
  if (a.none()) return b;
  if (b.none()) return a;
  if (a.whole() || b.whole()) return IntervalId::Whole();
  return IntervalId::Of(Sum(a.left(), b.left()), Sum(a.right(), b.right()));
}

}  // namespace

// --- Event trees

EventTree EventTree::Of(uint64_t base, const EventTree& left, const EventTree& right) {
  if (left.leaf() && right.leaf() && left.base_ == right.base_) return EventTree(base + left.base_);
  const uint64_t common = std::min(left.base_, right.base_);
  EventTree tree(base + common);
  EventTree lower_left = left, lower_right = right;
  lower_left.base_ -= common;
  lower_right.base_ -= common;
  tree.node_ = std::make_shared<const Node>(Node{lower_left, lower_right});
  return tree;
}

namespace {
const EventTree kNothing(0);
}

// The halves of a leaf have nothing beyond it.
const EventTree& EventTree::left() const { return leaf() ? kNothing : node_->left; }
const EventTree& EventTree::right() const { return leaf() ? kNothing : node_->right; }

EventTree EventTree::Raised(uint64_t by) const {
  EventTree tree = *this;
  tree.base_ += by;
  return tree;
}

uint64_t EventTree::Greatest() const {
  return leaf() ? base_ : base_ + std::max(left().Greatest(), right().Greatest());
}

int EventTree::depth() const { return leaf() ? 0 : 1 + std::max(left().depth(), right().depth()); }

bool EventTree::AtMost(const EventTree& other) const {
  if (base_ > other.base_) return false;
  if (leaf()) return true;  // normal: the least of `other` is its base
  return left().Raised(base_).AtMost(other.left().Raised(other.base_)) &&
         right().Raised(base_).AtMost(other.right().Raised(other.base_));
}

bool EventTree::operator==(const EventTree& other) const {
  if (base_ != other.base_ || leaf() != other.leaf()) return false;
  return leaf() || node_ == other.node_ || (left() == other.left() && right() == other.right());
}

std::string EventTree::Text() const {
  if (leaf()) return std::to_string(base_);
  return "(" + std::to_string(base_) + "," + left().Text() + "," + right().Text() + ")";
}

namespace {

EventTree Greater(const EventTree& a, const EventTree& b) {
  if (a.leaf() && b.leaf()) return EventTree(std::max(a.base(), b.base()));
  if (a.base() > b.base()) return Greater(b, a);
  const uint64_t more = b.base() - a.base();
  return EventTree::Of(a.base(), Greater(a.left(), b.left().Raised(more)),
                       Greater(a.right(), b.right().Raised(more)));
}

// Makes the tree simpler where the share allows it: to tick so costs nothing.
EventTree Fill(const IntervalId& id, const EventTree& events) {
  if (id.none() || events.leaf()) return events;
  if (id.whole()) return EventTree(events.Greatest());
  if (id.left().whole()) {
    const EventTree right = Fill(id.right(), events.right());
    return EventTree::Of(events.base(), EventTree(std::max(events.left().Greatest(), right.base())),
                         right);
  }
  if (id.right().whole()) {
    const EventTree left = Fill(id.left(), events.left());
    return EventTree::Of(events.base(), left,
                         EventTree(std::max(events.right().Greatest(), left.base())));
  }
  return EventTree::Of(events.base(), Fill(id.left(), events.left()),
                       Fill(id.right(), events.right()));
}

struct Grown {
  EventTree events;
  uint64_t cost;  // new nodes weigh more than any depth
};
constexpr uint64_t kNewNode = 1000;

Grown Grow(const IntervalId& id, const EventTree& events) {
  if (id.whole() && events.leaf()) return {events.Raised(1), 0};
  if (events.leaf()) {
    // As if there were a node here already.
    Grown left{EventTree(), UINT64_MAX}, right{EventTree(), UINT64_MAX};
    if (!id.left().none()) left = Grow(id.left(), EventTree());
    if (!id.right().none()) right = Grow(id.right(), EventTree());
    if (left.cost < right.cost)
      return {EventTree::Of(events.base(), left.events, EventTree()), left.cost + 1 + kNewNode};
    return {EventTree::Of(events.base(), EventTree(), right.events), right.cost + 1 + kNewNode};
  }
  Grown left{events.left(), UINT64_MAX}, right{events.right(), UINT64_MAX};
  if (!id.left().none()) left = Grow(id.left(), events.left());
  if (!id.right().none()) right = Grow(id.right(), events.right());
  if (left.cost < right.cost)
    return {EventTree::Of(events.base(), left.events, events.right()), left.cost + 1};
  return {EventTree::Of(events.base(), events.left(), right.events), right.cost + 1};
}

}  // namespace

// --- Stamps

int Stamp::depth() const { return std::max(id.depth(), events.depth()); }

Stamp Stamp::Fork() {
  const auto [mine, other] = Halves(id);
  id = mine;
  return {other, events};
}

void Stamp::Event() {
  if (id.none()) return;  // nobody's time to tick
  EventTree filled = Fill(id, events);
  events = filled == events ? Grow(id, events).events : std::move(filled);
}

void Stamp::Join(const Stamp& other) {
  id = Sum(id, other.id);
  events = Greater(events, other.events);
}

}  // namespace wherefore::client
