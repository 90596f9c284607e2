// The counting form of a query (Pivot Tracing §4): run first to find out what the query itself would carry.
// It weaves the same advice, but instead of tuples every slot carries two numbers, the count and the bytes of
// the tuples it would hold, so its own baggage stays small whatever the query does.
//
// It is a program like any other and is run, merged and shown like one. Its answer is at most one row:
//
//   arrivals         From events that found something in every slot (a request may have several)
//   tuples_average   … and how many tuples they found, all slots together
//   tuples_max
//   bytes_average    … in about how many bytes
//   bytes_max
//
// The numbers are upper estimates: equal tuples that would travel as one are counted separately, and
// conditions that compare different aliases are not tested, because their values do not travel here. First
// and MostRecent keep their limits, and a slot that carries only aggregates counts as the one tuple it is.
#pragma once

#include "base/result.h"
#include "lang/query/compile.h"

namespace wf::query {

Result<Compiled> Counting(const Query& query);

}  // namespace wf::query
