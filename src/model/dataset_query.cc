#include "model/dataset_query.h"

namespace wf {

ColumnType AggregateType(AggregateKind kind, ColumnType of) {
  switch (kind) {
    case AggregateKind::kCount:
    case AggregateKind::kDistinct:
      return ColumnType::kInt;
    case AggregateKind::kMean:
      return ColumnType::kDouble;
    case AggregateKind::kSum:
      return of == ColumnType::kDouble ? ColumnType::kDouble : ColumnType::kInt;
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kPercentile:
      return of;
  }
  return of;
}

}  // namespace wf
