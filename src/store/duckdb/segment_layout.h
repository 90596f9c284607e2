// First step of writing a segment: which shape each row has, and which column holds each attribute.
//
// Walks batches in arrival order (sequential memory); the rows' order in the segment plays no part.
// A key keeps the column it first got (SlotHomes) as long as a part is written, so that one key's values mostly stand
// in one column: they compress better and a search reads one column.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/duckdb/segment_dictionary.h"
#include "store/row_order.h"

namespace wf::store::duckdb {

// Key text → preferred column, for texts and for numbers.
struct SlotHomes {
  std::map<std::string, uint8_t, std::less<>> text, number;
  uint8_t next_text = 0, next_number = 0;
};

class SegmentLayout {
 public:
  SegmentLayout(const BatchList& batches, SlotHomes& homes);

  SegmentDictionary& dictionary() { return dictionary_; }
  uint32_t shape(uint32_t batch, uint32_t row) const {
    return place_[contexts_[batch].shapes[row]];
  }
  // Which optional columns of EventTable() hold anything.
  const std::vector<bool>& used() const { return used_; }
  // Translates codes of a batch to the dictionary's.
  RowCopier& copier(uint32_t batch) { return *contexts_[batch].copier; }

 private:
  struct Context {
    std::unique_ptr<RowCopier> copier;
    std::vector<uint32_t> processes, scopes;  // batch index → dictionary index
    std::vector<uint32_t> shapes;             // of each row, before sorting
  };
  void AddBatch(const EventBatch& batch, Context& context);
  uint32_t LayoutOf(const EventBatch& batch, Context& context, std::string_view attrs);
  uint32_t MakeLayout(Layout layout);
  uint32_t ShapeOf(const Shape& shape);
  void SortShapes();

  SegmentDictionary dictionary_;
  SlotHomes& homes_;
  std::vector<Context> contexts_;
  std::vector<bool> used_;
  std::vector<uint32_t> place_;  // shape as first numbered → sorted place
  std::map<Hash128, uint32_t> process_index_, scope_index_;
  std::unordered_multimap<uint64_t, uint32_t> layout_index_;
  std::vector<bool> is_loose_key_;
  std::vector<uint32_t> shape_slots_;
  Layout scratch_;
};

uint8_t StoredTypeOf(const Value& value);

}  // namespace wf::store::duckdb
