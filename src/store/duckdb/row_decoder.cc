#include "store/duckdb/row_decoder.h"

#include <algorithm>
#include <cstring>

namespace wf::store::duckdb {

RowDecoder::RowDecoder(const Segment& segment, std::shared_ptr<const SegmentDictionary> dictionary,
                       uint64_t columns)
    : segment_(segment),
      dictionary_(std::move(dictionary)),
      batch_(NewBatch()),
      place_(kEventColumns, -1),
      whole_rows_((segment.columns & ~columns) == 0) {
  int next = 0;
  for (size_t c = 0; c < kEventColumns; ++c) {
    if (((segment.columns & columns) >> c & 1) != 0) place_[c] = next++;
  }
}

std::shared_ptr<EventBatch> RowDecoder::NewBatch() const {
  auto batch = std::make_shared<EventBatch>(dictionary_->base);
  batch->tenant = segment_.tenant;
  batch->received_ns = segment_.max_received;
  return batch;
}

Status RowDecoder::AddRow(const duck::Chunk& chunk, size_t i) {
  const auto number = [&]<typename T>(EventColumn column, T fallback) {
    return place_[column] < 0 ? fallback : chunk.Column<T>(static_cast<size_t>(place_[column]))[i];
  };
  const auto text = [&](EventColumn column) {
    return place_[column] < 0 ? std::string_view()
                              : chunk.Text(static_cast<size_t>(place_[column]), i);
  };
  const SegmentDictionary& dictionary = *dictionary_;
  EventBatch& b = *batch_;
  const uint32_t shape_number = number(kColShape, uint32_t{0});
  if (shape_number >= dictionary.shapes.size()) {
    return EnvironmentError("store: " + segment_.part->path() + ": a row names an unknown shape",
                            "the part file is damaged; restore the store from a copy");
  }
  const Shape& shape = dictionary.shapes[shape_number];
  const TraceId trace{number(kColTraceHi, uint64_t{0}), number(kColTraceLo, uint64_t{0})};
  if (!b.empty() && b.trace_id(b.size() - 1) != trace) EndTrace();

  b.AddRow();
  b.trace_hi.back() = trace.hi;
  b.trace_lo.back() = trace.lo;
  b.id1.back() = number(kColId1, uint64_t{0});
  b.id2.back() = number(kColId2, uint64_t{0});
  const int64_t start = number(kColStart, int64_t{0});
  b.start_ns.back() = start;
  b.end_ns.back() = static_cast<int64_t>(static_cast<uint64_t>(start) +
                                         static_cast<uint64_t>(number(kColDuration, int64_t{0})));
  b.type.back() = static_cast<EventType>(shape.type);
  b.kind.back() = static_cast<SpanKind>(shape.kind);
  b.status.back() = static_cast<SpanStatus>(shape.status);
  b.parent_ref.back() = static_cast<ParentRef>(shape.parent_ref);
  b.marks.back() = shape.marks;
  b.flags.back() = shape.flags;
  b.name.back() = shape.name;
  b.status_message.back() = b.strings.Intern(text(kColStatusMessage));
  b.tracestate.back() = b.strings.Intern(text(kColTracestate));
  b.process.back() = shape.process;
  b.scope.back() = shape.scope;
  b.SetSequence(number(kColSequence, kNoSequence));
  b.SetSource(static_cast<Source>(shape.source), number(kColProbability, 1.0f));
  const uint32_t receipt = number(kColReceipt, uint32_t{0});
  const Nanos received = receipt < dictionary.receipts.size() ? dictionary.receipts[receipt] : 0;
  b.SetReceived(received);
  parents_.push_back(number(kColParent, uint32_t{0}));

  const Layout& layout = dictionary.layouts[shape.layout];
  if (shape.layout == 0) {
    b.bytes.append(text(kColMore));
  } else {
    ArrayReader more(text(kColMore));
    Value value;
    for (const LayoutEntry& entry : layout) {
      if (!whole_rows_ && place_[entry.column == kNoColumn ? uint8_t{kColMore} : entry.column] < 0)
        continue;
      PutVarint(entry.key, b.bytes);
      if (entry.column == kNoColumn) {
        if (!more.Next(value)) {
          return EnvironmentError(
              "store: " + segment_.part->path() + ": a row lacks an attribute of its layout",
              "the part file is damaged; restore the store from a copy");
        }
        PutValue(value, b.bytes);
        continue;
      }
      const auto column = static_cast<EventColumn>(entry.column);
      if (entry.type == static_cast<uint8_t>(ValueType::kString)) {
        PutString(text(column), b.bytes);
        continue;
      }
      const int64_t bits = number(column, int64_t{0});
      if (entry.type == static_cast<uint8_t>(StoredType::kHex16)) {
        b.bytes.push_back(static_cast<char>(ValueType::kString));
        PutVarint(16, b.bytes);
        AppendHex16(static_cast<uint64_t>(bits), b.bytes);
      } else if (entry.type == static_cast<uint8_t>(ValueType::kInt)) {
        PutInt(bits, b.bytes);
      } else if (entry.type == static_cast<uint8_t>(ValueType::kBool)) {
        PutBool(bits != 0, b.bytes);
      } else {
        double real;
        std::memcpy(&real, &bits, 8);
        PutDouble(real, b.bytes);
      }
    }
  }
  b.EndAttributes();
  b.bytes.append(text(kColPoints));
  b.EndPoints();
  b.bytes.append(text(kColLinks));
  b.EndLinks();
  return {};
}

void RowDecoder::EndTrace() {
  EventBatch& b = *batch_;
  for (size_t i = trace_begin_; i < b.size(); ++i) {
    const uint32_t place = parents_[i];
    if (place != 0 && trace_begin_ + place <= b.size()) b.id2[i] = b.id1[trace_begin_ + place - 1];
  }
  trace_begin_ = b.size();
}

std::shared_ptr<const EventBatch> RowDecoder::TakeWholeTraces() {
  if (trace_begin_ == 0) return nullptr;
  // The last trace may go on in the next chunk: its rows move to a fresh batch.
  auto fresh = NewBatch();
  RowCopier copier(*batch_, *fresh);
  for (size_t i = trace_begin_; i < batch_->size(); ++i) copier.Copy(i);
  while (batch_->size() > trace_begin_) batch_->DropLastRow();
  std::shared_ptr<const EventBatch> whole = std::move(batch_);
  batch_ = std::move(fresh);
  parents_.erase(parents_.begin(), parents_.begin() + static_cast<ptrdiff_t>(trace_begin_));
  trace_begin_ = 0;
  return whole;
}

std::shared_ptr<const EventBatch> RowDecoder::Finish() {
  EndTrace();
  std::shared_ptr<const EventBatch> all = std::move(batch_);
  batch_ = NewBatch();
  parents_.clear();
  trace_begin_ = 0;
  return all;
}

}  // namespace wf::store::duckdb
