// The layout of an Emit's groups in a kernel map, and how user space reads them back.
//
// Every processor has its own value of each group, and a program may be interrupted by another one between two of its
// instructions; so values are only changed by atomic instructions, and each field begins at zero.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advice/program.h"
#include "advice/rows.h"
#include "weaver/expression_code.h"

namespace wf::weaver {

struct KeyColumn {
  enum class Kind : uint8_t { kConstant, kInteger, kBool, kString, kProcessName, kHost };
  Kind kind = Kind::kConstant;
  uint32_t offset = 0;  // in the key: eight bytes; kString: eight of length, then the bytes
  int null_bit = -1;    // of the key's first eight bytes
  advice::Value constant;
};

struct AggregateCells {
  advice::AggregateKind kind = advice::AggregateKind::kCount;
  bool never = false;     // its argument never has a type that it accepts
  int32_t count_at = -1;  // how many values were added; -1: the number of tuples
  // SUM, AVERAGE: the sum, or the sum of the low 32 bits, then that of the high ones; MIN, MAX: the extreme,
  // transformed so that zero is below any value; HISTOGRAM: its buckets.
  int32_t at = -1;
  bool narrow = false;  // one cell holds the sum: the summands have 32 bits
};
constexpr uint32_t kHistogramCells = 65;  // negative, below one, then powers of two

struct GroupShape {
  std::vector<KeyColumn> key;
  uint32_t key_bytes = 0;  // 0: there is only one group
  std::vector<AggregateCells> cells;
  uint32_t value_bytes = 8;  // the first eight: tuples
  uint32_t string_bytes = 64;
};

// Shapes groups by the types of columns and arguments; false if the kernel cannot keep such groups.
bool ShapeGroups(const advice::Grouping& grouping, const std::vector<Operand>& columns,
                 const std::vector<Operand>& arguments, uint32_t string_bytes, GroupShape& shape);

// What user space knows about processes.
class ProcessNames {
 public:
  virtual ~ProcessNames() = default;
  virtual advice::Value Name(uint32_t process) = 0;
  virtual advice::Value Host(uint32_t process) = 0;
};

// Appends one processor's value of one group; returns the number of its tuples (0: nothing is appended).
uint64_t ReadGroup(const GroupShape& shape, std::string_view key, std::string_view value,
                   ProcessNames& names, advice::Rows& rows);

}  // namespace wf::weaver
