// Baggage as bytes, and as members of the W3C `baggage` header. docs/BAGGAGE.md specifies both.
//
// Instances are what travels: what one branch of a request packed between two hand-overs, under a random id. They are
// immutable and shared between the snapshots that hold them, on any thread; a slot's payload is not looked into here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "advice/program.h"
#include "client/interval_tree_clock.h"

namespace wherefore::client {

// 4 kB members hold 6 kB of bytes; protocols without that limit may carry more.
constexpr size_t kMaxBaggageBytes = 64 << 10;
constexpr size_t kMaxBaggageQueries = 64;
constexpr size_t kMaxBaggageInstances = 256;
constexpr size_t kMaxBaggageSlots = 64;  // of one query

struct PackedSlot {
  uint64_t query = 0;
  uint32_t slot = 0;
  uint32_t tuples = 0;       // as the sender says
  std::string_view payload;  // in the instance's memory
  // How it is kept, if it was packed in this process: then it can be merged without asking a program.
  bool has_rule = false;
  wf::advice::Slot rule;
};

struct Instance {
  mutable std::atomic<uint64_t> id{0};  // 0: never left this process
  // Its name while it has not: the branch that packed it.
  uint64_t origin = 0;  // 0: received
  Stamp stamp;
  std::vector<PackedSlot> slots;
  std::shared_ptr<const std::string> memory;

  uint64_t WireId() const;  // gives it one
};
using InstanceList = std::vector<std::shared_ptr<const Instance>>;

// What was lost on the way: tuples that did not fit (of queries by name), or a part of the bytes (of nobody knows which).
struct Overflow {
  std::vector<uint64_t> queries;
  bool unknown = false;

  bool any() const { return unknown || !queries.empty(); }
  bool Has(uint64_t query) const;
  bool Add(uint64_t query);  // false if it was there
  void Add(const Overflow& other);
};

uint64_t RandomId();  // never 0

// Empty when there is nothing to say.
std::string EncodeBaggage(const InstanceList& instances, const Overflow& overflow);
// False, and nothing is kept, if the bytes are not baggage of a version we know, or pass a bound. Bytes that were cut
// off decode to the mark that something was lost.
bool DecodeBaggage(std::shared_ptr<const std::string> memory, InstanceList& instances,
                   Overflow& overflow);

// --- Header

constexpr size_t kMaxBaggageMember =
    4000;  // with its name: what OpenTelemetry's libraries take is 4,096
constexpr size_t kMaxBaggageHeader = 8192;  // all members of everybody
constexpr int kMaxBaggageMembers = 180;
constexpr std::string_view kBaggageMember = "wf";
constexpr std::string_view kBaggageMember2 = "wf2";

// The values of our two members.
struct HeaderTexts {
  std::string first, second;
  bool empty() const { return first.empty(); }
  size_t size() const;  // as members, with their names and the comma between them
  int members() const { return first.empty() ? 0 : second.empty() ? 1 : 2; }
};
// Nothing if it takes more than two members.
HeaderTexts ToHeader(std::string_view bytes);
bool FromHeader(const HeaderTexts& texts, std::string& bytes);
// The greatest number of bytes whose members take at most so much room.
size_t BytesThatFit(size_t room, int members);

}  // namespace wherefore::client
